"""What callbacks of ``fit`` knew survives a restart."""

from __future__ import annotations

import contextlib
import csv
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

import keras  # noqa: E402
import tf_keras  # noqa: E402

import tensorflow_ignite as tfi  # noqa: E402

pytestmark = pytest.mark.parametrize(
    "kind", [pytest.param(keras, id="keras3"), pytest.param(tf_keras, id="tf_keras", marks=pytest.mark.full)]
)
# The best is that of epoch 2: with a patience of 2, fit ends after epoch 4.
SCORES = (0.1, 0.5, 0.9, 0.3, 0.4, 0.2, 0.1, 0.1)
X = np.linspace(0, 1, 8, dtype=np.float32)[:, None]


class Crash(Exception):
    """In place of the end of the process."""


class Training:
    """One attempt of a script: a model and callbacks, made anew."""

    def __init__(self, kind: Any, folder: Path, *, crashes_at: int | None = None, first: bool = False) -> None:
        """Makes them."""
        self.epochs: list[int] = []
        self.rates: list[float] = []
        self.saved: list[int] = []
        outer = self

        class Scores(kind.callbacks.Callback):  # type: ignore[misc]
            def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
                if epoch == crashes_at:
                    raise Crash

            def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
                logs["score"] = SCORES[epoch]
                outer.epochs.append(epoch)
                outer.rates.append(float(np.asarray(self.model.optimizer.learning_rate)))

        class Best(kind.callbacks.ModelCheckpoint):  # type: ignore[misc]
            def _save_model(self, epoch: int, batch: Any, logs: Any) -> None:
                before = self.best
                super()._save_model(epoch, batch, logs)
                if self.best != before:
                    outer.saved.append(epoch)

        kind.utils.set_random_seed(7)
        inputs = kind.Input([1])
        self.model = kind.Model(inputs, kind.layers.Dense(1)(inputs))
        self.model.compile("adam", "mse")
        scored = {"monitor": "score", "mode": "max"}
        self.stopping = kind.callbacks.EarlyStopping(patience=2, restore_best_weights=True, **scored)
        best = folder / "best[1].weights.h5"
        others = [
            Scores(),
            Best(str(best), save_best_only=True, save_weights_only=True, **scored),
            self.stopping,
            kind.callbacks.ReduceLROnPlateau(factor=0.5, patience=0, min_lr=1e-6, **scored),
        ]
        checkpoints = [tfi.train.CheckpointCallback(directory=str(folder / "checkpoints"))]
        self._callbacks = checkpoints + others if first else others + checkpoints

    def fit(self) -> Any:
        history = self.model.fit(
            X, X[:, 0], batch_size=4, shuffle=False, epochs=8, verbose=0, callbacks=self._callbacks
        )
        return history.epoch, history.history["score"]


@pytest.mark.parametrize(
    ("crashes_at", "first"),
    [(3, True), *(pytest.param(*cell, marks=pytest.mark.full) for cell in ((1, True), (3, False), (4, False)))],
)
def test_callbacks_go_on_where_an_attempt_ended(kind: Any, tmp_path: Path, crashes_at: int, first: bool) -> None:
    calm = Training(kind, tmp_path / "calm", first=first)
    (tmp_path / "calm").mkdir()
    expected = calm.fit()
    assert calm.epochs == [0, 1, 2, 3, 4]
    (tmp_path / "crash").mkdir()
    ended = Training(kind, tmp_path / "crash", crashes_at=crashes_at, first=first)
    with pytest.raises(Crash):
        ended.fit()
    again = Training(kind, tmp_path / "crash", first=first)
    # The history of the whole training, too.
    assert again.fit() == expected
    assert ended.epochs + again.epochs == calm.epochs
    assert ended.rates + again.rates == calm.rates
    assert ended.saved + again.saved == calm.saved == [0, 1, 2]
    assert (again.stopping.best, again.stopping.stopped_epoch) == (0.9, 4)
    for mine, other in zip(again.model.get_weights(), calm.model.get_weights(), strict=True):
        np.testing.assert_array_equal(mine, other)
    # A training that was stopped stays stopped, and has the best weights.
    after = Training(kind, tmp_path / "crash", first=first)
    assert after.fit() == expected
    assert after.epochs == []
    np.testing.assert_array_equal(after.model.get_weights()[0], calm.model.get_weights()[0])


