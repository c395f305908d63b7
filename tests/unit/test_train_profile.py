"""Requests for profiles, on their way from the agent to the task, and the summary of one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensorflow_ignite.agent.command import CommandFile
from tensorflow_ignite.train.command import CommandReader
from tensorflow_ignite.train.profile import requested
from tensorflow_ignite.train.profile_summary import summary
from tensorflow_ignite.v1.agent_pb2 import TaskCommand, TaskProfile


def test_a_task_gets_each_of_several_requests_that_come_at_once(tmp_path: Path) -> None:
    file = CommandFile(tmp_path / "command.json")
    reader = CommandReader(str(file.path))
    assert requested(reader.read(), set()) == []
    for number in range(3):
        file.profile(TaskProfile(profile_id=f"profile-{number}", seconds=4))
    assert [each.profile_id for each in requested(reader.read(), {"profile-0"})] == ["profile-1", "profile-2"]
    for number in range(3, 100):
        file.profile(TaskProfile(profile_id=f"profile-{number}", seconds=4))
    assert [each.profile_id for each in requested(reader.read(), set())] == [f"profile-{n}" for n in range(68, 100)]


def test_a_request_of_an_agent_of_an_earlier_version_is_one() -> None:
    command = TaskCommand(profile=TaskProfile(profile_id="only"))
    assert [each.profile_id for each in requested(command, set())] == ["only"]
    assert requested(command, {"only"}) == []


def trace(*events: tuple[str, int]) -> bytes:
    """A trace of the host: names of events that follow one another, and their microseconds."""
    space = pytest.importorskip("tensorflow.tsl.profiler.protobuf.xplane_pb2").XSpace()
    plane = space.planes.add(name="/host:CPU")
    line = plane.lines.add()
    begin = 0
    for number, (name, microseconds) in enumerate(events, 1):
        plane.event_metadata[number].name = name
        line.events.add(metadata_id=number, offset_ps=begin, duration_ps=microseconds * 1_000_000)
        begin += microseconds * 1_000_000
    return space.SerializeToString()


def names(found: dict[str, object]) -> list[str]:
    return [each["name"] for each in found["operations"]]  # type: ignore[attr-defined]


def test_operations_outside_a_function_are_counted_by_their_type() -> None:
    found = summary(
        trace(
            ("EagerLocalExecute: MatMul", 30),
            ("EagerLocalExecute: IteratorGetNext", 5),
            ("EagerExecute", 40),
            ("EagerLocalExecute: __inference_train_step_12", 50),
            ("dense/MatMul:MatMul", 20),
        )
    )
    assert names(found) == ["MatMul", "dense/MatMul:MatMul"]
    assert [each["share"] for each in found["operations"]] == pytest.approx([0.6, 0.4])


@pytest.mark.parametrize("event", ["IteratorGetNextOp::DoCompute", "IteratorGetNextAsOptionalOp::DoCompute"])
def test_a_step_waits_for_its_batch_also_where_keras_runs_several_steps_in_one_call(event: str) -> None:
    assert summary(trace((event, 30), ("dense/MatMul:MatMul", 10)))["input_wait"] == pytest.approx(0.75)
    assert summary(trace(("dense/MatMul:MatMul", 10)))["input_wait"] is None
