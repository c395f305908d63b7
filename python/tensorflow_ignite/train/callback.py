"""Checkpoints of ``fit``: one callback for the models of tf_keras and of Keras 3."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from tensorflow_ignite.errors import InvalidRequestError, TensorFlowIgniteError
from tensorflow_ignite.task import current
from tensorflow_ignite.train import fit_input, fits, keras3
from tensorflow_ignite.train.callback_states import CallbackStates, leave_rate
from tensorflow_ignite.train.checkpoint import TrainCheckpoint, find_directory
from tensorflow_ignite.train.curves import RUN
from tensorflow_ignite.train.input_states import InputStates
from tensorflow_ignite.train.metric_states import MetricStates, numbers_of
from tensorflow_ignite.train.progress import announce, report_checkpoint, report_figures
from tensorflow_ignite.train.schedule import CheckpointSchedule
from tensorflow_ignite.train.store import python_state

if TYPE_CHECKING:
    import tensorflow as tf

_log = logging.getLogger(__name__)
# The saved number of an epoch is: number of the round * _ROUND + number of the epoch in the round.
_ROUND = 2**32
# The last callback of each directory, for the next round.
_of_rounds: dict[str, CheckpointCallback] = {}

# A batch of the validation may take this long, in addition to the stall timeout of the job.
VALIDATION_BATCH_SECONDS = 60.0


class CheckpointCallback:
    """Makes ``fit`` resume where it was interrupted, also in the middle of an epoch.

        model.fit(rows, epochs=20, steps_per_epoch=steps, callbacks=[tfi.train.CheckpointCallback(every_steps=100)])

    Saves the model, its optimizer, and the position in the training, under the rules of
    :func:`tensorflow_ignite.train.checkpoint`: every worker of the job passes the callback, and the directory is the
    same storage for all. It also reports the finished steps to the job and, after each epoch, the metrics, which become
    curves (:func:`tensorflow_ignite.train.report`).

    One callback serves one ``fit``; a second ``fit`` needs another callback. In the job's own directory each ``fit`` of
    a script has a subdirectory: ``fit-2`` for the second one, and so on. Therefore a script must call the same ``fit``
    in each attempt; give a ``fit`` that it may leave out its own directory, ``context.checkpoint_directory + "/base"``.
    A directory that is given is continued: if all epochs of a ``fit`` are in it, this ``fit`` trains nothing, and the
    log says so.

    Works with models of tf_keras under every strategy, and with models of Keras 3 in one process and under
    MultiWorkerMirroredStrategy. ``fit`` of Keras 3 does not run under parameter servers.

    If training resumes within an epoch, it goes on with the next batch of the dataset. With the same workers the
    batches are the same as without a restart. With other workers, or when partitions have other owners, the rest of the
    epoch has the rows that no worker has used yet, each once. This needs a dataset that is made of
    :func:`tensorflow_ignite.dataset` by ``repeat`` and ``batch``, and then by ``map``, ``prefetch`` and ``zip``. Any
    other dataset is read from its beginning, and the log says so; the finished steps are not repeated. Under parameter
    servers, where workers take batches at their own speed, every dataset is read from its beginning.

    With ``compile(steps_per_execution=n)`` it acts after each n steps, so a checkpoint that falls due in between is
    saved after the last of them. At the end of an epoch, Keras 3 counts n steps also if there are fewer batches.

    The state of other callbacks is restored too: Keras' EarlyStopping (with the best weights), ReduceLROnPlateau,
    ModelCheckpoint, TensorBoard and History keep their state, CSVLogger appends to its file, and a training that a
    callback has stopped stays stopped. A callback of your own keeps its state if it has the methods ``state_dict()``,
    which returns None, booleans, numbers, texts and numpy arrays, in lists and dicts, and ``load_state_dict(state)``.
    Wherever it stands in the list, it acts after these, and after ModelCheckpoint, so that each step is in their state.
    The log names the callbacks whose state is not saved. Keras' BackupAndRestore beside it is refused.

    In a round of :func:`tensorflow_ignite.train.rounds` it continues the training of the round before, with the epochs
    of this ``fit``. If training resumes within an epoch of a round, the epoch is trained again, so that no new row is
    left out.

    Attributes:
        checkpoint: The checkpoints; None before ``fit``.
    """

    # As `callback_states.SAVES_STATES`.
    _tensorflow_ignite_saves_states = True

    # For tf_keras: `logs` may have tensors or remote values, which are not fetched at every step.
    _supports_tf_logs = True

    def __init__(
        self,
        *,
        every_steps: int | None = None,
        every_seconds: float | None = None,
        every_epoch: bool | None = None,
        keep: int = 3,
        directory: str | None = None,
    ) -> None:
        """Sets when to save; the last save is always at the end of ``fit``.

        Args:
            every_steps: Save whenever a multiple of this many steps, counted over all epochs, has been reached.
            every_seconds: Save after this many seconds since the last save ended.
            every_epoch: Save after each epoch. None: yes, unless steps or seconds are given.
            keep: Number of checkpoints to keep; older ones are removed.
            directory: As for :func:`tensorflow_ignite.train.checkpoint`.

        Raises:
            InvalidRequestError: An argument breaks a rule.
        """
        if every_epoch is False and every_steps is None and every_seconds is None:
            raise InvalidRequestError(
                "CheckpointCallback(every_epoch=False) never saves within fit. At least one of every_epoch, "
                "every_steps and every_seconds must be set. Give every_steps or every_seconds"
            )
        self._schedule = CheckpointSchedule(every_steps, every_seconds)
        self._every_epoch = every_epoch if every_epoch is not None else every_steps is None and every_seconds is None
        self._keep = keep
        self._directory = find_directory(directory)
        self._is_jobs_directory = directory is None and bool(self._directory)
        # The run of the curves.
        self._run = RUN
        self.checkpoint: TrainCheckpoint | None = None
        self.model: Any = None
        self.params: dict[str, Any] = {}
        self._epoch_variable: tf.Variable | None = None
        self._batch_variable: tf.Variable | None = None
        # Steps of all earlier epochs, and finished steps of this epoch.
        self._steps_before = 0
        self._batch = 0
        self._epoch = 0
        self._optimizer_aside: Any = None
        self._saved_position: tuple[int, int] | None = None
        self._round = 0
        self._optimizer: Any = None
        self._figures: dict[str, float] = {}
        self._states = CallbackStates()
        # Whether this fit continues from a checkpoint.
        self._goes_on = False
        self._metrics = MetricStates()
        self._inputs = InputStates()
        self._epochs_before_test: list[list[int]] = []
        # Finished batches of the next epoch, and the number of its first batch; the last batch that was counted.
        self._begin_batch = self._first_batch = self._counted_batch = 0
        # Whether the epoch has had a step in this process, and the logs of the last one.
        self._has_stepped = False
        self._step_logs: Any = None
        # Whether the checkpoint lies within the next epoch.
        self._has_begun_epoch = False
        # Whether a save has fallen due at the last step of the epoch, and whether the process then waits for its end.
        self._is_due = self._waits = False
        # Whether `callback_states` calls this callback after all callbacks have begun, and after all have ended.
        self._is_watched = False

    def set_params(self, params: dict[str, Any]) -> None:
        """Called by ``fit``."""
        self.params = params

    def set_model(self, model: Any) -> None:
        """Called by ``fit``."""
        self.model = model

    def on_train_begin(self, logs: Any = None) -> None:
        """Restores the newest checkpoint, and sets the position at which ``fit`` starts."""
        if self.checkpoint is not None:
            raise TensorFlowIgniteError(
                "this CheckpointCallback has served a fit before. A callback keeps the position of one training. "
                "Create another one: CheckpointCallback()"
            )
        self._round, self._optimizer = fits.current_round(), self.model.optimizer
        if self._is_jobs_directory:
            place = fits.next_place()
            if place:
                self._directory = f"{self._directory.rstrip('/')}/{place}"
                self._run = f"{RUN}-{place.replace('/', '-')}"
        if self._round:
            earlier, _of_rounds[self._directory] = _of_rounds.get(self._directory), self
            if earlier is not None and earlier.model is self.model and earlier._optimizer is self._optimizer:
                self._continue(earlier)
                return
        import tensorflow as tf

        rows = fit_input.current().rows
        if rows and not self._round:
            rows.identify()
            self._inputs.inputs.append(rows)
        strategy = self.model.distribute_strategy
        with strategy.scope():
            aggregation = tf.VariableAggregation.ONLY_FIRST_REPLICA
            self._epoch_variable, self._batch_variable = (
                tf.Variable(0, dtype=tf.int64, trainable=False, aggregation=aggregation) for _ in range(2)
            )
        self.checkpoint = TrainCheckpoint(
            {
                "model": self.model,
                "optimizer": self.model.optimizer,
                "epoch": self._epoch_variable,
                "batch": self._batch_variable,
            },
            self._schedule,
            optional={"callbacks": python_state(self._states), "metrics": python_state(self._metrics)},
            inputs=self._inputs,
            keep=self._keep,
            directory=self._directory,
            strategy=strategy,
            before_restore=self._build,
        )
        if self.checkpoint.planned_end is not None:
            self.checkpoint.planned_end.begin(self.checkpoint.resumed_from_step)
        if self.checkpoint.resumed_from_step:
            self._resume(int(self._epoch_variable.read_value()), int(self._batch_variable.read_value()))
        else:
            # An earlier fit may have reported the step from which it resumed.
            report_checkpoint(resumed_from_step=0)

    def _build(self) -> None:
        """Lets the model make its variables, so that a checkpoint is restored into them."""
        if keras3.is_model(self.model):
            keras3.build(self.model, fit_input.current().element_spec)

    @property
    def resumed_epoch(self) -> int | None:
        """Number of finished epochs in the checkpoint that this ``fit`` continues; None: it has begun anew."""
        return self._epoch if self._goes_on else None

    def _after_train_begin(self, callbacks: list[Any]) -> None:
        """Called when all callbacks have begun, which resets Keras' callbacks."""
        self._is_watched = True
        self._states.take(callbacks, self.model)
        if self._goes_on and self._states.restore():
            _log.warning(
                "tensorflow_ignite: this fit trains nothing more: a callback has stopped it after epoch %d, and %s "
                "says so. To train on, give CheckpointCallback another directory, or remove the checkpoints",
                self._epoch,
                self._directory,
            )
            self._saved_position = self._epoch, 0
            self._start_at(int(self.params.get("epochs", 0)), 0)
        elif self._has_begun_epoch:
            leave_rate(callbacks)

    def _before_epoch_end(self, logs: dict[str, Any]) -> None:
        """Called before all callbacks end the epoch. Uses the saved logs if an earlier process did all its steps."""
        if not self._has_stepped:
            logs.update(self._metrics.logs_of_epoch())

    def _after_epoch_end(self, callbacks: list[Any]) -> None:
        """Called when all callbacks have ended the epoch, so that their states are saved with it."""
        if self._every_epoch or self._is_due:
            self._save(self._epoch, 0)
        if self._waits:
            assert self.checkpoint is not None
            assert self.checkpoint.planned_end is not None
            self.checkpoint.planned_end.wait()

    def _start_at(self, epoch: int, batch: int) -> None:
        self._first_batch = fit_input.start_at(self.model, epoch, batch)
        self._begin_batch = batch
        if keras3.is_model(self.model):
            return
        if epoch >= self.params.get("epochs", 0) and not self.model.built and self._optimizer_aside is None:
            # No step is left, but fit still calls the optimizer's finalize_variable_values, which needs variables, and
            # a model without an input shape has none yet.
            self._optimizer_aside, self.model.optimizer = self.model.optimizer, None

    def _is_whole(self, batch: int) -> bool:
        """Whether an epoch has no batch after this number; False: it is not known."""
        return 0 < (self.params.get("steps") or 0) <= batch

    def _forget_start(self) -> None:
        """``fit`` has begun: the next one begins with its own first epoch, also if this one ends by an exception."""
        if keras3.is_model(self.model):
            self.model._initial_epoch = 0
        else:
            self.model._training_state = None

    def _continue(self, earlier: CheckpointCallback) -> None:
        """Continues with the checkpoints of the round before."""
        assert earlier.checkpoint is not None
        self.checkpoint, self._steps_before = earlier.checkpoint, earlier._steps_before
        self._epoch_variable, self._batch_variable = earlier._epoch_variable, earlier._batch_variable
        # Those that the checkpoints save.
        self._states = earlier._states
        if self.checkpoint.planned_end is not None:
            self.checkpoint.planned_end.begin(self._steps_before)

    def _resume(self, epoch: int, batch: int) -> None:
        assert self.checkpoint is not None
        number, epoch = divmod(epoch, _ROUND)
        begun = epoch if batch else None
        if self._round:
            # The finished steps of an epoch had other rows than those that are read now.
            self._steps_before = self.checkpoint.resumed_from_step
            if number != self._round:
                return
            batch = 0
        saved, is_over = (epoch, batch), self._is_whole(batch)
        if is_over:
            # Keras 3 ends the epoch: it evaluates, and calls its callbacks. An epoch without a step is an error of
            # tf_keras.
            if keras3.is_model(self.model):
                batch = keras3.counted_steps(self.model, batch)
            else:
                _say_end_is_left_out(epoch)
                epoch, batch = epoch + 1, 0
        self._epoch = epoch
        self._goes_on = True
        self._saved_position = epoch, batch
        self._steps_before = self.checkpoint.resumed_from_step - batch
        epochs = self.params.get("epochs", 0)
        # A later attempt repeats the finished fits of a script. More epochs than this fit has belong to another fit.
        if epoch > epochs or (epoch == epochs and current().attempt <= 1):
            _log.warning(
                "tensorflow_ignite: this fit trains nothing: %s has a checkpoint after epoch %d of %d. A directory "
                "continues the training whose checkpoints it has. To train on, give fit more epochs; to train anew, "
                "give CheckpointCallback another directory",
                self._directory,
                epoch,
                epochs,
            )
        if epoch < epochs:
            epoch, batch = self._resume_input(epoch, batch, saved, is_over=is_over)
            self._epoch = epoch
        else:
            # Nothing is trained, nor saved: a later fit goes on within the epoch.
            self._saved_position = epoch, 0
            if self._inputs.inputs:
                self._inputs.inputs[0].end(self._inputs.restored(0))
        self._has_begun_epoch = epoch == begun and epoch < epochs
        self._start_at(epoch, batch)

    def _resume_input(self, epoch: int, batch: int, saved: tuple[int, int], *, is_over: bool) -> tuple[int, int]:
        """Makes the dataset go on where it stood; returns where the training starts then.

        Args:
            epoch: Where the training would start: number of the epoch.
            batch: Number of its finished batches.
            saved: Both, as the checkpoint has them.
            is_over: Whether all batches of that epoch are finished.
        """
        if not self._inputs.inputs:
            return epoch, batch
        rows, fit = self._inputs.inputs[0], fit_input.current()
        assert self.checkpoint is not None
        left_out = rows.resume(self._inputs.restored(0), self.checkpoint.is_on_all)
        if left_out is None:
            # An epoch of steps_per_epoch= may end within an epoch of the dataset.
            if saved[1] or rows.is_continuous:
                _log.warning(
                    "tensorflow_ignite: epoch %d goes on after batch %d, but its rows are read from the beginning: the "
                    "position in the dataset is not known. It is known where batch(n) follows tfi.dataset(...) or its "
                    "repeat(), and then only map, prefetch and zip, all of them in their order (no "
                    "deterministic=False), and if nothing else iterates over this dataset during fit; shuffle with "
                    "tfi.dataset(shuffle=True)",
                    *saved,
                )
            return epoch, batch
        if is_over and not rows.is_continuous:
            rows.end(self._inputs.restored(0))
            return epoch, batch
        fit.elements_left_out = left_out
        if not batch or self.params.get("steps") or keras3.is_model(self.model):
            return epoch, batch
        # An epoch without a step is an error of tf_keras.
        if left_out and fit.has_more(left_out):
            rows.resume(self._inputs.restored(0), self.checkpoint.is_on_all)
            return epoch, batch
        if left_out:
            fit.elements_left_out = 0
            rows.end(self._inputs.restored(0))
        elif not rows.ends():
            return epoch, batch
        self._steps_before += batch
        _say_end_is_left_out(epoch)
        return epoch + 1, 0

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Called by ``fit``."""
        self._forget_start()
        if self._begin_batch:
            self._metrics.restore(self.model)
        self._epoch, self._batch, self._has_stepped = epoch, self._begin_batch, False
        self._counted_batch, self._begin_batch, self._first_batch = self._first_batch, 0, 0
        for rows in self._inputs.inputs:
            rows.is_between_epochs = False

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Saves if a checkpoint is due."""
        assert self.checkpoint is not None
        self._batch, self._has_stepped, self._step_logs = batch + 1, True, logs
        for rows in self._inputs.inputs:
            rows.add(self._batch - self._counted_batch)
        self._counted_batch = self._batch
        step, is_last = self._steps_before + self._batch, self._is_whole(self._batch)
        self._report(step, draws_metrics=False)
        planned = self.checkpoint.planned_end
        if planned is not None and step != self._total_steps():
            # Again, as an earlier fit may have ended by an exception.
            planned.begin(step)
            if planned.is_due(step):
                self._save(self._epoch, self._batch)
                if not is_last or keras3.is_model(self.model):
                    planned.wait()
                # tf_keras cannot begin with the end of an epoch: its evaluation, and its callbacks.
                self._is_due = self._waits = True
                return
        if self.checkpoint.due(step):
            if is_last:
                # The epoch is over for the others only after its end.
                self._is_due = True
            else:
                self._save(self._epoch, self._batch)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Reports the metrics; a save of the epoch comes when all callbacks have ended it."""
        self._steps_before += self._batch
        self._batch = 0
        self._figures = numbers_of(logs or {})
        self._epoch = epoch + 1
        self._report(self._steps_before, draws_metrics=True)
        if not self._is_watched:
            self._after_epoch_end([])

    def on_train_end(self, logs: Any = None) -> None:
        """Saves if a step was done since the last save."""
        assert self.checkpoint is not None
        self._forget_start()
        if self._optimizer_aside is not None:
            self.model.optimizer = self._optimizer_aside
        if self._saved_position != (self._epoch, 0):
            self._save(self._epoch, 0)
        if self.checkpoint.planned_end is not None:
            self.checkpoint.planned_end.end()

    def _save(self, epoch: int, batch: int) -> None:
        assert self.checkpoint is not None
        assert self._epoch_variable is not None
        assert self._batch_variable is not None
        self._epoch_variable.assign(self._round * _ROUND + epoch)
        self._batch_variable.assign(batch)
        self._is_due = False
        for rows in self._inputs.inputs:
            rows.is_between_epochs = batch == 0
        self._metrics.take(self.model, self._step_logs or {}, has_begun=batch > 0)
        self.checkpoint.save(self._steps_before + batch)
        self._saved_position = epoch, batch

    def _report(self, step: int, *, draws_metrics: bool) -> None:
        report_figures(step, self._total_steps(), self._figures, run=self._run, draws_metrics=draws_metrics)

    def _total_steps(self) -> int | None:
        epochs, steps = self.params.get("epochs"), self.params.get("steps")
        if not epochs or not steps:
            return None
        steps = keras3.counted_steps(self.model, steps) if keras3.is_model(self.model) else steps
        # Epochs before `initial_epoch` have none; earlier rounds have further ones.
        return int(self._steps_before + (epochs - self._epoch) * steps)

    def on_test_begin(self, logs: Any = None) -> None:
        """Notes which epochs a validation begins."""
        self._epochs_before_test = [rows.next_epochs() for rows in self._inputs.inputs]

    def on_test_end(self, logs: Any = None) -> None:
        """Notes which epochs a validation has begun."""
        for rows, before in zip(self._inputs.inputs, self._epochs_before_test, strict=True):
            rows.note_others(before)

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        """Announces that the validation, which has no steps, still runs."""
        announce(VALIDATION_BATCH_SECONDS, force=False)

    # The other methods that fit, evaluate and predict call.

    def _nothing(self, *_args: Any, **_kwargs: Any) -> None:
        """Called by Keras."""

    on_batch_begin = on_batch_end = on_train_batch_begin = _nothing
    on_test_batch_begin = _nothing
    on_predict_begin = on_predict_end = on_predict_batch_begin = on_predict_batch_end = _nothing

    def _implements_train_batch_hooks(self) -> bool:
        return True

    def _implements_predict_batch_hooks(self) -> bool:
        return False

    _implements_test_batch_hooks = _implements_train_batch_hooks


def _say_end_is_left_out(epoch: int) -> None:
    _log.warning(
        "tensorflow_ignite: the process ended after the last step of epoch %d, and before its end. tf_keras has no "
        "epoch without a step: this epoch is not evaluated, and callbacks do not get its end",
        epoch,
    )
