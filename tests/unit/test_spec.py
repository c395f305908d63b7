"""Messages become plain values that users, and JSON, can read."""

import dataclasses
from datetime import timezone
from typing import get_args

import pytest
from node_api_server import running_job

from tensorflow_ignite import groups, kinds, spec
from tensorflow_ignite.base.messages import enum_text
from tensorflow_ignite.v1 import job_pb2


def test_a_specification_survives_the_way_there_and_back() -> None:
    sent = spec.JobSpec(
        name="n",
        cache="images",
        code_digest="ab" * 32,
        script="a/train.py",
        args=("-c", "", "--help", "ü"),
        checkpoint_directory="ignite:///c",
        priority=-7,
        read_rate="200MB",
        strategy=groups.Strategy("parameter-server", 2, {"rack": "b"}, {"actor": 2}, chief=True),
        workers=groups.Workers(per_node=2, gpus=1, nodes={"rack": "a"}, minimum=2),
        restart=groups.Restart(0, 7, on_join="ignore", quorum="none", allow_data_loss=True),
        timeouts=groups.Timeouts(start=1.5, first_step=0.0, stall=60.0, stop_grace=0.0, wait=60.0),
        environment=groups.Environment({"A": "1=2", "B": "", "ps:A": "1"}, "r.txt", ("a.whl",), "/python"),
        access=groups.Access(("b",), ("ignite:///models/n",), allow_plaintext=True),
        evaluator=groups.Evaluator("test", "eval.py"),
        rounds=groups.Rounds(every=600.0, when_rows=5, replay=0.5),
        prediction=groups.Prediction("out", "n:1", "ignite:///models/n"),
    )
    assert spec.JobSpec.from_proto(sent.to_proto()) == sent
    # What is not set is None, and not zero.
    plain = spec.JobSpec(cache="c", code_digest="", script="s")
    assert not plain.to_proto().timeouts.HasField("stop_grace")
    assert spec.JobSpec.from_proto(plain.to_proto()) == plain
    assert plain.restart.max_crashes is None


@pytest.mark.parametrize(
    ("message", "field", "texts"),
    [
        (job_pb2.Strategy, "kind", tuple(kinds.KINDS)),
        (job_pb2.Restart, "on_join", get_args(groups.OnJoin)),
        (job_pb2.Restart, "quorum", get_args(groups.Quorum)),
        (job_pb2.Job, "state", spec.JobState.__args__),
        (job_pb2.Task, "role", spec.ROLES),
        (job_pb2.TaskStatus, "state", spec.TaskState.__args__),
        (job_pb2.Attempt, "phase", spec.AttemptPhase.__args__),
        (job_pb2.Attempt, "cause_kind", spec.CauseKind.__args__),
    ],
)
def test_every_value_of_every_enum_has_its_text(message, field, texts) -> None:
    numbers = [value.number for value in message.DESCRIPTOR.fields_by_name[field].enum_type.values if value.number]
    assert sorted(enum_text(message(**{field: number}), field) for number in numbers) == sorted(texts)


# Classes with the names of their messages.
VIEWS = """
    JobSpec Job Event Attempt Task TaskStatus Progress Throughput
    RoundProgress Publication Gpu Node AgentInfo
"""
GROUPS = "Strategy Workers Restart Timeouts Environment Access Evaluator Rounds Prediction"


@pytest.mark.parametrize(
    ("message", "view"),
    [
        (job_pb2.ProfileTaskResponse, spec.TaskProfile),
        *((getattr(job_pb2, name), getattr(spec, name)) for name in VIEWS.split()),
        *((getattr(job_pb2, name), getattr(groups, name)) for name in GROUPS.split()),
    ],
)
def test_every_field_of_a_message_has_its_attribute(message, view) -> None:
    # What the service keeps for itself between its decisions.
    hidden = """
        request_id early_failures early_exception moved_at moved_digest moved_checkpoint_step members
        logs_stored token_digest busy_until_nanos save_requested planned_end end end_requested restored_caches
        layout idle_causes process_node_id abandoned failure
    """
    fields = {field.name for field in message.DESCRIPTOR.fields} - set(hidden.split())
    assert {field.name for field in dataclasses.fields(view)} == fields


def test_a_job_has_the_values_of_its_message() -> None:
    job = spec.Job.from_proto(running_job())
    assert (job.state, job.outcome, job.exit_code, job.is_over) == ("running", None, None, False)
    assert job.created_at is not None
    assert job.created_at.tzinfo is timezone.utc
    assert job.finished_at is None
    assert job.attempt is not None
    task = job.attempt.tasks[1]
    assert (task.name, task.status.state, task.status.pid, task.partitions) == ("worker 1", "running", 4001, (1, 2, 3))
    assert task.status.exit_code is None
    assert task.status.progress == spec.Progress(11, 40, {"loss": 0.25}, None)
    over = {"state": job_pb2.JOB_STATE_FAILED, "outcome": job_pb2.JOB_STATE_FAILED, "exit_code": 3}
    job = spec.Job.from_proto(running_job(**over))
    assert (job.is_over, job.outcome, job.exit_code) == (True, "failed", 3)
    # A state of a newer node.
    job = spec.Job.from_proto(running_job(state=77))
    assert (job.state, job.is_over) == ("unknown-77", False)


def test_a_job_prints_on_a_part_of_a_screen_however_large_it_is() -> None:
    message = running_job(cause="worker 0 exited with code 1: ValueError: " + "x" * 10_000)
    for number in range(2, 60):
        message.attempts.add(number=number, cause_kind=job_pb2.CAUSE_KIND_CRASH, cause="a\nb", last_step=number * 10)
    message.attempts[-1].tasks.extend(message.attempts[0].tasks)
    message.attempts[-1].tasks[0].partitions.extend(range(100_000))
    job = spec.Job.from_proto(message)
    lines = str(job).splitlines()
    assert lines[:4] == [
        "job 7f3a0000 running",
        "  train.py --epochs 3, cache images, multi-worker-mirrored",
        "  (54 attempts before)",
        "  attempt 55: 0 tasks, step 550, crash: a",
    ]
    assert lines[7:8] + lines[-1:] == [
        "  attempt 59: 2 tasks, step 10/40 loss=0.25, crash: a",
        "  See: tensorflow-ignite describe 7f3a0000",
    ]
    assert (len(lines), max(map(len, lines))) == (10, 200)
    assert repr(job) == "Job(id='7f3a0000', state='running', attempts=59)"
