"""Too many jobs, too much in a job, and scripts that misbehave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from arena import CACHE, JOB_SECONDS, MIB, SECONDS, Arena
from jobs import cli
from streams import PER_CONNECTION, unread

import tensorflow_ignite as tfi
from tensorflow_ignite import errors
from tensorflow_ignite.v1 import job_pb2, job_pb2_grpc

# No worker can be placed, and nobody waits: such a job fails without a process.
UNPLACEABLE: dict[str, Any] = {
    "workers": tfi.Workers(minimum=1_000),
    "timeouts": tfi.Timeouts(wait=0.001),
}


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "nothing.py"
    path.write_text("")
    return path


@pytest.mark.parametrize("count", [100_000, 1_000_000])
def test_a_job_with_too_many_arguments_is_refused_or_runs(arena: Arena, script: Path, count: int) -> None:
    with tfi.connect(arena.address) as client:
        if count > 100_000:
            with pytest.raises(errors.TensorFlowIgniteError, match=r"(at most|larger than)"):
                client.submit(script, cache=CACHE, args=["x" * 100] * count)
        else:
            handle = client.submit(script, cache=CACHE, args=["x"] * count, restart=tfi.Restart(max_crashes=0))
            assert handle.wait(JOB_SECONDS).state.lower() == "succeeded"
            handle.remove()


def test_code_of_a_gigabyte_is_refused(arena: Arena) -> None:
    digest = "0" * 64

    def chunks() -> Iterator[job_pb2.UploadCodeRequest]:
        for _ in range(1_024):
            yield job_pb2.UploadCodeRequest(digest=digest, chunk=bytes(1 << 20))

    with grpc.insecure_channel(arena.address) as channel:
        stub = job_pb2_grpc.NodeApiServiceStub(channel)
        with pytest.raises(grpc.RpcError) as refused:
            stub.UploadCode(chunks(), timeout=SECONDS)
    assert "[code=" in (refused.value.details() or "")


_FORKS = """
import os
import time
while True:
    if os.fork() == 0:
        time.sleep(100)
    # The agent, which counts them, may stand still for some seconds.
    time.sleep(0.005)
"""


def test_a_script_that_forks_without_end(arena: Arena, tmp_path: Path) -> None:
    path = tmp_path / "forks.py"
    path.write_text(_FORKS)
    with tfi.connect(arena.address) as client:
        handle = client.submit(path, cache=CACHE, restart=tfi.Restart(max_crashes=0))
        with pytest.raises(
            errors.JobFailedError, match=r"had \d+ processes.*\(tasks.processes\).*raise tasks.processes"
        ):
            handle.wait(JOB_SECONDS)
        handle.remove()


_PRINTS = """
import sys, time
for number in range(60_000):
    print(number, "x" * 993)
sys.stdout.flush()
time.sleep(5)
sys.exit(1)
"""


def test_a_script_that_prints_more_than_the_memory_in_each_attempt(arena: Arena, tmp_path: Path) -> None:
    path = tmp_path / "prints.py"
    path.write_text(_PRINTS)
    with tfi.connect(arena.address) as client:
        handle = client.submit(path, cache=CACHE, restart=tfi.Restart(max_crashes=1), name="prints")
        with pytest.raises(errors.JobFailedError):
            handle.wait(JOB_SECONDS)
        job = handle.refresh()
        assert [attempt.number for attempt in job.attempts] == [1, 2]
        kept, dropped = Counter[int](), Counter[int]()
        for line in handle.logs(role="worker"):
            kept[line.attempt] += len(line.text)
            dropped[line.attempt] += line.dropped_bytes
        # The newest output is there. A worker of an attempt may be stopped before it has printed everything.
        assert kept[1] < kept[2] < 64 * MIB
        assert kept[2] > 16 * MIB
        assert dropped[2] > 16 * MIB
        request = job_pb2.StreamLogsRequest(job_id=handle.id)
        with unread(
            arena.address, lambda channel: job_pb2_grpc.NodeApiServiceStub(channel).StreamLogs(request), 1_000
        ) as calls:
            # The first answers have arrived.
            for call in calls[::PER_CONNECTION]:
                next(call)
            arena.victim.check()
            first = next(iter(handle.logs(role="worker")))
            assert first.text or first.dropped_bytes
        handle.remove()


def test_control_characters_do_not_reach_the_terminal(arena: Arena, script: Path) -> None:
    evil = "\x1b]0;owned\x07\x1b[31m\x9b2J\r\n\u202e"
    with tfi.connect(arena.address) as client:
        with pytest.raises(errors.InvalidRequestError, match="control characters"):
            client.submit(script, cache=CACHE, name=evil)
        handle = client.submit(
            script, cache=CACHE, args=[evil], environment=tfi.Environment(variables={"X": evil}), **UNPLACEABLE
        )
        with pytest.raises(errors.JobFailedError):
            handle.wait(JOB_SECONDS)
        for command in (["ps"], ["describe", handle.id]):
            shown = cli(*command, address=arena.address)
            assert shown.returncode == 0
            assert not [character for character in shown.stdout if character in "\x1b\x07\x9b\r\u202e"]
        handle.remove()
