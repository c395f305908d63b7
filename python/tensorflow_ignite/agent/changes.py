"""Wakes whoever waits for something to be new; what is new they look up themselves."""

import asyncio
import contextlib


class Changes:
    """One bell for all: take the next ring before looking, wait for it after."""

    def __init__(self) -> None:
        """Nothing has changed yet."""
        self._next = asyncio.Event()

    def tell(self) -> None:
        """Rings."""
        self._next.set()
        self._next = asyncio.Event()

    def next(self) -> asyncio.Event:
        """The ring to come; changes told from now on set it."""
        return self._next


async def wait(ring: asyncio.Event, seconds: float) -> None:
    """Waits for a ring, at most some seconds."""
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(ring.wait(), max(0.0, seconds))
