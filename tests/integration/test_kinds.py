"""Every kind of job with every way to train, on three nodes; roles, placement and variables of tasks."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jobs import LIMIT, SCRIPTS, await_job, read

import tensorflow_ignite as tfi
from local_nodes import GIVES_UP_AFTER_A_MINUTE
from tensorflow_ignite.errors import InvalidRequestError, JobFailedError, NoAgentError
from tensorflow_ignite.kinds import JobKind
from tensorflow_ignite.spec import Job
from tensorflow_ignite.testing import LocalCluster, node_configuration

pytest.importorskip("keras")

EXAMPLES = Path(__file__).parents[2] / "examples"
LINE = "points_of_a_line"
PARTITIONS = 64
ROWS = 480
# Kinds of one process; test_kinds_lost_node_tensorflow.py and test_kinds_keras.py have the others.
CELLS: list[tuple[JobKind, str]] = [("mirrored", "tf_keras"), ("one", "loop"), ("central-storage", "keras")]
RACK = """<property name="userAttributes"><map>
  <entry key="rack" value="#{systemEnvironment['RACK']}"/></map></property>"""


@pytest.fixture(scope="module")
def line(cluster: LocalCluster) -> str:
    """A cache with points of the line y = 2 x + 1."""
    x = np.random.default_rng(0).random(ROWS, np.float32)
    tfi.load(LINE, {"x": x, "y": 2 * x + 1}, partitions=PARTITIONS, address=cluster.address)
    return LINE


def succeed(client: tfi.Client, script: str, **options: Any) -> Job:
    job = client.submit(SCRIPTS / script, **options).wait(timeout=LIMIT)
    assert job.state == "succeeded"
    return job


@pytest.mark.full
@pytest.mark.parametrize(("kind", "library"), CELLS)
def test_each_kind_trains_in_each_way(
    client: tfi.Client, line: str, tmp_path: Path, kind: JobKind, library: str
) -> None:
    succeed(client, "train_kind.py", cache=line, strategy=kind, args=[str(tmp_path), library])
    (found,) = tmp_path.glob("*.json")
    weights, _ = read(tmp_path, found.name)
    np.testing.assert_allclose(weights, [2, 1], atol=0.2)


@pytest.mark.full
def test_the_example_of_parameter_servers_recognises_digits(cluster: LocalCluster, client: tfi.Client) -> None:
    pixels, label = pytest.importorskip("sklearn.datasets").load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(label))
    for cache, rows in {"handwritten": order[:1437], "handwritten_test": order[1437:]}.items():
        data = {"pixels": pixels[rows].astype(np.uint8), "label": label[rows]}
        tfi.load(cache, data, if_exists="replace", address=cluster.address)
    script, kind = EXAMPLES / "digits_ps.py", "parameter-server"
    handle = client.submit(script, cache="handwritten", strategy=kind, args=["--epochs", "12"])
    job = handle.wait(timeout=LIMIT)
    assert job.progress.step == job.progress.total_steps > 0
    (accuracy,) = [line.text for line in handle.logs() if line.text.startswith("test accuracy=")]
    assert float(accuracy.partition("=")[2]) >= 0.9


@pytest.mark.full
@pytest.mark.parametrize(
    ("kind", "arguments", "reason"),
    [
        ("multi-worker-mirrored", ["keras", "none"], "trains under MultiWorkerMirroredStrategy.*--strategy custom"),
        ("parameter-server", ["keras"], "cannot train under ParameterServerStrategy. Only fit of tf_keras"),
    ],
)
def test_a_script_that_cannot_train_under_its_kind_fails_at_once(
    client: tfi.Client, line: str, tmp_path: Path, kind: JobKind, arguments: list[str], reason: str
) -> None:
    handle = client.submit(
        SCRIPTS / "train_kind.py",
        cache=line,
        strategy=kind,
        args=[str(tmp_path), *arguments],
        restart=tfi.Restart(max_crashes=0),
    )
    with pytest.raises(JobFailedError, match=reason):
        handle.wait(timeout=LIMIT)


@pytest.mark.full
def test_a_job_goes_on_without_an_evaluator_that_fails(client: tfi.Client, line: str, tmp_path: Path) -> None:
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "main.py").write_text((SCRIPTS / "train_kind.py").read_text())
    (folder / "evaluate.py").write_text("raise RuntimeError('broken on purpose')")
    job = client.submit(
        folder,
        cache=line,
        args=[str(tmp_path), "loop"],
        restart=tfi.Restart(max_crashes=0),
        evaluator=tfi.Evaluator(script="evaluate.py"),
    ).wait(timeout=LIMIT)
    assert (job.state, len(job.attempts), job.crashes) == ("succeeded", 1, 0)
    assert "broken on purpose" in job.attempt.tasks[-1].status.error
    assert "and the training goes on" in " ".join(event.text for event in job.events)


def test_a_custom_job_has_roles_of_its_own_several_workers_a_node_and_variables_by_role(
    client: tfi.Client, line: str, tmp_path: Path
) -> None:
    job = succeed(
        client,
        "show_task.py",
        cache=line,
        strategy=tfi.Custom(chief=True, roles={"reader": 1, "actor": 2}),
        workers=tfi.Workers(per_node=2),
        environment=tfi.Environment({"TEST_ALL": "1", "actor:TEST_ROLE": "actor", "worker:TEST_ROLE": "worker"}),
        args=[str(tmp_path)],
    )
    names = [f"worker {index}" for index in range(6)] + ["actor 0", "actor 1", "reader 0"]
    assert [task.name for task in job.attempt.tasks] == names
    found = {name: read(tmp_path, f"{name.replace(' ', '-')}.json") for name in names}
    partitions = [found[name]["partitions"] for name in names[:6]]
    assert sorted(itertools.chain.from_iterable(partitions)) == list(range(PARTITIONS))
    assert len({found[name]["node"] for name in names[:6]}) == 3
    assert [found[name]["partitions"] for name in names[6:]] == [None] * 3
    cluster = found["actor 1"]["config"]["cluster"]
    assert {role: len(addresses) for role, addresses in cluster.items()} == {
        "chief": 1,
        "worker": 5,
        "reader": 1,
        "actor": 2,
    }
    assert len(set(itertools.chain.from_iterable(cluster.values()))) == 9
    tasks = [found[name]["config"]["task"] for name in ("worker 0", "worker 1", "actor 1")]
    assert tasks == [{"type": "chief", "index": 0}, {"type": "worker", "index": 0}, {"type": "actor", "index": 1}]
    assert [name for name in names if found[name]["chief"]] == ["worker 0"]
    assert [found[name]["env"] for name in ("worker 5", "actor 0")] == [
        {"TEST_ALL": "1", "TEST_ROLE": "worker"},
        {"TEST_ALL": "1", "TEST_ROLE": "actor"},
    ]
    assert not any(found[name]["tensorflow"] for name in names)
    handle = client.job(job.id)
    assert {line.task for line in handle.logs()} == set(names)
    assert {line.task for line in handle.logs(role="actor")} == {"actor 0", "actor 1"}
    assert {str(line) for line in handle.logs(role="actor", index=1)} == {"[actor 1] done"}
    with pytest.raises(InvalidRequestError, match=r"role 'actors' does not exist.*actor"):
        handle.logs(role="actors")
    earlier = found["worker 2"]["earlier"]
    assert json.loads(earlier[0]) == cluster
    assert json.loads(earlier[1])[:2] == ["/job:chief/task:0", "/job:worker/task:0"]
    assert earlier[2] == f"grpc://{cluster['chief'][0]}"


@pytest.mark.full
@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"workers": tfi.Workers(per_node=-1)}, r"workers\.per_node is -1\. It is a number from 1 to 64"),
        (
            {"workers": tfi.Workers(nodes={"rack": "nowhere"})},
            r"workers\.nodes cannot be met: no node has the attribute rack=nowhere",
        ),
        # Not the text of a value that is not there.
        ({"workers": tfi.Workers(nodes={"shelf": "null"})}, "no node has the attribute shelf=null"),
        ({"strategy": "horovod"}, "custom"),
        (
            {"evaluator": tfi.Evaluator(), "environment": tfi.Environment({"evaluation:A": "1"})},
            "has here: evaluator, worker",
        ),
    ],
)
def test_what_a_kind_has_not_is_an_error_before_anything_starts(
    client: tfi.Client, line: str, options: dict[str, Any], rule: str
) -> None:
    with pytest.raises(InvalidRequestError, match=rule):
        client.submit(SCRIPTS / "show_task.py", cache=line, **options)


@pytest.mark.full
def test_workers_have_gpus_of_their_own_on_the_nodes_that_have_them(
    tmp_path: Path, tolerant: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Numbers that limit a node: nothing of this needs the GPUs themselves.
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with LocalCluster(nodes=1, config=tolerant) as nodes:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1,2")
        nodes.start_node()
        # Enough for each node to own some for two workers.
        tfi.load("pictures", {"id": np.arange(64)}, partitions=64, address=nodes.addresses[0])
        with tfi.connect(nodes.addresses[0]) as client:
            assert sorted(len(node.gpus) for node in client.nodes()) == [0, 3]
            options: dict[str, Any] = {"cache": "pictures", "strategy": "custom"}
            job = succeed(client, "show_task.py", args=[str(tmp_path)], workers=tfi.Workers(2, gpus=1), **options)
            assert [task.status.gpus for task in job.attempt.tasks] == [("0",), ("1",)]
            assert {task.node_address for task in job.attempt.tasks} == {nodes.addresses[1]}
            found = [read(tmp_path, f"worker-{index}.json") for index in range(2)]
            assert [each["visible"] for each in found] == ["0", "1"]
            assert sorted(found[0]["partitions"] + found[1]["partitions"]) == list(range(64))
            holder = client.submit(
                SCRIPTS / "stay.py", args=[str(tmp_path), "0"], workers=tfi.Workers(2, gpus=2), **options
            )
            await_job(holder, lambda job: job.state == "running")
            waiting = client.submit(
                SCRIPTS / "show_task.py", args=[str(tmp_path)], workers=tfi.Workers(2, gpus=2), **options
            )
            await_job(waiting, lambda job: "(2 of 3 GPUs, 2 more needed)" in job.waiting_for)
            with pytest.raises(InvalidRequestError, match=r"workers\.gpus is 4, and no node .* more than 3 GPUs"):
                client.submit(SCRIPTS / "show_task.py", workers=tfi.Workers(2, gpus=4), **options)
            with pytest.raises(InvalidRequestError, match=r"Set workers\.gpus in its place"):
                client.submit(
                    SCRIPTS / "show_task.py",
                    environment=tfi.Environment(variables={"CUDA_VISIBLE_DEVICES": "0"}),
                    **options,
                )
            holder.stop()
            assert waiting.wait(timeout=LIMIT).attempt.tasks[0].status.gpus == ("0", "1")
            # A task without GPUs sees none, on any node.
            succeed(client, "show_task.py", args=[str(tmp_path)], workers=tfi.Workers(2), **options)
            assert [read(tmp_path, f"worker-{index}.json")["visible"] for index in range(4)] == [""] * 4


@pytest.mark.full
def test_nodes_of_an_attribute_run_the_tasks_and_read_what_others_own_which_need_no_tensorflow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "node.xml"
    config.write_text(node_configuration(node=RACK + GIVES_UP_AFTER_A_MINUTE, timeouts={"leaseSeconds": 20}))
    without = tmp_path / "without"
    without.mkdir()
    (without / "sitecustomize.py").write_text("import sys\nsys.modules['tensorflow'] = None\n")
    monkeypatch.setenv("RACK", "with")
    with LocalCluster(nodes=1, config=config) as nodes:
        monkeypatch.setenv("RACK", "servers")
        nodes.start_node()
        monkeypatch.setenv("RACK", "without")
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(without), os.environ.get("PYTHONPATH", "")]))
        nodes.start_node()
        x = np.linspace(0, 1, 64, dtype=np.float32)
        tfi.load("racks", {"x": x, "y": 2 * x + 1}, partitions=64, address=nodes.address)
        options: dict[str, Any] = {"cache": "racks", "args": [str(tmp_path)]}
        with tfi.connect(nodes.address) as client:
            with pytest.raises(NoAgentError, match=r"has no TensorFlow .* or other nodes \(workers\.nodes\)"):
                client.submit(SCRIPTS / "show_task.py", **options)
            workers = tfi.Workers(nodes={"rack": "with"})
            job = succeed(client, "show_task.py", workers=workers, **options)
            assert [task.node_address for task in job.attempt.tasks] == [nodes.address]
            assert read(tmp_path, "worker-0.json")["partitions"] == list(range(64))
            options["args"].append("loop")
            strategy = tfi.ParameterServer(2, server_nodes={"rack": "servers"})
            job = succeed(client, "train_kind.py", workers=workers, strategy=strategy, **options)
            found = {task.name: task.node_address for task in job.attempt.tasks}
            assert [found[name] for name in ("worker 0", "ps 0", "ps 1")] == [nodes.address, *[nodes.addresses[1]] * 2]


@pytest.mark.full
@pytest.mark.parametrize("action", ["wait", "go-on"])
def test_a_client_outside_the_cluster_has_servers_beside_the_rows_until_one_of_them_ends(
    cluster: LocalCluster, client: tfi.Client, tmp_path: Path, action: str
) -> None:
    cache = f"rows_of_an_outside_client_{action.replace('-', '_')}"
    tfi.load(cache, {"id": np.arange(90)}, partitions=PARTITIONS, address=cluster.address)
    command = [sys.executable, SCRIPTS / "outside_client.py", cluster.address, cache, action]
    output = tmp_path / "stderr"
    with (
        output.open("w") as stderr,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            (_, job), (_, count, *rows) = (process.stdout.readline().split() for _ in range(2))
            assert int(count) >= 60 * 10
            assert rows == ["90", "3"]
            handle = client.job(job)
            assert handle.status.state == "running"
            if action == "wait":
                process.kill()
                assert handle.wait(timeout=LIMIT).state == "succeeded"
            else:
                # TensorFlow alone would raise an error that only says which address refused a connection, or wait for
                # its servers without an end, deaf to Ctrl-C.
                handle.stop(wait=False)
                # The client itself may wait a minute for the end of its job.
                assert process.wait(300) == 1
                assert f"the servers of job {handle.id} have ended" in output.read_text()
        finally:
            process.kill()


@pytest.mark.full
def test_an_error_of_a_client_outside_names_the_end_of_its_servers(
    cluster: LocalCluster, client: tfi.Client, capsys: pytest.CaptureFixture[str]
) -> None:
    tfi.load("rows_of_a_client_that_raises", {"id": np.arange(30)}, partitions=PARTITIONS, address=cluster.address)
    for is_stopped in (False, True):
        with (
            pytest.raises(ZeroDivisionError),
            client.parameter_servers("rows_of_a_client_that_raises", servers=1) as handle,
        ):
            raise ZeroDivisionError(is_stopped and handle.stop(wait=False))
        said = capsys.readouterr().err
        assert (f"the servers of job {handle.id} have ended: stopped on request. " in said) is is_stopped
