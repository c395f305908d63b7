"""Waiting for what tells nobody that it has come true: the kernel's tables, a cluster's background work."""

from __future__ import annotations

import time
from collections.abc import Callable

SECONDS = 30.0
_POLL = 0.05


def await_true(condition: Callable[[], bool], otherwise: str, seconds: float = SECONDS) -> None:
    """Looks again and again.

    Args:
        condition: What shall come true.
        otherwise: What is wrong when it does not.
        seconds: For how long it may be false.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{otherwise} after {seconds:g} s"
        time.sleep(_POLL)
