"""Requests for profiles, on their way from the agent to the task."""

from __future__ import annotations

from pathlib import Path

from tensorflow_ignite.agent.command import CommandFile
from tensorflow_ignite.train.command import CommandReader
from tensorflow_ignite.train.profile import requested
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
