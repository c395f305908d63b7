"""Says for open writers that they are alive, as long as anybody holds them."""

from __future__ import annotations

import threading
import time
import weakref
from typing import Protocol

from tensorflow_ignite import forks
from tensorflow_ignite.storage import collecting

__all__ = ["Keeper"]

# A writer says so many times in its time-out that it is alive.
_SIGNS = 4


class _Kept(Protocol):
    timeout: float

    def keep_alive(self) -> None:
        """Says that the writer is alive; raises nothing."""


class Keeper:
    """One thread for all writers of a cluster; it ends with the last of them."""

    def __init__(self) -> None:
        """Starts no thread yet."""
        # Of each writer: when it is due to say that it is alive.
        self._due: dict[weakref.ref[_Kept], float] = {}
        # Its lock may be taken again by the thread that has it: a writer can die anywhere.
        self._changed = threading.Condition(threading.RLock())
        self._running = False
        forks.remember(self)

    def add(self, writer: _Kept) -> None:
        """Keeps a writer alive from now on."""
        with self._changed:
            self._due[weakref.ref(writer, self._remove)] = time.monotonic() + writer.timeout / _SIGNS
            if self._running:
                self._changed.notify()
                return
            self._running = True
        threading.Thread(target=self._run, name="tensorflow-ignite writers", daemon=True).start()

    def remove(self, writer: _Kept) -> None:
        """A writer has ended."""
        self._remove(weakref.ref(writer))

    def after_fork(self) -> None:
        """In a forked child: writers belong to the parent, which keeps them alive."""
        self._due = {}
        self._changed = threading.Condition(threading.RLock())
        self._running = False

    def _remove(self, writer: weakref.ref[_Kept]) -> None:
        with self._changed:
            self._due.pop(writer, None)
            self._changed.notify()

    def _run(self) -> None:
        with collecting.held() as holder:
            while True:
                with self._changed:
                    now = time.monotonic()
                    due = [writer for writer, moment in self._due.items() if moment <= now]
                    if not due:
                        if not self._due:
                            self._running = False
                            return
                        with collecting.let(holder):
                            self._changed.wait(min(self._due.values()) - now)
                        continue
                for writer in due:
                    self._say(writer)

    def _say(self, reference: weakref.ref[_Kept]) -> None:
        writer = reference()
        if writer is None:
            return
        with self._changed:
            if reference not in self._due:
                return
            self._due[reference] = time.monotonic() + writer.timeout / _SIGNS
        writer.keep_alive()
