"""A cluster made by the commands of docs/security.md with the shipped configuration: what works, and who gets in."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import grpc
import numpy as np
import psutil
import pytest
from jobs import LIMIT, SCRIPTS, await_files, environment
from sockets import Listener, handshake, listeners, plain_answer

import tensorflow_ignite as tfi
from certificates import Authority, make_authority
from tensorflow_ignite import Credentials, errors
from tensorflow_ignite.testing import LocalCluster
from tensorflow_ignite.v1 import agent_pb2, agent_pb2_grpc

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[2]
CONFIGURATION = ROOT / "java" / "config" / "tensorflow-ignite-secured.xml"
DOCUMENT = ROOT / "docs" / "security.md"
AUTHORITY, NODE, TOKEN, START, CALLER, CERTIFICATE, STORES = range(7)
# The handshake of a thin client, version 1.7.0; a join of Ignite's discovery; two requests by HTTP.
THIN = bytes.fromhex("08000000 01 0100 0700 0000 02")
DISCOVERY = bytes.fromhex("00004747 00000000")
REST = b"GET /ignite?cmd=version HTTP/1.1\r\nHost: node\r\n\r\n"
UPGRADE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
# TLS alerts have the type 21.
ALERT = 0x15


def commands() -> list[str]:
    """The commands of the document, one text for each block."""
    section = DOCUMENT.read_text().partition("## From nothing to a secured cluster")[2].partition("\n## ")[0]
    return re.findall(r"```bash\n(.*?)```", section, re.DOTALL)


@dataclass(frozen=True)
class Documented:
    """A cluster, the caller of the document, and the folder in which the commands ran."""

    cluster: LocalCluster
    alice: Credentials
    folder: Path
    environment: dict[str, str]

    def run(self, block: str) -> str:
        """Runs commands as the document has them; gives what they print."""
        return shell(self.folder, block, {**self.environment, "TENSORFLOW_IGNITE_ADDRESS": self.cluster.address})


def shell(folder: Path, script: str, env: dict[str, str]) -> str:
    """Runs commands; the first that fails ends the test."""
    command = ["bash", "-euo", "pipefail", "-c", script]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def documented(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Documented]:
    folder = tmp_path_factory.mktemp("documented")
    blocks = commands()
    assert len(blocks) == STORES + 1
    env = environment(None)
    env["PATH"] = f"{Path(sys.executable).parent}:{env['PATH']}"
    shown = shell(folder, "\n".join([*blocks[: START + 1], "env -0"]), env)
    exported = dict(line.split("=", 1) for line in shown.split("\0") if "=" in line)
    nodes = {name: value for name, value in exported.items() if name.startswith(("TENSORFLOW_", "IGNITE_", "ALICE_"))}
    # A user starts each node with its own addresses; the ports of this cluster are free ones.
    del nodes["TENSORFLOW_IGNITE_HOST"], nodes["IGNITE_NODES"]
    alice = Credentials(token=(folder / "alice.token").read_text().strip(), cafile=str(folder / "ca.pem"))
    with LocalCluster(2, config=CONFIGURATION, environment=nodes, credentials=alice) as cluster:
        yield Documented(cluster, alice, folder, env)


def test_the_documented_commands_make_a_cluster_and_call_it(documented: Documented) -> None:
    blocks = commands()
    printed = documented.run(blocks[CALLER])
    assert "x,y\n1,2\n3,6\n" in printed
    assert printed.count("2 rows") >= 2, printed
    documented.run(blocks[CERTIFICATE])
    listed = documented.run(blocks[STORES] + "keytool -list -storepass:env IGNITE_STORE_PASSWORD -keystore trust.p12")
    assert "trustedCertEntry" in listed


def test_the_secured_configuration_lets_in_whom_it_names_and_nobody_else(documented: Documented) -> None:
    address, alice = documented.cluster.address, documented.alice
    with tfi.connect(address, credentials=alice) as client:
        assert len(client.nodes()) == 2
    with pytest.raises(errors.UnauthenticatedError):
        tfi.connect(address, credentials=Credentials(cafile=alice.cafile))
    with pytest.raises(errors.ConnectionFailedError, match="TLS"):
        tfi.connect(address)


def test_every_listening_socket_is_known_and_lets_in_nobody_by_chance(documented: Documented, tmp_path: Path) -> None:
    cluster, folder = documented.cluster, documented.folder
    documented.run(commands()[CERTIFICATE])
    foreign = make_authority(tmp_path / "foreign")
    tfi.load("own", {"x": np.arange(400)}, partitions=64, address=cluster.address, credentials=documented.alice)
    with tfi.connect(cluster.address, credentials=documented.alice) as client:
        handle = client.submit(
            SCRIPTS / "serve.py", cache="own", args=[str(tmp_path)], access=tfi.Access(allow_plaintext=True)
        )
        await_files(handle, *(tmp_path / f"serves-{index}" for index in range(2)))
        # Workers take equal numbers of rows; the one with fewer repeats some.
        assert sum(int((tmp_path / f"serves-{index}").read_text()) for index in range(2)) >= 400
        for number, node in enumerate(cluster.nodes):
            processes = {process.pid: process for process in psutil.Process(node.pid).children(recursive=True)}
            agents = {pid for pid, process in processes.items() if "tensorflow_ignite.agent" in process.cmdline()}
            assert len(agents) == 1, processes
            found = {each for each in listeners(node.pid) if not is_attach_socket(each, node.pid)}
            check_node(found, int(cluster.addresses[number].rpartition(":")[2]), folder, foreign)
            tasks = [listener for pid in processes.keys() - agents for listener in listeners(pid)]
            for agent in agents:
                check_agent(listeners(agent))
            check_tasks(tasks)
        (tmp_path / "go").touch()
        assert handle.wait(LIMIT).state == "succeeded"


def is_attach_socket(listener: Listener, pid: int) -> bool:
    """Whether a socket is that of the JVM for jcmd and jstack, and closed to other users."""
    path = Path(f"/tmp/.java_pid{pid}")
    # The JVM makes it when somebody first attaches, under another name.
    if listener.kind != "unix" or listener.host not in (str(path), f"{path}.tmp"):
        return False
    return not path.stat().st_mode & 0o077


def check_node(found: set[Listener], api: int, folder: Path, foreign: Authority) -> None:
    """The API, and Ignite's discovery and communication."""
    assert all(listener.kind == "tcp" and listener.host == "127.0.0.1" for listener in found), found
    ports = {listener.port for listener in found}
    assert api in ports
    assert len(ports) == 3, f"the API, discovery and communication: {found}"
    ours = folder / "ca.pem"
    stranger = foreign.issue("stranger", ["127.0.0.1"])
    for port in ports:
        # A peer of TLS answers plain text with an alert, or not at all.
        for sent in (THIN, DISCOVERY, REST, UPGRADE):
            answer = plain_answer(port, sent)
            assert not answer or answer[0] == ALERT, (port, sent, answer)
        assert handshake(port, foreign.certificate) == "SSLCertVerificationError"
    # The API asks for a token in place of a certificate.
    assert handshake(api, ours) == "accepted"
    for port in ports - {api}:
        assert handshake(port, ours) != "accepted"
        assert handshake(port, ours, stranger.certificate, stranger.key) != "accepted"
        assert handshake(port, ours, folder / "alice.pem", folder / "alice-key.pem") != "accepted"
        assert handshake(port, ours, folder / "node1.pem", folder / "node1-key.pem") == "accepted"


def check_agent(found: set[Listener]) -> None:
    """One port, on loopback, for the node that started the agent."""
    (port,) = [listener.port for listener in found]
    assert found == {Listener("tcp", "127.0.0.1", port)}
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel, pytest.raises(grpc.RpcError) as refused:
        agent_pb2_grpc.AgentServiceStub(channel).Heartbeat(agent_pb2.HeartbeatRequest())
    assert refused.value.code() == grpc.StatusCode.UNAUTHENTICATED


def check_tasks(found: list[Listener]) -> None:
    """TensorFlow's server: on every interface, without TLS, for everybody who reaches it."""
    assert {(listener.kind, listener.host) for listener in found} == {("tcp", "::")}, found
    for port in {listener.port for listener in found}:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            status = channel.unary_unary("/tensorflow.WorkerService/GetStatus")
            assert b"CPU:0" in status(b"", timeout=LIMIT)
