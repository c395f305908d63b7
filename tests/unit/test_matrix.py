"""The table of `make matrix`: a cell that fails is shown with its reason, and what is not found is no failure."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

MATRIX = Path(__file__).parents[1] / "matrix/matrix.py"
# Instead of an interpreter.
PASSES, FAILS = "exit 0", "echo a warning; echo refused by Ignite: no room; echo; exit 1"


@pytest.fixture
def matrix(tmp_path: Path) -> dict[str, Any]:
    """The names of the script, for cells without nodes."""
    names: dict[str, Any] = runpy.run_path(str(MATRIX))["main"].__globals__
    names |= {"HOME": tmp_path, "REPORTS": tmp_path, "find_java": lambda version: tmp_path, "PYTHON": ("3.11", "9.9")}
    return names


@pytest.mark.parametrize(("script", "code", "shown"), [(PASSES, 0, "passed"), (FAILS, 1, "refused by Ignite: no room")])
def test_a_cell_passes_or_shows_the_last_line_of_its_output(
    matrix: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str], script: str, code: int, shown: str
) -> None:
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    matrix["find_python"] = lambda version: program
    assert matrix["main"]("2.1?.0 21 3.11") == code
    _, *rows = (line.split(maxsplit=4) for line in capsys.readouterr().out.splitlines())
    assert [(ignite, result) for ignite, _, _, _, result in rows] == [("2.16.0", shown), ("2.17.0", shown)]
    assert [cell["result"] for cell in json.loads((tmp_path / "matrix.json").read_text())] == [shown] * 2


def test_a_python_that_is_not_found_is_no_failure(matrix: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert matrix["main"]("2.17.0 1? 9.9") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(maxsplit=4)[4] for line in lines[1:]] == ["not found: python9.9"] * 2
    assert max(map(len, lines)) <= 80
