"""Processes that use ``ignite://`` in TensorFlow: many threads, forks, sudden ends, parameter servers.

Promise (files): Threads, forks and ends of processes that use `ignite://` never hang.
"""

from __future__ import annotations

import json
import os
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from python_process import START_SECONDS, lines_of, running

import tensorflow_ignite  # noqa: F401
from tensorflow_ignite.testing import LocalCluster

pytestmark = pytest.mark.full

tf = pytest.importorskip("tensorflow")
gfile = tf.io.gfile

SCRIPTS = Path(__file__).parent / "scripts"
THREADS = 16
_END = 60.0


def test_sixteen_threads_read_and_write_without_a_deadlock(cluster: LocalCluster) -> None:
    root = f"ignite://{cluster.address}/sixteen"
    gfile.makedirs(root)
    content = os.urandom(700_000)

    def work(number: int) -> None:
        for turn in range(4):
            path = f"{root}/{number}-{turn}"
            with gfile.GFile(path, "wb") as file:
                for at in range(0, len(content), 100_000):
                    file.write(content[at : at + 100_000])
            with gfile.GFile(path, "rb") as file:
                assert file.read() == content
            # The same through operations, in threads of TensorFlow's.
            assert tf.io.read_file(path).numpy() == content
            gfile.rename(path, f"{path}-done")
            assert gfile.glob(f"{root}/{number}-{turn}*") == [f"{path}-done"]

    pool = ThreadPoolExecutor(THREADS)
    working = [pool.submit(work, number) for number in range(THREADS)]
    # Meanwhile TensorFlow reads in parallel, from within its own threads.
    with tf.io.TFRecordWriter(f"{root}/records") as writer:
        for row in range(500):
            writer.write(bytes([row % 256]) * 1000)
    names = tf.data.Dataset.from_tensors(f"{root}/records").repeat(THREADS)
    records = names.interleave(tf.data.TFRecordDataset, cycle_length=THREADS, num_parallel_calls=THREADS)
    assert sum(1 for _ in records) == 500 * THREADS
    for each in working:
        each.result(timeout=START_SECONDS)
    pool.shutdown()
    assert len(gfile.listdir(root)) == THREADS * 4 + 1
    gfile.rmtree(root)


def test_forks_and_the_end_of_a_process_lose_nothing_and_hang_nowhere(cluster: LocalCluster) -> None:
    root = f"ignite://{cluster.address}/ends"
    gfile.makedirs(root + "/async")
    with socket.create_server(("127.0.0.1", 0)) as held:
        server = f"127.0.0.1:{held.getsockname()[1]}"
    place = json.dumps({"cluster": {"ps": [server]}, "task": {"type": "ps", "index": 0}})
    with running("-m", "tensorflow_ignite.train.server", TF_CONFIG=place) as ps:
        # Python says so when it is waited for in vain; the server says when it serves.
        with running("-X", "faulthandler", str(SCRIPTS / "storage_ends.py"), root, server) as process:
            lines_of(ps, "serves at")
            lines_of(process, "written elsewhere")
            rest, _ = process.communicate(timeout=_END)
        assert process.returncode == 7, rest[-4000:]
    with gfile.GFile(f"{root}/left") as file:
        assert file.read() == "never closed"
    with gfile.GFile(f"{root}/inherited") as file:
        assert file.read() == "of the parent"
    with gfile.GFile(f"{root}/by-the-server") as file:
        assert file.read() == "elsewhere"
    value = tf.Variable(tf.zeros([1000, 1000]))
    checkpoint: Any = tf.train.Checkpoint(value=value)
    checkpoint.restore(tf.train.latest_checkpoint(f"{root}/async")).assert_consumed()
    np.testing.assert_array_equal(value.numpy(), np.ones([1000, 1000]))


def test_a_process_that_is_killed_while_it_saves_leaves_the_checkpoint_before(cluster: LocalCluster) -> None:
    directory = f"ignite://{cluster.address}/killed"
    with running(str(SCRIPTS / "storage_saves.py"), directory) as process:
        lines_of(process, "in the middle of a save")
        process.send_signal(signal.SIGKILL)
        process.wait(_END)
    assert gfile.glob(f"{directory}/*_temp/*")
    latest = tf.train.latest_checkpoint(directory)
    assert latest == f"{directory}/ckpt-2"
    value = tf.Variable(tf.zeros([2000, 2000]))
    checkpoint: Any = tf.train.Checkpoint(value=value)
    checkpoint.restore(latest).expect_partial()
    # Every number in it is of one save.
    assert np.unique(value.numpy()).tolist() == [2.0]
    # The process that takes over goes on in the same place.
    manager = tf.train.CheckpointManager(checkpoint, directory, max_to_keep=2)
    manager.save()
    assert tf.train.latest_checkpoint(directory) != latest
