"""What the tasks of a training write down: when they ran, which lines they printed, which rows they read.

All files are in one folder of the test's machine, and all times are of its monotonic clock, which namespaces share.
"""

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path

import tensorflow_ignite as tfi

TICK_SECONDS = 0.02
# Of a process that has executed another program, and by which nobody finds it if it shall be hidden.
CHILD = """
import os, sys, time
path, hidden = sys.argv[1:]
if hidden == "hidden" and (os.fork() or os.setsid() is None and os.fork()):
    os._exit(0)
with open(path, "w", buffering=1) as ticks:
    while True:
        ticks.write(f"{time.monotonic()}\\n")
        time.sleep(0.05)
"""


class Ledger:
    """The ledger of this process."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        context = tfi.train.context()
        self._attempt = context.attempt
        self._task = f"{context.role}-{context.index}"
        self.name = f"{context.attempt}-{self._task}-{context.incarnation}"
        self._lines = 0
        self._printed = (self.folder / "lines" / self.name).open("w", buffering=1)
        self._steps = (self.folder / "steps" / self.name).open("w", buffering=1)
        threading.Thread(target=self._tick, daemon=True).start()

    def start_child(self, hidden: str) -> None:
        """Starts a process that ticks too; a hidden one has no environment and leaves its session and its parent."""
        path = str(self.folder / "ticks" / f"{self.name}-child")
        environment = {} if hidden == "hidden" else None
        subprocess.Popen([sys.executable, "-S", "-c", CHILD, path, hidden], env=environment)

    def say(self) -> None:
        self._lines += 1
        print(f"line {self._lines}", flush=True)
        self._printed.write(f"{self._lines} {time.monotonic()}\n")

    def rows(self, epoch: str, keys: Iterable[int]) -> None:
        self._write("rows", {"attempt": self._attempt, "epoch": epoch, "task": self._task, "keys": list(keys)}, epoch)

    def step(self, number: int, keys: Iterable[int]) -> None:
        """The keys of the rows that a step has used, which fill no epoch."""
        entry = {"attempt": self._attempt, "step": number, "keys": [int(key) for key in keys]}
        self._steps.write(json.dumps(entry) + "\n")

    def result(self, **figures: float) -> None:
        self._write("results", {"attempt": self._attempt, "task": self._task, **figures}, "end")

    def must_end(self) -> bool:
        return (self.folder / "end").exists()

    def use(self, scratch: Path) -> None:
        """Writes a temporary file; and exceeds the memory of a task, once, when the test requests that."""
        scratch.write_bytes(os.urandom(4096))
        request = self.folder / f"grow-{self._attempt}-{self._task}"
        if request.exists():
            with contextlib.suppress(FileNotFoundError):
                request.unlink()
                memory = []
                while True:
                    # The kernel counts these bytes, and gives no memory until they are written.
                    memory.append(bytes(1 << 28))

    def _write(self, kind: str, entry: dict[str, object], suffix: str) -> None:
        path = self.folder / kind / f"{self.name}-{suffix}.json"
        path.with_suffix(".part").write_text(json.dumps(entry))
        path.with_suffix(".part").replace(path)

    def _tick(self) -> None:
        with (self.folder / "ticks" / f"{self.name}-{os.getpid()}").open("w", buffering=1) as ticks:
            while True:
                ticks.write(f"{time.monotonic()}\n")
                time.sleep(TICK_SECONDS)
