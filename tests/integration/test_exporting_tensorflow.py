"""What a job exports of a model of Keras, without nodes: a SavedModel, outside of the strategy of the job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tensorflow_ignite.errors import ModelUnusableError
from tensorflow_ignite.models import loading
from tensorflow_ignite.train.exporting import _export_keras

pytestmark = pytest.mark.full

keras = pytest.importorskip("keras")
tf_keras = pytest.importorskip("tf_keras")

ROWS = np.random.default_rng(1).normal(size=[3, 4]).astype(np.float32)


def make(library: Any, kind: str) -> Any:
    """A model whose classes are not registered, and take no arguments of Keras."""

    class Block(library.layers.Layer):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.dense = library.layers.Dense(3)
            self.normal = library.layers.BatchNormalization()

        def call(self, x: Any) -> Any:
            return self.normal(self.dense(x))

    class Blocks(library.Model):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.blocks = [Block(), Block()]

        def call(self, x: Any) -> Any:
            for block in self.blocks:
                x = block(x)
            return x

    if kind == "subclass":
        return Blocks()
    inputs = library.Input([4], name="x")
    return library.Model(inputs, library.layers.Lambda(lambda x: x * 2)(library.layers.Dense(2)(inputs)))


@pytest.mark.parametrize("kind", ["subclass", "lambda"])
@pytest.mark.parametrize("library", [keras, tf_keras], ids=["keras", "tf_keras"])
def test_a_job_exports_models_that_keras_does_not_load_by_itself(library: Any, kind: str, tmp_path: Path) -> None:
    with tf.distribute.MirroredStrategy(["CPU:0"]).scope():
        model = make(library, kind)
        model.compile("sgd", "mse")
    model.fit(ROWS, ROWS[:, : 3 if kind == "subclass" else 2], verbose=0)
    expected = np.asarray(model(ROWS))
    own = [id(each.value) for each in model.variables]
    _export_keras(model, tmp_path / "model.keras", tmp_path / "saved", in_job=True)
    found = loading.load(tmp_path / "saved", "saved_model", "m")
    (spec,) = found.signatures["serving_default"].inputs
    (output,) = found.predict({spec.name: ROWS}).values()
    np.testing.assert_allclose(output, expected, atol=1e-5)
    if library is keras:
        assert [id(each.value) for each in model.variables] == own
    np.testing.assert_allclose(np.asarray(model(ROWS)), expected, atol=1e-6)


def test_an_input_whose_name_tensorflow_refuses_is_an_error_of_the_export(tmp_path: Path) -> None:
    inputs = keras.Input([4], name="my input")
    model = keras.Model(inputs, keras.layers.Dense(1)(inputs))
    with pytest.raises(ModelUnusableError, match=r"'my input'.*names of its inputs have letters"):
        _export_keras(model, tmp_path / "model.keras", tmp_path / "saved", in_job=True)
