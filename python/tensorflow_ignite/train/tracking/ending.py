"""How the process of a tracked run ends: regularly, by an error, or because its job has stopped it."""

from __future__ import annotations

import atexit
import contextlib
import dis
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, NoReturn

from tensorflow_ignite.train.command import COMMAND_VARIABLE, POLL_SECONDS, CommandReader
from tensorflow_ignite.train.termination import KILL_SECONDS, Termination
from tensorflow_ignite.train.tracking.run import Outcome

# How long SIGTERM waits until the end is recorded; a job gives its tasks 5 s, unless it sets another time.
_LAST_SECONDS = 4.0

_log = logging.getLogger(__name__)


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
        self._is_over = self._has_error = False
        self._exit_code: Any = None
        self._program = _program()
        self._recorded, self._closed = threading.Event(), threading.Event()
        self._process = os.getpid()
        self._install_hooks()
        atexit.register(self._leave)
        path = os.environ.get(COMMAND_VARIABLE, "")
        self._commands = CommandReader(path)
        self._termination = Termination(path, self._receive)
        if path:
            self._termination.set()
            threading.Thread(target=self._watch, name="tensorflow-ignite tracker end", daemon=True).start()

    def close(self) -> None:
        """The process ends by itself, or the script has ended the run."""
        if os.getpid() != self._process:
            return
        self._closed.set()
        # The script may have caught the exception of `sys.exit`.
        has_failed = self._has_error or (self._exit_code not in (None, 0) and not _has_returned(self._program))
        self._finish("failed" if has_failed else "finished")
        self._termination.remove()

    def _leave(self) -> None:
        """The interpreter ends."""
        is_silent = not self._has_error and self._exit_code is None
        if not self._is_over and os.getpid() == self._process and is_silent and not _has_returned(self._program):
            _log.warning(
                "tensorflow_ignite: the script has raised SystemExit itself, and the tracker cannot see its code: the "
                "run is recorded as finished. Python reports only the codes of sys.exit. Call sys.exit(code)"
            )
        self.close()

    def _finish(self, outcome: Outcome) -> None:
        with self._lock:
            if not self._is_over:
                self._is_over = True
                self._end(outcome)

    def _install_hooks(self) -> None:
        hook, leave = sys.excepthook, sys.exit

        def note_error(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
            self._has_error = True
            hook(kind, error, trace)

        def note_exit(code: Any = None) -> NoReturn:
            # In another thread it ends this thread.
            if threading.current_thread() is threading.main_thread():
                self._exit_code = 0 if code is None else code
            leave(code)

        sys.excepthook = note_error
        # No hook of Python is called for it.
        sys.exit = note_exit

    def _watch(self) -> None:
        while not self._closed.wait(POLL_SECONDS):
            if not self._commands.read().stop:
                continue
            outcome: Outcome = "restarting"
            # If the node does not answer, the figures are recorded all the same.
            with contextlib.suppress(Exception):
                outcome = self._ask()
            with contextlib.suppress(Exception):
                self._finish(outcome)
            self._recorded.set()
            if self._termination.ends_process:
                time.sleep(KILL_SECONDS)
                self._termination.kill()
            return

    def _receive(self, by_agent: bool) -> bool:
        """SIGTERM has come: the process ends when its end is recorded."""
        if by_agent and not self._closed.is_set():
            self._recorded.wait(_LAST_SECONDS)
        return True


def _program() -> FrameType:
    """The frame of the program, which is the outermost one of the main thread."""
    identity = threading.main_thread().ident
    assert identity is not None
    frame = sys._current_frames()[identity]
    while frame.f_back is not None:
        frame = frame.f_back
    return frame


def _has_returned(frame: FrameType) -> bool:
    """Whether the last instruction that a frame has executed is a return: it has not ended by an exception."""
    return dis.opname[frame.f_code.co_code[frame.f_lasti]].startswith("RETURN_")
