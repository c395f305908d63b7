"""What the doctor finds in a cluster, against a node API on a real socket."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import types

import grpc
import pytest
from node_api_server import NodeApiServer

from tensorflow_ignite import errors
from tensorflow_ignite.cli import main
from tensorflow_ignite.doctor import Finding, cluster, storage
from tensorflow_ignite.testing.patience import patiently
from tensorflow_ignite.v1 import job_pb2

TIMEOUT = patiently(20.0)


@pytest.fixture
def node():
    with NodeApiServer() as server:
        server.state.nodes = [member(server, number) for number in range(3)]
        yield server


@pytest.fixture
def closed():
    """An address of loopback that refuses connections."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield "127.0.0.1", bound.getsockname()[1]


def address(endpoint: tuple[str, int]) -> str:
    return "{}:{}".format(*endpoint)


def check(finding: Finding, outcome: str, text: str, remedy: str = "") -> None:
    assert finding.outcome == outcome, finding
    assert text in finding.text
    assert remedy in finding.remedy


def member(server: NodeApiServer, number: int, **agent: str):
    versions = {"python": "/p", "python_version": "3.11.2", "package_version": "0.1.0", "tensorflow_version": "2.21.0"}
    return job_pb2.Node(
        id=f"{number}a1b2c3d-0000",
        order=number,
        address=server.address,
        host_name="h1",
        plugin_version="0.1.0",
        agent=job_pb2.AgentInfo(**{"pid": 42, **versions, **agent}),
    )


class Files:
    """The files of a cluster, in memory; the doctor must leave none."""

    def __init__(self) -> None:
        self.stored: dict[str, bytes] = {}
        self.fault: Exception | None = None
        self.lost = 0

    def open_writer(self, path: str, mode: str) -> contextlib.AbstractContextManager[types.SimpleNamespace]:
        assert (mode, path in self.stored) == ("x", False)
        if self.fault:
            raise self.fault
        return contextlib.nullcontext(types.SimpleNamespace(write=lambda data: self.stored.update({path: data})))

    def open_reader(self, path: str) -> contextlib.AbstractContextManager[types.SimpleNamespace]:
        data = self.stored[path][self.lost :]
        return contextlib.nullcontext(
            types.SimpleNamespace(bytes=len(data), read=lambda offset, count: data[offset : offset + count])
        )

    def remove(self, path: str) -> None:
        del self.stored[path]


@pytest.fixture(autouse=True)
def files(monkeypatch: pytest.MonkeyPatch):
    stored = Files()
    monkeypatch.setattr(storage.Files, "at", lambda addresses, *, timeout, credentials: stored)
    yield stored
    assert not stored.stored


def examine(*addresses: str, thin: tuple[str, int] = ("127.0.0.1", 1), timeout: float = TIMEOUT) -> dict[str, Finding]:
    found = {}
    for finding in cluster.examine(addresses, thin, timeout=timeout):
        assert finding.section == "cluster"
        assert bool(finding.remedy) == (finding.outcome != "ok"), finding
        found[finding.step] = finding
    return found


def test_a_healthy_cluster_passes_every_step(node) -> None:
    found = examine(node.address)
    assert {finding.outcome for finding in found.values()} == {"ok"}
    assert found["nodes"].text.startswith(f"3 run the service: node 0a1b2c3d on h1 at {node.address} (0.1.0), ")
    assert found["tensorflow versions"].text == "3 nodes agree on 2.21.0"


@pytest.mark.parametrize(
    ("change", "step", "outcome", "text"),
    [
        ({"tensorflow_version": "2.20.0"}, "tensorflow versions", "failed", "2.21.0 on node 0a1b2c3d on h1, node 1"),
        ({"package_version": "0.2.0"}, "package", "failed", "; 0.2.0 on node 2a1b2c3d on h1"),
        ({"python_version": "3.12.1"}, "python versions", "failed", "; 3.12.1 on node 2a1b2c3d on h1"),
        ({"python_version": "3.11.9"}, "python versions", "warning", "; 3.11.9 on node 2a1b2c3d on h1"),
    ],
)
def test_nodes_that_differ_are_named(node, change, step, outcome, text) -> None:
    node.state.nodes[2] = member(node, 2, **change)
    found = examine(node.address)
    check(found.pop(step), outcome, text)
    assert {finding.outcome for finding in found.values()} == {"ok"}


