"""`make test-six`: `make test` six times, each from a fresh clone; three of them beside two programs that spin."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from phases import REPORTS, ROOT

# The most seconds of a run: alone, and beside two spinning programs.
LIMIT = 12 * 60
LIMIT_BESIDE_OTHERS = 20 * 60
_SPIN = "while True: pass"


def run() -> int:
    """Runs all six, and prints their table; gives the exit code."""
    rows: list[tuple[bool, float, int, str]] = []
    for number in range(6):
        spinning = number % 2 == 1
        spinners = [subprocess.Popen([sys.executable, "-c", _SPIN]) for _ in range(2 if spinning else 0)]
        try:
            with tempfile.TemporaryDirectory(prefix="tensorflow-ignite-six-") as folder:
                clone = Path(folder) / "clone"
                subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
                begin = time.monotonic()
                code = _make_test(clone)
                seconds = time.monotonic() - begin
                summary = clone / REPORTS.relative_to(ROOT) / "summary.txt"
                verdict = summary.read_text().splitlines()[-1] if summary.exists() else "no summary"
        finally:
            for spinner in spinners:
                spinner.kill()
                spinner.wait()
        rows.append((spinning, seconds, code, verdict))
        print(_table(rows), flush=True)
    late = [seconds > (LIMIT_BESIDE_OTHERS if spinning else LIMIT) for spinning, seconds, _, _ in rows]
    return int(any(code for _, _, code, _ in rows) or any(late))


def _make_test(clone: Path) -> int:
    process = subprocess.Popen(["make", "test"], cwd=clone, start_new_session=True)
    try:
        return process.wait()
    except KeyboardInterrupt:
        # It ends what it has started before the clone is removed.
        os.killpg(process.pid, signal.SIGINT)
        process.wait()
        raise


def _table(rows: list[tuple[bool, float, int, str]]) -> str:
    lines = [f"{'run':<5}{'beside':<12}{'minutes':>8}{'limit':>7}  result"]
    for number, (spinning, seconds, _, verdict) in enumerate(rows, start=1):
        limit = LIMIT_BESIDE_OTHERS if spinning else LIMIT
        beside = "2 spinning" if spinning else "nothing"
        lines.append(f"{number:<5}{beside:<12}{seconds / 60:>8.1f}{limit / 60:>7.0f}  {verdict}")
    return "\n".join(lines)
