"""Tasks that share a node compute with one thread for each processor together; a user's own number holds."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from agent_harness import Agent
from tensorflow_ignite.agent import control_groups, threads
from tensorflow_ignite.agent.spare_key import SpareKey, late_variables
from tensorflow_ignite.v1 import agent_pb2, job_pb2

REPORT = """
import json, os, time
print(json.dumps({name: value for name, value in os.environ.items() if name.startswith("TF_NUM_")}), flush=True)
time.sleep(600)
"""
SHARE = str(max(1, threads.processors() // 2))
THREADS = threads.VARIABLE
INTER = "TF_NUM_INTEROP_THREADS"


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    with closing(Agent(tmp_path)) as running:
        yield running


def variables(agent: Agent, job: str, task: agent_pb2.TaskKey | None = None, **fields: object) -> dict[str, str]:
    """What a task of a job, which runs on, finds in its environment."""
    agent.job = job
    before = len(agent.output)
    agent.start(REPORT, task=task, **fields)
    agent.await_events(lambda _: agent.output[before:].endswith("}\n"))
    found: dict[str, str] = json.loads(agent.output[before:])
    return found


def test_a_task_that_shares_its_node_gets_its_share_of_threads(agent: Agent) -> None:
    assert variables(agent, "first") == {}
    assert variables(agent, "second") == {THREADS: SHARE}
    for job in ("first", "second"):
        agent.job = job
        agent.stop()
    assert variables(agent, "third") == {}


def test_tasks_that_start_together_share_the_node_from_the_first_one_on(agent: Agent) -> None:
    agent.job = "later"
    agent.reserve(agent.key())
    assert variables(agent, "first") == {THREADS: SHARE}
    agent.job = "later"
    agent.stop()
    agent.job = "first"
    agent.stop()
    # Their ports are reserved, but only the worker computes.
    roles = (job_pb2.ROLE_WORKER, job_pb2.ROLE_PS, job_pb2.ROLE_CLIENT)
    agent.job = "parameter-servers"
    keys = [agent.key(role=role) for role in roles]
    agent.reserve(*keys)
    assert [variables(agent, agent.job, key) for key in keys] == [{}] * 3


@pytest.mark.parametrize("role", [job_pb2.ROLE_EVALUATOR, job_pb2.ROLE_NAMED])
def test_evaluators_and_tasks_with_roles_of_their_own_share_the_node_with_workers(agent: Agent, role: int) -> None:
    agent.job = "trained"
    keys = [agent.key(), agent.key(role=role)]
    agent.reserve(*keys)
    assert [variables(agent, agent.job, key) for key in keys] == [{THREADS: SHARE}] * 2


def test_a_task_that_has_ended_takes_no_share(agent: Agent) -> None:
    agent.job = "ended"
    agent.ended(agent.start("print('done')"))
    assert variables(agent, "next") == {}


def test_a_user_who_sets_the_number_of_threads_keeps_it(tmp_path: Path) -> None:
    with closing(Agent(tmp_path, env={THREADS: "7"})) as agent:
        assert variables(agent, "first") == {THREADS: "7"}
        assert variables(agent, "second") == {THREADS: "7"}
        own = {THREADS: "5", INTER: "6"}
        assert variables(agent, "third", spec={"environment": {"variables": own}}) == own
        assert variables(agent, "fourth", env={THREADS: "4"}) == {THREADS: "4"}


@pytest.mark.parametrize(
    ("workers", "processors", "found"), [(1, 8, None), (2, 8, 4), (3, 8, 2), (3, 2, 1), (0, 8, None)]
)
def test_tasks_have_together_one_thread_for_each_processor_and_each_has_at_least_one(
    workers: int, processors: int, found: int | None
) -> None:
    assert threads.share(workers, processors) == found


def test_processors_are_those_of_the_affinity_and_of_each_control_group(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)))
    groups = [tmp_path / "outer" / "inner", tmp_path / "outer", tmp_path]
    groups[0].mkdir(parents=True)
    monkeypatch.setattr(threads, "control_groups", lambda: groups)
    assert threads.processors() == 16
    for group, text, found in zip(groups, ("max 100000", "250000 100000", "50000 100000"), (16, 2, 1), strict=True):
        (group / "cpu.max").write_text(text + "\n")
        assert threads.processors() == found


def test_control_groups_are_those_of_this_process_up_to_the_root() -> None:
    found = control_groups.control_groups()
    assert all(inner.parent == outer for inner, outer in itertools.pairwise(found))


def test_the_number_of_threads_is_no_part_of_the_key_of_a_spare() -> None:
    nowhere = Path("/nowhere")
    few = {"MINE": "x", THREADS: "1", INTER: "1"}
    assert SpareKey.of("/python", few, nowhere) == SpareKey.of("/python", {"MINE": "x"}, nowhere)
    assert late_variables(few) == {THREADS: "1", INTER: "1"}
