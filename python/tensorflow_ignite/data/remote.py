"""What a graph calls to read rows, in whatever process it runs.

A graph names one well-known token; each process that may run graphs registers its reader under it. So a graph that the
client process of a parameter-server job builds runs on a worker, and reads the worker's own partitions there.

The graph calls it in two ways (PyFunc, first argument):

- ``open``, request → handle: begins an epoch. The handle is a tensor over memory that belongs to the epoch's reader:
  when TensorFlow lets go of its iterator, the memory goes, and with it the reader, its threads and its streams.
- ``read``, request, handle, index → more, arrays…: one batch; ``more`` is False after the last.

A handle restored from a checkpoint, perhaps by another process, is a mere number: it gets a new reader, which finds the
index, and which lives until its last batch or the end of the process.
"""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from typing import Any

import numpy as np

from tensorflow_ignite.data import reading
from tensorflow_ignite.data.reader import Reader, ReaderClosed, Stream
from tensorflow_ignite.data.streams import open_stream, parallel
from tensorflow_ignite.data.tensors import Array, empty_arrays

TOKEN = "tensorflow_ignite.read"

# TensorFlow takes an array as it is, without a copy, exactly when its address is a multiple of this.
ALIGNMENT = 64
HANDLE_NUMBERS = 2
SECONDS_TO_END_AT_EXIT = 5.0


def register() -> None:
    """Makes this process able to run graphs that read caches; call it before its TensorFlow server starts.

    Repeating it changes nothing.
    """
    from tensorflow.python.ops import script_ops

    # The registry holds its functions weakly; this module holds the strong reference.
    script_ops._py_funcs._funcs[TOKEN] = call


def call(operation: bytes, request: bytes, *rest: Any) -> Array | list[Array]:
    """What the graph calls; arguments arrive as numpy values."""
    if operation == b"open":
        return _readers.open(bytes(request))
    handle, index = rest
    return _readers.read(bytes(request), handle, int(index))


class _Handle:
    """64 aligned bytes of an own, which begin with the number of a reader; dies with the last tensor over them."""

    def __init__(self, numbers: tuple[int, ...]) -> None:
        size = ALIGNMENT // 8
        memory = np.zeros(2 * size, np.int64)
        start = (-memory.ctypes.data % ALIGNMENT) // 8
        self._memory = memory[start : start + size]
        self._memory[: len(numbers)] = numbers
        # An array that borrows from this object keeps this object; views of a plain array would keep only the memory.
        self.__array_interface__ = self._memory.__array_interface__


class _Readers:
    """The readers of this process, by the numbers of their handles."""

    def __init__(self) -> None:
        # Re-entrant: a finalizer may close a reader wherever the interpreter happens to be.
        self._lock = threading.RLock()
        self._open: dict[tuple[int, ...], Reader] = {}
        self._ending = False

    def open(self, request: bytes) -> Array:
        """A new reader's handle."""
        # Random, so that numbers which another process wrote into a checkpoint are not taken for one of these.
        name = tuple(int(number) for number in np.frombuffer(os.urandom(8 * HANDLE_NUMBERS), np.int64))
        handle = _Handle(name)
        with self._lock:
            self._open[name] = _reader(request)
        weakref.finalize(handle, self.close, name).atexit = False
        return np.asarray(handle)

    def read(self, request: bytes, handle: Array, index: int) -> list[Array]:
        """One batch, preceded by whether there is one."""
        name = tuple(int(number) for number in handle[:HANDLE_NUMBERS])
        while True:
            try:
                arrays = self._reader(name, request).batch(index)
                break
            except ReaderClosed:
                # Closed with the iterator that began it, while one that was restored from it reads on.
                if self._ending:
                    raise
        if arrays is not None:
            return [np.array(True), *arrays]
        self.close(name)
        return [np.array(False), *empty_arrays(reading.Request.from_json(request).layout)]

    def _reader(self, name: tuple[int, ...], request: bytes) -> Reader:
        with self._lock:
            reader = self._open.get(name)
            if reader is None:
                reader = self._open[name] = _reader(request)
            return reader

    def close(self, name: tuple[int, ...]) -> None:
        """Ends a reader; returns at once."""
        with self._lock:
            reader = self._open.pop(name, None)
        if reader is not None:
            reader.close()

    def close_all(self) -> None:
        """Ends every reader and waits for its threads, so that none runs while the interpreter goes down."""
        with self._lock:
            self._ending = True
            readers = list(self._open.values())
            self._open.clear()
        for reader in readers:
            reader.close()
        for reader in readers:
            reader.join(SECONDS_TO_END_AT_EXIT)

    def count(self) -> int:
        """Readers that are open."""
        with self._lock:
            return len(self._open)


def open_readers() -> int:
    """How many iterators of this process read a cache right now."""
    return _readers.count()


def _reader(request: bytes) -> Reader:
    asked = reading.Request.from_json(request)
    plan = reading.plan(asked)

    def streams() -> list[Stream]:
        return [open_stream(part, plan.what) for endpoint in plan.endpoints for part in parallel(endpoint)]

    return Reader(streams, asked.layout, plan.rows, plan.what)


_readers = _Readers()
atexit.register(_readers.close_all)