def model_of(kind: Any, optimizer: Any, **options: Any) -> Any:
    """A compiled model with one layer."""
    inputs = kind.Input([1])
    model = kind.Model(inputs, kind.layers.Dense(1)(inputs))
    model.compile(optimizer, "mse", **options)
    return model


def counting(kind: Any, state: Any = None, *, crashes_after: int = 0, has_methods: bool = True) -> Any:
    """A callback that counts epochs, and has a state of its own."""

    class Counts(kind.callbacks.Callback):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.epochs = 0

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            self.epochs += 1
            if self.epochs == crashes_after:
                raise Crash

    class Continued(Counts):
        def state_dict(self) -> Any:
            return {
                "epochs": self.epochs,
                "array": np.arange(3),
                "further": [None, True, 0.5, "x", (1, 2)],
                **(state or {}),
            }

        def load_state_dict(self, state: Any) -> None:
            assert state["array"].tolist() == [0, 1, 2]
            assert state["further"] == [None, True, 0.5, "x", [1, 2]]
            self.epochs = state["epochs"]

    return Continued() if has_methods else Counts()


def fit(kind: Any, folder: Path, *callbacks: Any, epochs: int = 3) -> Any:
    model = model_of(kind, "sgd")
    calls = [*callbacks, tfi.train.CheckpointCallback(directory=str(folder))]
    return model.fit(X, X, epochs=epochs, verbose=0, callbacks=calls)


@pytest.mark.full
def test_a_callback_with_a_state_goes_on_and_one_without_is_named(
    kind: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(Crash):
        fit(kind, tmp_path, counting(kind, crashes_after=2))
    assert "does not know the state" not in caplog.text
    again = counting(kind)
    fit(kind, tmp_path, again)
    # One epoch was saved; the crash came before the second was.
    assert again.epochs == 3
    ended = kind.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: None)
    fit(kind, tmp_path / "other", counting(kind, has_methods=False), ended, epochs=1)
    assert "CheckpointCallback does not know the state of Counts, LambdaCallback: after a restart" in caplog.text


@pytest.mark.full
def test_a_state_that_cannot_be_saved_is_an_error_before_the_first_step(kind: Any, tmp_path: Path) -> None:
    callback = counting(kind, {"later": lambda: None})
    with pytest.raises(tfi.errors.InvalidRequestError, match=r"callback Continued cannot be saved.*has a function"):
        fit(kind, tmp_path, callback)
    assert callback.epochs == 0


@pytest.mark.full
@pytest.mark.parametrize("first", [True, False], ids=["first", "last"])
def test_a_csv_log_has_each_epoch_once_after_a_restart(kind: Any, tmp_path: Path, first: bool) -> None:
    def attempt(crashes_after: int = 0, directory: str = "checkpoints") -> list[list[str]]:
        model = model_of(kind, "sgd")
        logger = kind.callbacks.CSVLogger(str(tmp_path / "log.csv"))
        others = [logger, counting(kind, crashes_after=crashes_after)]
        ours = [tfi.train.CheckpointCallback(directory=str(tmp_path / directory))]
        with pytest.raises(Crash) if crashes_after else contextlib.nullcontext():
            model.fit(X, X, epochs=4, verbose=0, callbacks=ours + others if first else others + ours)
        return list(csv.reader((tmp_path / "log.csv").read_text().splitlines()))

    # The line of epoch 1 is there, and the checkpoint of epoch 0.
    header, *lines = attempt(crashes_after=2)
    assert [line[0] for line in lines] == ["0", "1"]
    again = attempt()
    assert again[:2] == [header, lines[0]]
    assert [line[0] for line in again[1:]] == ["0", "1", "2", "3"]
    # Another training empties the file, as Keras does.
    assert [line[0] for line in attempt(directory="other")] == ["epoch", "0", "1", "2", "3"]
    assert [line[0] for line in attempt(directory="other")] == ["epoch", "0", "1", "2", "3"]


