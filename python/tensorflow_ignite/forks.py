"""What a forked child must make anew: it has the parent's objects, but none of its threads, and locks as they were.

An object that holds threads, locks or connections is told in the child, before anything else runs there.
"""

from __future__ import annotations

import os
import weakref
from typing import Any, Protocol

__all__ = ["leak", "remember"]


class _ForkAware(Protocol):
    def after_fork(self) -> None:
        """Makes everything anew that does not survive a fork; in the child, its only thread."""


_remembered: weakref.WeakSet[_ForkAware] = weakref.WeakSet()
_leaked: list[Any] = []


def remember(thing: _ForkAware) -> None:
    """Has an object told in every child that is forked from now on, for as long as it lives."""
    _remembered.add(thing)


def leak(thing: Any) -> None:
    """Keeps what belongs to the parent until the process ends: its destructor would wait for threads that are not."""
    _leaked.append(thing)


def _tell() -> None:
    for thing in list(_remembered):
        thing.after_fork()


os.register_at_fork(after_in_child=_tell)
