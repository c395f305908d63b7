"""SIGTERM in the process of a task: who has sent it, and what the script itself does with it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from tensorflow_ignite.train.command import CommandReader

# A process whose script handles no SIGTERM ends at the latest so long after its agent has sent it, although its main
# thread is in a call of TensorFlow, where Python runs no handler.
KILL_SECONDS = 0.5


class Termination:
    """A handler of SIGTERM, which comes before the one that the script has set; in child processes it does nothing."""

    def __init__(self, path: str, receive: Callable[[bool], bool]) -> None:
        """Nothing is handled yet.

        Args:
            path: The file with the commands of the agent.
            receive: Called in the main thread, between two instructions of Python, with whether the agent has sent
                SIGTERM; returns whether the script, or else the end of the process, follows.
        """
        self._path, self._receive = path, receive
        self._process = os.getpid()
        self._earlier: Any = None
        self._is_set = self._is_removed = False

    def set(self) -> bool:
        """Handles SIGTERM from now on; False: this is not the main thread, which alone may set a handler."""
        if threading.current_thread() is not threading.main_thread():
            return False
        if not self._is_set:
            # TensorFlow's own handler, which MultiWorkerMirroredStrategy installs, would ignore the signal.
            self._earlier = signal.signal(signal.SIGTERM, self._handle)
        self._is_set, self._is_removed = True, False
        return True

    def remove(self) -> None:
        """Handles SIGTERM no more; a handler that was set after this one still calls it, and so the earlier one."""
        self._is_removed = True
        is_main = threading.current_thread() is threading.main_thread()
        # Bound methods are equal, and never the same.
        if self._is_set and is_main and signal.getsignal(signal.SIGTERM) == self._handle:
            self._is_set = False
            signal.signal(signal.SIGTERM, self._earlier or signal.SIG_DFL)

    @property
    def ends_process(self) -> bool:
        """Whether SIGTERM of the agent ends this process, as the script has no handler of its own."""
        return self._is_set and not callable(self._earlier)

    def kill(self) -> None:
        """Ends this process, whose main thread runs no handler at present."""
        os.kill(os.getpid(), signal.SIGKILL)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        """Runs in the main thread, which may hold any lock."""
        is_ours = os.getpid() == self._process and not self._is_removed
        if is_ours and not self._receive(CommandReader(self._path).read().stop):
            return
        if callable(self._earlier):
            self._earlier(number, frame)
        elif self._earlier is not signal.SIG_IGN:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGTERM)
