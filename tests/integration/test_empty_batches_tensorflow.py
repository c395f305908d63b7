"""Batches without rows, or with rows of padding alone, as the last step of an epoch leaves them to a worker."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

import keras  # noqa: E402

import tensorflow_ignite.train  # noqa: E402, F401  installs the corrections

pytestmark = pytest.mark.full


@pytest.mark.parametrize("form", ["one", "list", "dict"])
def test_lists_of_a_batch_without_values_have_the_length_of_the_input(form: str) -> None:
    inputs = keras.Input([4], name="x")
    model = keras.Model({"one": inputs, "list": [inputs], "dict": {"x": inputs}}[form], keras.layers.Dense(1)(inputs))

    @tf.function(input_signature=[tf.RaggedTensorSpec([None, None], tf.float32)])
    def called(lists: Any) -> Any:
        return model({"one": lists, "list": [lists], "dict": {"x": lists}}[form])

    some = tf.RaggedTensor.from_row_splits(tf.range(8.0), [0, 4, 8])
    assert called(some[:0]).shape == [0, 1]
    empty = tf.RaggedTensor.from_row_splits(tf.zeros([0]), [0, 0, 0, 0])
    assert called(empty).numpy().tolist() == model.layers[-1](tf.zeros([3, 4])).numpy().tolist()
    assert (
        called(some).numpy().tolist()
        == model({"x": some.to_tensor()} if form == "dict" else some.to_tensor()).numpy().tolist()
    )
    # Other lengths are an error as before.
    with pytest.raises(tf.errors.InvalidArgumentError):
        called(tf.RaggedTensor.from_row_splits(tf.range(6.0), [0, 3, 6]))


@pytest.mark.parametrize("options", [{}, {"renorm": True}, {"synchronized": True}], ids=str)
def test_a_batch_without_rows_changes_nothing_by_batch_normalization(options: dict[str, Any]) -> None:
    model = keras.Sequential([keras.Input([3]), keras.layers.Dense(4), keras.layers.BatchNormalization(**options)])
    mean = model.get_layer(index=1).moving_mean
    mean.assign([0.0] * 4 if options.get("renorm") else [1.0, 2.0, 3.0, 4.0])

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
    def gradients(rows: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model(rows, training=True) ** 2)
        return tape.gradient(loss, [variable.value for variable in model.trainable_variables])

    before = model.get_weights()
    assert all(not each.numpy().any() for each in gradients(tf.zeros([0, 3])))
    for old, new in zip(before, model.get_weights(), strict=True):
        # With renorm a moving variance follows from another value.
        np.testing.assert_allclose(new, old, rtol=2e-3 if options.get("renorm") else 1e-6)
    assert any(each.numpy().any() for each in gradients(tf.random.normal([5, 3])))
    assert not np.allclose(mean, before[4])
