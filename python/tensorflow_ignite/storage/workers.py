"""A few threads that carry blocks; they end by themselves when there is nothing to carry."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from tensorflow_ignite import forks
from tensorflow_ignite.storage import collecting

__all__ = ["Workers"]

_T = TypeVar("_T")
_IDLE_SECONDS = 0.2


class Workers:
    """Runs functions in at most so many threads. None of them may wait for another one."""

    def __init__(self, limit: int) -> None:
        """Starts no thread yet."""
        self._limit = limit
        self._threads = 0
        self._idle = 0
        self._waiting: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._changed = threading.Condition()
        forks.remember(self)

    def submit(self, function: Callable[[], _T]) -> Future[_T]:
        """Runs a function soon; when no thread can be started any more, as at the end of Python, at once."""
        future: Future[_T] = Future()
        with self._changed:
            self._waiting.append((future, function))
            if len(self._waiting) <= self._idle:
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
            self._work_off()
        return future

    def after_fork(self) -> None:
        """In a forked child: the threads are the parent's, and what they were at."""
        self._threads = self._idle = 0
        self._waiting = deque()
        self._changed = threading.Condition()

    def _run(self) -> None:
        with collecting.held():
            while True:
                with self._changed:
                    self._idle += 1
                    self._changed.wait_for(lambda: self._waiting, _IDLE_SECONDS)
                    self._idle -= 1
                    if not self._waiting:
                        self._threads -= 1
                        return
                self._work_off()

    def _work_off(self) -> None:
        while True:
            with self._changed:
                if not self._waiting:
                    return
                future, function = self._waiting.popleft()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(function())
            except BaseException as error:
                future.set_exception(error)
            del future, function
