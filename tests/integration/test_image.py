"""The image as an operator runs it: any user, a read-only root, three nodes, a job, signals. Needs root and podman.

Where the registry of the base image is not reached, the base is a Debian that debootstrap makes.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from waiting import await_true

from tensorflow_ignite.testing.patience import patiently

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[2]
IMAGE = "tensorflow-ignite:0.1.0"
BASE = "docker.io/library/debian:bookworm-slim"
OWN_BASE = "localhost/tensorflow-ignite-test-base:bookworm"
# No user of the image has this number.
USER = 54321
MOST_BYTES = 1_600_000_000
BUILD_SECONDS = patiently(3600.0)
SECONDS = patiently(300.0)
# Timers of systemd would run the health checks; the test runs them.
ENVIRONMENT = {**os.environ, "DISABLE_HC_SYSTEMD": "true"}


def podman(*arguments: str, code: int | None = 0, seconds: float = SECONDS) -> str:
    """Runs podman; returns what it prints, errors too."""
    ran = subprocess.run(
        ["podman", *arguments],
        env=ENVIRONMENT,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert code is None or ran.returncode == code, (
        f"podman {' '.join(arguments)} ended with {ran.returncode}: {ran.stdout}"
    )
    return ran.stdout


def exists(kind: str, name: str) -> bool:
    """Whether podman has this image, container or network."""
    return subprocess.run(["podman", kind, "exists", name], check=False, timeout=SECONDS).returncode == 0


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Builds the image."""
    if os.geteuid() != 0 or shutil.which("podman") is None:
        pytest.skip("building and running an image without a daemon needs root and podman (Debian: podman, netavark)")
    options = [f"--build-arg=BASE={base(tmp_path_factory.mktemp('base'))}", "--network=host", "--isolation=chroot"]
    built = subprocess.run(
        ["make", "image", f"BUILD_OPTIONS={' '.join(options)}"],
        env=ENVIRONMENT,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=BUILD_SECONDS,
        check=False,
    )
    assert built.returncode == 0, built.stdout[-4000:]
    return IMAGE


def base(folder: Path) -> str:
    """The base image of the Containerfile, or a bare Debian of the same version."""
    if exists("image", OWN_BASE):
        return OWN_BASE
    pulled = subprocess.run(["podman", "pull", "--quiet", BASE], capture_output=True, check=False, timeout=SECONDS)
    if pulled.returncode == 0:
        return BASE
    if shutil.which("debootstrap") is None:
        pytest.skip(f"{BASE} is not reached, and debootstrap is not installed, which would make a base in its place")
    root = folder / "root"
    listed = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(CODENAME) $(REPO_URI)", "Created-By: Packages"],
        capture_output=True,
        text=True,
        check=True,
        timeout=SECONDS,
    ).stdout.split("\n")
    mirrors = [line.split()[1] for line in listed if line.startswith("bookworm ")]
    if not mirrors:
        pytest.skip(f"{BASE} is not reached, and this machine has no packages of Debian bookworm to make a base of")
    include = "--include=ca-certificates"
    command = ["debootstrap", "--variant=minbase", include, "bookworm", str(root), mirrors[0]]
    subprocess.run(command, capture_output=True, check=True, timeout=BUILD_SECONDS)
    # Authorities that this machine trusts beside those of Debian.
    shutil.copytree("/usr/local/share/ca-certificates", root / "usr/local/share/ca-certificates", dirs_exist_ok=True)
    subprocess.run(["chroot", root, "update-ca-certificates"], capture_output=True, check=True, timeout=SECONDS)
    (root / "etc/pip.conf").write_text("[global]\ncert = /etc/ssl/certs/ca-certificates.crt\n")
    archive = folder / "base.tar"
    subprocess.run(["tar", "-C", root, "-cf", archive, "."], check=True, timeout=SECONDS)
    podman("import", str(archive), OWN_BASE)
    return OWN_BASE