@pytest.mark.full
def test_a_csv_log_that_appends_has_each_epoch_once_behind_those_of_another_training(kind: Any, tmp_path: Path) -> None:
    log = tmp_path / "log.csv"

    def attempt(directory: str, crashes_after: int = 0, epochs: int = 4) -> list[str]:
        logger = kind.callbacks.CSVLogger(str(log), append=True)
        with pytest.raises(Crash) if crashes_after else contextlib.nullcontext():
            fit(kind, tmp_path / directory, logger, counting(kind, crashes_after=crashes_after), epochs=epochs)
        return [line.partition(",")[0] for line in log.read_text().splitlines()]

    assert attempt("other", epochs=2) == ["epoch", "0", "1"]
    # The line of epoch 1 is there, and the checkpoint of epoch 0.
    assert attempt("own", crashes_after=2) == ["epoch", "0", "1", "0", "1"]
    assert attempt("own") == ["epoch", "0", "1", "0", "1", "2", "3"]


@pytest.mark.full
def test_a_checkpoint_of_an_earlier_version_has_no_states_and_is_restored(kind: Any, tmp_path: Path) -> None:
    inputs = kind.Input([1])
    model = kind.Model(inputs, kind.layers.Dense(1, kernel_initializer="ones")(inputs))
    model.compile("sgd", "mse")
    model.optimizer.build(model.trainable_variables)
    objects = {"model": model, "optimizer": model.optimizer}
    numbers = {name: tf.Variable(value, dtype=tf.int64) for name, value in {"epoch": 2, "batch": 0, "step": 2}.items()}
    tf.train.Checkpoint(**objects, **numbers).save(str(tmp_path / "ckpt"))
    history = fit(kind, tmp_path)
    assert history.epoch == [2]


