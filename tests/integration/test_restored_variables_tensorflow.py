"""All variables of a model of Keras 3 come out of a checkpoint, also of one that has none before its first step."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

import tensorflow_ignite as tfi  # noqa: E402
from tensorflow_ignite.errors import TensorFlowIgniteError  # noqa: E402

layers = keras.layers
# All batches are equal, so an epoch goes on with the right rows wherever it begins.
X = np.tile(np.linspace(0, 1, 20, dtype=np.float32).reshape(5, 4), (4, 1))
Y = X.sum(1)
STEPS = 4


class Attributes(keras.Model):  # type: ignore[misc]
    """Has its layers as attributes, and a seed."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden, self.dropout, self.out = layers.Dense(3), layers.Dropout(0.5), layers.Dense(1)

    def call(self, x: Any, training: bool | None = None) -> Any:
        return self.out(self.dropout(self.hidden(x), training=training))


class Lists(keras.Model):  # type: ignore[misc]
    """Has its layers in a list and a dict; one is frozen, and one has variables that are not trained."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = [layers.Dense(3, trainable=False), layers.BatchNormalization(momentum=0.5)]
        self.out = {"out": layers.Dense(1)}

    def call(self, x: Any, training: bool | None = None) -> Any:
        return self.out["out"](self.hidden[1](self.hidden[0](x), training=training))


class Eager(keras.Model):  # type: ignore[misc]
    """Cannot be built without a batch."""

    def __init__(self) -> None:
        super().__init__()
        self.out = layers.Dense(1)

    def call(self, x: Any) -> Any:
        return self.out(x * float(x.numpy().max() > 0))


class Several(keras.Model):  # type: ignore[misc]
    """Has several inputs, and weights of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden, self.out = layers.Dense(3), layers.Dense(1)

    def build(self, shapes: Any) -> None:
        self.scale = self.add_weight(shape=(3,), initializer="ones")
        self.hidden.build(shapes["a"])
        self.hidden.enable_lora(2)
        self.out.build((None, 3))
        self.built = True

    def call(self, x: Any) -> Any:
        return self.out((self.hidden(x["a"]) + self.hidden(x["b"])) * self.scale)


class Largest(keras.metrics.Metric):  # type: ignore[misc]
    """A metric that is no sum."""

    def __init__(self) -> None:
        super().__init__(name="largest")
        self._found = self.add_weight(name="found", initializer=lambda *_, **__: tf.constant(-9.0))

    def update_state(self, y: Any, predicted: Any, sample_weight: Any = None) -> None:
        self._found.assign(tf.maximum(self._found, tf.reduce_max(predicted)))

    def result(self) -> Any:
        return self._found + 0.0

    def reset_state(self) -> None:
        self._found.assign(-9.0)


class Crash(Exception):
    """In place of the end of the process."""


