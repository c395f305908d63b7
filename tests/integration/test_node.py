"""Promises of a node that Python hosts."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

import tensorflow_ignite as tfi
from tensorflow_ignite.testing import node_configuration
from tensorflow_ignite.testing.patience import patiently
from tensorflow_ignite.testing.ports import PortBlock

XML = Path(__file__).resolve().parents[2] / "java" / "config" / "tensorflow-ignite.xml"
TIMEOUT = patiently(240)


class Node:
    """A node's process, whose events are read one by one."""

    def __init__(self, *arguments: str, directory: Path, discovery: str, locale: str | None = None) -> None:
        directory.mkdir()
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tensorflow_ignite.node",
                "--json",
                f"--discovery={discovery}",
                f"--work-directory={directory}",
                "--port=0",
                "--jvm-arg=-Xmx512m",
                "--jvm-arg=-XX:TieredStopAtLevel=1",
                *arguments,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=directory,
            env=os.environ | ({"LC_ALL": locale} if locale else {}),
        )

    def await_event(self, name: str) -> dict[str, Any]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            event: dict[str, Any] = json.loads(line)
            if event["event"] == name:
                return event
        raise AssertionError(f"no event {name}; the node printed: {self.end()[1]}")

    def end(self) -> tuple[int, str]:
        _, errors = self.process.communicate(timeout=TIMEOUT)
        return self.process.returncode, errors


@pytest.fixture
def start(tmp_path: Path, ports: PortBlock) -> Iterator[Callable[..., Node]]:
    started: list[Node] = []

    def start_node(*arguments: str, name: str = "node", locale: str | None = None) -> Node:
        directory = tmp_path / f"{name}-{len(started)}"
        started.append(Node(*arguments, directory=directory, discovery=ports.discovery, locale=locale))
        return started[-1]

    yield start_node
    for node in started:
        if node.process.poll() is None:
            node.process.kill()
        node.process.communicate(timeout=TIMEOUT)


@pytest.mark.full
def test_a_node_that_grows_requests_no_full_collection_of_its_heap(start: Callable[..., Node], tmp_path: Path) -> None:
    log = tmp_path / "gc.log"
    node = start(f"--jvm-arg=-Xlog:gc:file={log}", "--data-region-bytes=1073741824")
    address = node.await_event("ready")["address"]
    for number in range(3):
        tfi.load(f"growth{number}", {"value": np.zeros((1 << 16, 128))}, address=address)
    assert "Pause" in log.read_text()
    assert "System.gc()" not in log.read_text()


@pytest.mark.full
def test_a_node_starts_in_a_directory_whose_name_its_locale_cannot_write(start: Callable[..., Node]) -> None:
    assert "größe" in start(name="größe", locale="C").await_event("ready")["log"]


@pytest.mark.full
def test_nodes_that_share_a_work_directory_print_the_name_of_their_own_log(
    start: Callable[..., Node], tmp_path: Path
) -> None:
    shared = f"--work-directory={tmp_path / 'shared'}"
    logs = {ready["node_id"]: Path(ready["log"]) for ready in (start(shared).await_event("ready") for _ in range(2))}
    for node_id, log in logs.items():
        assert set(re.findall(r"locNodeId=([0-9a-f-]+)", log.read_text())) == {node_id}


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 0), pytest.param(signal.SIGINT, 130, marks=pytest.mark.full)]
)
def test_a_node_says_where_it_listens_and_a_signal_stops_it_in_order(
    start: Callable[..., Node], tmp_path: Path, number: signal.Signals, code: int
) -> None:
    node = start("--name=first")
    ready = node.await_event("ready")
    assert ready["instance"] == "first"
    assert ready["pid"] == node.process.pid
    host, port = ready["address"].rsplit(":", 1)
    listening = {
        (connection.laddr.ip, connection.laddr.port)
        for connection in psutil.Process(node.process.pid).net_connections()
        if connection.status == psutil.CONN_LISTEN
    }
    assert (host, int(port)) in listening
    log = Path(ready["log"])
    assert "Ignite instance name: first\n" in log.read_text()
    assert log.is_relative_to(tmp_path)
    assert node.await_event("topology")["nodes"] == [ready["node_id"]]
    node.process.send_signal(number)
    assert node.await_event("stopped")["exit_code"] == code
    assert node.end()[0] == code
    text = log.read_text()
    assert "stopped OK" in text
    # What has been asked for is no reason to warn.
    assert not re.findall(r"^.* (?:WARNING|SEVERE|ERROR) \[tensorflow-ignite-.*", text, re.MULTILINE)


