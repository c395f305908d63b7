"""Repeats reads that a busy or a dead node has ended, until the cluster has noticed it and has new owners."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from tensorflow_ignite import errors

_log = logging.getLogger("tensorflow_ignite.data")
# As long as the nodes may take to notice that one of them has died, and to agree on new owners of its partitions.
SECONDS = 60.0
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 2.0


class Repeats:
    """The time for which a read is repeated."""

    def __init__(self, wait: Callable[[float], object] = time.sleep) -> None:
        """Begins with the first failure.

        Args:
            wait: Waits; the argument is in seconds.
        """
        self._wait = wait
        self._began: float | None = None
        self._pause = _FIRST_PAUSE

    def begin_anew(self) -> None:
        """A read has succeeded."""
        self._began = None
        self._pause = _FIRST_PAUSE

    def pause(self, error: errors.ConnectionFailedError) -> None:
        """Waits before the next attempt, each time longer.

        Raises:
            ConnectionFailedError: The error, with the time for which reads have been repeated, if that is over; at once
                if another attempt cannot help.
        """
        if error.is_lasting:
            raise error
        now = time.monotonic()
        if self._began is None:
            self._began = now
            _log.warning("A read is repeated for up to %.0f s: %s", SECONDS, error)
        if now - self._began >= SECONDS:
            raise type(error)(f"{error}. The read was repeated for {now - self._began:.0f} s") from error
        self._wait(self._pause)
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)