@pytest.mark.full
def test_a_subclass_of_a_callback_of_keras_is_named_if_it_has_attributes_of_its_own(
    kind: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Patient(kind.callbacks.EarlyStopping):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(monitor="loss")
            self.bonus = 1

    class Plain(kind.callbacks.EarlyStopping):  # type: ignore[misc]
        pass

    class Writer(kind.callbacks.TensorBoard):  # type: ignore[misc]
        pass

    class Rates(kind.callbacks.LearningRateScheduler):  # type: ignore[misc]
        pass

    rates = Rates(lambda epoch, rate: rate)
    callbacks = [Patient(), Plain(monitor="loss"), Writer(str(tmp_path / "logs")), rates]
    fit(kind, tmp_path, *callbacks)
    assert "does not know the state of Patient:" in caplog.text


@pytest.mark.full
def test_backup_and_restore_of_keras_beside_ours_is_refused_with_the_remedy(kind: Any, tmp_path: Path) -> None:
    backup = kind.callbacks.BackupAndRestore(str(tmp_path / "backup"))
    with pytest.raises(tfi.errors.InvalidRequestError, match=r"CheckpointCallback and BackupAndRestore\. .* Remove"):
        fit(kind, tmp_path, backup)
    assert not list(tmp_path.glob("ckpt*"))


def test_a_scheduler_changes_the_learning_rate_once_in_an_epoch_that_goes_on(kind: Any, tmp_path: Path) -> None:
    rates: list[float] = []

    def attempt(crashes_after: int | None) -> None:
        class Rates(kind.callbacks.Callback):  # type: ignore[misc]
            def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
                rates.append(float(np.asarray(self.model.optimizer.learning_rate)))
                if len(rates) == crashes_after:
                    raise Crash

        model = model_of(kind, kind.optimizers.SGD(1.0))
        halved = kind.callbacks.LearningRateScheduler(lambda epoch, rate: rate / 2)
        ours = tfi.train.CheckpointCallback(every_steps=1, directory=str(tmp_path))
        model.fit(X, X, batch_size=4, epochs=3, verbose=0, callbacks=[ours, Rates(), halved])

    with pytest.raises(Crash):
        attempt(3)
    attempt(None)
    assert rates == [0.5, 0.5, 0.25, 0.25, 0.125, 0.125]


@pytest.mark.full
@pytest.mark.parametrize("first", [True, False], ids=["first", "last"])
def test_a_callback_that_counts_batches_goes_on_with_the_last_batch_of_the_checkpoint(
    kind: Any, tmp_path: Path, first: bool
) -> None:
    def attempt(crashes_after: int | None) -> int:
        class Counts(kind.callbacks.Callback):  # type: ignore[misc]
            count = 0

            def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
                self.count += 1

            def state_dict(self) -> Any:
                return {"count": self.count}

            def load_state_dict(self, state: Any) -> None:
                self.count = state["count"]

        class Ends(kind.callbacks.Callback):  # type: ignore[misc]
            def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
                if counts.count == crashes_after:
                    raise Crash

        model = model_of(kind, "sgd")
        counts = Counts()
        ours = tfi.train.CheckpointCallback(every_steps=1, directory=str(tmp_path))
        callbacks = [ours, counts] if first else [counts, ours]
        with pytest.raises(Crash) if crashes_after else contextlib.nullcontext():
            model.fit(X, X, batch_size=2, epochs=2, verbose=0, callbacks=[*callbacks, Ends()])
        return int(counts.count)

    assert attempt(3) == 3
    assert attempt(6) == 6
    assert attempt(None) == 8


class PlannedEnd:
    """Requests a planned end after a step; the process ends when it waits."""

    def __init__(self, step: int) -> None:
        self.step = step

    def begin(self, step: int) -> None:
        pass

    def is_due(self, step: int) -> bool:
        return step == self.step

    def wait(self) -> None:
        raise Crash

    def end(self) -> None:
        pass


@pytest.mark.full
@pytest.mark.parametrize(("is_data", "executions"), [(True, 1), (False, 3)], ids=["dataset", "arrays"])
def test_a_planned_end_after_the_last_step_of_an_epoch_loses_neither_its_evaluation_nor_its_callbacks(
    kind: Any, tmp_path: Path, is_data: bool, executions: int
) -> None:
    def attempt(planned: int | None, directory: str) -> tuple[list[tuple[int, dict[str, float]]], Any]:
        ends: list[tuple[int, dict[str, float]]] = []

        class Ends(kind.callbacks.Callback):  # type: ignore[misc]
            def on_train_begin(self, logs: Any = None) -> None:
                ours.checkpoint.planned_end = planned and PlannedEnd(planned)

            def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
                ends.append((epoch, {name: float(value) for name, value in logs.items()}))

        kind.utils.set_random_seed(7)
        model = model_of(kind, "sgd", steps_per_execution=executions)
        ours: Any = tfi.train.CheckpointCallback(every_steps=1000, directory=str(tmp_path / directory))
        rows: Any = tf.data.Dataset.from_tensor_slices((X, X)).repeat().batch(2)
        data = {"x": rows, "steps_per_epoch": 4} if is_data else {"x": X, "y": X, "batch_size": 2, "shuffle": False}
        with pytest.raises(Crash) if planned else contextlib.nullcontext():
            model.fit(**data, epochs=3, verbose=0, callbacks=[ours, Ends()], validation_data=(X, X))
        return ends, model.get_weights()

    # Keras 3 counts whole executions.
    steps = 6 if executions == 3 and kind is keras else 4
    calm, weights = attempt(None, "calm")
    ended = attempt(steps, "ended")[0] + attempt(2 * steps, "ended")[0]
    again, other = attempt(None, "ended")
    assert [epoch for epoch, _ in ended + again] == [0, 1, 2]
    assert ended + again == [(epoch, pytest.approx(logs)) for epoch, logs in calm]
    for mine, theirs in zip(other, weights, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.full
def test_a_fit_after_one_that_has_failed_begins_with_its_own_first_epoch(kind: Any, tmp_path: Path) -> None:
    model = model_of(kind, "sgd")
    for _ in range(2):
        # The second one goes on after the first epoch.
        crash = counting(kind, has_methods=False, crashes_after=2)
        ours = tfi.train.CheckpointCallback(directory=str(tmp_path))
        with pytest.raises(Crash):
            model.fit(X, X, epochs=8, verbose=0, callbacks=[ours, crash])
    assert model.fit(X, X, epochs=2, verbose=0).epoch == [0, 1]


@pytest.mark.full
def test_a_csv_log_keeps_its_columns_after_a_restart(kind: Any, tmp_path: Path) -> None:
    """The first epoch has no evaluation, and the one that goes on has."""

    def attempt(crashes_after: int = 0) -> Any:
        logger = kind.callbacks.CSVLogger(str(tmp_path / "log.csv"))
        rates = kind.callbacks.LearningRateScheduler(lambda epoch, rate: rate / 2)
        ours = tfi.train.CheckpointCallback(directory=str(tmp_path / "checkpoints"))
        callbacks = [rates, logger, counting(kind, crashes_after=crashes_after), ours]
        model = model_of(kind, kind.optimizers.SGD(0.5))
        with pytest.raises(Crash) if crashes_after else contextlib.nullcontext():
            model.fit(X, X, epochs=4, verbose=0, callbacks=callbacks, validation_data=(X, X), validation_freq=2)
        return model.history.history

    attempt(2)
    history = attempt()
    lines = list(csv.DictReader((tmp_path / "log.csv").read_text().splitlines()))
    assert [float(line["val_loss"]) for line in lines[1::2]] == pytest.approx(history["val_loss"])
    assert [float(line["loss"]) for line in lines] == pytest.approx(history["loss"])


@pytest.mark.full
def test_each_epoch_is_saved_although_the_callbacks_of_keras_are_not_corrected(kind: Any, tmp_path: Path) -> None:
    script = f"""
import os
import {kind.__name__} as keras
import numpy as np
import tensorflow_ignite as tfi
class Ends(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 2:
            os._exit(7)
inputs = keras.Input([1])
model = keras.Model(inputs, keras.layers.Dense(1)(inputs))
model.compile("sgd", "mse")
ours = tfi.train.CheckpointCallback(directory={str(tmp_path)!r})
model.fit(np.ones([4, 1]), np.ones([4, 1]), epochs=3, verbose=0, callbacks=[ours, Ends()])
"""
    environment = {**os.environ, "TENSORFLOW_IGNITE_CORRECTIONS": "-callback-states"}
    ended = subprocess.run([sys.executable, "-c", script], env=environment, check=False)
    assert ended.returncode == 7
    assert sorted(path.name for path in tmp_path.glob("*.index")) == ["ckpt-1.index", "ckpt-2.index"]


class Rows:
    """In place of the rows of a cache: counts the steps that have used some."""

    is_continuous = is_between_epochs = False

    def __init__(self) -> None:
        self.steps = 0

    def positions(self) -> None:
        return None

    def resume(self, *_: Any) -> int:
        return 0

    def ends(self) -> bool:
        return False

    def add(self, steps: int) -> None:
        self.steps += steps


@pytest.mark.full
def test_the_rows_of_each_step_are_counted_although_a_restart_changes_the_steps_of_an_execution(
    kind: Any, tmp_path: Path
) -> None:
    def attempt(executions: int, crashes_after: int | None) -> tuple[Any, Rows]:
        class Ends(kind.callbacks.Callback):  # type: ignore[misc]
            def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
                if batch + 1 == crashes_after:
                    raise Crash

        model = model_of(kind, "sgd", steps_per_execution=executions)
        ours, rows = tfi.train.CheckpointCallback(every_steps=1, directory=str(tmp_path)), Rows()
        ours._inputs.inputs.append(rows)  # type: ignore[arg-type]
        with pytest.raises(Crash) if crashes_after else contextlib.nullcontext():
            model.fit(X, X, batch_size=1, epochs=1, verbose=0, callbacks=[ours, Ends()])
        return int(np.asarray(model.optimizer.iterations)), rows

    assert attempt(1, 5)[0] == 5
    done, rows = attempt(4, None)
    assert done - 5 == rows.steps
