"""Does what is due when an object has gone, in a place where no lock is held.

A finalizer runs wherever the interpreter happens to be, perhaps while its thread holds a lock that whoever holds the
next lock waits for. So it only takes a note; a thread, or whoever wants to know, does what is due.
"""

from __future__ import annotations

import queue
import threading
import weakref
from collections import deque
from collections.abc import Callable

# For the end of the process: what is due is quick.
_SECONDS = 1.0


class Endings:
    """What is due after the end of objects. Any thread may call, but no finalizer."""

    def __init__(self, needed: Callable[[], bool]) -> None:
        """Runs no thread yet.

        Args:
            needed: Whether there is something whose end must not wait until somebody calls: as long as there is, a
                thread waits for it.
        """
        self._needed = needed
        # Appending to either is one operation, which nothing can come in between.
        self._due: deque[Callable[[], None]] = deque()
        self._wake: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._settling = threading.Lock()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def when_gone(self, thing: object, action: Callable[[], None]) -> None:
        """Does something soon after a thing has gone; what is left at the end of the process is not done."""
        weakref.finalize(thing, self._note, action).atexit = False

    def _note(self, action: Callable[[], None]) -> None:
        self._due.append(action)
        self._wake.put(True)

    def settle(self) -> None:
        """Does what is due now; returns when nobody does any of it any more."""
        with self._settling:
            while self._due:
                self._due.popleft()()

    def watch(self) -> None:
        """Lets the thread run when it is needed; to be called when that has changed."""
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                self._wake.put(True)
            elif self._needed():
                self._thread = threading.Thread(target=self._run, name="tensorflow-ignite-endings", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """Ends the thread, and waits for it."""
        thread = self._thread
        self._wake.put(False)
        if thread is not None and thread is not threading.current_thread():
            thread.join(_SECONDS)

    def _run(self) -> None:
        while self._wake.get():
            self.settle()
            with self._lock:
                if not self._needed():
                    self._thread = None
                    return
