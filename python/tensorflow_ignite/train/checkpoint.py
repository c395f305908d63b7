"""Checkpoints of a script's own training loop: saved while it runs, restored when it runs again."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tensorflow_ignite.errors import InvalidRequestError, TensorFlowIgniteError
from tensorflow_ignite.train import distribution
from tensorflow_ignite.train.context import context
from tensorflow_ignite.train.due import Due
from tensorflow_ignite.train.fence import Writer
from tensorflow_ignite.train.progress import report_checkpoint
from tensorflow_ignite.train.store import Store

if TYPE_CHECKING:
    import tensorflow as tf

_log = logging.getLogger(__name__)


def checkpoint(
    *,
    every_steps: int | None = None,
    every_seconds: float | None = None,
    keep: int = 3,
    directory: str | None = None,
    **trackables: Any,
) -> TrainCheckpoint:
    """Restores the newest complete checkpoint, and saves further ones while the training goes on.

        with strategy.scope():
            model = build_model()
            optimizer = keras.optimizers.Adam()
            optimizer.build(model.trainable_variables)
        checkpoint = tfi.train.checkpoint(every_steps=100, model=model, optimizer=optimizer)
        for step in checkpoint.steps(total_steps):
            train_step(iterator)

    Call it once, after the variables have been made, before the first training step, and on every worker of the job:
    the workers restore the same checkpoint, and save together. The directory must be the same storage for all workers
    of a ``multi-worker-mirrored`` job, as the cluster's own is; of a ``parameter-server`` job only the client process
    uses it. A job may go on
    with another number of workers than it was saved with. The position in the dataset is not part of a checkpoint.

    Args:
        every_steps: Save whenever a multiple of this many steps has been reached.
        every_seconds: Save when so many seconds have passed since the last save ended. When neither is given: 60.
        keep: Checkpoints that are kept; older ones are removed.
        directory: Where checkpoints are kept, a path or an address that TensorFlow can write. None: the job's
            ``--checkpoint-directory``, which is in the cluster itself when the job names none. ``""``: nothing is
            restored and nothing saved, which is also what happens outside a job when no directory is given; one line
            says so.
        **trackables: What to save, by name: models, optimizers, variables, anything that ``tf.train.Checkpoint`` takes.

    Returns:
        The restored checkpoint; see there for the loop.

    Raises:
        InvalidRequestError: An argument breaks a rule.
        TensorFlowIgniteError: The newest checkpoint does not fit the trackables, the workers do not see the same
            directory, or a later attempt of the job writes there.
    """
    return TrainCheckpoint(
        trackables, Due.of(every_steps, every_seconds), keep=keep, directory=find_directory(directory)
    )


class TrainCheckpoint:
    """The checkpoints of one training; made by :func:`checkpoint`.

    Attributes:
        directory: Where they are; empty when nothing is saved.
        step: Steps done, a scalar ``tf.Variable`` of int64, saved and restored with the rest. Unlike
            ``optimizer.iterations`` of Keras it loses no counts when workers train at their own pace.
        resumed_from_step: The step of the checkpoint that was restored; 0 when there was none.
        saved_step: The step of the newest checkpoint, saved or restored; 0 when there is none.
    """

    def __init__(
        self,
        trackables: dict[str, Any],
        due: Due,
        *,
        keep: int,
        directory: str,
        strategy: tf.distribute.Strategy | None = None,
    ) -> None:
        """Restores; use :func:`checkpoint`."""
        import tensorflow as tf

        if not trackables:
            raise InvalidRequestError(
                "checkpoint() was given nothing to save; it takes what belongs to the training by name. "
                "Example: tfi.train.checkpoint(model=model, optimizer=optimizer)"
            )
        reserved = sorted({"step", "save_counter"} & set(trackables))
        if reserved:
            raise InvalidRequestError(
                f"checkpoint() keeps {reserved[0]!r} itself, so nothing else can have this name. Give yours another"
            )
        if keep < 1:
            raise InvalidRequestError(f"keep={keep} would keep no checkpoint; give a whole number above 0")
        self.directory = directory
        self.resumed_from_step = 0
        self._due = due
        self.saved_step = 0
        self._store: Store | None = None
        strategy = strategy or _strategy(tf)
        with strategy.scope():
            # The training's own counter: every replica would add the same.
            self.step: tf.Variable = tf.Variable(
                0,
                dtype=tf.int64,
                trainable=False,
                name="step",
                aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
            )
        if not directory:
            _log.warning(
                "tensorflow_ignite: %s saves no checkpoints, since no directory was given for them. "
                "Give one: tfi.train.checkpoint(directory=...), or run the script in a job, which has one",
                context().task,
            )
            due.start(0)
            return
        self._store = Store(directory, {"step": self.step, **trackables}, strategy, keep, _writer())
        if self._store.workers > 1:
            due.meet_through(self._store.first_workers_word)
        if self._store.restore():
            self.resumed_from_step = self.saved_step = self.steps_done
            report_checkpoint(resumed_from_step=self.resumed_from_step)
        due.start(self.saved_step)

    @property
    def steps_done(self) -> int:
        """What stands in :attr:`step`."""
        return int(self.step.read_value())

    def steps(self, total_steps: int) -> Iterator[int]:
        """The numbers of the steps still to do, and a checkpoint whenever one is due after a step, and after the last.

        Leaving the loop early saves nothing; call :meth:`save` for that, on every worker.

        Args:
            total_steps: Steps in all, those done before the checkpoint included.

        Yields:
            The number of the step to do now, from 1 or from behind the restored checkpoint to ``total_steps``.
        """
        for number in range(self.steps_done + 1, total_steps + 1):
            yield number
            self.save_if_due(number)
        if self.saved_step != self.steps_done:
            self.save()

    def save_if_due(self, step: int | None = None) -> bool:
        """Saves when it is time; to be called after every step, or every few, by every worker for the same steps.

        Args:
            step: Steps done, put into :attr:`step`; None: it stands there already.

        Returns:
            Whether a checkpoint was saved.

        Raises:
            TensorFlowIgniteError: A later attempt of the job writes into the directory.
        """
        if step is not None:
            self.step.assign(step)
        if not self.due(self.steps_done if step is None else int(step)):
            return False
        self.save()
        return True

    def due(self, step: int) -> bool:
        """Whether it is time to save; to be asked by every worker for the same steps.

        Args:
            step: Steps done.
        """
        return self._store is not None and self._due.check(step)

    def save(self, step: int | None = None) -> None:
        """Saves now; every worker must call it at the same step.

        Under parameter servers it waits for all work that has been scheduled, so that the checkpoint is of one moment.
        A process that is killed meanwhile leaves the checkpoint before it whole.

        Args:
            step: Steps done, put into :attr:`step`; None: it stands there already.

        Raises:
            TensorFlowIgniteError: A later attempt of the job writes into the directory.
        """
        if step is not None:
            self.step.assign(step)
        if self._store is None:
            return
        saved_here = self._store.save()
        self.saved_step = self.steps_done
        self._due.start(self.saved_step)
        if saved_here:
            report_checkpoint(checkpoint_step=self.saved_step)


def find_directory(directory: str | None) -> str:
    """The directory given, else the job's; empty: none."""
    return context().checkpoint_directory if directory is None else str(directory)


def _writer() -> Writer:
    here = context()
    return Writer(here.job_id, here.attempt, here.incarnation, uuid.uuid4().hex)


def _strategy(tf: Any) -> tf.distribute.Strategy:
    """The strategy whose variables are saved: the one in scope, else that of :func:`strategy`."""
    if tf.distribute.has_strategy():
        return tf.distribute.get_strategy()
    made = distribution.made()
    if made is not None:
        return made
    cluster = tf.distribute.cluster_resolver.TFConfigClusterResolver().cluster_spec().as_dict()
    if sum(map(len, cluster.values())) > 1:
        raise TensorFlowIgniteError(
            f"{context().task} makes checkpoints, but which strategy its variables belong to is not known. Tasks of "
            f"one cluster ({', '.join(cluster)}) must save together. Use tfi.train.strategy(), or call it inside "
            "`with strategy.scope():`"
        )
    return tf.distribute.get_strategy()
