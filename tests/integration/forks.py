"""Python processes that have TensorFlow imported when they begin: forks of one process that has done nothing else.

To import it takes seconds of a processor, and a test of killed and restarted processes starts many. A fork has its own
environment, working directory and output. TensorFlow starts nothing before its first use, so forks share nothing of it.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import types
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

_MOST_BYTES = 100_000
_PR_SET_PDEATHSIG = 1


class Fork:
    """One process; has the methods of `subprocess.Popen` that tests need, and is to be waited for as well."""

    def __init__(self, server: TensorFlowForks, pid: int, stdout: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.stdout = os.fdopen(stdout, encoding="utf-8", errors="replace")
        self._server = server

    def poll(self) -> int | None:
        """Its exit code; None while it runs."""
        return self._reap(os.WNOHANG)

    def wait(self) -> int | None:
        """Its exit code, once it has ended."""
        return self._reap(0)

    def kill(self) -> None:
        """Ends it by SIGKILL, unless it has been waited for; another thread may wait for it now."""
        self.send_signal(signal.SIGKILL)

    def send_signal(self, number: int) -> None:
        """Sends a signal, unless it has been waited for."""
        if self.returncode is None:
            os.kill(self.pid, number)

    def _reap(self, options: int) -> int | None:
        if self.returncode is None:
            self.returncode = self._server.ask({"wait": self.pid, "options": options})
        return self.returncode


class TensorFlowForks:
    """The process that is forked; it ends with its context, and all forks with it."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())], pass_fds=[theirs.fileno()]
            )

    def start(self, command: Sequence[str], environment: Mapping[str, str], stderr: Path) -> Fork:
        """Runs what would follow `python -u` on a command line."""
        reading, writing = os.pipe()
        with open(stderr, "wb") as errors:
            descriptors = [writing, errors.fileno()]
            request = {"command": list(command), "environment": dict(environment), "directory": os.getcwd()}
            pid = self.ask(request, descriptors)
        os.close(writing)
        assert pid is not None
        return Fork(self, pid, reading)

    def ask(self, request: Mapping[str, object], descriptors: Sequence[int] = ()) -> int | None:
        """Sends a request to the process, and returns its answer."""
        socket.send_fds(self._control, [json.dumps(request).encode()], descriptors)
        answer = self._control.recv(_MOST_BYTES)
        assert answer, f"the process that imports TensorFlow ended: exit code {self._process.wait()}"
        return json.loads(answer)  # type: ignore[no-any-return]

    def close(self) -> None:
        self._control.close()
        self._process.wait()


@contextlib.contextmanager
def tensorflow_forks() -> Iterator[TensorFlowForks]:
    """For the time of a test, or of a file of tests."""
    forks = TensorFlowForks()
    try:
        yield forks
    finally:
        forks.close()


def _serve(control: socket.socket) -> None:
    """Answers requests until the other end is closed; returns in each fork, when it is to run its command."""
    import tensorflow  # noqa: F401

    ours = os.getpid()
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, _MOST_BYTES, 2)
        if not message:
            os._exit(0)
        request = json.loads(message)
        if "wait" in request:
            pid, status = os.waitpid(request["wait"], request["options"])
            answer = os.waitstatus_to_exitcode(status) if pid else None
        else:
            answer = os.fork()
            if answer == 0:
                control.close()
                _become(ours, request, descriptors)
                return
            for descriptor in descriptors:
                os.close(descriptor)
        control.send(json.dumps(answer).encode())


def _become(parent: int, request: Mapping[str, object], descriptors: Sequence[int]) -> None:
    """Runs the command in this process."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    for target, descriptor in enumerate(descriptors, start=1):
        os.dup2(descriptor, target)
        os.close(descriptor)
    sys.stdout.reconfigure(write_through=True)  # type: ignore[union-attr]
    os.environ.clear()
    os.environ.update(request["environment"])  # type: ignore[call-overload]
    os.chdir(str(request["directory"]))
    first, *arguments = request["command"]  # type: ignore[misc]
    if first == "-c":
        sys.argv, sys.path[0] = ["-c", *arguments[1:]], ""
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(arguments[0], "<string>", "exec"), main.__dict__)
    elif first == "-m":
        sys.argv, sys.path[0] = arguments, os.getcwd()
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv, sys.path[0] = [first, *arguments], os.path.dirname(first)
        runpy.run_path(first, run_name="__main__")


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
