"""``fit`` over a cache that is written: each epoch has the rows of its time, more or fewer than the first one."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

import keras  # noqa: E402
import tf_keras  # noqa: E402
from flight_cluster import Cluster  # noqa: E402

import tensorflow_ignite as tfi  # noqa: E402
from tensorflow_ignite.data.loading.columns import table_of  # noqa: E402

pytestmark = pytest.mark.full

ROWS = (40, 100, 20, 70)


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Two nodes with the cache ``rows``."""
    cluster = Cluster.start(2)
    write(cluster, ROWS[0])
    yield cluster
    cluster.stop()


def write(cluster: Cluster, rows: int) -> None:
    """The cache has so many rows from now on."""
    cluster.add("rows", table_of({"x": np.ones(rows, np.float32), "y": np.ones(rows, np.float32)}))


@pytest.mark.parametrize("strategy", [None, "mirrored"])
@pytest.mark.parametrize("kind", [keras, tf_keras], ids=["keras3", "tf_keras"])
def test_each_epoch_of_fit_has_the_rows_of_its_time(
    cluster: Cluster, kind: Any, strategy: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    class Writes(kind.callbacks.Callback):  # type: ignore[misc]
        """Changes the number of rows after each epoch."""

        def __init__(self) -> None:
            super().__init__()
            self.batches = [0]

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            self.batches[-1] += 1

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            if epoch + 1 < len(ROWS):
                write(cluster, ROWS[epoch + 1])
                self.batches.append(0)

    rows = tfi.dataset("rows", label="y", address=cluster.address).batch(10)
    data = rows.map(lambda features, label: (features["x"][:, None], label))
    scope = tf.distribute.MirroredStrategy(["CPU:0"]) if strategy else tf.distribute.get_strategy()
    with scope.scope():
        model = kind.Sequential([kind.layers.Input([1]), kind.layers.Dense(1)])
        model.compile("sgd", "mse")
    writes = Writes()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.fit(data, epochs=len(ROWS), callbacks=[writes], verbose=0)
    assert writes.batches == [rows // 10 for rows in ROWS]
    # What finds the end of the rows is no step.
    assert int(model.optimizer.iterations.numpy()) == sum(writes.batches)
    assert not [str(warning.message) for warning in said if "ran out of data" in str(warning.message)]
    assert not [record for record in caplog.records if "ran out of data" in record.message]


@pytest.mark.parametrize("kind", [keras, tf_keras], ids=["keras3", "tf_keras"])
def test_fit_over_other_datasets_is_as_before(kind: Any) -> None:
    model = kind.Sequential([kind.layers.Input([1]), kind.layers.Dense(1)])
    model.compile("sgd", "mse")
    some = tf.data.Dataset.from_tensor_slices((np.ones((20, 1)), np.ones(20))).filter(lambda x, y: True).batch(10)
    assert len(model.fit(some, epochs=3, verbose=0).history["loss"]) == 3
    assert len(model.fit(some.repeat(), epochs=2, steps_per_epoch=3, verbose=0).history["loss"]) == 2
