"""A program that is measured: it has its data, waits, and runs a pass at each request."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

SECONDS_TO_START = 600.0
SECONDS_FOR_A_PASS = 600.0
SECONDS_TO_END = 60.0
_TAIL_BYTES = 3_000


@dataclass(frozen=True)
class Measurement:
    """What one pass came to.

    Attributes:
        seconds: How long it took.
        rows: Rows that were read or written.
        bytes: Bytes of their data.
        sum: Sum of all bytes, eight at a time, modulo 2**64; None where nothing is summed.
    """

    seconds: float
    rows: int
    bytes: int
    sum: int | None


class Contender:
    """A running program; a context manager that ends it."""

    def __init__(self, name: str, command: Sequence[str], environment: Mapping[str, str], logs: Path) -> None:
        """Starts the program, and waits until it has its data.

        Args:
            name: For messages and the log.
            command: The program and its arguments.
            environment: Added to this process's environment.
            logs: The folder for what it prints.

        Raises:
            RuntimeError: It ended, or took too long.
        """
        self.name = name
        self._log = logs / f"{name}.log"
        self._unread = b""
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, **environment},
                bufsize=0,
            )
        try:
            self.passes: list[str] = self._answer(SECONDS_TO_START)["ready"]
        except BaseException:
            self.end()
            raise

    @property
    def pid(self) -> int:
        """Of the program's process."""
        return self._process.pid

    def run(self, name: str) -> Measurement:
        """Runs one pass.

        Raises:
            RuntimeError: The program ended, or took too long.
        """
        return Measurement(**self.answer(name))

    def answer(self, line: str) -> dict[str, Any]:
        """Sends a line, and returns the answer to it.

        Raises:
            RuntimeError: The program ended, or took too long.
        """
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()
        return self._answer(SECONDS_FOR_A_PASS)

    def end(self) -> None:
        """Closes its input, which ends it, and kills it when it does not end."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def __enter__(self) -> Contender:
        """Itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Ends it."""
        self.end()

    def _answer(self, seconds: float) -> dict[str, Any]:
        """The next line of JSON; whatever else it prints is passed over."""
        deadline = time.monotonic() + seconds
        while True:
            line = self._line(deadline)
            if line is None:
                raise RuntimeError(f"{self.name} did not answer in {seconds:.0f} s.{self._printed()}")
            if line.startswith(b"{"):
                answer: dict[str, Any] = json.loads(line)
                return answer

    def _line(self, deadline: float) -> bytes | None:
        """The next line that it prints; None when the time is over."""
        stream = self._process.stdout
        assert stream is not None
        while b"\n" not in self._unread:
            if not select.select([stream], [], [], max(0.0, deadline - time.monotonic()))[0]:
                return None
            printed = os.read(stream.fileno(), 65_536)
            if not printed:
                raise RuntimeError(f"{self.name} ended with exit code {self._process.wait()}.{self._printed()}")
            self._unread += printed
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def _printed(self) -> str:
        tail = self._log.read_bytes()[-_TAIL_BYTES:].decode(errors="replace").strip()
        return f" It printed ({self._log}):\n{tail}"
