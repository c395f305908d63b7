"""What the tests of the command line share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs a command in this process; gives its exit code, standard output and standard error."""
    from tensorflow_ignite.cli import main

    def run(*args: object) -> tuple[int, str, str]:
        code = main([str(arg) for arg in args])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """A node API, which commands ask unless told otherwise."""
    from node_api_server import NodeApiServer

    with NodeApiServer() as server:
        monkeypatch.setenv("TENSORFLOW_IGNITE_ADDRESS", server.address)
        monkeypatch.setenv("COLUMNS", "120")
        yield server


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """Something to submit."""
    path = tmp_path / "train.py"
    path.write_text("print('x')\n")
    return path
