"""One round of a training: its rows, and the publication of its models."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from tensorflow_ignite.errors import InvalidRequestError
from tensorflow_ignite.spec import Publication
from tensorflow_ignite.train.progress import announce

if TYPE_CHECKING:
    import tensorflow as tf

    from tensorflow_ignite.data.cache_position import CachePosition
    from tensorflow_ignite.train.publishing import Better, Measure

#: Its arguments: the name of the model, a function for the first worker, and a function for the other workers.
PublishOnce = Callable[[str, Callable[[], Publication], Callable[[], None]], Publication]

# A measure of a model may take as long as this, in addition to the stall timeout of the job.
_MEASURE_SECONDS = 600.0


class Round:
    """One round of a training; yielded by `rounds`.

    Attributes:
        number: From 1.
        since: The position after which rows are new; None: all rows are.
    """

    def __init__(
        self,
        number: int,
        cache: str,
        since: CachePosition | None = None,
        validation_split: float | None = None,
        replay: float = 0.0,
        publish_once: PublishOnce = lambda name, publish, take_part: publish(),
    ) -> None:
        """Use `rounds`; the last argument has the first worker publish a model, and returns the result on all."""
        self.number = number
        self.since = since
        self._cache = cache
        self._split = validation_split
        self._replay = replay
        self._publish_once = publish_once
        self._is_measuring = False

    def training(self, **arguments: Any) -> tf.data.Dataset:
        """The rows to train on: new ones, and with ``rounds.replay`` some of the others.

        Args:
            **arguments: Those of `tensorflow_ignite.dataset`, without ``changes`` and ``hold_out``, which the round
                sets. ``uneven`` is ``"pad"`` unless it is given: elements have a weight, since a worker may have fewer
                new rows than another one, or none.
        """
        from tensorflow_ignite.data.options import Changes

        changes = None if self.since is None else Changes(since=self.since, replay=self._replay)
        return self._dataset("training", {"uneven": "pad", "changes": changes}, arguments)

    def validation(self, **arguments: Any) -> tf.data.Dataset:
        """All rows that are held out, as they are now.

        Args:
            **arguments: Those of `tensorflow_ignite.dataset`, without ``changes`` and ``hold_out``. Within a measure,
                the dataset has the rows of the whole cache, and elements have no weight. Elsewhere it has the rows of
                this worker, and ``uneven`` is ``"pad"`` unless it is given.
        """
        if self._split is None:
            raise InvalidRequestError(
                "no rows are held out for validation. A part of the keys is, if the loop says which part. Use "
                "tfi.train.rounds(validation_split=0.1)"
            )
        defaults = {"partitions": "all"} if self._is_measuring else {"uneven": "pad"}
        return self._dataset("validation", defaults, arguments)

    def publish(self, model: Any, name: str, *, measure: Measure, better: Better = "lower") -> Publication:
        """Publishes a model as its next version, in ``ignite:///models/NAME/N``, unless it is worse than the last one.

        The first worker saves the model, loads it and the last published version, measures both, and publishes the
        model if its measure is not worse; the others wait. All workers save a model of tf_keras, since TensorFlow
        reduces some of its variables over all of them. A measure runs in one process, without a strategy. Models need
        classes that Keras can load: `keras.saving.register_keras_serializable`.

        Args:
            model: A model of Keras 3 or of tf_keras.
            name: Name of the model.
            measure: Returns a number for a model, such as its loss on the rows of `validation`. If that takes more than
                ten minutes, it announces that by `busy`.
            better: Whether a ``"lower"`` or a ``"higher"`` measure is better. Equal ones are not worse.

        Returns:
            What became of the model, the same on all workers.

        Raises:
            InvalidRequestError: An argument breaks a rule, or the measure is no number.
        """
        from tensorflow_ignite import task
        from tensorflow_ignite.models.registry import Models
        from tensorflow_ignite.storage.files import Files
        from tensorflow_ignite.train.publishing import check_better, publish, take_part

        check_better(better)
        models, job = Models(Files.at(None)), task.current().job_id

        def measured(candidate: Any) -> float:
            announce(_MEASURE_SECONDS, force=True)
            self._is_measuring = True
            try:
                return measure(candidate)  # type: ignore[return-value]
            finally:
                self._is_measuring = False

        return self._publish_once(
            name, lambda: publish(model, name, models, measured, better, job), lambda: take_part(model)
        )

    def _dataset(
        self, subset: Literal["training", "validation"], defaults: dict[str, Any], arguments: dict[str, Any]
    ) -> tf.data.Dataset:
        from tensorflow_ignite.data.dataset import dataset
        from tensorflow_ignite.data.options import HoldOut

        own = {"changes", "hold_out"} & arguments.keys()
        if own:
            raise InvalidRequestError(
                f"{subset}() of a round got {own.pop()}=. The round itself decides which rows are new, and which are "
                "held out. Leave it out, or use tfi.dataset"
            )
        hold_out = None if self._split is None else HoldOut(self._split, subset)
        return dataset(self._cache, **{**defaults, **arguments, "hold_out": hold_out})
