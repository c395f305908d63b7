"""Threads that transfer blocks; an idle thread ends after 0.2 s."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from tensorflow_ignite.base import forks
from tensorflow_ignite.storage import gc_pause

_T = TypeVar("_T")
_IDLE_SECONDS = 0.2


class Workers:
    """Runs functions in at most `limit` threads. A function must not wait for another one."""

    def __init__(self, limit: int) -> None:
        """Starts no thread yet."""
        self._limit = limit
        self._threads = 0
        self._idle = 0
        self._pending: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._changed = threading.Condition()
        forks.register(self)

    def submit(self, function: Callable[[], _T]) -> Future[_T]:
        """Runs a function in a thread; in the calling thread if no thread can be started, as at the end of Python."""
        future: Future[_T] = Future()
        with self._changed:
            self._pending.append((future, function))
            if len(self._pending) <= self._idle:
                self._changed.notify()
                return future
            if self._threads >= self._limit:
                return future
            self._threads += 1
        try:
            threading.Thread(target=self._run, name="tensorflow-ignite blocks", daemon=True).start()
        except RuntimeError:
            with self._changed:
                self._threads -= 1
            self._run_pending()
        return future

    def after_fork(self) -> None:
        """In a forked child: the threads and their functions belong to the parent."""
        self._threads = self._idle = 0
        self._pending = deque()
        self._changed = threading.Condition()

    def _run(self) -> None:
        with gc_pause.paused():
            while True:
                with self._changed:
                    self._idle += 1
                    self._changed.wait_for(lambda: self._pending, _IDLE_SECONDS)
                    self._idle -= 1
                    if not self._pending:
                        self._threads -= 1
                        return
                self._run_pending()

    def _run_pending(self) -> None:
        while True:
            with self._changed:
                if not self._pending:
                    return
                future, function = self._pending.popleft()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(function())
            except BaseException as error:
                future.set_exception(error)
            del future, function
