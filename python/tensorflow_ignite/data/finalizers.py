"""Runs callbacks after objects were collected, on a thread that holds no lock.

The interpreter runs a finalizer at any point of any thread, perhaps while that thread holds a lock, so a finalizer that
takes a lock may cause a deadlock. Here a finalizer only enqueues its callback, which a thread or
:meth:`FinalizerQueue.drain` runs.
"""

from __future__ import annotations

import queue
import threading
import weakref
from collections import deque
from collections.abc import Callable

# Time for the thread to end at the end of the process; callbacks are quick.
_SECONDS = 1.0


class FinalizerQueue:
    """Callbacks of collected objects. Any thread may call the methods, but no finalizer."""

    def __init__(self, needed: Callable[[], bool]) -> None:
        """Starts no thread.

        Args:
            needed: Whether callbacks must run at once; while it returns True a thread runs them, otherwise
                :meth:`drain`.
        """
        self._needed = needed
        # Appending to either is atomic, so a finalizer may do it without a lock.
        self._due: deque[Callable[[], None]] = deque()
        self._wake: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._draining = threading.Lock()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def on_collect(self, obj: object, action: Callable[[], None]) -> None:
        """Runs a callback soon after an object was collected, but not at the end of the process."""
        weakref.finalize(obj, self._enqueue, action).atexit = False

    def _enqueue(self, action: Callable[[], None]) -> None:
        self._due.append(action)
        self._wake.put(True)

    def drain(self) -> None:
        """Runs the queued callbacks, and waits for those that another thread runs."""
        with self._draining:
            while self._due:
                self._due.popleft()()

    def ensure_running(self) -> None:
        """Starts or wakes the thread if it is needed; call this after the result of ``needed`` has changed."""
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                self._wake.put(True)
            elif self._needed():
                self._thread = threading.Thread(target=self._run, name="tensorflow-ignite-finalizers", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """Ends the thread, and waits at most 1 s for it."""
        thread = self._thread
        self._wake.put(False)
        if thread is not None and thread is not threading.current_thread():
            thread.join(_SECONDS)

    def _run(self) -> None:
        while self._wake.get():
            self.drain()
            with self._lock:
                if not self._needed():
                    self._thread = None
                    return