class Crashing(keras.callbacks.Callback):  # type: ignore[misc]
    """Ends the attempt after a number of steps."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self._left = after

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._left -= 1
        if not self._left:
            raise Crash


def rows(kind: type) -> Any:
    x = {"a": X, "b": X + 1} if kind is Several else X
    return tf.data.Dataset.from_tensor_slices((x, Y)).batch(5)


def fit(kind: type, directory: Path | None, crashes_after: int = 0) -> tuple[Any, Any]:
    """One attempt; returns its values at the end, and its logs."""
    keras.utils.set_random_seed(1)
    model: Any = kind()
    optimizer, metrics = keras.optimizers.Adam(0.05), ["mae", Largest()]
    model.compile(optimizer, "mse", metrics=metrics, run_eagerly=kind is Eager, jit_compile=False)
    checkpoints = [tfi.train.CheckpointCallback(every_steps=1, directory=str(directory))] if directory else []
    history = model.fit(rows(kind), epochs=3, verbose=0, callbacks=[*checkpoints, Crashing(crashes_after)])
    return [each.numpy().tolist() for each in (*model.variables, *model.optimizer.variables)], history.history


@pytest.mark.parametrize(
    ("kind", "after"),
    [
        (Lists, STEPS + 2),
        *(
            pytest.param(kind, after, marks=pytest.mark.full)
            for kind, after in ((Attributes, STEPS + 2), (Several, STEPS + 2), (Eager, STEPS + 2), (Lists, STEPS))
        ),
    ],
)
def test_a_model_without_weights_before_fit_ends_as_without_a_crash(kind: type, after: int, tmp_path: Path) -> None:
    with pytest.raises(Crash):
        fit(kind, tmp_path, after)
    values, logs = fit(kind, tmp_path)
    expected, expected_logs = fit(kind, None)
    assert values == expected
    # Metrics that have no variables before the first step are left out of the epoch that goes on.
    assert logs == expected_logs or kind is Eager


@pytest.mark.full
def test_metrics_that_cannot_be_restored_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(Crash):
        fit(Eager, tmp_path, 2)
    with caplog.at_level(logging.WARNING):
        fit(Eager, tmp_path)
    assert "Eager cannot make its variables before a checkpoint is restored" in caplog.text
    assert "the logs of the resumed epoch have only the steps since the restart" in caplog.text


def loop(make: Callable[[], Any], directory: str, steps: int, *, is_built: bool) -> list[float]:
    keras.utils.set_random_seed(1)
    model, optimizer = make(), keras.optimizers.Adam(0.05)
    if is_built:
        model(X[:1])
        optimizer.build(model.trainable_variables)
    checkpoint = tfi.train.checkpoint(every_steps=1, directory=directory, model=model, optimizer=optimizer)

    @tf.function  # type: ignore[untyped-decorator]
    def train() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(X, training=True)[:, 0] - Y) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    return [float(train()) for _ in checkpoint.steps(steps)]


@pytest.mark.full
@pytest.mark.parametrize(("kind", "is_built"), [(Attributes, False), (Attributes, True), (Lists, True)])
def test_a_loop_goes_on_with_all_variables_of_its_model(kind: Any, is_built: bool, tmp_path: Path) -> None:
    expected = loop(kind, "", 6, is_built=is_built)
    assert loop(kind, str(tmp_path), 3, is_built=is_built) == expected[:3]
    assert loop(kind, str(tmp_path), 6, is_built=is_built) == expected[3:]


@pytest.mark.full
def test_a_loop_whose_model_lacks_variables_of_the_checkpoint_is_refused_with_the_remedy(tmp_path: Path) -> None:
    loop(Lists, str(tmp_path), 3, is_built=False)
    with pytest.raises(TensorFlowIgniteError, match=r"has 8 variables of layers in lists .* Lists has 0\. .*build\("):
        loop(Lists, str(tmp_path), 6, is_built=False)


@pytest.mark.full
def test_variables_that_the_checkpoint_lacks_are_an_error_after_the_step_that_makes_them(tmp_path: Path) -> None:
    first = tf.Module()
    first.old = tf.Variable(1.0)
    tfi.train.checkpoint(directory=str(tmp_path), module=first).save(1)
    second = tf.Module()
    second.old = tf.Variable(0.0)
    checkpoint = tfi.train.checkpoint(directory=str(tmp_path), module=second)
    steps = checkpoint.steps(9)
    assert next(steps) == 2
    second.new = tf.Variable(0.0)
    with pytest.raises(TensorFlowIgniteError, match="cannot resume"):
        next(steps)


@pytest.mark.full
def test_values_of_the_checkpoint_that_nothing_takes_are_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = tf.Module(), tf.Module()
    first.kept, first.gone, second.kept = tf.Variable(1.0), tf.Variable(2.0), tf.Variable(0.0)
    tfi.train.checkpoint(directory=str(tmp_path), module=first).save(1)
    with caplog.at_level(logging.WARNING):
        assert list(tfi.train.checkpoint(directory=str(tmp_path), module=second).steps(3)) == [2, 3]
    named = [record.getMessage() for record in caplog.records if "no variable has taken" in record.getMessage()]
    assert [text.partition(" of it: ")[2].partition(".")[0] for text in named] == ["module/gone"]


@pytest.mark.full
@pytest.mark.parametrize("kind", [Attributes, Lists, Several])
def test_an_evaluation_has_all_variables_of_the_training(kind: Any, tmp_path: Path) -> None:
    def made() -> Any:
        model = kind()
        model.compile("adam", "mse", metrics=["mae"])
        return model

    model = made()
    model.fit(rows(kind), epochs=2, verbose=0, callbacks=[tfi.train.CheckpointCallback(directory=str(tmp_path))])
    expected = model.evaluate(rows(kind), verbose=0, return_dict=True)
    assert tfi.train.evaluate(made(), rows(kind), directory=str(tmp_path)) == expected