class Services:
    """The services of compose.yaml, each in a container of its own, in one network."""

    def __init__(self, image: str) -> None:
        """Makes the network."""
        self._image = image
        self._suffix = f"-tfi-{os.getpid()}"
        self._network = f"network{self._suffix}"
        self._services: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
        self.nodes = [name for name in self._services if name.startswith("node-")]
        podman("network", "create", self._network)

    def container(self, service: str) -> str:
        """The name of its container."""
        return service + self._suffix

    def run(self, service: str) -> str:
        """Runs a service: a node in the background, another one until its end; returns what it prints."""
        asked = self._services[service]
        options = [f"--name={self.container(service)}", f"--network={self._network}", f"--network-alias={service}"]
        options += [f"--user={USER}", "--cgroups=disabled", f"--read-only={str(asked['read_only']).lower()}"]
        options += [f"--cap-drop={name}" for name in asked["cap_drop"]]
        options += [f"--security-opt={name.partition(':')[0]}" for name in asked["security_opt"]]
        options += [f"--env={name}={value}" for name, value in asked.get("environment", {}).items()]
        options += ["--detach"] if service in self.nodes else []
        if "entrypoint" in asked:
            options.append(f"--entrypoint={json.dumps(asked['entrypoint'])}")
        return podman("run", *options, self._image, *asked["command"])

    def execute(self, service: str, *command: str, code: int | None = 0) -> str:
        """Runs a command in the container of a node."""
        return podman("exec", self.container(service), *command, code=code)

    def log(self, service: str) -> str:
        """What a node has printed."""
        return podman("logs", self.container(service))

    def healthy(self, service: str) -> bool:
        """Runs the health check of the image once."""
        command = ["podman", "healthcheck", "run", self.container(service)]
        return subprocess.run(command, capture_output=True, check=False, env=ENVIRONMENT).returncode == 0

    def close(self) -> None:
        """Removes everything."""
        for service in self._services:
            podman("rm", "--force", "--volumes", "--time=0", self.container(service), code=None)
        podman("network", "rm", "--force", self._network, code=None)


@pytest.fixture(scope="module")
def services(image: str) -> Iterator[Services]:
    """Three nodes that answer, and the digits."""
    running = Services(image)
    try:
        for node in running.nodes:
            running.run(node)
        for node in running.nodes:
            await_true(lambda node=node: running.healthy(node), f"{node} is not healthy: {running.log(node)}", SECONDS)
        assert "rows into the cache digits_test" in running.run("digits")
        yield running
    finally:
        running.close()


def test_the_image_has_at_most_1_6_gigabytes(image: str) -> None:
    assert json.loads(podman("image", "inspect", image))[0]["Size"] <= MOST_BYTES


def test_a_container_is_a_user_that_nobody_knows_and_writes_its_volumes_only(services: Services) -> None:
    assert services.execute("node-1", "id", "-u").strip() == str(USER)
    assert "cannot find name" in services.execute("node-1", "id", "-un", code=1)
    for path in ("/etc/new", "/opt/tensorflow-ignite/new", "/examples/new"):
        assert "Read-only file system" in services.execute("node-1", "touch", path, code=1)
    for path in ("/var/lib/tensorflow-ignite/new", "/tmp/new"):
        services.execute("node-1", "touch", path)


def test_three_containers_are_one_cluster_and_train_a_job(services: Services) -> None:
    nodes = json.loads(services.execute("node-2", "tensorflow-ignite", "nodes", "--json"))
    assert len(nodes) == 3
    output = services.execute(
        "node-1", "tensorflow-ignite", "submit", "--cache", "digits", "/examples/digits.py", "--epochs=3"
    )
    assert "test accuracy=" in output
    assert "3 tasks, 3 of them workers beside their partitions" in output


def test_a_node_that_gets_sigterm_leaves_in_order_and_the_others_stay(services: Services) -> None:
    leaving = services.container("node-3")
    podman("stop", "--time=60", leaving)
    assert json.loads(podman("inspect", leaving))[0]["State"]["ExitCode"] == 0
    log = services.log("node-3")
    assert "stopping: SIGTERM" in log
    assert "\nstopped\n" in log
    await_true(lambda: "has 2 server nodes" in services.log("node-1"), "node-1 has not seen that node-3 left", SECONDS)
    assert services.healthy("node-1")


def test_a_node_that_stands_still_is_not_healthy(services: Services) -> None:
    # The init process goes on; the node is its child.
    services.execute("node-2", "python", "-c", "import os, signal; os.kill(2, signal.SIGSTOP)")
    assert not services.healthy("node-2")
