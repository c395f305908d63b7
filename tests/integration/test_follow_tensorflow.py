"""Datasets without an end: their elements, their checkpoints, and how they are interrupted."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from jobs import LIMIT
from test_changing_rows import made, put
from waiting import await_true

tf = pytest.importorskip("tensorflow")

import tensorflow_ignite as tfi  # noqa: E402
from local_nodes import read_at  # noqa: E402
from tensorflow_ignite.testing import LocalCluster  # noqa: E402

pytestmark = pytest.mark.full

ROWS = 500


def test_batches_of_a_followed_cache_continue_from_a_checkpoint(cluster: LocalCluster, tmp_path: Path) -> None:
    cache = made(cluster, "tensors", ROWS)
    dataset = tfi.dataset(cache, columns=["id"], options=read_at(cluster), changes=tfi.Changes(follow=True))
    assert dataset.cardinality() == tf.data.INFINITE_CARDINALITY
    batches = iter(dataset.batch(100))
    found = [next(batches)["id"].numpy() for _ in range(5)]
    assert sorted(np.concatenate(found)) == list(range(ROWS))
    path = tf.train.Checkpoint(iterator=batches).save(str(tmp_path / "saved"))
    put(cluster, cache, {key: 1_000 + key for key in range(100)})
    assert sorted(next(batches)["id"].numpy()) == list(range(1_000, 1_100))
    del batches
    # As another process does, with a dataset of its own.
    again = iter(
        tfi.dataset(cache, columns=["id"], options=read_at(cluster), changes=tfi.Changes(follow=True)).batch(100)
    )
    tf.train.Checkpoint(iterator=again).restore(path)
    assert sorted(next(again)["id"].numpy()) == list(range(1_000, 1_100))


def test_fit_trains_on_rows_as_they_are_put(cluster: LocalCluster) -> None:
    cache = made(cluster, "fitted", ROWS)
    keras = pytest.importorskip("keras")
    position = tfi.position(cache, options=read_at(cluster))
    put(cluster, cache, {key: key for key in range(96)})
    rows = tfi.dataset(
        cache,
        columns=["id", "text"],
        label="id",
        options=read_at(cluster),
        changes=tfi.Changes(since=position, follow=True),
    )
    model = keras.Sequential([keras.Input([1]), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    batches = rows.batch(32).map(lambda features, label: (tf.cast(label, tf.float32)[:, None] / 1e6, label))
    history = model.fit(batches, steps_per_epoch=1, epochs=2, verbose=0)
    assert len(history.history["loss"]) == 2


LOOP = """
for number, row in enumerate(rows):
    print(number, flush=True)
"""
# An operation of a function fails, and TensorFlow makes its exception elsewhere.
FIT = """
import keras

class Counted(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        print(batch, flush=True)

model = keras.Sequential([keras.Input([1]), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(rows.map(lambda row: (row["id"][:, None], row["id"])), verbose=0, callbacks=[Counted()])
"""


def waits(pid: int) -> bool:
    """Whether no thread of a process runs in 40 samples in turn, so that it is not about to go on."""
    for _ in range(40):
        for path in Path(f"/proc/{pid}/task").glob("*/stat"):
            if path.read_text().rpartition(")")[2].split()[0] != "S":
                return False
        time.sleep(0.02)
    return True


@pytest.mark.parametrize("reads", [pytest.param(LOOP, id="loop"), pytest.param(FIT, id="fit")])
def test_ctrl_c_ends_a_wait_for_rows(cluster: LocalCluster, tmp_path: Path, reads: str) -> None:
    if reads is FIT:
        pytest.importorskip("keras")
    cache = made(cluster, f"silent_{tmp_path.name}", 10)
    script = tmp_path / "script.py"
    script.write_text(
        "import tensorflow_ignite as tfi\n"
        f"options = tfi.ReadOptions(address={cluster.address!r})\n"
        f"rows = tfi.dataset({cache!r}, columns=['id'], changes=tfi.Changes(follow=True), options=options).batch(5)\n"
        f"{reads}"
    )
    with subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert [process.stdout.readline() for _ in range(2)] == ["0\n", "1\n"]
            # An interrupt in a destructor, before it waits, would be lost.
            await_true(lambda: waits(process.pid), "it does not wait")
            process.send_signal(signal.SIGINT)
            error = process.communicate(timeout=LIMIT)[1]
        finally:
            process.kill()
    assert error.rstrip().splitlines()[-1] == "KeyboardInterrupt", error
    assert process.returncode == -signal.SIGINT
