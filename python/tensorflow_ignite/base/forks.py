"""The registry of objects that must be reset in a forked child.

A child has the parent's objects, but none of its threads, and its locks stay as they were. An object with threads,
locks or connections registers here; `after_fork` of each is called in the child before anything else runs there. gRPC
survives a fork only if no thread is inside a call; otherwise its state in the child is sometimes broken. So a fork
waits for running calls, and new calls wait for the fork.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from tensorflow_ignite.base import system

# Seconds that a fork waits for calls; a call to a node that does not answer would take longer.
_CALL_TIMEOUT = 2.0


class _ForkAware(Protocol):
    def after_fork(self) -> None:
        """Replaces everything that does not survive a fork; called in the only thread of the child."""


_registered: weakref.WeakSet[_ForkAware] = weakref.WeakSet()
_kept_until_exit: list[Any] = []
_changed = threading.Condition()
_calls = 0
_forking = False


def register(obj: _ForkAware) -> None:
    """Has `obj.after_fork` called in every forked child, as long as the object lives; holds only a weak reference."""
    _registered.add(obj)


def keep_until_exit(obj: Any) -> None:
    """Keeps an object of the parent alive in the child: its destructor would wait for threads that do not exist."""
    _kept_until_exit.append(obj)


class RenewedLock:
    """A lock of a module: in a forked child it is free, even if a thread of the parent held it."""

    def __init__(self) -> None:
        """Makes a free lock, and registers it."""
        self._lock = threading.Lock()
        register(self)

    def __enter__(self) -> None:
        """Acquires the lock."""
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        """Releases the lock."""
        self._lock.release()

    def after_fork(self) -> None:
        """Replaces the lock."""
        self._lock = threading.Lock()


@contextmanager
def call_in_progress() -> Iterator[None]:
    """Marks a short gRPC call of this thread: a fork waits until it has ended, up to 2 s."""
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
        _changed.wait_for(lambda: _calls == 0, _CALL_TIMEOUT)


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
    for obj in list(_registered):
        obj.after_fork()


if system.HAS_FORK:
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
