"""Weights of classes in ``fit``, together with those of rows that only fill an epoch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

import keras  # noqa: E402
import tf_keras  # noqa: E402

import tensorflow_ignite.train  # noqa: E402, F401  installs the corrections
from tensorflow_ignite import errors  # noqa: E402
from tensorflow_ignite.data.epochs.rows_per_worker import PADDED  # noqa: E402

pytestmark = [
    pytest.mark.full,
    pytest.mark.parametrize("kind", [keras, tf_keras], ids=["keras3", "tf_keras"]),
]
X = np.linspace(-1, 1, 8, dtype=np.float32)[:, None]
LABELS = np.array([0, 1, 1, 0, 1, 0, 1, 0])
WEIGHTS = np.array([1, 1, 1, 1, 1, 1, 0, 0], np.float32)
OF_CLASS = {0: 0.5, 1: 3.0}


def rows(*columns: Any) -> Any:
    """Two batches whose number of rows TensorFlow does not know, marked as those of tfi.dataset(uneven="pad")."""
    source = tf.data.Dataset.range(1)
    setattr(source, PADDED, True)
    return source.flat_map(lambda _: tf.data.Dataset.from_tensor_slices(columns)).batch(4)


def model(kind: Any, **options: Any) -> Any:
    """A model that begins with the same weights each time."""
    inputs = kind.Input([1])
    made = kind.Model(inputs, kind.layers.Dense(1, "sigmoid", kernel_initializer="ones")(inputs))
    made.compile("sgd", "binary_crossentropy", **options)
    return made


@pytest.mark.parametrize("labels", [LABELS, LABELS[:, None], LABELS.astype(np.float32)], ids=["int", "column", "float"])
def test_class_weights_multiply_the_weights_of_rows(kind: Any, labels: Any) -> None:
    weighted, by_hand = model(kind), model(kind)
    history = weighted.fit(rows(X, labels, WEIGHTS), class_weight=OF_CLASS, epochs=2, verbose=0).history
    products = WEIGHTS * np.array([OF_CLASS[label] for label in LABELS], np.float32)
    expected = by_hand.fit(rows(X, labels, products), epochs=2, verbose=0).history
    np.testing.assert_allclose(history["loss"], expected["loss"], rtol=1e-6)
    for mine, other in zip(weighted.get_weights(), by_hand.get_weights(), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-6)


def test_class_weights_that_have_no_meaning_are_refused_with_the_remedy(kind: Any) -> None:
    several = rows(X, {"a": LABELS, "b": LABELS}, WEIGHTS)
    with pytest.raises(errors.InvalidRequestError, match=r"several labels, \{'a': 'int64', 'b': 'int64'\}.*rows.map"):
        model(kind).fit(several, class_weight=OF_CLASS, verbose=0)
    with pytest.raises(errors.InvalidRequestError, match=r"does not give weights to classes.* such as \{0: 1.0"):
        model(kind).fit(rows(X, LABELS), class_weight={"a": OF_CLASS}, verbose=0)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"metrics": ["accuracy"]}, "metrics=['accuracy']"),
        ({"weighted_metrics": ["accuracy"]}, None),
        ({}, None),
    ],
)
def test_metrics_that_count_rows_of_padding_are_named(
    kind: Any, options: dict[str, Any], named: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    made = model(kind, **options)
    made.fit(rows(X, LABELS, WEIGHTS), verbose=0)
    plain = tf.data.Dataset.from_tensor_slices((X, LABELS, WEIGHTS)).batch(4)
    assert [named in text for text in caplog.messages if "rows of padding" in text] == ([True] if named else [])
    caplog.clear()
    # Once for each model.
    made.evaluate(rows(X, LABELS, WEIGHTS), verbose=0)
    assert "rows of padding" not in caplog.text
    made = model(kind, **options)
    made.fit(plain, validation_data=rows(X, LABELS, WEIGHTS), verbose=0)
    made.evaluate(plain, verbose=0)
    assert ("rows of padding" in caplog.text) is (named is not None)