@pytest.mark.full
def test_a_signal_during_the_start_stops_the_node_in_order(start: Callable[..., Node], tmp_path: Path) -> None:
    node = start()
    # The folder appears while Ignite starts, long before the node is ready.
    while not list(tmp_path.glob("node-0/log/*.log")):
        assert node.process.poll() is None
        os.sched_yield()
    # As SIGTERM.
    node.process.send_signal(signal.SIGHUP)
    assert node.end()[0] == 0


@pytest.mark.full
def test_a_node_without_the_data_region_of_the_clusters_caches_says_what_to_add(
    start: Callable[..., Node], tmp_path: Path
) -> None:
    first = start()
    first.await_event("ready")
    without = tmp_path / "without.xml"
    without.write_text(node_configuration())
    code, errors = start(f"--config={without}", "--host=127.0.0.1").end()
    # Ignite reports the fatal error and the failed start at the same time.
    assert code in (1, 70), errors
    assert "caches of the cluster are in data region 'tensorflow-ignite', which this node's configuration" in errors
    assert "Add a DataRegionConfiguration named 'tensorflow-ignite' to dataRegionConfigurations" in errors
    start(f"--config={XML}").await_event("ready")
    assert first.process.poll() is None


@pytest.mark.full
def test_the_parents_end_stops_the_node(start: Callable[..., Node]) -> None:
    with subprocess.Popen(["sleep", "1000"]) as parent:
        node = start(f"--parent-pid={parent.pid}")
        node.await_event("ready")
        parent.kill()
    assert str(parent.pid) in node.await_event("stopping")["why"]
    assert node.end()[0] == 0


def test_a_spring_xml_file_deploys_the_service_and_options_win_over_it(start: Callable[..., Node]) -> None:
    node = start(f"--config={XML}", "--name=from-xml")
    ready = node.await_event("ready")
    assert ready["instance"] == "from-xml"
    assert ready["address"] is not None


@pytest.mark.full
def test_an_attribute_filter_leaves_a_node_out(start: Callable[..., Node], tmp_path: Path) -> None:
    # The file shows the filter, and the attribute that it looks for, inside comments.
    text = XML.read_text()
    begin = text.index('<property name="nodeFilter">')
    node_filter = text[begin : text.index("-->", begin)]
    chosen = tmp_path / "filter.xml"
    chosen.write_text(text.replace('<property name="service">', node_filter + '<property name="service">', 1))
    left_out = start(f"--config={chosen}").await_event("ready")
    assert left_out["address"] is None
    taken = start(f"--config={chosen}", "--attribute=tensorflow=true").await_event("ready")
    assert taken["address"] is not None


@pytest.mark.full
def test_a_persistent_cluster_is_activated_when_its_nodes_are_there(start: Callable[..., Node]) -> None:
    first = start("--persistent", "--activate-at=2")
    first.await_event("inactive")
    second = start("--persistent", "--activate-at=2")
    for node in (first, second):
        assert node.await_event("ready")["address"]


@pytest.mark.full
@pytest.mark.parametrize("wrong", ["--config=/nowhere/missing.xml", "--jvm-arg=-Xnonsense"])
def test_a_node_that_cannot_start_says_why_and_exits_with_1(start: Callable[..., Node], wrong: str) -> None:
    option, value = wrong.split("=")
    code, errors = start(wrong).end()
    assert code == 1
    assert value in errors
    assert option == "--config" or option in errors


@pytest.mark.full
def test_threads_of_a_jvm_are_found_by_the_classes_they_run() -> None:
    script = (
        "from tensorflow_ignite.node import host, jvm\n"
        "from tensorflow_ignite.node.runtime import classpath, find_libjvm, jvm_options\n"
        "jvm.start_jvm(find_libjvm(), options=jvm_options(service={}), classpath=classpath())\n"
        "print(jvm.stacks('java.lang.ref.'))\n"
        "print(host._running_threads())\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=TIMEOUT, check=True)
    found, ours = done.stdout.split("What still runs:\n")
    assert re.search(r"^Finalizer \(WAITING\)\n(    .*\n)*?    .*ReferenceQueue\.remove\(", found, re.MULTILINE)
    # No node runs there.
    assert not ours.strip()
