"""Waits between the steps of a training: the job knows that they are no stall, and a planned end ends them at once."""

from __future__ import annotations

import time

from tensorflow_ignite.train.command import POLL_SECONDS
from tensorflow_ignite.train.planned_end import PlannedEnd
from tensorflow_ignite.train.progress import announce

# The time for which the process reports to the job that it works.
_ANNOUNCED_SECONDS = 60.0


class Pause:
    """One wait of any length, in parts. Everything that the process has trained must have been saved.

    Use it in a ``with`` block.
    """

    def __init__(self) -> None:
        """The wait begins."""
        # It saves nothing: so it needs no agreement on a step.
        self._end = PlannedEnd(leads=False, alone=True)
        self._announced = float("-inf")

    def __enter__(self) -> Pause:
        """The wait itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """The wait is over."""
        self._end.end()

    def __call__(self, seconds: float) -> None:
        """Waits; does not return if the job plans an end of this process."""
        until = time.monotonic() + seconds
        while True:
            now = time.monotonic()
            if now - self._announced > _ANNOUNCED_SECONDS / 2:
                self._announced = now
                announce(_ANNOUNCED_SECONDS, force=True)
            # Again, as an earlier training of this process may not have ended its part.
            self._end.begin(0)
            if self._end.is_due(0):
                self._end.wait()
            if now >= until:
                return
            time.sleep(min(POLL_SECONDS, until - now))
