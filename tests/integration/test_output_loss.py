"""Output of a job that is lost with the nodes that stored it."""

from __future__ import annotations

from pathlib import Path

import grpc
import pytest
from jobs import LIMIT, await_files, cli, kill_at_once
from waiting import await_true

import tensorflow_ignite as tfi
from tensorflow_ignite.jobs.handle import JobHandle
from tensorflow_ignite.testing import LocalCluster
from tensorflow_ignite.v1 import job_pb2, job_pb2_grpc

pytestmark = pytest.mark.full

LINES = 60
# About as much as a chunk of output holds, so that most lines are in two chunks.
LINE_BYTES = 60_000
SCRIPT = f"""
import json, os, sys, time
folder = sys.argv[1]
task = json.loads(os.environ["TF_CONFIG"])["task"]
for number in range({LINES}):
    print(number, "x" * {LINE_BYTES}, flush=True)
open(os.path.join(folder, f"printed-{{task['index']}}"), "w").write("all")
while not os.path.exists(os.path.join(folder, "go")):
    time.sleep(0.05)
"""


def output(handle: JobHandle, index: int) -> tuple[list[int], int]:
    """The numbers of the lines that one worker of the first attempt has printed, and the bytes that are lost."""
    lines = list(handle.logs(attempt=1, role="worker", index=index))
    first_words = [line.text.partition(" ")[0] for line in lines]
    return [int(word) for word in first_words if word.isdecimal()], sum(line.dropped_bytes for line in lines)


def is_archived(address: str, job_id: str) -> bool:
    with grpc.insecure_channel(address) as channel:
        stub = job_pb2_grpc.NodeApiServiceStub(channel)
        return bool(stub.GetJob(job_pb2.GetJobRequest(job_id=job_id)).job.logs_stored)


def test_output_after_a_lost_part_is_shown_with_the_size_of_the_gap(nodes: LocalCluster, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    tfi.load("output_loss", {"x": list(range(300))}, backups=2, address=nodes.address)
    with tfi.connect(nodes.address) as client:
        handle = client.submit(
            script,
            cache="output_loss",
            args=[str(tmp_path)],
            workers=tfi.Workers(minimum=1),
            restart=tfi.Restart(quorum="none"),
        )
        await_files(handle, *[tmp_path / f"printed-{index}" for index in range(3)])
        whole = {index: list(range(LINES)) for index in range(3)}
        await_true(lambda: all(output(handle, i) == (whole[i], 0) for i in whole), "output is missing", LIMIT)

        kill_at_once(nodes, nodes.nodes[1:])
        left = {index: output(handle, index) for index in range(3)}
        for numbers, lost in left.values():
            assert 0 < len(numbers) < LINES
            assert numbers == sorted(set(numbers))
            assert lost > LINE_BYTES
        shown = cli("logs", handle.id, "--attempt", "1", "--task", "worker:0", address=nodes.address)
        assert shown.returncode == 0, shown.stderr
        assert "bytes of output were dropped or lost" in shown.stdout + shown.stderr

        (tmp_path / "go").touch()
        assert handle.wait(LIMIT).state == "succeeded"
        await_true(lambda: is_archived(nodes.address, handle.id), "the output is not stored", LIMIT)
        for index, (numbers, lost) in left.items():
            # Of the node that lives on, it is now known how much its task had printed: a lost end is a gap too.
            assert output(handle, index)[0] == numbers
            assert output(handle, index)[1] >= lost
        handle.remove()
