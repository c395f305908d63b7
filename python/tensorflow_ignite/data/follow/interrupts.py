"""Notices Ctrl-C while the main thread waits for rows inside TensorFlow.

Python runs the handler of a signal in the main thread, when that thread runs Python code again. The main thread may be
inside TensorFlow, which calls this package again and again until there are rows. So these calls ask for the signal, and
end with an error; TensorFlow returns to Python, and the handler runs.
"""

from __future__ import annotations

import signal
import socket
import sys
import threading
import time
from types import FrameType

from tensorflow_ignite.base import forks

# Here TensorFlow makes the exception of a failed call, of an operation and of a function; an error that is raised
# meanwhile becomes a RuntimeError.
_MAKES_EXCEPTIONS = frozenset({"tensorflow.python.eager.core", "tensorflow.python.framework.errors_impl"})

# Several followers may wait, and a call may come shortly after the signal.
SECONDS = 0.5


class Interrupts:
    """Ctrl-C of this process."""

    def __init__(self) -> None:
        """Notices no signal."""
        self._lock = threading.Lock()
        # Windows wakes sockets only, and has no pipe that does not block.
        self._pair: tuple[socket.socket, socket.socket] | None = None
        self._came_at = -SECONDS
        forks.register(self)

    def notice(self) -> None:
        """Notices Ctrl-C from now on, if this is the main thread and neither script nor library handles it."""
        if threading.current_thread() is not threading.main_thread():
            return
        if signal.getsignal(signal.SIGINT) not in (_handle, signal.default_int_handler):
            return
        if self._pair is None:
            self._pair = socket.socketpair()
            for end in self._pair:
                end.setblocking(False)
        sender = self._pair[1].fileno()
        # Python writes the number of each signal at once, in whichever thread. An event loop may have taken that away.
        other = signal.set_wakeup_fd(sender, warn_on_full_buffer=False)
        if other in (-1, sender):
            signal.signal(signal.SIGINT, _handle)
        else:
            signal.set_wakeup_fd(other)

    def after_fork(self) -> None:
        """Leaves the sockets to the parent, which would take the Ctrl-C of a forked process for its own."""
        self._lock = threading.Lock()
        if self._pair is None:
            return
        other = signal.set_wakeup_fd(-1)
        if other not in (-1, self._pair[1].fileno()):
            signal.set_wakeup_fd(other)
        for end in self._pair:
            end.close()
        self._pair = None

    def came(self) -> bool:
        """Whether Ctrl-C came in the last half second; any thread may call."""
        with self._lock:
            numbers = self._read()
            # A script with a handler of its own decides itself what ends. A notebook sets Python's one for each cell.
            if signal.SIGINT in numbers and signal.getsignal(signal.SIGINT) in (_handle, signal.default_int_handler):
                self._came_at = time.monotonic()
            return time.monotonic() - self._came_at < SECONDS

    def _read(self) -> bytes:
        try:
            return self._pair[0].recv(1_024) if self._pair is not None else b""
        except BlockingIOError:
            return b""


def _handle(number: int, frame: FrameType | None) -> None:
    """Raises KeyboardInterrupt as Python's own handler does, or as soon as TensorFlow has made its exception."""
    if frame is not None and frame.f_globals.get("__name__") in _MAKES_EXCEPTIONS and sys.getprofile() is None:
        sys.setprofile(_raise_elsewhere)
    else:
        signal.default_int_handler(number, frame)


def _raise_elsewhere(frame: FrameType, event: str, argument: object) -> None:
    # The handler returns into that code.
    if frame.f_globals.get("__name__") not in _MAKES_EXCEPTIONS | {__name__}:
        sys.setprofile(None)
        raise KeyboardInterrupt


interrupts = Interrupts()
