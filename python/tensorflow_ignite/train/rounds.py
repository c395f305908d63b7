"""Training in rounds: first on all rows of the job's cache, then on rows that are put into it."""

from __future__ import annotations

from collections.abc import Iterator

from tensorflow_ignite.data import arguments
from tensorflow_ignite.errors import InvalidRequestError
from tensorflow_ignite.train.context import context
from tensorflow_ignite.train.training_round import Round


def rounds(*, validation_split: float | None = None, cache: str = "") -> Iterator[Round]:
    """Yields the rounds of a training: without an end in a continuous job, otherwise one.

        for round in tfi.train.rounds(validation_split=0.1):
            model.fit(round.training(label="y", shuffle=True).batch(64), callbacks=[tfi.train.CheckpointCallback()])
            round.publish(model, "trips", measure=lambda m: m.evaluate(round.validation(label="y").batch(256)))

    In a job with `tensorflow_ignite.Rounds` the first round has all rows of the job's cache. Each later round has the
    rows that were put since the round before, and with ``replay`` some older rows too. A round is over when all workers
    request the next one, which begins by ``every`` or ``when_rows``. If the job restarts, the loop continues with the
    round that was not over, and reads all of its rows again. Call it on every worker; `CheckpointCallback` or
    `checkpoint` restores the models.

    Args:
        validation_split: The part of the rows that is held out, between 0 and 1, as of `tensorflow_ignite.dataset`;
            None: no rows.
        cache: The cache to train on outside a job; a job specifies its own cache.

    Raises:
        InvalidRequestError: An argument breaks a rule.
        TensorFlowIgniteError: Any error of a node.
    """
    if validation_split is not None:
        arguments.key_range(validation_split, "training")
    here = context(cache=cache)
    if not here.cache:
        raise InvalidRequestError(
            "rounds() knows no cache. Outside a job a script names the one whose rows it trains on. Use "
            "rounds(cache=...)"
        )
    if not here.in_job:
        return iter([Round(1, here.cache, None, validation_split)])
    from tensorflow_ignite.train.round_loop import RoundLoop

    return RoundLoop(here, validation_split).run()
