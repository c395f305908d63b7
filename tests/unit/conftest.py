"""What unit tests share: the fixtures of the command line, and how hypothesis runs."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# gRPC reads it once, as of the command line; else it logs the end of an earlier test's server into a later output.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

# A slow example on a busy machine is not a failure.
settings.register_profile("busy machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy machine")


@pytest.fixture
def cli(capfd: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs a command in this process; gives its exit code, standard output and standard error."""
    from tensorflow_ignite.cli import main

    def run(*args: object) -> tuple[int, str, str]:
        code = main([str(arg) for arg in args])
        return code, *capfd.readouterr()

    return run


@pytest.fixture
def fs(cli: Callable[..., tuple[int, str, str]]) -> Callable[..., tuple[int, str, str]]:
    """Runs a command of ``fs``, like `cli`."""
    return partial(cli, "fs")


@pytest.fixture
def complete(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Gives the lines that a shell gets for the last word of a command line."""
    from tensorflow_ignite.cli import main

    def run(line: str, shell: str = "fish") -> list[str]:
        words = line.split(" ")
        if shell == "bash":
            words = [word for part in words for word in re.split("(:)", part) if word or not part]
        monkeypatch.setenv("_TENSORFLOW_IGNITE_COMPLETE", f"complete_{shell}")
        monkeypatch.setenv("COMP_WORDS", "\n".join(words))
        monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
        monkeypatch.setenv("_TYPER_COMPLETE_ARGS", line)
        monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
        with pytest.raises(SystemExit):
            main([])
        out, err = capfd.readouterr()
        assert err == ""
        return [line for line in out.splitlines() if line]

    return run


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """A node API, which is the default address of commands."""
    from node_api_server import NodeApiServer

    with NodeApiServer() as server:
        monkeypatch.setenv("TENSORFLOW_IGNITE_ADDRESS", server.address)
        monkeypatch.setenv("COLUMNS", "120")
        yield server


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text("print('x')\n")
    return path


@pytest.fixture(scope="module")
def one_agent(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """An agent for all tests of a module, which may set ``AGENT_ENVIRONMENT``."""
    from agent_harness import Agent

    env = getattr(request.module, "AGENT_ENVIRONMENT", None)
    with closing(Agent(tmp_path_factory.mktemp("agent"), env=env)) as running:
        yield running


@pytest.fixture
def agent(one_agent: Any) -> Iterator[object]:
    """The one agent, with a job for this test."""
    with one_agent.new_job():
        yield one_agent
