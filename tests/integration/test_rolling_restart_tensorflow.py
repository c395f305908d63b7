"""Pods of the StatefulSet as processes: each has a network namespace, and hosts files in the place of DNS.

The commands, variables, configuration, probes and the command before the end are those of deploy/kubernetes. Two values
differ: folders of the pod are below a folder of the test, and the heap is small.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from namespaces import require_namespaces
from network import Machine, Network
from waiting import await_true

from certificates import make_authority
from tensorflow_ignite.testing import leaks, node_configuration
from tensorflow_ignite.testing.patience import patiently

tf = pytest.importorskip("tensorflow")

pytestmark = pytest.mark.full

MANIFESTS = Path(__file__).parents[2] / "deploy/kubernetes/tensorflow-ignite.yaml"
SCRIPTS = Path(__file__).with_name("scripts")
# The other resolver of gRPC, c-ares, gives a name of a hosts file the addresses of all lines with one name in common.
RESOLVER = {"GRPC_DNS_RESOLVER": "native"}
LIMIT = patiently(240.0)
ROWS = 2000
SMALL = ["-Xms256m", "-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
#: The folder of the configuration and of secrets, and that of the files of a node.
ETC, WORK = "/etc/tensorflow-ignite", "/var/lib/tensorflow-ignite"


class Manifests:
    """What the manifests say about a pod."""

    def __init__(self) -> None:
        all_of_them = list(yaml.safe_load_all(MANIFESTS.read_text()))
        (pods,) = (each for each in all_of_them if each["kind"] == "StatefulSet")
        (self.container,) = pods["spec"]["template"]["spec"]["containers"]
        (configuration,) = (each["data"] for each in all_of_them if each["kind"] == "ConfigMap")
        self.node_xml: str = configuration["node.xml"]

    def environment(self, pod: str) -> dict[str, str]:
        fields = {"metadata.name": pod, "metadata.namespace": "default"}
        found: dict[str, str] = {}
        for each in self.container["env"]:
            value = each["value"] if "value" in each else fields[each["valueFrom"]["fieldRef"]["fieldPath"]]
            found[each["name"]] = self.expanded(value, found)
        return found

    @staticmethod
    def expanded(text: str, variables: dict[str, str]) -> str:
        return re.sub(r"\$\((\w+)\)", lambda name: variables[name[1]], text)


class Pod:
    """One pod: its machine, and the process of its node."""

    def __init__(self, pods: Pods, machine: Machine, name: str) -> None:
        self.pods, self.machine, self.name = pods, machine, name
        self.environment = pods.manifests.environment(name)
        self.host = self.environment["TENSORFLOW_IGNITE_HOST"]
        self.is_in_dns = False
        self.process: subprocess.Popen[bytes] | None = None

    def here(self, text: str) -> str:
        """A text of the manifests, with the folders of this pod."""
        return text.replace(ETC, str(self.pods.etc)).replace(WORK, str(self.machine.directory / "work"))

    def variables(self) -> dict[str, str]:
        own = {name: self.here(value) for name, value in self.environment.items()}
        quick = {"TENSORFLOW_IGNITE_TASKS_WARM_PROCESSES": "0", "TENSORFLOW_IGNITE_TASKS_NICE": "0"}
        return {**os.environ, **RESOLVER, **own, **quick, leaks.CLUSTER_MARKER: str(self.pods.network.directory)}

    def start(self) -> None:
        container = self.pods.manifests.container
        assert container["command"] == ["tini", "--", "tensorflow-ignite", "node"]
        arguments = [self.here(Manifests.expanded(each, self.environment)) for each in container["args"]]
        self.machine.directory.mkdir(exist_ok=True)
        with (self.machine.directory / "console.log").open("ab") as console:
            self.process = subprocess.Popen(
                self.machine.command(
                    *self.pods.program, "node", *arguments, *(f"--jvm-arg={option}" for option in SMALL)
                ),
                env=self.variables(),
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
                start_new_session=True,
            )

    def probe(self, name: str) -> tuple[int, dict[str, Any]]:
        """The answer to a probe, as kubelet asks; 0: the pod does not answer."""
        asked = self.pods.manifests.container[name]["httpGet"]
        port = self.environment["TENSORFLOW_IGNITE_HTTP_PORT"]
        url = f"{asked['scheme'].lower()}://{self.machine.host}:{port}{asked['path']}"
        context = ssl._create_unverified_context()
        try:
            with urllib.request.urlopen(url, timeout=LIMIT, context=context) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())
        except OSError:
            return 0, {}

    def is_ready(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, (self.machine.directory / "console.log").read_text()[-4000:]
        return self.probe("readinessProbe")[0] == 200

    def end(self) -> None:
        """What kubelet does: the command before the end, then SIGTERM."""
        shell, option, script = self.pods.manifests.container["lifecycle"]["preStop"]["exec"]["command"]
        script = self.here(script).replace("exec tensorflow-ignite", f"exec {' '.join(self.pods.program)}")
        ran = subprocess.run(
            self.machine.command(shell, option, script),
            env=self.variables(),
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert self.probe("readinessProbe")[0] == 503
        assert self.probe("livenessProbe")[0] == 200
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(LIMIT) == 0


class Pods:
    """The pods of the StatefulSet, and who calls them."""

    def __init__(self, network: Network) -> None:
        self.network, self.manifests = network, Manifests()
        self.program = [sys.executable, "-m", "tensorflow_ignite.cli"]
        self.etc = network.directory / "etc"
        self.pods = [Pod(self, network.add(), f"tensorflow-ignite-{index}") for index in range(3)]
        service = self.pods[0].environment["IGNITE_SERVICE"]
        self.service = service
        for folder in ("configuration", "tls", "tokens", "operator"):
            (self.etc / folder).mkdir(parents=True)
        (self.etc / "configuration/node.xml").write_text(self.manifests.node_xml.replace(ETC, str(self.etc)))
        authority = make_authority(network.directory / "authority")
        made = authority.issue("node", [f"*.{service}"])
        for name, path in {"tls.crt": made.certificate, "tls.key": made.key, "ca.crt": authority.certificate}.items():
            (self.etc / "tls" / name).write_bytes(path.read_bytes())
        for caller in ("operator", "alice"):
            token = f"the-token-of-{caller}"
            (self.etc / "tokens" / caller).write_text(hashlib.sha256(token.encode()).hexdigest() + "\n")
            (self.etc / "operator" / ("token" if caller == "operator" else caller)).write_text(token)
        self.addresses = ",".join(f"{pod.host}:{pod.environment['TENSORFLOW_IGNITE_PORT']}" for pod in self.pods)
        self.publish()

    def publish(self, *pods: Pod) -> None:
        """Adds pods to DNS: the name of the service has the addresses of these."""
        for pod in pods:
            pod.is_in_dns = True
        known = "".join(f"{pod.machine.host} {self.service} {pod.host}\n" for pod in self.pods if pod.is_in_dns)
        for namespace in (self.network.bridge, *(pod.machine.namespace for pod in self.pods)):
            own = "".join(f"{pod.machine.host} {pod.host}\n" for pod in self.pods if pod.machine.namespace == namespace)
            hosts = Path("/etc/netns", namespace, "hosts")
            hosts.parent.mkdir(parents=True, exist_ok=True)
            # In place, since namespaces that run have this file; of one length, so that nobody reads a cut one.
            content = f"127.0.0.1 localhost\n{own}{known}".ljust(4000, "\n").encode()
            file = os.open(hosts, os.O_WRONLY | os.O_CREAT, 0o644)
            try:
                os.write(file, content)
            finally:
                os.close(file)

    def caller(self, *command: str) -> list[str]:
        """A command of a machine that is no pod."""
        return ["ip", "netns", "exec", self.network.bridge, *command]

    def cli(self, *arguments: str) -> str:
        who = ["--cafile", str(self.etc / "tls/ca.crt"), "--token-file", str(self.etc / "operator/alice")]
        ran = subprocess.run(
            self.caller(*self.program, *who, *arguments),
            env={**os.environ, **RESOLVER, "TENSORFLOW_IGNITE_ADDRESS": self.addresses},
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    def close(self) -> None:
        for pod in self.pods:
            if pod.process is not None and pod.process.poll() is None:
                pod.process.kill()
                pod.process.wait()
        for namespace in (self.network.bridge, *(pod.machine.namespace for pod in self.pods)):
            Path("/etc/netns", namespace, "hosts").unlink(missing_ok=True)
            Path("/etc/netns", namespace).rmdir()


@pytest.fixture
def pods(tmp_path: Path) -> Iterator[Pods]:
    require_namespaces("nft")
    unused = tmp_path / "unused.xml"
    unused.write_text(node_configuration())
    with Network(tmp_path / "network", unused, nodes=0) as network:
        (tmp_path / "network").mkdir(exist_ok=True)
        made = Pods(network)
        try:
            with network.entered():
                yield made
        finally:
            made.close()


class Times(tf.Module):  # type: ignore[misc]
    """Three times its input."""

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, "x")])  # type: ignore[untyped-decorator]
    def times(self, x: Any) -> dict[str, Any]:
        return {"y": 3.0 * x}


def steps(folder: Path) -> list[tuple[int, int]]:
    """The attempt and the number of each step."""
    lines = (folder / "steps").read_text().splitlines() if (folder / "steps").exists() else []
    return [(int(attempt), int(step)) for attempt, step in map(str.split, lines)]


def test_a_rolling_restart_loses_no_row_no_prediction_and_no_job(pods: Pods, tmp_path: Path) -> None:
    for pod in pods.pods:
        pod.start()
    # They start together, and DNS knows them later: they wait, and are one cluster.
    for pod in pods.pods:
        pods.publish(pod)
    for pod in pods.pods:
        await_true(pod.is_ready, f"{pod.name} is not ready: {pod.probe('readinessProbe')}", seconds=LIMIT)
    assert len(json.loads(pods.cli("nodes", "--json"))) == 3

    np.savez(tmp_path / "rows.npz", x=np.arange(ROWS))
    pods.cli("load", "rows", str(tmp_path / "rows.npz"), "--partitions", "32", "--backups", "1")
    module = Times()
    tf.saved_model.save(module, str(tmp_path / "model"), signatures={"serving_default": module.times})
    pods.cli("model", "add", "times", str(tmp_path / "model"))
    pods.cli("model", "deploy", "times", "--replicas", "2")
    submitted = pods.cli(
        *("submit", "--detach", "--json", "--cache", "rows", "--set", "access.allow_plaintext=true"),
        *(str(SCRIPTS / "train_until_file.py"), str(tmp_path)),
    )
    job_id = json.loads(submitted)["id"]
    calls = subprocess.Popen(
        pods.caller(
            *(sys.executable, str(SCRIPTS / "call_until_file.py"), str(tmp_path), pods.addresses),
            *(str(pods.etc / "tls/ca.crt"), "the-token-of-alice"),
        ),
        env={**os.environ, **RESOLVER},
    )
    try:
        await_true(lambda: len(steps(tmp_path)) > 20, "the job trains", seconds=LIMIT)
        await_true((tmp_path / "calls.json").exists, "calls are made", seconds=LIMIT)
        for pod in reversed(pods.pods):
            before = steps(tmp_path)[-1]
            pod.end()
            pod.is_in_dns = False
            pods.publish()
            pod.start()
            pods.publish(pod)
            await_true(pod.is_ready, f"{pod.name} is not ready again", seconds=LIMIT)
            await_true(lambda last=before: steps(tmp_path)[-1] > last, "the job goes on", seconds=LIMIT)
        (tmp_path / "stop").touch()
        assert calls.wait(LIMIT) == 0
    finally:
        calls.kill()
        calls.wait()
    made = json.loads((tmp_path / "calls.json").read_text())
    assert made["errors"] == []
    assert made["predictions"] > 3
    (tmp_path / "end").touch()
    await_true(
        lambda: json.loads(pods.cli("describe", "--json", job_id))["state"] == "succeeded",
        "the job ends",
        seconds=LIMIT,
    )
    attempts = sorted({attempt for attempt, _ in steps(tmp_path)})
    assert len(attempts) >= 2
    for attempt in attempts[1:]:
        # Each attempt continues where the one before has saved.
        assert min(step for each, step in steps(tmp_path) if each == attempt) > 1
