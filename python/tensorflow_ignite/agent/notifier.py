"""Wakes coroutines that wait for a change; they read the changed state themselves."""

import asyncio
import contextlib


class Notifier:
    """Usage: get `next()` before reading the state, and wait for it afterwards, so that no change is missed."""

    def __init__(self) -> None:
        """Starts without a change."""
        self._next = asyncio.Event()

    def notify(self) -> None:
        """Wakes all that wait."""
        self._next.set()
        self._next = asyncio.Event()

    def next(self) -> asyncio.Event:
        """Returns the event that the next `notify` sets."""
        return self._next


async def wait(change: asyncio.Event, seconds: float) -> None:
    """Waits for a change, at most `seconds`."""
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(change.wait(), max(0.0, seconds))