def test_nodes_with_a_fault_are_named_with_the_remedy(node) -> None:
    first, second, third = node.state.nodes
    first.losses.add(cache="tensorflow-ignite-logs", partitions=[1, 5], is_of_service=True)
    first.losses.add(cache="my files", partitions=[7])
    first.losses.add(cache="-on-disk", partitions=[7, 9], is_persistent=True)
    first.missing_nodes.add(consistent_id="n4", host="10.0.0.4")
    second.is_outside_baseline = True
    second.plugin_version = ""
    second.availability = job_pb2.NODE_AVAILABILITY_DRAINED
    second.quarantine.add(job_id="7f3a0000", attempt=2, pids=[12])
    second.loops.add(name="node runner", error="StackOverflowError", failures=2)
    third.loops.add(name="reconciler")
    found = examine(node.address)
    lost = "cache tensorflow-ignite-logs (output of unfinished jobs) has lost 2 partitions"
    accept = "tensorflow-ignite accept-data-loss"
    check(
        found["losses"], "failed", lost, f"{accept} tensorflow-ignite-logs; {accept} 'my files'; {accept} -- -on-disk"
    )
    check(found["losses"], "failed", "cache my files has lost 1 partition", "Load the cache again, with more backups")
    check(
        found["losses"], "failed", "cache -on-disk has lost 2 partitions", "Start the nodes that have the rows on disk"
    )
    check(found["baseline"], "warning", "n4 at 10.0.0.4 of the baseline is missing", "baseline --remove NODE")
    check(found["baseline"], "warning", "node 1a1b2c3d on h1 is outside of the baseline", "baseline --add-online")
    check(found["plugin"], "failed", "; unknown on node 1a1b2c3d on h1")
    check(found["drained nodes"], "warning", "node 1a1b2c3d on h1 are drained", "tensorflow-ignite drain --undo NODE")
    unproven = "node 1a1b2c3d on h1: the end of attempt 2 of job 7f3a0000 is not proven (pids 12)"
    check(found["quarantine"], "failed", unproven, "start the node again there")
    check(found["loops"], "failed", "node 1a1b2c3d on h1: loop 'node runner' has failed (StackOverflowError)")
    assert "node 2a1b2c3d on h1: loop 'reconciler' has not completed a pass in time" in found["loops"].text


def test_a_lost_node_that_answers_in_a_cluster_of_its_own_is_a_split(node) -> None:
    with NodeApiServer() as other:
        other.state.nodes = [job_pb2.Node(id="x" * 36, address=other.address)]
        for member in node.state.nodes:
            member.lost_nodes.add(id="x" * 36, consistent_id="x", address=other.address)
        found = examine(node.address)["lost nodes"]
        check(found, "failed", f"here are 3 nodes, and {other.address} answers with 1 nodes")
        assert "Stop the nodes of one side, best of the smaller one, and start them again" in found.remedy
    found = examine(node.address)["lost nodes"]
    check(found, "warning", f"{other.address} left without being stopped")
    assert "tensorflow-ignite quorum accept JOB" in found.remedy


def test_nodes_without_agent_or_tensorflow_are_named(node) -> None:
    node.state.nodes[0] = member(node, 0, tensorflow_version="")
    node.state.nodes[1].agent.CopyFrom(job_pb2.AgentInfo(python="/no", error="'/no' did not come up"))
    node.state.nodes[2].agent.CopyFrom(job_pb2.AgentInfo())
    found = examine(node.address)
    assert found["agents"].outcome == found["tensorflow"].outcome == "failed"
    assert "node 1a1b2c3d on h1 has no agent: '/no' did not come up (its interpreter: /no)" in found["agents"].text
    assert "node 2a1b2c3d on h1 has no agent: it is being started" in found["agents"].text
    assert "2 of 3 nodes have none" in found["agents"].text
    assert found["tensorflow"].text.startswith("node 0a1b2c3d on h1 lack")
    assert "/p -m pip install 'tensorflow-cpu>=2.20,<2.22', on h1" in found["tensorflow"].remedy


def test_a_node_that_is_not_reached_from_here_is_named(node, closed) -> None:
    node.state.nodes[1].address = address(closed)
    found = examine(node.address)["reachability"]
    assert found.outcome == "failed"
    assert f"node 1a1b2c3d on h1 at {node.state.nodes[1].address} (no node answers at " in found.text
    assert "node 0a1b2c3d" not in found.text
    # Addresses of loopback, of nodes on several machines.
    node.state.nodes[1].address = node.address
    node.state.nodes[1].host_name = "h2"
    check(examine(node.address)["reachability"], "failed", "spread over 2 machines", "TENSORFLOW_IGNITE_HOST")


