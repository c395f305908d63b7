"""Promises of a job's life on real nodes: the context of its tasks, what they print, how it is stopped.

Promise (jobs): Every node returns a job's output from the first line, also after the job.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import uuid
from pathlib import Path
from typing import Any

import grpc
import psutil
import pytest
from jobs import LIMIT, PARTITIONS, ROWS, SCRIPTS, await_files, await_job, cli, environment, read

import tensorflow_ignite as tfi
from agent_harness import is_alive
from tensorflow_ignite.errors import JobFinishedError
from tensorflow_ignite.jobs.archive import pack
from tensorflow_ignite.jobs.handle import JobHandle
from tensorflow_ignite.spec import Task
from tensorflow_ignite.testing import LocalCluster
from tensorflow_ignite.testing.leaks import marked_processes
from tensorflow_ignite.v1 import job_pb2, job_pb2_grpc

# Of ours, of a parser, empty, of a shell, not ASCII: none of a launcher's business.
ARGUMENTS = ["--cache", "other", "-h", "", "a b", "$HOME", "ü", "--", "--env=X=Y"]


def dataset_variables(variables: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if name.startswith("IGNITE_DATASET_")}


def expected_dataset_variables(task: Task, cache: str) -> dict[str, str]:
    """The variables that the dataset of a task must find."""
    host, _, port = task.node_address.rpartition(":")
    found = {"IGNITE_DATASET_CACHE_NAME": cache, "IGNITE_DATASET_HOST": host, "IGNITE_DATASET_PORT": port}
    if task.partitions:
        found["IGNITE_DATASET_LOCAL"] = "true"
        found["IGNITE_DATASET_PART"] = ",".join(map(str, task.partitions))
    return found


def test_code_arguments_and_environment_reach_every_worker_and_each_knows_its_place(
    client: tfi.Client, numbered: str, tmp_path: Path
) -> None:
    job = client.submit(
        SCRIPTS / "project",
        cache=numbered,
        args=[str(tmp_path), *ARGUMENTS],
        environment=tfi.Environment(variables={"SEED": "7", "TEXT": "a = b\nc"}),
        name="a project",
        checkpoint_directory="/checkpoints/7",
    ).wait(LIMIT)
    assert job.attempt is not None
    tasks = job.attempt.tasks
    assert [task.name for task in tasks] == ["worker 0", "worker 1", "worker 2"]
    assert len({task.node_id for task in tasks}) == 3
    for task in tasks:
        found = read(tmp_path, f"worker-{task.index}.json")
        assert found["arguments"] == ARGUMENTS
        assert (found["environment"]["SEED"], found["environment"]["TEXT"]) == ("7", "a = b\nc")
        assert found["data"] == "beside the script\n"
        assert Path(found["package"]).is_relative_to(found["directory"])
        assert json.loads(found["environment"]["TF_CONFIG"]) == {
            "cluster": {"worker": [other.status.address for other in tasks]},
            "task": {"type": "worker", "index": task.index},
        }
        assert dataset_variables(found["environment"]) == expected_dataset_variables(task, numbered)
        context = found["context"]
        assert context["in_job"]
        assert (context["job_id"], context["job_name"], context["attempt"]) == (job.id, "a project", 1)
        assert (context["kind"], context["cache"]) == ("multi-worker-mirrored", numbered)
        assert (context["role"], context["index"], context["num_workers"]) == ("worker", task.index, 3)
        assert context["node_address"] == task.node_address
        assert context["checkpoint_directory"] == "/checkpoints/7"
        assert context["assignment_digest"] == job.attempt.assignment_digest
        assert [
            (worker["index"], worker["node_id"], tuple(worker["partitions"]), worker["rows"])
            for worker in context["assignment"]
        ] == [(other.index, other.node_id, other.partitions, other.status.rows) for other in tasks]
        assert sum(worker["rows"] for worker in context["assignment"]) == ROWS


def test_every_role_of_a_parameter_server_job_gets_its_role_and_index(
    client: tfi.Client, numbered: str, tmp_path: Path
) -> None:
    shutil.copytree(SCRIPTS / "project", tmp_path / "top" / "inner")
    archive = shutil.make_archive(str(tmp_path / "code"), "zip", tmp_path / "top")
    handle = client.submit(
        archive,
        script="inner/main.py",
        cache=numbered,
        strategy=tfi.ParameterServer(servers=2),
        restart=tfi.Restart(max_crashes=0),
        environment=tfi.Environment(variables={"STAY": "1"}),
        args=[str(tmp_path), *ARGUMENTS],
    )
    running = await_job(handle, lambda job: job.state == "running")
    await_files(handle, tmp_path / "client-0.json")
    assert running.attempt is not None
    tasks = running.attempt.tasks
    assert [task.name for task in tasks] == ["worker 0", "worker 1", "worker 2", "ps 0", "ps 1", "client 0"]
    cluster: dict[str, list[str]] = {"worker": [], "ps": [], "chief": []}
    for task in tasks:
        cluster["chief" if task.role == "client" else task.role].append(task.status.address)
    for task in tasks:
        assert task.status.pid is not None
        # Servers run no script; the kernel has their environment.
        variables = psutil.Process(task.status.pid).environ()
        assert json.loads(variables["TF_CONFIG"]) == {
            "cluster": cluster,
            "task": {"type": "chief" if task.role == "client" else task.role, "index": task.index},
            "rpc_layer": "grpc",
        }
        assert dataset_variables(variables) == expected_dataset_variables(task, numbered)
        context = json.loads(Path(variables["TENSORFLOW_IGNITE_CONTEXT"]).read_text())
        assert (context["role"], context.get("index", 0)) == (task.role.upper(), task.index)
        assert [tuple(worker["partitions"]) for worker in context["workers"]] == [
            other.partitions for other in tasks if other.role == "worker"
        ]
    assert read(tmp_path, "client-0.json")["arguments"] == ARGUMENTS
    assert sorted(partition for task in tasks for partition in task.partitions) == list(range(PARTITIONS))
    handle.stop(timeout=LIMIT)
    assert not any(is_alive(task.status.pid or 0) for task in tasks)


def lines_of(handle: JobHandle, **which: Any) -> dict[int, list[str]]:
    lines: dict[int, list[str]] = {}
    for line in handle.logs(**which):
        lines.setdefault(line.index, []).append(line.text)
    return lines


def test_every_node_returns_a_jobs_output_from_the_first_line_during_and_after_the_job(
    cluster: LocalCluster, client: tfi.Client, numbered: str, tmp_path: Path
) -> None:
    count = 1000
    handle = client.submit(SCRIPTS / "stay.py", cache=numbered, args=[str(tmp_path), str(count)])
    begin = {index: ["the first line", *(f"line {n} of worker {index}" for n in range(count))] for index in range(3)}
    end = {index: [*lines, "the last line"] for index, lines in begin.items()}
    follower = subprocess.Popen(
        [sys.executable, "-m", "tensorflow_ignite.cli", "logs", "-f", "--task", "worker:1", handle.id],
        env=environment(cluster.addresses[1]),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        followed: dict[int, list[str]] = {index: [] for index in begin}
        for line in handle.logs(follow=True):
            followed[line.index].append(line.text)
            if sum(map(len, followed.values())) == sum(map(len, begin.values())):
                # While the job is running; nothing has been lost, and nothing comes twice.
                assert followed == begin
                await_job(handle, lambda job: job.state == "running")
                attached = subprocess.Popen(
                    [sys.executable, "-m", "tensorflow_ignite.cli", "attach", handle.id],
                    env=environment(cluster.addresses[2]),
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
                (tmp_path / "go").touch()
        assert followed == end
        output, _ = attached.communicate(timeout=LIMIT)
        assert attached.returncode == 0
        assert sorted(output.splitlines()) == sorted(f"[worker {i}] {line}" for i in end for line in end[i])
        output, _ = follower.communicate(timeout=LIMIT)
        assert follower.returncode == 0
        assert output.splitlines() == [f"[worker 1] {line}" for line in end[1]]
    finally:
        follower.kill()
        follower.wait()
    states = set()
    for address in cluster.addresses:
        with tfi.connect(address) as other:
            same = other.job(handle.id)
            assert lines_of(same) == end
            assert lines_of(same, role="worker", index=2) == {2: end[2]}
            assert handle.id in [job.id for job in other.jobs()]
            assert len(other.nodes()) == 3
            states.add([job.state for job in same.watch(LIMIT)][-1])
    assert states == {"succeeded"}


def test_stop_returns_when_every_process_of_the_job_has_terminated(
    cluster: LocalCluster, client: tfi.Client, numbered: str, tmp_path: Path
) -> None:
    handle = client.submit(
        SCRIPTS / "stay.py", cache=numbered, args=[str(tmp_path), "1", "4"], timeouts=tfi.Timeouts(stop_grace=0.5)
    )
    files = [tmp_path / f"worker-{index}.pid" for index in range(3)]
    files += [tmp_path / f"worker-{index}-child-{number}.pid" for index in range(3) for number in range(4)]
    pids = {int(text) for text in await_files(handle, *files)}
    assert len(pids) == 15
    assert all(map(is_alive, pids))
    # The stubborn children have started others.
    pids |= {child.pid for pid in pids for child in psutil.Process(pid).children()}
    running = await_job(handle, lambda job: job.state == "running").attempt
    assert running is not None
    stop = cli("stop", handle.id[:6], address=cluster.addresses[2])
    left = {pid for pid in pids if is_alive(pid)}
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert stop.returncode == 0, stop.stderr
    assert left == set()
    assert not [process for process in marked_processes(cluster.directory) if process.task]
    for node in cluster.nodes:
        assert not any((node.task_directory).rglob(handle.id))
    for task in running.tasks:
        host, port = task.status.address.split(":")
        assert not [c for c in psutil.net_connections() if c.laddr == (host, int(port))]
    job = handle.refresh()
    assert (job.state, job.exit_code, job.cause) == ("stopped", 130, "stopped on request")
    assert job.attempt is not None
    assert {task.status.state for task in job.attempt.tasks} == {"stopped"}
    assert lines_of(handle)[0][0] == "the first line"


def test_stopping_twice_is_stopping_once_and_a_job_that_is_over_cannot_be_stopped(
    cluster: LocalCluster, client: tfi.Client, numbered: str, tmp_path: Path
) -> None:
    handle = client.submit(
        SCRIPTS / "project", cache=numbered, args=[str(tmp_path)], environment=tfi.Environment(variables={"STAY": "1"})
    )
    # Before anything runs: a job can be stopped at any time.
    assert handle.stop(wait=False).stop_requested
    assert client.job(handle.id).stop(timeout=LIMIT).state == "stopped"
    over = client.submit(SCRIPTS / "project", cache=numbered, args=[str(tmp_path)])
    over.wait(LIMIT)
    with pytest.raises(JobFinishedError, match=f"Job {over.id} is over"):
        over.stop()
    stop = cli("stop", over.id, address=cluster.address)
    assert stop.returncode == 1
    assert f"Job {over.id} is over (succeeded)" in stop.stderr


def test_a_submission_that_is_repeated_at_other_nodes_makes_one_job(
    cluster: LocalCluster, client: tfi.Client, numbered: str, tmp_path: Path
) -> None:
    first = client.submit(SCRIPTS / "meet.py", cache=numbered, args=[str(tmp_path), "a", "a"])
    archive = pack(SCRIPTS / "meet.py", None)
    request = job_pb2.SubmitJobRequest(request_id=str(uuid.uuid4()), spec=first.status.spec.to_proto())
    assert request.spec.code_digest == archive.digest
    barrier = threading.Barrier(6)
    ids: list[str] = []

    def submit(address: str) -> None:
        with grpc.insecure_channel(address) as channel:
            stub = job_pb2_grpc.NodeApiServiceStub(channel)  # type: ignore[no-untyped-call]
            grpc.channel_ready_future(channel).result(LIMIT)
            barrier.wait(LIMIT)
            ids.append(stub.SubmitJob(request, timeout=LIMIT).job.id)

    threads = [threading.Thread(target=submit, args=(address,)) for address in cluster.addresses * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ids) == 6
    assert len(set(ids)) == 1
    assert [job.id for job in client.jobs()].count(ids[0]) == 1
    assert client.job(ids[0]).wait(LIMIT).state == "succeeded"
    # Also when it is repeated late.
    submit_late = threading.Barrier(1)
    barrier = submit_late
    submit(cluster.addresses[1])
    assert set(ids) == {ids[0]}
    first.wait(LIMIT)
