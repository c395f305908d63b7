"""Text for people and for programs: tables, times, colours and JSON."""

from __future__ import annotations

import json
import os
import re
import shutil
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
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_GAP = "  "
_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


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


def fold(text: str, indent: int = 0, stream: TextIO | None = None) -> str:
    """Breaks long lines at blanks, for a terminal; files and pipes get whole lines.

    Args:
        text: The lines, which may have colours.
        indent: Blanks before what follows a break.
        stream: Where the text goes; None: standard output.
    """
    width = _width(stream or sys.stdout)
    return "\n".join(_folded(line, indent, width) if width else line for line in text.split("\n"))


def _folded(line: str, indent: int, width: int) -> str:
    broken, used = "", 0
    for word in re.findall(r" *[^ ]+", line):
        size = len(_COLOUR.sub("", word))
        if used + size > width and broken.strip():
            broken += "\n" + " " * indent
            used, word = indent, word.lstrip(" ")
            size = len(_COLOUR.sub("", word))
        broken, used = broken + word, used + size
    return broken


def table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    indent: str = "",
    optional: Sequence[str] = (),
    elastic: Sequence[str] = (),
    stream: TextIO | None = None,
) -> str:
    """Lays out rows under heads. Columns are as wide as they must be; only a narrower terminal gets less.

    Args:
        heads: Names of the columns.
        rows: The cells of each row.
        indent: Text before each line.
        optional: Columns that are left out, in this order, until the table is as narrow as the terminal.
        elastic: Columns whose long cells are cut after that, in this order, down to the width of their heads.
        stream: Where the table goes; None: standard output.
    """
    columns = list(range(len(heads)))
    widths = [max(len(escaped(line[column])) for line in (heads, *rows)) for column in columns]
    limit = _width(stream or sys.stdout)

    def excess() -> int:
        used = len(indent) + sum(widths[column] for column in columns) + len(_GAP) * (len(columns) - 1)
        return max(0, used - limit) if limit else 0

    for head in optional:
        if excess():
            columns.remove(heads.index(head))
    for head in elastic:
        column = heads.index(head)
        if column in columns:
            widths[column] = max(len(head), widths[column] - excess())
    text = []
    for number, line in enumerate([heads, *rows]):
        cells = [_cut(escaped(line[column]), widths[column]).ljust(widths[column]) for column in columns]
        cells[-1] = cells[-1].rstrip()
        if number == 0:
            cells = [paint(cell, "bold", stream) for cell in cells]
        else:
            names = [heads[column] for column in columns]
            cells = [paint_state(cell) if name == "STATE" else cell for name, cell in zip(names, cells, strict=True)]
        text.append(indent + _GAP.join(cells))
    return "\n".join(text)


def _width(stream: TextIO) -> int:
    """Columns of a terminal; 0: the stream is none, and its lines may have any length."""
    return shutil.get_terminal_size().columns if stream.isatty() else 0


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def count(number: int, singular: str) -> str:
    """A number with its word: ``"3 workers"``, ``"2 directories"``."""
    plural = f"{singular[:-1]}ies" if singular.endswith("ry") else f"{singular}s"
    return f"{number:,} {singular if number == 1 or singular == 'ps' else plural}"


def short_id(text: str) -> str:
    """The first characters of an id, enough to recognize and to type it; an id of at most 12 characters stays whole."""
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
    """The time from a start to an end (now), to the second, as :func:`seconds_text`."""
    if start is None:
        return "-"
    return seconds_text(((end or datetime.now(timezone.utc)) - start).total_seconds())


def seconds_text(number: float) -> str:
    """A time in its two largest units: ``"42s"``, ``"3m 05s"``, ``"5h 10m"``, ``"2d 3h"``."""
    seconds = max(round(number), 0)
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86_400
    if minutes == 0:
        return f"{seconds}s"
    if hours == 0:
        return f"{minutes}m {seconds % 60:02}s"
    return f"{hours}h {minutes % 60:02}m" if days == 0 else f"{days}d {hours % 24}h"


def timestamp(time: datetime | None) -> str:
    """A time in this machine's zone, with how long ago it was, or how far ahead it is."""
    if time is None:
        return "-"
    now = datetime.now(timezone.utc)
    distance = f"in {age(now, time)}" if time > now else f"{age(time, now)} ago"
    return f"{time.astimezone():%Y-%m-%d %H:%M:%S} ({distance})"


def size(number: int) -> str:
    """Bytes in the largest unit that leaves a whole number, to three digits: ``"999 B"``, ``"45.6 GB"``."""
    if number < 1_000:
        return f"{number} B"
    value, unit = float(number), 0
    # 999.5 would be printed as 1000.
    while value >= 999.5 and unit < len(_UNITS) - 1:
        value, unit = value / 1_000, unit + 1
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:,.{digits}f} {_UNITS[unit]}"


def local_time(seconds: float) -> str:
    """Seconds since the epoch, in this machine's zone."""
    return f"{datetime.fromtimestamp(seconds):%Y-%m-%d %H:%M:%S}"


def utc_time(seconds: float) -> str:
    """Seconds since the epoch, for programs."""
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat()


def print_json(value: Any) -> None:
    """Prints a value as JSON on standard output, with escapes where its encoding lacks characters."""
    has_all = (sys.stdout.encoding or "").lower().startswith("utf")
    print(json.dumps(value, indent=2, ensure_ascii=not has_all))
