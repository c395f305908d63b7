"""Tables on terminals of different widths, and in files."""

from __future__ import annotations

import io
import os
from datetime import datetime, timedelta, timezone

import pytest
from rich.console import Console

from tensorflow_ignite.cli import render
from tensorflow_ignite.cli.fs import transfer
from tensorflow_ignite.data.loading import meter as load_meter
from tensorflow_ignite.data.loading.progress import Progress

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
    # They are cut no further than to their heads.
    columns(5)
    assert table()[:2] == ["ID        PROGRESS  AGE", "7f3a0001  step 12…  3m"]


def test_a_cell_is_one_line_without_control_sequences() -> None:
    shown = render.table(["NAME", "STATE"], [["a\x1b[31m\nb\u202e", "running"]])
    assert shown.splitlines()[1:] == [r"a\x1b[31m\nb\u202e  running"]


@pytest.mark.parametrize("width", [80, 40])
def test_bars_of_large_loads_and_copies_have_one_line(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    loads = load_meter.Meter("a-cache-with-a-rather-long-name")
    loads.show(Progress(1_234_567_890, 98_765_432_100, 12_345.0, 12_345_678_900))
    copies = transfer.Meter("copying", 123_456, 98_765_432_100)
    copies.add(12_345_678_901, files=12_345)
    for meter in (loads, copies):
        console = Console(file=io.StringIO(), width=width, color_system=None)
        console.print(meter.get_renderable())
        assert console.file.getvalue().count("\n") == 1  # type: ignore[attr-defined]


def test_long_lines_break_at_blanks_on_a_terminal_and_colours_need_no_columns(columns) -> None:
    assert render.fold("word " * 100, 4) == "word " * 100
    columns(20)
    red = "\x1b[31mone two three four\x1b[0m"
    assert render.fold(f"  state:  {red}\nshort", 4) == "  state:  \x1b[31mone two\n    three four\x1b[0m\nshort"
    assert render.fold("https://a-word-that-is-longer-than-the-terminal and more", 2).splitlines() == [
        "https://a-word-that-is-longer-than-the-terminal",
        "  and more",
    ]


def test_a_moment_ahead_is_not_ago() -> None:
    ahead = datetime.now(timezone.utc) + timedelta(days=6, minutes=1)
    assert render.timestamp(ahead).endswith("(in 6d)")
    assert render.timestamp(ahead - timedelta(days=8)).endswith("(47h ago)")
