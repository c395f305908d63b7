"""Waits for conditions that send no event: the kernel's tables, background work of a cluster."""

from __future__ import annotations

import time
from collections.abc import Callable

from tensorflow_ignite.testing.patience import patiently

# Far more than anything needs on a busy machine: what is late is wrong.
SECONDS = patiently(120.0)
_POLL = 0.05


def await_true(condition: Callable[[], bool], otherwise: str, seconds: float = SECONDS) -> None:
    """Polls a condition until it is true."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{otherwise} after {seconds:g} s"
        time.sleep(_POLL)
