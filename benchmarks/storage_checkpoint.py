"""TensorFlow, which saves and restores one checkpoint to a local directory and into clusters; and the files alone."""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import tensorflow as tf

from answer import Pass, serve
from tensorflow_ignite.storage.files import Files

# Of each variable: 16 MiB.
VARIABLE_ELEMENTS = 4 << 20
# At a time, when a file is read or written without TensorFlow.
PIECE_BYTES = 4 << 20
_NAME = "checkpoint/ckpt"


class Model:
    """Variables of a total size in bytes; their numbers show whether all of them came back."""

    def __init__(self, count: int) -> None:
        """Makes them."""
        random = np.random.default_rng(0)
        sizes = [VARIABLE_ELEMENTS] * (count // 4 // VARIABLE_ELEMENTS)
        sizes += [rest] if (rest := count // 4 - sum(sizes)) else []
        self.variables = [tf.Variable(random.standard_normal(size, np.float32)) for size in sizes]
        self.checkpoint = tf.train.Checkpoint(variables=self.variables)
        self.bytes = 4 * sum(sizes)
        self._right = self._sums()

    def save(self, directory: str) -> None:
        """Writes all of them."""
        self.checkpoint.write(f"{directory}/{_NAME}")

    def restore(self, directory: str) -> None:
        """Reads all of them."""
        self.checkpoint.read(f"{directory}/{_NAME}").assert_consumed()

    def spoil(self) -> None:
        """Makes them wrong, so that only a restore makes them right again."""
        for variable in self.variables:
            variable.assign(tf.zeros_like(variable))

    def check(self) -> None:
        """All are as they were at first.

        Raises:
            RuntimeError: They are not.
        """
        if self._sums() != self._right:
            raise RuntimeError("what was restored is not what was saved")

    def _sums(self) -> list[int]:
        return [int(variable.numpy().view(np.uint32).sum(dtype=np.uint64)) for variable in self.variables]


class File:
    """A file of the cluster without TensorFlow, read and written as fast as one can."""

    def __init__(self, address: str, count: int) -> None:
        """Makes nothing yet."""
        self._files = Files.at((address,))
        self._bytes = count
        self._piece = memoryview(np.random.default_rng(0).bytes(PIECE_BYTES))

    def write(self) -> None:
        """All of it."""
        with self._files.open_writer("/file/data", parents=True) as writer:
            for offset in range(0, self._bytes, PIECE_BYTES):
                writer.write(self._piece[: self._bytes - offset])

    def read(self) -> None:
        """All of it."""
        buffer = memoryview(bytearray(PIECE_BYTES))
        with self._files.open_reader("/file/data") as reader:
            offset = 0
            while count := reader.read_into(offset, buffer):
                offset += count
        if offset != self._bytes:
            raise RuntimeError(f"{offset} bytes were read of {self._bytes}")

    def remove(self) -> None:
        """Gives the memory back."""
        self._files.remove("/file", recursive=True)


def timed(act: Callable[[], object], count: int) -> Pass:
    """A pass that processes a number of bytes."""

    def one_pass() -> tuple[int, int, None]:
        act()
        return 1, count, None

    return one_pass


def peak(act: Callable[[], object]) -> Pass:
    """A pass whose bytes are the most memory that it needed above what the process had before."""

    def one_pass() -> tuple[int, int, None]:
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
        before = _status("VmRSS")
        act()
        return 1, max(_status("VmHWM") - before, 0), None

    return one_pass


def _status(name: str) -> int:
    """A line of this process's status, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


def _clean(directory: str) -> None:
    """A checkpoint that is replaced would be there twice for a while."""
    if tf.io.gfile.exists(directory):
        tf.io.gfile.rmtree(directory)


def main() -> None:
    """Makes the variables, then answers."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--bytes", type=int, required=True, help="of the checkpoint")
    options.add_argument("--local", type=Path, required=True, help="a directory")
    options.add_argument("--plain", required=True, help="host:port of a cluster without backups")
    options.add_argument("--backup", required=True, help="host:port of a cluster with one backup")
    args = options.parse_args()
    model = Model(args.bytes)
    # What a local directory still has to write to its disk would go on beside what is measured next.
    passes: dict[str, Pass] = {
        "spoil": timed(model.spoil, 0),
        "check": timed(model.check, 0),
        "settle": timed(os.sync, 0),
    }
    places = {
        "local_{}": str(args.local),
        "{}": f"ignite://{args.plain}",
        "{}_backup": f"ignite://{args.backup}",
    }
    for name, directory in places.items():

        def save(directory: str = directory) -> None:
            model.save(directory)

        def restore(directory: str = directory) -> None:
            model.restore(directory)

        def clean(directory: str = directory) -> None:
            _clean(f"{directory}/checkpoint")

        passes[name.format("save")] = timed(save, model.bytes)
        passes[name.format("restore")] = timed(restore, model.bytes)
        passes[name.format("clean")] = timed(clean, 0)
        passes["memory_" + name.format("save")] = peak(save)
        passes["memory_" + name.format("restore")] = peak(restore)
    for name, address in (("file_{}", args.plain), ("file_{}_backup", args.backup)):
        file = File(address, model.bytes)
        passes[name.format("write")] = timed(file.write, model.bytes)
        passes[name.format("read")] = timed(file.read, model.bytes)
        passes[name.format("remove")] = timed(file.remove, 0)
        passes["memory_" + name.format("write")] = peak(file.write)
        passes["memory_" + name.format("read")] = peak(file.read)
    os.makedirs(args.local, exist_ok=True)
    try:
        serve(passes)
    finally:
        shutil.rmtree(args.local, ignore_errors=True)


if __name__ == "__main__":
    main()
