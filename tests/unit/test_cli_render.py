"""Tables on terminals of different widths, and in files."""

from __future__ import annotations

import os

import pytest

from tensorflow_ignite.cli import render

HEADS = ["ID", "KIND", "PROGRESS", "AGE"]
ROWS = [["7f3a0001", "multi-worker-mirrored", "step 120 of 1000, loss 0.25", "3m"], ["7f3a0002", "one", "-", "2d"]]


@pytest.fixture
def columns(monkeypatch: pytest.MonkeyPatch):
    def narrow(number: int) -> None:
        monkeypatch.setenv("NO_COLOR", "1")
        monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
        monkeypatch.setattr(render.shutil, "get_terminal_size", lambda: os.terminal_size((number, 24)))

    return narrow


def table() -> list[str]:
    return render.table(HEADS, ROWS, optional=["KIND"], elastic=["PROGRESS"]).splitlines()


def test_nothing_is_left_out_in_a_file_and_on_a_wide_terminal(columns) -> None:
    whole = table()
    assert whole[1] == "7f3a0001  multi-worker-mirrored  step 120 of 1000, loss 0.25  3m"
    columns(200)
    assert table() == whole


def test_a_narrow_terminal_gets_fewer_columns_and_then_shorter_cells(columns) -> None:
    columns(50)
    assert table()[1:] == ["7f3a0001  step 120 of 1000, loss 0.25  3m", "7f3a0002  -                            2d"]
    columns(33)
    assert table() == [
        "ID        PROGRESS            AGE",
        "7f3a0001  step 120 of 1000,…  3m",
        "7f3a0002  -                   2d",
    ]


def test_cells_are_cut_no_further_than_to_their_heads(columns) -> None:
    columns(5)
    assert table()[0] == "ID        PROGRESS  AGE"
    assert table()[1] == "7f3a0001  step 12…  3m"