def test_a_store_that_refuses_a_file_or_gives_other_bytes_is_a_fault_with_its_reason(node, files) -> None:
    files.fault = errors.InternalError("the data region is full")
    found = examine(node.address)
    check(found.pop("storage"), "failed", "the data region is full. Jobs keep their checkpoints in the cluster")
    assert {finding.outcome for finding in found.values()} == {"ok"}
    files.fault, files.lost = None, 1
    check(examine(node.address)["storage"], "failed", "other bytes than those written")


def test_a_caller_who_may_not_write_files_is_no_fault_of_the_cluster(node, files) -> None:
    files.fault = errors.PermissionDeniedError("operator may not change /.doctor-1")
    found = examine(node.address)
    check(found.pop("storage"), "warning", "not known: operator may not change", "NAME files /*")
    assert {finding.outcome for finding in found.values()} == {"ok"}


def test_one_address_that_answers_is_enough_if_there_are_nodes(node, closed) -> None:
    silent = address(closed)
    found = list(cluster.examine([silent, node.address], ("127.0.0.1", 1), timeout=TIMEOUT))
    assert (found[0].outcome, found[1].outcome) == ("warning", "ok")
    assert found[0].text.startswith(f"{silent} does not answer")
    assert all(finding.outcome == "ok" for finding in found[1:])
    node.state.nodes = []
    assert examine(node.address)["nodes"].outcome == "failed"


def test_without_a_node_and_a_thin_port_the_activation_is_unknown(closed) -> None:
    found = examine(address(closed), thin=closed)
    assert list(found) == ["address", "activation"]
    check(found["address"], "failed", "connection refused", "tensorflow-ignite node")
    check(found["activation"], "warning", f"{address(closed)} (connection refused)", "--thin")


def test_an_inactive_cluster_is_reported_by_its_node(node) -> None:
    text = (
        "The cluster is not active since 12:00: 2 of the 3 nodes of its baseline are here, without n3 at 10.0.0.3. "
        "Jobs need an active one. Activate it. [code=CLUSTER_NOT_ACTIVE]"
    )
    for _ in range(2):
        node.fail_next("ListNodes", grpc.StatusCode.FAILED_PRECONDITION, text)
    check(examine(node.address)["activation"], "failed", "without n3 at 10.0.0.3. Only", "--set-state ACTIVE")


@pytest.mark.parametrize(
    ("state", "outcome", "text", "remedy"),
    [
        ("inactive", "failed", "its cluster is not active", "control.sh --set-state ACTIVE"),
        ("active", "failed", "its cluster is active, but the API does not answer", "Node API is up"),
        ("unknown", "warning", "something answers at 127.0.0.1:1, but why", "control.sh --state"),
    ],
)
def test_the_state_that_a_thin_client_gets_is_reported(closed, monkeypatch, state, outcome, text, remedy) -> None:
    monkeypatch.setattr("tensorflow_ignite.data.transport.thin.cluster_state.cluster_state", lambda *_: (state, "why"))
    found = examine(address(closed))["activation"]
    check(found, outcome, text, remedy)


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", None], ids=["end", "http", "silence"])
def test_a_foreign_program_at_the_thin_port_is_not_taken_for_ignite(closed, answer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as foreign:

        def serve() -> None:
            for _ in range(2 if answer is not None else 0):
                connection, _ = foreign.accept()
                with connection:
                    connection.sendall(answer)

        server = threading.Thread(target=serve)
        server.start()
        # It calls once more, and waits in vain.
        found = examine(address(closed), thin=foreign.getsockname(), timeout=2.0)
        server.join(10)
    assert "it does not answer as Ignite does" in found["activation"].text


def test_the_command_prints_steps_remedies_and_a_summary_or_json(node, capsys) -> None:
    assert main(["doctor", "--only", "cluster", "--address", node.address]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"the cluster\n  ✓ address              {node.address} answers\n")
    assert out.endswith("\nno step of 20 failed\n")
    node.state.nodes[2] = member(node, 2, tensorflow_version="2.20.0", python_version="3.11.9")
    assert main(["--address", node.address, "doctor", "--only", "cluster"]) == 1
    out = capsys.readouterr().out
    assert "  ✗ tensorflow versions  nodes differ: " in out
    assert "\n                         → Install the same there: pip install tensorflow==VERSION\n" in out
    assert "  ! python versions      nodes differ: " in out
    assert out.endswith("\n1 of 20 steps failed, 1 warning\n")
    assert main(["doctor", "--only", "cluster", "--json", "--address", node.address]) == 1
    printed = json.loads(capsys.readouterr().out)
    assert printed["ok"] is False
    text = f"{node.address} answers"
    assert printed["findings"][0] == {
        "section": "cluster",
        "step": "address",
        "outcome": "ok",
        "text": text,
        "remedy": "",
    }
