"""How a measured program is driven: it reads the name of a pass from its input, and answers what the pass came to.

The program lives as long as its input is open, and does nothing between passes, so that many of them can take turns on
one machine with their data loaded once.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping

# A pass gives the rows and the bytes that it read, and their sum; None: it sums nothing.
Pass = Callable[[], tuple[int, int, "int | None"]]

_kept: list[object] = []


def keep(thing: object) -> None:
    """Holds a thing until its pass has been answered, as its end is not to be measured."""
    _kept.append(thing)


def serve(passes: Mapping[str, Pass]) -> None:
    """Runs passes as they are asked for, until the input ends."""
    # What libraries print must not get between the answers.
    answers, sys.stdout = sys.stdout, sys.stderr
    _send(answers, {"ready": sorted(passes)})
    for line in sys.stdin:
        start = time.perf_counter()
        rows, count, total = passes[line.strip()]()
        seconds = time.perf_counter() - start
        _send(answers, {"seconds": seconds, "rows": rows, "bytes": count, "sum": total})
        _kept.clear()


def _send(answers, message: dict[str, object]) -> None:
    answers.write(json.dumps(message) + "\n")
    answers.flush()
