"""Batches without rows, as the last step of an epoch leaves them to a worker."""

from __future__ import annotations

from typing import Any

import pytest

tf = pytest.importorskip("tensorflow")

import keras  # noqa: E402

import tensorflow_ignite as tfi  # noqa: E402, F401

pytestmark = pytest.mark.full


@pytest.mark.parametrize("form", ["one", "list", "dict"])
def test_lists_of_a_batch_without_rows_have_the_length_of_the_input(form: str) -> None:
    inputs = keras.Input([4], name="x")
    model = keras.Model({"one": inputs, "list": [inputs], "dict": {"x": inputs}}[form], keras.layers.Dense(1)(inputs))

    @tf.function(input_signature=[tf.RaggedTensorSpec([None, None], tf.float32)])
    def called(lists: Any) -> Any:
        return model({"one": lists, "list": [lists], "dict": {"x": lists}}[form])

    some = tf.RaggedTensor.from_row_splits(tf.range(8.0), [0, 4, 8])
    assert called(some[:0]).shape == [0, 1]
    assert (
        called(some).numpy().tolist()
        == model({"x": some.to_tensor()} if form == "dict" else some.to_tensor()).numpy().tolist()
    )
    # Other lengths are an error as before.
    with pytest.raises(tf.errors.InvalidArgumentError):
        called(tf.RaggedTensor.from_row_splits(tf.range(6.0), [0, 3, 6]))
