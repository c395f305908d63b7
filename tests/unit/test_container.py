"""The image and its cluster of three nodes are what they promise to be, as far as their files say it.

`tests/integration/test_image.py` builds and runs them.
"""

from __future__ import annotations

import http.server
import json
import re
import ssl
import subprocess
import sys
import threading
import xml.etree.ElementTree as ElementTree
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml

from certificates import make_authority
from tensorflow_ignite.cli.app import app
from tensorflow_ignite.node.host import STOP_TIMEOUT

tomllib = pytest.importorskip("tomllib")

ROOT = Path(__file__).parents[2]
HEALTHY = ROOT / "container/healthy.py"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Containerfile in their order: name and arguments."""
    text = re.sub(r"(?m)^\s*#.*\n", "", (ROOT / "Containerfile").read_text()).replace("\\\n", " ")
    return [
        (name, " ".join(rest.split())) for name, _, rest in (line.partition(" ") for line in text.splitlines()) if name
    ]


def last(name: str) -> str:
    """The arguments of the instruction that holds in the image."""
    return [arguments for found, arguments in instructions() if found == name][-1]


def parsed(arguments: list[str]) -> tuple[str, dict[str, Any]]:
    """A command of tensorflow-ignite, and its options by name, as the program itself reads them."""
    program: Any = typer.main.get_command(app)
    command = program.commands[arguments[0]]
    return arguments[0], dict(command.make_context(arguments[0], arguments[1:]).params)


def compose() -> dict[str, Any]:
    """The compose file; PyYAML carries out its anchors."""
    content: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
    return content


def test_a_container_is_a_user_without_rights_and_its_first_process_passes_signals_on() -> None:
    assert re.fullmatch(r"[1-9]\d*:0", last("USER"))
    init, separator, program = json.loads(last("ENTRYPOINT"))
    assert (init, separator) == ("/usr/bin/tini", "--")
    assert any(re.search(r"apt-get install [^&]*\btini\b", run) for name, run in instructions() if name == "RUN")
    assert program in PROJECT["scripts"]
    assert last("STOPSIGNAL") == "SIGTERM"


def test_what_a_container_runs_by_default_and_for_its_health_are_commands_of_ours() -> None:
    assert parsed(json.loads(last("CMD")))[0] == "node"
    options, _, check = last("HEALTHCHECK").partition(" CMD ")
    assert {option.partition("=")[0] for option in options.split()} == {
        *("--interval", "--timeout", "--start-period", "--retries")
    }
    program, option, path = json.loads(check)
    assert (program, option) == ("python", "-I")
    source = image_file(path)
    assert source == HEALTHY
    (command,) = re.findall(r'execvp\("tensorflow-ignite", (\[.*\])\)', source.read_text())
    assert parsed(json.loads(command)[1:])[0] == "nodes"
    # It makes two requests.
    (seconds,) = re.findall(r"(?m)^SECONDS = (\d+)$", source.read_text())
    assert 2 * int(seconds) < int(re.findall(r"--timeout=(\d+)s", options)[0])


class Health(http.server.BaseHTTPRequestHandler):
    """Answers as a node does."""

    status = 200

    def do_GET(self) -> None:
        assert self.path == "/health/live"
        self.send_response(self.status)
        self.end_headers()
        self.wfile.write(b'{"ok": true}' if self.status == 200 else b'{"reason": "a thread stands still"}')

    def log_message(self, *_arguments: Any) -> None:
        """Prints nothing."""


def health(tmp_path: Path, **variables: str) -> tuple[int, str]:
    """Runs the health check of the image; returns its exit code and what it prints."""
    program = tmp_path / "tensorflow-ignite"
    program.write_text('#!/bin/sh\necho "called $@"\n')
    program.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", **variables}
    done = subprocess.run([sys.executable, "-I", HEALTHY], env=environment, capture_output=True, text=True, check=False)
    assert not done.stderr
    return done.returncode, done.stdout


def test_the_health_check_asks_the_http_port_if_the_node_has_one(tmp_path: Path) -> None:
    for port in ("", "0", "8501..8510", "none"):
        assert health(tmp_path, TENSORFLOW_IGNITE_HTTP_PORT=port) == (0, "called nodes --json\n")
    assert health(tmp_path) == (0, "called nodes --json\n")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Health)
    threading.Thread(target=server.serve_forever).start()
    asked = {"TENSORFLOW_IGNITE_HTTP_PORT": str(server.server_port), "TENSORFLOW_IGNITE_ADDRESS": "127.0.0.1:10820,b:1"}
    try:
        assert health(tmp_path, **asked) == (0, '{"ok": true}\n')
        Health.status = 503
        assert health(tmp_path, **asked) == (1, '{"reason": "a thread stands still"}\n')
    finally:
        Health.status = 200
        server.shutdown()
        server.server_close()
    code, text = health(tmp_path, **asked)
    assert code == 1
    assert f"port {server.server_port} of the node does not answer: HTTPS: " in text


def test_the_health_check_asks_a_node_with_tls(tmp_path: Path) -> None:
    node = make_authority(tmp_path, "tests").issue("node", ["another-name"])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(node.certificate, node.key)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Health)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever).start()
    try:
        port = str(server.server_port)
        assert health(tmp_path, TENSORFLOW_IGNITE_HTTP_PORT=port) == (0, '{"ok": true}\n')
    finally:
        server.shutdown()
        server.server_close()


def test_packages_are_those_that_are_pinned_and_nothing_is_downloaded_otherwise() -> None:
    names = {name for name, _ in instructions()}
    assert "ADD" not in names
    runs = [arguments for name, arguments in instructions() if name == "RUN"]
    steps = [step.strip() for run in runs for step in run.split("&&")]
    assert not [step for step in steps if re.search(r"https?://|\b(?:curl|wget|git)\b", step)]
    installs = [step for step in steps if "pip install" in step]
    assert len(installs) == 3
    for step in installs:
        assert "--no-deps" in step
        assert "--require-hashes" in step or step.endswith(" .")


def test_every_file_that_is_copied_exists_and_belongs_to_what_is_sent_to_the_builder() -> None:
    allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    copied = [
        arguments.split()[:-1] for name, arguments in instructions() if name == "COPY" and "--from" not in arguments
    ]
    assert len(copied) == 3
    for source in (source for sources in copied for source in sources if source != "."):
        assert (ROOT / source).is_file(), source
        assert any(fnmatch(source, pattern) or source.startswith(f"{pattern}/") for pattern in allowed), source
    assert not [name for name in allowed if not (ROOT / name).exists()]
    needed = {PROJECT["readme"], *PROJECT["license-files"], "setup.py", "build_backend.py", "build.gradle"}
    assert needed <= set(allowed)


def test_three_nodes_find_each_other_and_only_this_machine_reaches_them() -> None:
    services = compose()["services"]
    nodes = {name: service for name, service in services.items() if name.startswith("node-")}
    assert len(nodes) == 3
    for service in services.values():
        assert service["image"] == f"tensorflow-ignite:{PROJECT['version']}"
        assert (ROOT / service["build"]["dockerfile"]).is_file()
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))
        assert int(service["stop_grace_period"].removesuffix("s")) > STOP_TIMEOUT
    for service in nodes.values():
        command, options = parsed(service["command"])
        assert command == "node"
        assert options["discovery"].split(",") == [f"{name}:47500" for name in nodes]
        assert image_file(options["config"]).is_file()
    assert services["digits"]["depends_on"] == {name: {"condition": "service_healthy"} for name in nodes}
    assert image_file(services["digits"]["entrypoint"][1]).is_file()


def image_file(path: str) -> Path:
    """The file of the repository that the image has at a path in /etc/tensorflow-ignite."""
    sources = {Path(source).name: ROOT / source for source in last("COPY").split()[:-1]}
    assert path.startswith(last("COPY").split()[-1])
    return sources[Path(path).name]


def test_the_configuration_without_authentication_says_nothing_else_about_security() -> None:
    tree = ElementTree.parse(ROOT / "container/trusted-network.xml")
    named = [each.attrib["name"] for each in tree.iter("{http://www.springframework.org/schema/beans}property")]
    assert [name for name in named if name.startswith("security.")] == ["security.allowUnauthenticated"]
