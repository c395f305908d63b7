"""The context of a task, and of a process outside any job."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tensorflow_ignite import errors, train
from tensorflow_ignite.task import WorkerAssignment
from tensorflow_ignite.train.context import Context


@pytest.fixture(autouse=True)
def _outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TENSORFLOW_IGNITE_CONTEXT", "TENSORFLOW_IGNITE_PROGRESS", "IGNITE_DATASET_CACHE_NAME"):
        monkeypatch.delenv(name, raising=False)


def in_job(rows: list[int], kind: str = "multi-worker-mirrored") -> Context:
    """A job's context with these numbers of rows of the workers."""
    workers = tuple(WorkerAssignment(index, f"n{index}", (index,), count) for index, count in enumerate(rows))
    return Context(in_job=True, job_id="7f3a", kind=kind, cache="c", assignment=workers, num_workers=len(rows))


def test_outside_a_job_the_context_is_that_of_one_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    context = train.context(cache="digits")
    assert (context.in_job, context.role, context.index, context.num_workers) == (False, "worker", 0, 1)
    assert context.cache == "digits"
    assert context.own_assignment is None
    monkeypatch.setenv("IGNITE_DATASET_CACHE_NAME", "named")
    assert train.context().cache == "named"


@pytest.mark.parametrize("role", ["WORKER", "CLIENT"])
def test_a_task_reads_the_context_that_its_job_wrote(
    role: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields: dict[str, Any] = {
        "jobId": "7f3a",
        "attempt": 2,
        "role": role,
        "index": 1,
        "cache": "digits",
        "nodeAddress": "127.0.0.1:10821",
        "checkpointDirectory": "/c",
        "workers": [
            {"index": 1, "nodeId": "b", "partitions": [1, 3], "rows": "7"},
            {"nodeId": "a", "partitions": [0, 2], "rows": "5"},
        ],
        "assignmentDigest": "d1",
        "jobName": "digits",
        "kind": "PARAMETER_SERVER",
        "somethingOfALaterVersion": 1,
    }
    path = tmp_path / "context.json"
    path.write_text(json.dumps(fields))
    monkeypatch.setenv("TENSORFLOW_IGNITE_CONTEXT", str(path))
    context = train.context(cache="ignored in a job")
    assert context == Context(
        in_job=True,
        job_id="7f3a",
        job_name="digits",
        attempt=2,
        role=role.lower(),
        index=1,
        kind="parameter-server",
        cache="digits",
        node_address="127.0.0.1:10821",
        assignment=(WorkerAssignment(0, "a", (0, 2), 5), WorkerAssignment(1, "b", (1, 3), 7)),
        assignment_digest="d1",
        checkpoint_directory="/c",
        num_workers=2,
    )
    own = context.own_assignment
    assert (own.partitions if own else None) == ((1, 3) if role == "WORKER" else None)


@pytest.mark.parametrize("text", [None, "", "{", '{"attempt": "two"}'])
def test_the_error_of_an_unreadable_context_names_the_file(
    text: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "context.json"
    if text is not None:
        path.write_text(text)
    monkeypatch.setenv("TENSORFLOW_IGNITE_CONTEXT", str(path))
    with pytest.raises(errors.TensorFlowIgniteError, match=r"context\.json"):
        train.context()


@pytest.mark.parametrize(
    ("rows", "batch", "uneven", "steps"),
    [
        ([100, 100], 20, "repeat", 10),
        ([100, 101], 20, "repeat", 11),
        ([100, 1], 20, "repeat", 10),
        ([100, 101], 20, "drop", 10),
        ([100, 101], 20, "pad", 11),
        ([100, 0], 20, "pad", 10),
        ([100, 9], 16, "drop", 1),
        ([100, 100, 100], 64, "repeat", 5),
        ([100, 100, 100], 64, "drop", 4),
    ],
)
def test_collective_workers_take_equal_steps_over_unequal_rows(
    rows: list[int], batch: int, uneven: Any, steps: int
) -> None:
    assert in_job(rows).steps_per_epoch(batch, uneven) == steps


def test_steps_of_parameter_servers_are_batches_over_all_rows() -> None:
    context = in_job([100, 31], "parameter-server")
    assert context.steps_per_epoch(20) == 7
    assert context.steps_per_epoch(20, "drop") == 6


def test_steps_that_cannot_be_are_refused_with_the_reason() -> None:
    with pytest.raises(errors.TensorFlowIgniteError, match=r"worker 1 has no row .* \[3, 0\]"):
        in_job([3, 0]).steps_per_epoch(2)
    with pytest.raises(errors.TensorFlowIgniteError, match="leaves no step"):
        in_job([300, 3]).steps_per_epoch(20, "drop")
    with pytest.raises(ValueError, match="must be at least 2"):
        in_job([3, 3]).steps_per_epoch(1)
    with pytest.raises(ValueError, match="uneven='fill' is unknown"):
        in_job([3, 3]).steps_per_epoch(2, "fill")  # type: ignore[arg-type]
    with pytest.raises(errors.TensorFlowIgniteError, match="Name it"):
        Context().steps_per_epoch(2)


def test_importing_train_and_data_imports_nothing_heavy() -> None:
    program = (
        "import sys, tensorflow_ignite.train, tensorflow_ignite.data\n"
        "tensorflow_ignite.train.CheckpointCallback(every_steps=5)\n"
        "heavy = ('tensorflow', 'keras', 'tf_keras', 'pyarrow', 'grpc', 'jpype', 'numpy')\n"
        "print([name for name in heavy if name in sys.modules])\n"
        "from tensorflow_ignite.data.schema_argument import parse_schema\n"
        "parse_schema({'a': 'int8'})\n"
        "print('tensorflow' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", "False"]
