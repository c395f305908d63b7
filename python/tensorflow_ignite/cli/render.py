"""Text for people and for programs: tables, times, colours and JSON."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any, TextIO

_COLOURS = {"red": 31, "green": 32, "yellow": 33, "blue": 34, "magenta": 35, "cyan": 36, "dim": 2, "bold": 1}
_STATE_COLOURS = {
    "running": "green",
    "succeeded": "green",
    "failed": "red",
    "lost": "red",
    "unreadable": "red",
    "stopped": "yellow",
    "ending": "yellow",
    "restarting": "yellow",
    "done": "green",
    "crash": "red",
    "start-timeout": "red",
    "data-lost": "red",
    "no-rows": "red",
    "node-left": "yellow",
    "data-moved": "yellow",
}
_GAP = "  "


def has_colour(stream: TextIO) -> bool:
    """True when the stream is a terminal that wants colours."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, colour: str, stream: TextIO | None = None) -> str:
    """Colours a text for a stream (standard output), if that is a terminal."""
    if not has_colour(stream or sys.stdout):
        return text
    return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m"


def paint_state(text: str) -> str:
    """Colours a text that begins with the state of a job or task."""
    colour = _STATE_COLOURS.get(text.strip().partition(" ")[0])
    return paint(text, colour) if colour else text


def escaped(text: str) -> str:
    """A text on one line: line breaks and control sequences of terminals are escaped."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, indent: str = "") -> str:
    """Lays out rows under heads; columns are as wide as they must be, and nothing is cut off."""
    lines = [heads, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
    text = []
    for number, line in enumerate(lines):
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=True)]
        cells[-1] = cells[-1].rstrip()
        if number == 0:
            cells = [paint(cell, "bold") for cell in cells]
        else:
            cells = [paint_state(cell) if head == "STATE" else cell for head, cell in zip(heads, cells, strict=True)]
        text.append(indent + _GAP.join(cells))
    return "\n".join(text)


def count(number: int, singular: str) -> str:
    """A number with its word: ``"3 workers"``, ``"2 directories"``."""
    plural = f"{singular[:-1]}ies" if singular.endswith("ry") else f"{singular}s"
    return f"{number:,} {singular if number == 1 or singular == 'ps' else plural}"


def short_id(text: str) -> str:
    """The first characters of an id, enough to tell and to type it; an id that is short anyway stays whole."""
    return text if len(text) <= 12 else text[:8]


def age(start: datetime | None, end: datetime | None = None) -> str:
    """The time from a start to an end (now), in its largest unit: ``"42s"``, ``"3m"``, ``"5h"``, ``"2d"``."""
    if start is None:
        return "-"
    seconds = max(int(((end or datetime.now(timezone.utc)) - start).total_seconds()), 0)
    for limit, size, unit in ((120, 1, "s"), (7200, 60, "m"), (172_800, 3600, "h")):
        if seconds < limit:
            return f"{seconds // size}{unit}"
    return f"{seconds // 86_400}d"


def duration(start: datetime | None, end: datetime | None = None) -> str:
    """The time from a start to an end (now), to the second: ``"42s"``, ``"3m 05s"``, ``"5h 10m"``, ``"2d 3h"``."""
    if start is None:
        return "-"
    seconds = max(round(((end or datetime.now(timezone.utc)) - start).total_seconds()), 0)
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86_400
    if minutes == 0:
        return f"{seconds}s"
    if hours == 0:
        return f"{minutes}m {seconds % 60:02}s"
    return f"{hours}h {minutes % 60:02}m" if days == 0 else f"{days}d {hours % 24}h"


def timestamp(time: datetime | None) -> str:
    """A time in this machine's zone, with how long ago it was."""
    if time is None:
        return "-"
    return f"{time.astimezone():%Y-%m-%d %H:%M:%S} ({age(time)} ago)"


def print_json(value: Any) -> None:
    """Prints a value as JSON on standard output."""
    print(json.dumps(value, indent=2, ensure_ascii=False))
