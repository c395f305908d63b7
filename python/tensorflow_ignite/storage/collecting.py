"""When Python may collect cyclic garbage, for threads that a call of TensorFlow may wait for.

TensorFlow calls its file systems under locks of its own. A collection that came upon a tensor of a resource would wait
for such a lock, and so would never end in a thread that the call waits for. The extension for TensorFlow knows who
holds collections back; where it is not loaded, nobody calls, and nothing is held back.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

__all__ = ["Holder", "held", "let", "use"]


class Holder(Protocol):
    """Counts those who hold collections back; see the extension."""

    def hold(self) -> None:
        """Lets nothing be collected, until as many calls of `let`."""

    def let(self) -> None:
        """Ends one `hold`."""


_holder: Holder | None = None


def use(holder: Holder) -> None:
    """From now on collections are held back."""
    global _holder
    _holder = holder


@contextmanager
def held() -> Iterator[Holder | None]:
    """Nothing is collected in this block, in no thread."""
    holder = _holder
    if holder is None:
        yield None
        return
    holder.hold()
    try:
        yield holder
    finally:
        holder.let()


@contextmanager
def let(holder: Holder | None) -> Iterator[None]:
    """Within `held`: this block waits for long, so collections are allowed again."""
    if holder is None:
        yield
        return
    holder.let()
    try:
        yield
    finally:
        holder.hold()
