"""Says for open writers that they are alive, as long as anybody holds them."""

from __future__ import annotations

import threading
import time
import weakref
from typing import Protocol

from tensorflow_ignite import forks

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
        self._due: weakref.WeakKeyDictionary[_Kept, float] = weakref.WeakKeyDictionary()
        self._changed = threading.Condition()
        self._running = False
        forks.remember(self)

    def add(self, writer: _Kept) -> None:
        """Keeps a writer alive from now on."""
        with self._changed:
            self._due[writer] = time.monotonic() + writer.timeout / _SIGNS
            if self._running:
                self._changed.notify()
                return
            self._running = True
        threading.Thread(target=self._run, name="tensorflow-ignite writers", daemon=True).start()

    def remove(self, writer: _Kept) -> None:
        """A writer has ended."""
        with self._changed:
            self._due.pop(writer, None)
            self._changed.notify()

    def after_fork(self) -> None:
        """In a forked child: writers belong to the parent, which keeps them alive."""
        self._due = weakref.WeakKeyDictionary()
        self._changed = threading.Condition()
        self._running = False

    def _run(self) -> None:
        while True:
            with self._changed:
                now = time.monotonic()
                writers = [writer for writer, due in self._due.items() if due <= now]
                if not writers:
                    if not self._due:
                        self._running = False
                        return
                    self._changed.wait(min(self._due.values()) - now)
                    continue
                for writer in writers:
                    self._due[writer] = now + writer.timeout / _SIGNS
            for writer in writers:
                writer.keep_alive()
            del writer, writers
