"""Checkpoints of a script's own training loop: saved while it runs, restored when it runs again."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tensorflow_ignite.errors import InvalidRequestError, TensorFlowIgniteError
from tensorflow_ignite.storage import paths
from tensorflow_ignite.task import current
from tensorflow_ignite.train import distribution, equal_state, keras_state
from tensorflow_ignite.train.fence import Writer
from tensorflow_ignite.train.input_states import InputStates
from tensorflow_ignite.train.planned_end import PlannedEnd
from tensorflow_ignite.train.progress import report_checkpoint
from tensorflow_ignite.train.schedule import CheckpointSchedule
from tensorflow_ignite.train.store import Store, python_state

if TYPE_CHECKING:
    import tensorflow as tf

    from tensorflow_ignite.train.training_input import TrainingInput

_log = logging.getLogger(__name__)


def checkpoint(
    *,
    every_steps: int | None = None,
    every_seconds: float | None = None,
    keep: int = 3,
    directory: str | None = None,
    **trackables: Any,
) -> TrainCheckpoint:
    """Restores the newest checkpoint that all workers can read, and saves further ones while the training goes on.

        with strategy.scope():
            model = build_model()
            optimizer = keras.optimizers.Adam()
            optimizer.build(model.trainable_variables)
        checkpoint = tfi.train.checkpoint(every_steps=100, model=model, optimizer=optimizer)
        batches = checkpoint.iterate(strategy.experimental_distribute_dataset(rows))
        for step in checkpoint.steps(total_steps):
            train_step(next(batches))

    Call it once, after the variables have been created, before the first training step, and on every worker of the job:
    the workers restore the same checkpoint, and save together. All workers of a ``multi-worker-mirrored`` job must use
    the same storage, such as the cluster's files; in a ``parameter-server`` job only the client process uses the
    directory. A job may resume with another number of workers. The position in a dataset is a part of the checkpoint if
    the loop reads it by :meth:`TrainCheckpoint.iterate`.

    Args:
        every_steps: Save whenever a multiple of this many steps has been reached.
        every_seconds: Save after this many seconds since the last save ended. If neither is given: 60.
        keep: Number of checkpoints to keep; older ones are removed.
        directory: Directory of the checkpoints, a path or URL that TensorFlow can write. None: the job's
            ``--checkpoint-directory``, by default a directory in the cluster. ``""``, or None outside a job: nothing is
            restored or saved, and one line of the log says so.
        **trackables: Objects to save, by name: models, optimizers, variables, all that ``tf.train.Checkpoint`` accepts.

    Returns:
        The restored checkpoint; its class describes the loop.

    Raises:
        InvalidRequestError: An argument breaks a rule.
        DataLossError: The directory has checkpoints, and none of them can be read whole by all workers. Training never
            begins anew in a directory that has checkpoints.
        TensorFlowIgniteError: The newest checkpoint does not match the trackables, a later attempt of the job writes
            there, the caller is the evaluator of a job, or the models, optimizers or variables of the workers of a
            ``multi-worker-mirrored`` job are not equal.
    """
    restored = TrainCheckpoint(
        trackables, CheckpointSchedule.of(every_steps, every_seconds), keep=keep, directory=find_directory(directory)
    )
    if equal_state.compares(restored.strategy):
        equal_state.compare(trackables, restored.strategy)
    return restored


class TrainCheckpoint:
    """The checkpoints of one training; returned by :func:`checkpoint`.

    Attributes:
        directory: Directory of the checkpoints; empty if nothing is saved.
        step: Number of finished steps, a scalar ``tf.Variable`` of int64, saved and restored with the other objects.
            Unlike ``optimizer.iterations`` of Keras it loses no counts when workers train at different speeds.
        resumed_from_step: The step of the restored checkpoint; 0 if there was none.
        saved_step: The step of the newest checkpoint, saved or restored; 0 if there is none.
        strategy: The strategy of the variables.
        planned_end: For `CheckpointCallback`: whether the job requests a last checkpoint before this process ends.
    """

    def __init__(
        self,
        trackables: dict[str, Any],
        schedule: CheckpointSchedule,
        *,
        keep: int,
        directory: str,
        strategy: tf.distribute.Strategy | None = None,
        optional: dict[str, Any] | None = None,
        inputs: InputStates | None = None,
        before_restore: Callable[[], None] = lambda: None,
    ) -> None:
        """Restores the newest checkpoint; use :func:`checkpoint`.

        Args:
            trackables: The objects to save, by name.
            schedule: When to save.
            keep: Number of checkpoints to keep.
            directory: Where they are.
            strategy: Of the variables; None: the present one.
            optional: Further objects, which a checkpoint of an earlier version may lack.
            inputs: What the training reads; None: :meth:`iterate` says so.
            before_restore: Called before a checkpoint is restored.
        """
        if directory and current().role == "evaluator":
            raise TensorFlowIgniteError(
                f"{current().task} would save checkpoints in {directory}. An evaluator saves none: it would take the "
                "directory from the training. Where tfi.train.context().role is 'evaluator', use "
                "tfi.train.evaluate(model, rows) in place of the training"
            )
        import tensorflow as tf

        if not trackables:
            raise InvalidRequestError(
                "checkpoint() was given nothing to save. Objects to save are keyword arguments. "
                "Example: tfi.train.checkpoint(model=model, optimizer=optimizer)"
            )
        reserved = sorted({"step", "save_counter", "input", keras_state.NAME} & set(trackables))
        if reserved:
            raise InvalidRequestError(
                f"checkpoint() cannot save an object named {reserved[0]!r}. The names step, save_counter, "
                f"input and {keras_state.NAME} are reserved. Give the object another name"
            )
        if keep < 1:
            raise InvalidRequestError(
                f"keep={keep} would keep no checkpoint. At least 1 is kept. Give a whole number above 0"
            )
        self.directory = directory
        self.resumed_from_step = 0
        self._schedule = schedule
        self.saved_step = 0
        self._store: Store | None = None
        self.planned_end: PlannedEnd | None = None
        self.strategy = strategy = strategy or _strategy(tf)
        self._inputs = inputs or InputStates()
        with strategy.scope():
            # Every replica adds the same steps, so only the first one counts.
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
                current().task,
            )
            schedule.start(0)
            return
        extra = {**(optional or {}), "input": python_state(self._inputs)}
        self._store = Store(directory, {"step": self.step, **trackables}, strategy, keep, _writer(), extra)
        if self._store.workers > 1:
            schedule.agree_through(self._store.chief_decision)
        if self._store.restore(before_restore):
            self.resumed_from_step = self.saved_step = self.steps_done
            report_checkpoint(resumed_from_step=self.resumed_from_step)
        schedule.start(self.saved_step)
        self.planned_end = PlannedEnd(leads=self._store.leads, alone=self._store.workers == 1)

    @property
    def steps_done(self) -> int:
        """The value of :attr:`step`."""
        return int(self.step.read_value())

    def steps(self, total_steps: int) -> Iterator[int]:
        """Yields the numbers of the remaining steps; saves a checkpoint after a step if due, and after the last step.

        Leaving the loop early saves nothing; then call :meth:`save` on every worker.

        If the job plans an end of its tasks, before a restart for example, all workers save after the same step, and
        end there: the loop does not return.

        Args:
            total_steps: Number of all steps, including those before the restored checkpoint.

        Yields:
            The number of the next step, from 1 or the step after the restored checkpoint to ``total_steps``.
        """
        done = self.steps_done
        if self.planned_end is not None and done < total_steps:
            self.planned_end.begin(done)
        try:
            for number in range(done + 1, total_steps + 1):
                yield number
                if number < total_steps:
                    self.save_if_due(number)
                else:
                    self.step.assign(number)
            if self.saved_step != self.steps_done:
                self.save()
        finally:
            if self.planned_end is not None:
                self.planned_end.end()

    def iterate(self, dataset: Any) -> Iterator[Any]:
        """Iterates over a dataset whose position is a part of the checkpoints: a restart goes on with the next rows.

            rows = tfi.dataset("images", label="label", shuffle=True).repeat().batch(256)
            batches = checkpoint.iterate(strategy.experimental_distribute_dataset(rows))
            for step in checkpoint.steps(total_steps):
                train_step(next(batches))

        With the same workers these are the batches of a training without a restart. With other workers, or when
        partitions have other owners, the batches have the rows of the epoch that no worker has used yet, and then the
        rows of the next epochs. Call it for each dataset once, in the same order in each attempt. A loop over epochs
        calls it in each epoch. Evaluate with another dataset: if other iterators read a dataset too, it has no single
        position.

        Args:
            dataset: A tf.data.Dataset, or a dataset that the strategy has distributed. It must be made of
                :func:`tensorflow_ignite.dataset` by ``repeat`` and ``batch``, and then by ``map``, ``prefetch`` and
                ``zip``: the number of rows of each element must be known.

        Yields:
            The elements.

        Raises:
            InvalidRequestError: The number of rows of an element is not known; the dataset is repeated a number of
                times; or the checkpoint was saved within an epoch of other rows.
        """
        from tensorflow_ignite.train.training_input import TrainingInput

        found = TrainingInput(dataset, self.strategy, is_continuous=True)
        if not found.has_known_rows:
            raise InvalidRequestError(
                "checkpoint.iterate() cannot find how many rows of a cache each element has. It can for a dataset that "
                "is made of tfi.dataset(...) without exact=True, by repeat() and batch(n), and then by map, prefetch "
                "or zip; filter, unbatch and shuffle change the number, deterministic=False the order, and under "
                "parameter servers each worker reads for itself. Shuffle with tfi.dataset(shuffle=True), or use "
                "iter(dataset)"
            )
        if found.most_epochs > 1:
            raise InvalidRequestError(
                f"checkpoint.iterate() got a dataset with repeat({found.most_epochs}). After a restart it would read "
                f"{found.most_epochs} epochs more. Use repeat() without a number, and count the steps with "
                "checkpoint.steps(); or call iterate() in each epoch, for a dataset without repeat()"
            )
        number = next((number for number, each in enumerate(self._inputs.inputs) if each.reads_as(found)), None)
        left_out = 0
        if number is None:
            number = len(self._inputs.inputs)
            self._inputs.inputs.append(found)
            restored = self._inputs.restored(number)
            known = found.resume(restored, self.is_on_all)
            if known is None and restored:
                _log.warning(
                    "tensorflow_ignite: a dataset of checkpoint.iterate() is read from the beginning: the position in "
                    "it is not known. Make each dataset once, before the loop over epochs, and let nothing else "
                    "iterate over it"
                )
            left_out = known or 0
        self._inputs.inputs[number] = found
        found.identify()
        found.begin()
        return _counted(dataset, found, left_out)

    def is_on_all(self, here: bool) -> bool:
        """Whether something is true on all workers that save together; all of them must call it."""
        return here if self._store is None else all(each == b"1" for each in self._store.gather(b"1" if here else b"0"))

    def save_if_due(self, step: int | None = None) -> bool:
        """Saves if a checkpoint is due; every worker must call it after the same steps.

        Args:
            step: Number of finished steps, assigned to :attr:`step`; None: the script has assigned it.

        Returns:
            Whether a checkpoint was saved.

        Raises:
            TensorFlowIgniteError: A later attempt of the job writes into the directory.
        """
        if step is not None:
            self.step.assign(step)
        done = self.steps_done if step is None else int(step)
        if self.planned_end is not None:
            self.planned_end.begin(done)
            if self.planned_end.is_due(done):
                self.save()
                self.planned_end.wait()
        if not self.due(done):
            return False
        self.save()
        return True

    def due(self, step: int) -> bool:
        """Whether a checkpoint is due; every worker must call it for the same steps.

        Args:
            step: Number of finished steps.
        """
        if self._store is None:
            return False
        self._store.require_all_restored()
        return self._schedule.check(step)

    def save(self, step: int | None = None) -> None:
        """Saves now; every worker must call it at the same step.

        Under parameter servers it waits for all scheduled work, so that the checkpoint is consistent. If the process is
        killed meanwhile, the previous checkpoint stays complete.

        Args:
            step: Number of finished steps, assigned to :attr:`step`; None: the script has assigned it.

        Raises:
            TensorFlowIgniteError: A later attempt of the job writes into the directory; or variables have been made
                since a checkpoint was restored, and it has no values for them.
        """
        if step is not None:
            self.step.assign(step)
        if self._store is None:
            return
        self._store.require_all_restored()
        self._inputs.take(self._store.gather)
        saved_here = self._store.save()
        self.saved_step = self.steps_done
        self._schedule.start(self.saved_step)
        if saved_here:
            report_checkpoint(checkpoint_step=self.saved_step)


def _counted(dataset: Any, found: TrainingInput, left_out: int) -> Iterator[Any]:
    for number, element in enumerate(dataset):
        found.add(1)
        if number >= left_out:
            yield element


def find_directory(directory: str | None) -> str:
    """Returns the argument, else the job's directory; empty: none."""
    found = current().checkpoint_directory if directory is None else str(directory)
    # TensorFlow knows the scheme in lower case only.
    return paths.parse(found).url if paths.is_url(found) else found


def _writer() -> Writer:
    here = current()
    return Writer(here.job_id, here.attempt, here.incarnation, uuid.uuid4().hex)


def _strategy(tf: Any) -> tf.distribute.Strategy:
    """The strategy of the saved variables: the strategy in scope, else the result of :func:`strategy`."""
    if tf.distribute.has_strategy():
        return tf.distribute.get_strategy()
    made = distribution.existing()
    if made is not None:
        return made
    cluster = tf.distribute.cluster_resolver.TFConfigClusterResolver().cluster_spec().as_dict()
    if sum(map(len, cluster.values())) > 1:
        raise TensorFlowIgniteError(
            f"{current().task} cannot save checkpoints: which strategy its variables belong to is not known. Tasks of "
            f"one cluster ({', '.join(cluster)}) must save together. Use tfi.train.strategy(), or call checkpoint() "
            "inside `with strategy.scope():`"
        )
    return tf.distribute.get_strategy()
