"""A node under messages and SQL that nobody should send: `make fuzz`, MESSAGES=n CONDITIONS=n SEED=n.

Promise (security): A node answers every malformed message and stays up.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import conditions
import messages
import psutil
import pytest
from fuzzing import fuzz

import tensorflow_ignite as tfi
from tensorflow_ignite.testing import LocalCluster

MESSAGES = int(os.environ.get("MESSAGES", "100000"))
CONDITIONS = int(os.environ.get("CONDITIONS", "20000"))
SEED = int(os.environ.get("SEED", "1"))
# A JVM takes memory as it goes, up to what its options allow; what leaks with each message goes beyond.
MOST_GROWTH = 700 * 1024 * 1024
# Of all messages together: what a node logs is limited by the minute.
MOST_TRACES = 200
# Bytes of direct memory for each message, on the average.
MOST_KEPT = 4

pytestmark = pytest.mark.timeout(3600)


def test_a_node_answers_every_message_and_stays_up(tmp_path: Path) -> None:
    with LocalCluster(nodes=1, directory=tmp_path / "cluster") as cluster:
        messages.prepare(cluster.address)
        summary = fuzz(cluster.address, cluster.nodes[0].process.pid, MESSAGES, SEED)
        with tfi.connect(cluster.address) as client:
            assert len(client.nodes()) == 1
        print(f"\nseed              {SEED}\n{summary}")
        assert not summary.unclear, summary
        assert summary.memory[1] - summary.memory[0] < MOST_GROWTH
        assert psutil.pid_exists(cluster.nodes[0].process.pid)
    log = "".join(path.read_text(errors="replace") for path in (tmp_path / "cluster").rglob("*.log"))
    traces = sum(line.startswith("\tat ") for line in log.splitlines())
    print(f"log               {len(log):,} characters, {traces:,} lines of stack traces")
    # Arrow itself keeps a buffer of some batches that it gives up half laid out.
    kept = re.search(r"buffers are still being written \[bytes=(\d+)\]", log)
    assert kept is None or int(kept[1]) < MOST_KEPT * MESSAGES
    assert log.count("SEVERE") < MOST_TRACES


def test_a_node_with_a_small_heap_answers_every_condition_and_stays_up(tmp_path: Path) -> None:
    with LocalCluster(nodes=1, directory=tmp_path / "cluster", jvm_args=["-Xmx512m", "-XX:+UseG1GC"]) as cluster:
        conditions.prepare(cluster.address)
        answers = conditions.fuzz(cluster.address, CONDITIONS, SEED)
        print(f"\nseed     {SEED}\n{answers}")
        assert not answers.unclear, answers
        assert answers.counts["rows"] > CONDITIONS / 10
        with tfi.connect(cluster.address) as client:
            assert len(client.nodes()) == 1
