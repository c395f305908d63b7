"""Keeps open writers alive in the cluster, as long as this process has a reference to them."""

from __future__ import annotations

import threading
import time
import weakref
from typing import Protocol

from tensorflow_ignite.base import forks
from tensorflow_ignite.storage import gc_pause

# Calls of a writer during one writer timeout.
_CALLS_PER_TIMEOUT = 4


class _KeepAliveWriter(Protocol):
    timeout: float

    def keep_alive(self) -> None:
        """Prevents the writer timeout by a call; raises nothing."""


class WriterKeepAlive:
    """One thread for all writers of a cluster; it ends with the last of them."""

    def __init__(self) -> None:
        """Starts no thread yet."""
        # Time of the next call of each writer.
        self._due: dict[weakref.ref[_KeepAliveWriter], float] = {}
        # Reentrant: the garbage collector may call `_remove` in a thread that holds the lock.
        self._changed = threading.Condition(threading.RLock())
        self._running = False
        forks.register(self)

    def add(self, writer: _KeepAliveWriter) -> None:
        """Keeps a writer alive until `remove`, or until it is collected."""
        with self._changed:
            self._due[weakref.ref(writer, self._remove)] = time.monotonic() + writer.timeout / _CALLS_PER_TIMEOUT
            if self._running:
                self._changed.notify()
                return
            self._running = True
        try:
            threading.Thread(target=self._run, name="tensorflow-ignite writers", daemon=True).start()
        except RuntimeError:
            # Without a thread, as at the end of Python, a writer lives for its timeout. The next one tries again.
            with self._changed:
                self._running = False

    def remove(self, writer: _KeepAliveWriter) -> None:
        """Stops the calls of a writer."""
        self._remove(weakref.ref(writer))

    def after_fork(self) -> None:
        """In a forked child: the writers belong to the parent."""
        self._due = {}
        self._changed = threading.Condition(threading.RLock())
        self._running = False

    def _remove(self, writer: weakref.ref[_KeepAliveWriter]) -> None:
        with self._changed:
            self._due.pop(writer, None)
            self._changed.notify()

    def _run(self) -> None:
        with gc_pause.paused() as gate:
            while True:
                with self._changed:
                    now = time.monotonic()
                    due = [writer for writer, moment in self._due.items() if moment <= now]
                    if not due:
                        if not self._due:
                            self._running = False
                            return
                        with gc_pause.resumed(gate):
                            self._changed.wait(min(self._due.values()) - now)
                        continue
                for writer in due:
                    self._send(writer)

    def _send(self, reference: weakref.ref[_KeepAliveWriter]) -> None:
        writer = reference()
        if writer is None:
            return
        with self._changed:
            if reference not in self._due:
                return
            self._due[reference] = time.monotonic() + writer.timeout / _CALLS_PER_TIMEOUT
        writer.keep_alive()
