"""The image as an operator runs it: any user, a read-only root, three nodes, a job, signals. Needs root and podman.

Where the registry of the base image is not reached, the base is a Debian that debootstrap makes.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from waiting import await_true

from tensorflow_ignite.testing.patience import patiently

# The image is built first.
pytestmark = [pytest.mark.full, pytest.mark.timeout(7200)]

ROOT = Path(__file__).parents[2]
IMAGE = "tensorflow-ignite:0.1.0"
BASE = "docker.io/library/debian:bookworm-slim"
OWN_BASE = "localhost/tensorflow-ignite-test-base:bookworm"
# No user of the image has this number.
USER = 54321
MOST_BYTES = 1_600_000_000
SECONDS = patiently(300.0)
BUILD_SECONDS = patiently(3600.0)
# Timers of systemd would run the health checks; the test runs them.
ENVIRONMENT = {**os.environ, "DISABLE_HC_SYSTEMD": "true"}
# podman's own limits are more than root may set in a sandbox.
_FILES = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
LIMITS = (f"--ulimit=nofile={_FILES}:{_FILES}", "--ulimit=nproc=16384:16384")


def run(*command: str | Path, seconds: float = SECONDS) -> subprocess.CompletedProcess[str]:
    """Runs a command in the repository; its errors are in its output."""
    return subprocess.run(
        command,
        cwd=ROOT,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=seconds,
        check=False,
    )


def output(*command: str | Path, code: int | None = 0, seconds: float = SECONDS) -> str:
    """What a command prints, which ends with this code; None: with any."""
    done = run(*command, seconds=seconds)
    assert code in (None, done.returncode), f"{command} ended with {done.returncode}: {done.stdout[-4000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The base image of the Containerfile, or a bare Debian of the same version."""
    if os.geteuid() != 0 or shutil.which("podman") is None:
        pytest.skip("building and running an image without a daemon needs root and podman (Debian: podman, netavark)")
    if run("podman", "image", "exists", OWN_BASE).returncode == 0:
        return OWN_BASE
    if run("podman", "pull", "--quiet", BASE).returncode == 0:
        return BASE
    targets = run("apt-get", "indextargets", "--format", "$(CODENAME) $(REPO_URI)", "Created-By: Packages").stdout
    mirrors = [line.split()[1] for line in targets.splitlines() if line.startswith("bookworm ")]
    if shutil.which("debootstrap") is None or not mirrors:
        pytest.skip(
            f"{BASE} is not reached, and debootstrap with packages of Debian bookworm could make a base instead"
        )
    folder = tmp_path_factory.mktemp("base")
    root, archive = folder / "root", folder / "base.tar"
    include = "--include=ca-certificates"
    output("debootstrap", "--variant=minbase", include, "bookworm", root, mirrors[0], seconds=BUILD_SECONDS)
    # Authorities that this machine trusts beside those of Debian.
    shutil.copytree("/usr/local/share/ca-certificates", root / "usr/local/share/ca-certificates", dirs_exist_ok=True)
    # The folder for temporary files of this process is not there.
    output("chroot", root, "env", "--unset=TMPDIR", "update-ca-certificates")
    (root / "etc/pip.conf").write_text("[global]\ncert = /etc/ssl/certs/ca-certificates.crt\n")
    # Debian's slim images leave these out.
    for kind in ("doc", "info", "locale", "man"):
        shutil.rmtree(root / "usr/share" / kind, ignore_errors=True)
    output("tar", "-C", root, "-cf", archive, ".")
    output("podman", "import", archive, OWN_BASE)
    return OWN_BASE


@pytest.fixture(scope="module")
def runtime(base: str) -> str:
    """A runtime that starts containers here: crun refuses to where both versions of cgroups are mounted."""
    tried = {
        each: run("podman", f"--runtime={each}", "run", "--rm", *LIMITS, base, "true") for each in ("crun", "runc")
    }
    for name, ran in tried.items():
        if ran.returncode == 0:
            return name
    pytest.skip(f"podman starts no container here: {', '.join(ran.stdout for ran in tried.values())}")


@pytest.fixture(scope="module")
def image(base: str) -> str:
    """Builds the image, with the network of this machine for its packages."""
    options = f"BUILD_OPTIONS=--network=host --isolation=chroot --build-arg=BASE={base}"
    output("make", "image", options, seconds=BUILD_SECONDS)
    return IMAGE


