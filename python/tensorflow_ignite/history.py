"""A job's history as a stream: each event once, however often the list of the newest ones is seen."""

from __future__ import annotations

from collections.abc import Sequence

from tensorflow_ignite.spec import Event

__all__ = ["EventLog"]


class EventLog:
    """Tells which events of a list are new.

    Events have no numbers: a job keeps the newest 500 in order, and drops the oldest. So the list last seen, and a list
    seen later, overlap: what lies beyond the overlap is new. A node that lags behind shows an older list, with nothing
    new in it.
    """

    def __init__(self) -> None:
        """Starts with nothing seen."""
        self._seen: tuple[Event, ...] = ()

    def fresh(self, events: Sequence[Event]) -> Sequence[Event]:
        """Takes the events that a job has now, and returns those that were not there before, in order."""
        now = tuple(events)
        if not now or self._is_older(now):
            return ()
        for dropped in range(len(self._seen) + 1):
            kept = self._seen[dropped:]
            if now[: len(kept)] == kept:
                self._seen = now
                return now[len(kept) :]
        raise AssertionError("an empty list begins every list")

    def _is_older(self, now: tuple[Event, ...]) -> bool:
        """True when the list, up to its last event, lies within the one last seen."""
        ends = (end for end in range(len(self._seen), 0, -1) if self._seen[end - 1] == now[-1])
        return any(self._seen[max(end - len(now), 0) : end] == now[-end:] for end in ends)
