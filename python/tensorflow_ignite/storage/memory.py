"""Memory that this process shares with the nodes of its own host, so that blocks need not travel in messages.

A call for a block names a range of the memory: the node writes the block there, or reads it from there. A range is used
for one block at a time. If a call gets no answer, its node may still use the range, so the whole memory is retired:
nothing in it is written again, and new memory is allocated.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import threading
import time
from collections import deque
from contextlib import suppress
from typing import Any

from tensorflow_ignite.base import forks
from tensorflow_ignite.errors import SharingUnavailableError, TensorFlowIgniteError
from tensorflow_ignite.memory import NONCE_BYTES, DaemonTimer, Segment
from tensorflow_ignite.net.addresses import on_this_host
from tensorflow_ignite.net.rpc import NodeConnection
from tensorflow_ignite.storage import gc_pause
from tensorflow_ignite.v1 import storage_pb2

#: Blocks in shared memory at the same time; more blocks travel in messages.
MAX_RANGES = 12
#: Smaller blocks travel in messages; bytes.
MIN_BYTES = 1024 * 1024
#: Seconds without a block after which the memory is freed.
IDLE_SECONDS = 3.0
# Timeout, in seconds, of a call by which a node of this host maps or unmaps memory.
_SECONDS_TO_SHARE = 2.0
# The nonce is in a page of its own.
_HEAD = 4096
_ROUNDING = 4096


class SharedRange:
    """Memory for one block, until the last view of it is collected.

    Attributes:
        address: ``"host:port"`` of the node that can use it.
        message: The range as a field of a request.
        view: The memory.
    """

    def __init__(self, memory: _SharedMemory, number: int, address: str, name: bytes, size: int) -> None:
        """Called by `BlockMemory.allocate`."""
        self._memory = memory
        self.address = address
        offset = _HEAD + number * memory.range_bytes
        self.message = storage_pb2.MemoryRange(memory=name, offset=offset, bytes=size)
        array: Any = (ctypes.c_char * size).from_address(memory.segment.address + offset)
        # Views hold the array, and the array holds the lease.
        array.lease = _RangeLease(memory, number)
        # Format "B", as of other memoryviews: a view over an array of ctypes cannot be assigned to them.
        self.view = pickle.PickleBuffer(array).raw()

    def retire(self) -> None:
        """Retires the whole memory: a node may use this range at any time later."""
        self._memory.retired = True


class _RangeLease:
    """Makes a range free again when the last view of it is collected."""

    def __init__(self, memory: _SharedMemory, number: int) -> None:
        self._memory = memory
        self._number = number

    def __del__(self) -> None:
        # One atomic operation: a destructor may run at any point of any thread.
        if not self._memory.retired:
            self._memory.free.append(self._number)


class _SharedMemory:
    """One segment, and the names that nodes have given it."""

    def __init__(self, range_bytes: int) -> None:
        self.range_bytes = range_bytes
        self.nonce = os.urandom(NONCE_BYTES)
        self.segment = Segment(_HEAD + MAX_RANGES * range_bytes)
        self.segment.write(self.nonce)
        self.free = deque(range(MAX_RANGES))
        # By address of the node; None: the call to share is running, or has failed.
        self.names: dict[str, bytes | None] = {}
        self.retired = False


class BlockMemory:
    """The memory of this process for the blocks of one cluster. Safe to use from several threads, and after a fork."""

    def __init__(self, connection: NodeConnection) -> None:
        """Allocates no memory yet.

        Args:
            connection: Connection with a `wire.FileStub`.
        """
        self._connection = connection
        self._lock = threading.Lock()
        self._memory: _SharedMemory | None = None
        self._timer: DaemonTimer | None = None
        self._used_at = 0.0
        self._unavailable = False
        forks.register(self)

    def allocate(self, address: str | None, size: int) -> SharedRange | None:
        """Allocates memory for a block that a node of this host reads or writes.

        Args:
            address: ``"host:port"`` of the node.
            size: Size of the block, in bytes.

        Returns:
            The range; None if the block must travel in a message: the node is on another host, unknown or does not
            answer, all `MAX_RANGES` ranges are in use, or the block is smaller than `MIN_BYTES`.
        """
        if address is None or size < MIN_BYTES or self._unavailable or not on_this_host(address):
            return None
        if self._connection.skips(address):
            return None
        memory = self._current(size)
        if memory is None or size > memory.range_bytes:
            return None
        name = self._name(memory, address)
        if name is None:
            return None
        try:
            number = memory.free.popleft()
        except IndexError:
            return None
        return SharedRange(memory, number, address, name, size)

    def call(self, shared: SharedRange, method: str, request: Any) -> Any | None:
        """Makes a call that names a range, once.

        Args:
            shared: The range that the node reads or writes.
            method: Name of a method of `wire.FileStub`.
            request: The request.

        Returns:
            The response; None: the block must travel in a message.

        Raises:
            TensorFlowIgniteError: The error of the node, in its class.
        """
        try:
            response = self._connection.call_once(shared.address, method, request)
        except SharingUnavailableError:
            self._forget(shared.address)
            return None
        except TensorFlowIgniteError:
            raise
        except BaseException:  # such as KeyboardInterrupt: the node may still use the range
            shared.retire()
            raise
        if response is None:
            shared.retire()
        return response

    def clear(self) -> None:
        """Releases the memory now; ranges in use stay valid."""
        with gc_pause.paused(), self._lock:
            memory, self._memory = self._memory, None
            timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
        if memory is not None:
            self._unshare(memory)

    def after_fork(self) -> None:
        """In a forked child: the memory and its timer belong to the parent."""
        self._lock = threading.Lock()
        forks.keep_until_exit(self._memory)
        self._memory = None
        self._timer = None

    def _forget(self, address: str) -> None:
        """Removes the name of a node that does not know the memory any more, for example after a restart."""
        with self._lock:
            if self._memory is not None:
                self._memory.names.pop(address, None)

    def _current(self, size: int) -> _SharedMemory | None:
        with self._lock:
            self._used_at = time.monotonic()
            memory = self._memory
            if memory is not None and not memory.retired:
                return memory
            rounded = -(-size // _ROUNDING) * _ROUNDING
            try:
                made = _SharedMemory(rounded if memory is None else max(rounded, memory.range_bytes))
                self._schedule_release(made, IDLE_SECONDS)
            except (SharingUnavailableError, RuntimeError):
                # The platform has no memfd, the machine is out of memory, or, as at the end of Python, out of threads.
                self._unavailable = True
                return None
            self._memory = made
        if memory is not None:
            self._unshare(memory)
        return made

    def _name(self, memory: _SharedMemory, address: str) -> bytes | None:
        with self._lock:
            if address in memory.names:
                return memory.names[address]
            memory.names[address] = None
        request = storage_pb2.ShareMemoryRequest(
            pid=os.getpid(), fd=memory.segment.fd, bytes=memory.segment.size, nonce=memory.nonce
        )
        # A node that refuses is not called again: it would refuse again.
        with suppress(TensorFlowIgniteError):
            response = self._connection.call_once(address, "share", request, _SECONDS_TO_SHARE)
            if response is not None:
                memory.names[address] = response.memory
        return memory.names[address]

    def _release_if_idle(self, memory: _SharedMemory) -> None:
        """Releases memory that was unused for `IDLE_SECONDS`; otherwise checks again later."""
        # A call of TensorFlow may wait for a thread that waits for this lock.
        with gc_pause.paused(), self._lock:
            if self._memory is not memory:
                return
            left = self._used_at + IDLE_SECONDS - time.monotonic()
            idle = left <= 0 and len(memory.free) == MAX_RANGES
            if idle:
                self._memory = self._timer = None
            else:
                self._schedule_release(memory, max(left, IDLE_SECONDS / 10))
        if idle:
            self._unshare(memory)

    def _schedule_release(self, memory: _SharedMemory, seconds: float) -> None:
        self._timer = DaemonTimer(lambda: self._release_if_idle(memory), seconds)
        self._timer.start()

    def _unshare(self, memory: _SharedMemory) -> None:
        for address, name in list(memory.names.items()):
            if name is not None and not self._connection.skips(address):
                request = storage_pb2.UnshareMemoryRequest(memory=name)
                with suppress(TensorFlowIgniteError):
                    self._connection.call_once(address, "unshare", request, _SECONDS_TO_SHARE)
