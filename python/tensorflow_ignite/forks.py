"""What a forked child must make anew: it has the parent's objects, but none of its threads, and locks as they were.

An object that holds threads, locks or connections is told in the child, before anything else runs there. gRPC itself
survives a fork only when no thread is inside a call: its state in the child is broken otherwise, now and then. So a
fork waits for the calls that are under way, and calls wait for the fork.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

__all__ = ["calling", "leak", "remember"]

# Seconds that a fork waits for calls; one to a node that does not answer would take longer.
_PATIENCE = 2.0


class _ForkAware(Protocol):
    def after_fork(self) -> None:
        """Makes everything anew that does not survive a fork; in the child, its only thread."""


_remembered: weakref.WeakSet[_ForkAware] = weakref.WeakSet()
_leaked: list[Any] = []
_changed = threading.Condition()
_calls = 0
_forking = False


def remember(thing: _ForkAware) -> None:
    """Has an object told in every child that is forked from now on, for as long as it lives."""
    _remembered.add(thing)


def leak(thing: Any) -> None:
    """Keeps what belongs to the parent until the process ends: its destructor would wait for threads that are not."""
    _leaked.append(thing)


@contextmanager
def calling() -> Iterator[None]:
    """Inside, this thread makes a call that ends soon."""
    global _calls
    with _changed:
        while _forking:
            _changed.wait()
        _calls += 1
    try:
        yield
    finally:
        with _changed:
            _calls -= 1
            if _forking:
                _changed.notify_all()


def _before() -> None:
    global _forking
    with _changed:
        _forking = True
        _changed.wait_for(lambda: _calls == 0, _PATIENCE)


def _in_parent() -> None:
    global _forking
    with _changed:
        _forking = False
        _changed.notify_all()


def _in_child() -> None:
    global _changed, _calls, _forking
    _changed = threading.Condition()
    _calls = 0
    _forking = False
    for thing in list(_remembered):
        thing.after_fork()


os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
