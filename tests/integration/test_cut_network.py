"""The network between real nodes, each in a namespace, is cut: at most one attempt of a job runs at any time.

Promise (jobs): In a cut network at most one attempt of a job runs, unless `restart.quorum=none`.
Promise (nodes): A node in the minority says so in every answer.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from network import LIMIT, Network
from waiting import await_true

from local_nodes import LEASE_SECONDS
from tensorflow_ignite.testing.configuration import node_configuration

pytestmark = pytest.mark.full

# Refuses to end at SIGTERM. Its ticks are on the clock of this machine, whatever namespace it is in.
SCRIPT = """
    import os, signal, sys, time

    import tensorflow_ignite as tfi

    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    context = tfi.train.context()
    with open(f"{sys.argv[1]}/ticks-{context.attempt}", "a", buffering=1) as ticks:
        while not os.path.exists(f"{sys.argv[1]}/end"):
            ticks.write(f"{time.monotonic()}\\n")
            time.sleep(0.02)
"""


@pytest.fixture
def network(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Network]:
    config = tmp_path / "node.xml"
    config.write_text(
        node_configuration(security={"allowUnauthenticated": True}, timeouts={"leaseSeconds": LEASE_SECONDS})
    )
    with Network(tmp_path, config, environment=getattr(request, "param", None)) as started:
        yield started


def ticks(directory: Path, attempt: int) -> list[float]:
    """The times at which the task of an attempt ran, on the monotonic clock of this machine."""
    path = directory / f"ticks-{attempt}"
    return [float(line) for line in path.read_text().splitlines()[:-1]] if path.exists() else []


def test_a_job_whose_tasks_are_all_cut_off_ends_there_before_it_goes_on_elsewhere(
    network: Network, tmp_path: Path
) -> None:
    np.savez(tmp_path / "rows.npz", x=np.arange(10, dtype=np.float32))
    (tmp_path / "code").mkdir()
    script = tmp_path / "code" / "train.py"
    script.write_text(textwrap.dedent(SCRIPT))
    first = network.machines[0]
    # One partition, so that all tasks of the job are on one node.
    first.cli("load", "rows", str(tmp_path / "rows.npz"), "--partitions", "1", "--backups", "1")
    submitted = first.cli(
        "submit", "--detach", "--json", "--cache", "rows", "--set", "timeouts.stop_grace=60", str(script), str(tmp_path)
    )
    job_id = json.loads(submitted)["id"]
    await_true(lambda: len(ticks(tmp_path, 1)) > 100, "the first attempt runs", seconds=LIMIT)
    [task] = first.job(job_id)["attempts"][0]["tasks"]
    alone = next(node for node in network.machines if node.node_id == task["node_id"])
    others = [node for node in network.machines if node is not alone]

    network.cut([alone], others)
    await_true(lambda: len(ticks(tmp_path, 2)) > 100, "the others have started the job again", seconds=LIMIT)
    assert ticks(tmp_path, 1)[-1] < ticks(tmp_path, 2)[0]

    await_true(
        lambda: "quorum accept" in alone.job(job_id)["waiting_for"], "the lone node knows that it is", seconds=LIMIT
    )
    cut_off = alone.job(job_id)
    assert (cut_off["state"], len(cut_off["attempts"])) == ("restarting", 1)
    assert f"tensorflow-ignite quorum accept {job_id}" in cut_off["waiting_for"]
    ran = [others[0].run("nodes", "--json"), alone.run("nodes", "--json"), alone.run("ps")]
    assert [len(json.loads(process.stdout)) for process in ran[:2]] == [2, 1]
    assert "warning:" not in ran[0].stderr
    addresses = ", ".join(sorted(f"{other.host}:10820" for other in others))
    for process in ran[1:]:
        warning = " ".join(process.stderr.split())
        assert warning.startswith("warning: only 1 of 3 nodes are here, without ")
        assert ", ".join(sorted(re.findall(r"[\d.]+:10820", warning))) == addresses
        assert "Start those, or restart these: tensorflow-ignite doctor" in warning
    listed = [others[0].cli("nodes"), alone.cli("nodes")]
    assert f"at {alone.host}:10820 was lost" in listed[0]
    assert all(f"at {other.host}:10820 was lost" in listed[1] for other in others)
    assert f"{alone.host}:10820 left without being stopped" in " ".join(others[0].cli("doctor").split())
    network.heal()
    found = " ".join(others[0].cli("doctor", code=1).split())
    assert f"The cluster is split: here are 2 nodes, and {alone.host}:10820 answers with 1 nodes" in found
    assert f"the cluster is split: here are 2 nodes, and {alone.host}:10820 answers with 1" in others[0].cli("nodes")
    assert "warning: only 1 of 3 nodes are here" in alone.run("ps").stderr

    (tmp_path / "end").touch()
    await_true(lambda: others[0].job(job_id)["state"] == "succeeded", "the job ends", seconds=LIMIT)
    over = others[0].job(job_id)
    assert (len(over["attempts"]), over["crashes"]) == (2, 0)
    assert ticks(tmp_path, 1)[-1] < ticks(tmp_path, 2)[0]


@pytest.mark.parametrize(
    "network",
    [{"TENSORFLOW_IGNITE_ON_MINORITY": "stop-node", "TENSORFLOW_IGNITE_ON_MINORITY_SECONDS": "2"}],
    indirect=True,
)
def test_a_node_of_the_smaller_side_ends_itself_if_it_shall_and_the_others_go_on(network: Network) -> None:
    first, second, third = network.machines
    network.cut([third], [first, second])
    network.await_ended(third)
    assert third.process.process.returncode == 1
    printed = " ".join(third.process.printed().split())
    assert "This node ends, and is to be started again: only 1 of 3 nodes are here" in printed
    await_true(lambda: len(json.loads(first.cli("nodes", "--json"))) == 2, "two nodes are left", seconds=LIMIT)
