"""Pauses the garbage collector of Python in threads for which a call of TensorFlow may wait.

TensorFlow calls its file systems while it holds its own locks. The destructor of a resource tensor waits for one of
these locks. So a collection in a thread for which the call waits would be a deadlock. The C extension counts the
pauses; without the extension, TensorFlow makes no calls, and nothing is paused.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class GarbageCollectionGate(Protocol):
    """Counts the pauses; implemented by the C extension."""

    def defer_collection(self) -> None:
        """Begins a pause; collections stay off until `resume_collection` was called as often."""

    def resume_collection(self) -> None:
        """Ends a pause."""


_gate: GarbageCollectionGate | None = None


def install(gate: GarbageCollectionGate) -> None:
    """Sets the implementation; until then `paused` and `resumed` do nothing."""
    global _gate
    _gate = gate


@contextmanager
def paused() -> Iterator[GarbageCollectionGate | None]:
    """No thread collects cyclic garbage during this block."""
    gate = _gate
    if gate is None:
        yield None
        return
    gate.defer_collection()
    try:
        yield gate
    finally:
        gate.resume_collection()


@contextmanager
def resumed(gate: GarbageCollectionGate | None) -> Iterator[None]:
    """Inside `paused`: allows collections during this block, which waits for a long time."""
    if gate is None:
        yield
        return
    gate.resume_collection()
    try:
        yield
    finally:
        gate.defer_collection()
