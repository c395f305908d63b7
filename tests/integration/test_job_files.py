"""What jobs leave in the cluster's files: who may write it, how long it stays, and how it is removed. No TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import grpc
import numpy as np
import pytest
from jobs import LIMIT, SCRIPTS, await_files, cli
from waiting import await_true

import tensorflow_ignite as tfi
from tensorflow_ignite import errors
from tensorflow_ignite.storage.files import Files
from tensorflow_ignite.testing import LocalCluster, node_configuration
from tensorflow_ignite.v1 import job_pb2, job_pb2_grpc

pytestmark = pytest.mark.full

# The bean's jobRetentionHours.
RETENTION = timedelta(hours=168)


@pytest.fixture
def files(cluster: LocalCluster) -> Files:
    return Files.at(tuple(cluster.addresses))


def logs_are_stored(cluster: LocalCluster, job_id: str) -> bool:
    """Whether the output of a job is in files, and nowhere else."""
    with grpc.insecure_channel(cluster.address) as channel:
        stub = job_pb2_grpc.NodeApiServiceStub(channel)  # type: ignore[no-untyped-call]
        return bool(stub.GetJob(job_pb2.GetJobRequest(job_id=job_id), timeout=LIMIT).job.logs_stored)


def content(files: Files, path: str) -> bytes:
    with files.open_reader(path) as reader:
        return reader.read(0, reader.bytes)


def test_a_job_keeps_its_files_in_the_cluster_until_it_is_removed(
    cluster: LocalCluster, client: tfi.Client, numbered: str, files: Files, tmp_path: Path
) -> None:
    first = client.submit(SCRIPTS / "keep.py", cache=numbered, args=[str(tmp_path)])
    directory, code = f"/jobs/{first.id}", f"/code/{first.status.spec.code_digest}.zip"
    assert first.status.spec.checkpoint_directory == f"ignite://{directory}/checkpoints"
    await_files(first, tmp_path / "context-1.json")
    with pytest.raises(errors.JobNotFinishedError, match=f"Job {first.id} is not removed"):
        first.remove()
    # Another job that goes on from the checkpoints of the first.
    (folder := tmp_path / "second").mkdir()
    second = client.submit(
        SCRIPTS / "keep.py",
        cache=numbered,
        args=[str(folder)],
        checkpoint_directory=f"ignite://{cluster.address}{directory}/checkpoints",
    )
    await_files(second, folder / "context-1.json")
    (tmp_path / "go").touch()
    over = first.wait(LIMIT)
    assert over.finished_at is not None
    assert over.kept_until == over.finished_at + RETENTION
    refused = cli("rm", first.id, address=cluster.address)
    assert refused.returncode == 1
    assert f"job {second.id} keeps its checkpoints in" in refused.stderr
    assert content(files, f"{directory}/checkpoints/ckpt-1") == b"of attempt 1"
    assert content(files, code)[:2] == b"PK"
    printed = list(first.logs())
    assert f"worker 0 of job {first.id} keeps its checkpoints in {over.spec.checkpoint_directory}" in [
        line.text for line in printed
    ]
    await_true(lambda: logs_are_stored(cluster, first.id), "output is not in files")
    for index in range(3):
        of_worker = "".join(f"{line.text}\n" for line in printed if line.index == index)
        assert content(files, f"{directory}/logs/attempt-1/worker-{index}.0.log") == of_worker.encode()
    assert list(first.logs()) == list(first.logs(follow=True)) == printed
    second.stop(timeout=LIMIT)
    removed = cli("rm", first.id, address=cluster.addresses[1])
    assert (removed.returncode, removed.stderr) == (0, "")
    assert not files.exists(directory)
    with pytest.raises(errors.JobNotFoundError):
        client.job(first.id)
    # Its code is that of the other job, too.
    assert files.exists(code)
    assert second.refresh().state == "stopped"
    second.remove()


@pytest.fixture(scope="module")
def forgetful(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """A node that keeps jobs for seconds."""
    config = tmp_path_factory.mktemp("forgetful") / "node.xml"
    config.write_text(node_configuration(jobs={"retentionHours": 4 / 3600}))
    with LocalCluster(nodes=1, config=config) as cluster:
        yield cluster


def test_a_job_goes_by_itself_when_its_time_has_passed_and_one_that_runs_does_not(
    forgetful: LocalCluster, tmp_path: Path
) -> None:
    files = Files.at(tuple(forgetful.addresses))
    tfi.load("rows", {"id": np.arange(10)}, address=forgetful.address)
    with tfi.connect(forgetful.address) as client:
        folders = {name: tmp_path / name for name in ("short", "long")}
        jobs = {}
        for name, folder in folders.items():
            folder.mkdir()
            jobs[name] = client.submit(SCRIPTS / "keep.py", cache="rows", args=[str(folder)])
        for name, folder in folders.items():
            await_files(jobs[name], folder / "context-1.json")
        (folders["short"] / "go").touch()
        over = jobs["short"].wait(LIMIT)
        assert over.finished_at is not None
        assert over.kept_until is not None
        assert over.kept_until - over.finished_at == timedelta(seconds=4)
        await_true(lambda: over.id not in [job.id for job in client.jobs()], "the job is still there")
        assert [info.path for info in files.list("/jobs")] == [f"/jobs/{jobs['long'].id}"]
        assert jobs["long"].refresh().state == "running"
        assert files.exists(f"/code/{over.spec.code_digest}.zip")
        (folders["long"] / "go").touch()
        jobs["long"].wait(LIMIT)
        await_true(
            lambda: not client.jobs() and not files.list("/jobs") and not files.list("/code"), "files are still there"
        )