class Services:
    """The services of compose.yaml, each in a container of its own, in one network."""

    def __init__(self, image: str, runtime: str) -> None:
        self._image = image
        self._runtime = runtime
        self._suffix = f"-tfi-{os.getpid()}"
        self._services: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
        self.nodes = [name for name in self._services if name.startswith("node-")]
        self._network = f"network{self._suffix}"
        output("podman", "network", "create", self._network)

    def container(self, service: str) -> str:
        return service + self._suffix

    def start(self, service: str) -> str:
        """Starts a node, or runs another service until its end; returns what podman prints."""
        asked = self._services[service]
        options = [f"--name={self.container(service)}", f"--network={self._network}", f"--network-alias={service}"]
        # podman would add the user to /etc/passwd.
        options += [f"--user={USER}", "--passwd=false", f"--read-only={str(asked['read_only']).lower()}", *LIMITS]
        options += [f"--cap-drop={name}" for name in asked["cap_drop"]]
        options += [f"--security-opt={name.partition(':')[0]}" for name in asked["security_opt"]]
        options += [f"--env={name}={value}" for name, value in asked.get("environment", {}).items()]
        options += ["--detach"] if service in self.nodes else []
        options += [f"--entrypoint={json.dumps(asked['entrypoint'])}"] if "entrypoint" in asked else []
        return output("podman", f"--runtime={self._runtime}", "run", *options, self._image, *asked["command"])

    def execute(self, service: str, *command: str, code: int | None = 0) -> str:
        """Runs a command in the container of a node; returns what it prints."""
        arguments = ("exec", self.container(service), *command)
        return output("podman", f"--runtime={self._runtime}", *arguments, code=code)

    def log(self, service: str) -> str:
        return output("podman", "logs", self.container(service))

    def stop(self, service: str) -> int:
        """Stops a node as docker does; returns its exit code."""
        output("podman", f"--runtime={self._runtime}", "stop", "--time=60", self.container(service))
        state = json.loads(output("podman", "inspect", self.container(service)))[0]["State"]
        return int(state["ExitCode"])

    def healthy(self, service: str) -> bool:
        """Runs the health check of the image once."""
        return (
            run("podman", f"--runtime={self._runtime}", "healthcheck", "run", self.container(service)).returncode == 0
        )

    def close(self) -> None:
        for service in self._services:
            run("podman", "rm", "--force", "--volumes", "--time=0", self.container(service))
        run("podman", "network", "rm", "--force", self._network)


@pytest.fixture(scope="module")
def services(image: str, runtime: str) -> Iterator[Services]:
    """Three nodes that answer, and the digits."""
    running = Services(image, runtime)
    try:
        for node in running.nodes:
            running.start(node)
        for node in running.nodes:
            await_true(lambda node=node: running.healthy(node), f"{node} is not healthy: {running.log(node)}", SECONDS)  # type: ignore[misc]
        assert "rows into the cache digits_test" in running.start("digits")
        yield running
    finally:
        running.close()


def test_the_image_has_at_most_1_6_gigabytes(image: str) -> None:
    assert json.loads(output("podman", "image", "inspect", image))[0]["Size"] <= MOST_BYTES


def test_a_container_is_a_user_that_nobody_knows_and_writes_its_volumes_only(services: Services) -> None:
    assert services.execute("node-1", "id", "-u").strip() == str(USER)
    assert "cannot find name" in services.execute("node-1", "id", "-un", code=1)
    for path in ("/etc/new", "/opt/tensorflow-ignite/new", "/examples/new"):
        assert "Read-only file system" in services.execute("node-1", "touch", path, code=1)
    for path in ("/var/lib/tensorflow-ignite/new", "/tmp/new"):
        services.execute("node-1", "touch", path)


def test_three_containers_are_one_cluster_and_train_a_job(services: Services) -> None:
    assert len(json.loads(services.execute("node-2", "tensorflow-ignite", "nodes", "--json"))) == 3
    submit = ("tensorflow-ignite", "submit", "--cache", "digits", "/examples/digits.py", "--epochs=3")
    printed = services.execute("node-1", *submit)
    assert "test accuracy=" in printed
    assert "running, attempt 1: 3 workers" in printed


def test_a_stranger_with_the_image_alone_trains_watches_scrapes_predicts_and_stops_a_job(services: Services) -> None:
    def command(*arguments: str) -> str:
        return services.execute("node-1", "tensorflow-ignite", *arguments)

    def over_http(path: str, body: str = "") -> str:
        script = (
            "import sys, urllib.request; url, body = sys.argv[1:]\n"
            "print(urllib.request.urlopen(url, body.encode() or None).read().decode())"
        )
        return services.execute("node-2", "python", "-c", script, f"http://127.0.0.1:8501/{path}", body)

    command("submit", "--cache", "digits", "/examples/digits_keras.py")
    job = command("submit", "--detach", "--cache", "digits", "/examples/digits.py", "--epochs=10000").strip()
    await_true(lambda: json.loads(command("describe", "--json", job))["state"] == "running", "it does not run", SECONDS)
    assert "<title>" in over_http("")
    assert 'tensorflow_ignite_jobs{state="running"} 1' in over_http("metrics")
    command("model", "deploy", "digits")
    found = json.loads(over_http("v1/models/digits:predict", json.dumps({"instances": [[0] * 64]})))
    assert len(found["predictions"][0]) == 10
    command("stop", job)
    assert json.loads(command("describe", "--json", job))["state"] in ("stopping", "stopped")


def test_a_node_that_gets_sigterm_leaves_in_order_and_the_others_stay(services: Services) -> None:
    assert services.stop("node-3") == 0
    log = services.log("node-3")
    assert "stopping: SIGTERM" in log
    assert "\nstopped\n" in log
    await_true(lambda: "has 2 server nodes" in services.log("node-1"), "node-1 still counts node-3", SECONDS)
    assert services.healthy("node-1")


def test_a_node_that_stands_still_is_not_healthy(services: Services) -> None:
    # The node is the child of the container's first process.
    stand_still = "import psutil; psutil.Process(1).children()[0].suspend()"
    services.execute("node-2", "python", "-c", stand_still)
    assert not services.healthy("node-2")
