"""How the process of a tracked run ends: regularly, by an error, or because its job has stopped it."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, NoReturn

from tensorflow_ignite.train.command import COMMAND_VARIABLE, CommandReader
from tensorflow_ignite.train.planned_end import KILL_SECONDS, POLL_SECONDS
from tensorflow_ignite.train.tracking.run import Outcome

# How long SIGTERM waits until the end is recorded; a job gives its tasks 5 s, unless it sets another time.
_LAST_SECONDS = 4.0


class Ending:
    """Calls back once, when it is known how this process ends.

    A job announces in a file that it ends a task, and sends SIGTERM. A thread reads the file, since the main thread may
    be in a call of TensorFlow, where Python runs no handler; the handler keeps the process until the thread is done.
    """

    def __init__(self, end: Callable[[Outcome], None], ask: Callable[[], Outcome]) -> None:
        """Begins to listen.

        Args:
            end: Called with the outcome, by the main thread or another one.
            ask: Returns the outcome of the job that has stopped this task.
        """
        self._end, self._ask = end, ask
        self._lock = threading.Lock()
        self._is_over = self._has_failed = False
        self._recorded, self._closed = threading.Event(), threading.Event()
        self._process = os.getpid()
        self._earlier_handler: Any = None
        self._has_handler = False
        self._install_hooks()
        atexit.register(self.close)
        self._commands = CommandReader(os.environ.get(COMMAND_VARIABLE, ""))
        if COMMAND_VARIABLE in os.environ:
            if threading.current_thread() is threading.main_thread():
                self._earlier_handler = signal.signal(signal.SIGTERM, self._handle)
                self._has_handler = True
            threading.Thread(target=self._watch, name="tensorflow-ignite tracker end", daemon=True).start()

    def close(self) -> None:
        """The process ends by itself, or the script has ended the run."""
        if os.getpid() != self._process:
            return
        self._closed.set()
        self._finish("failed" if self._has_failed else "finished")
        is_main = threading.current_thread() is threading.main_thread()
        # Bound methods are equal, and never the same.
        if self._has_handler and is_main and signal.getsignal(signal.SIGTERM) == self._handle:
            signal.signal(signal.SIGTERM, self._earlier_handler or signal.SIG_DFL)

    def _finish(self, outcome: Outcome) -> None:
        with self._lock:
            if not self._is_over:
                self._is_over = True
                self._end(outcome)

    def _install_hooks(self) -> None:
        hook, leave = sys.excepthook, sys.exit

        def note_error(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
            self._has_failed = True
            hook(kind, error, trace)

        def note_exit(code: Any = None) -> NoReturn:
            self._has_failed = code not in (None, 0)
            leave(code)

        sys.excepthook = note_error
        # No hook of Python is called for it.
        sys.exit = note_exit

    def _watch(self) -> None:
        while not self._closed.wait(POLL_SECONDS):
            if not self._commands.read().stop:
                continue
            with contextlib.suppress(Exception):
                self._finish(self._ask())
            self._recorded.set()
            if self._has_handler and not callable(self._earlier_handler):
                # As without a handler, also while the main thread is in a call of TensorFlow.
                time.sleep(KILL_SECONDS)
                os.kill(os.getpid(), signal.SIGKILL)
            return

    def _handle(self, number: int, frame: FrameType | None) -> None:
        is_stopped = os.getpid() == self._process and CommandReader(os.environ[COMMAND_VARIABLE]).read().stop
        if is_stopped and not self._closed.is_set():
            self._recorded.wait(_LAST_SECONDS)
        if callable(self._earlier_handler):
            self._earlier_handler(number, frame)
        elif self._earlier_handler is not signal.SIG_IGN:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGTERM)
