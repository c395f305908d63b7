"""Memory that this process shares with the nodes of its own host, so that blocks need not travel in messages.

A call that carries a block names a place in the memory instead: the node lays the block there, or takes it from there.
A place is used for one block at a time. When a call was not answered, its node may still be at the place, so the whole
memory is given up: nothing in it is written again, and other memory is made.
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

from tensorflow_ignite import forks
from tensorflow_ignite.addresses import on_this_host
from tensorflow_ignite.errors import SharingUnavailableError, TensorFlowIgniteError
from tensorflow_ignite.memory import NONCE_BYTES, Janitor, Segment
from tensorflow_ignite.rpc import NodeConnection
from tensorflow_ignite.storage import collecting
from tensorflow_ignite.v1 import storage_pb2

__all__ = ["BlockMemory", "Place"]

#: Blocks that have a place at the same time; others travel in messages.
PLACES = 12
#: What is smaller is not worth a place, in bytes.
SMALLEST = 1024 * 1024
#: Seconds without a block after which the memory is given back.
IDLE_SECONDS = 3.0
# Seconds in which a node on this host maps memory, or lets go of it.
_SECONDS_TO_SHARE = 2.0
# What a node looks for stands in a page of its own.
_HEAD = 4096
_ROUNDING = 4096


class Place:
    """Room for one block, until the last view of it has gone.

    Attributes:
        address: ``"host:port"`` of the node that can use it.
        told: By which a call names it.
        view: The memory.
    """

    def __init__(self, memory: _Memory, number: int, address: str, name: bytes, size: int) -> None:
        """Made by `BlockMemory.place`."""
        self._memory = memory
        self.address = address
        offset = _HEAD + number * memory.place_bytes
        self.told = storage_pb2.MemoryPlace(memory=name, offset=offset, bytes=size)
        room: Any = (ctypes.c_char * size).from_address(memory.segment.address + offset)
        # Views keep the array, and the array keeps the place.
        room.place = _End(memory, number)
        # Plain bytes, as other memoryviews are: those over arrays of ctypes fit no other.
        self.view = pickle.PickleBuffer(room).raw()

    def give_up(self) -> None:
        """A node may be at it for as long as it lives: the memory is not used again."""
        self._memory.given_up = True


class _End:
    """Gives a place back when the last that looks into it has gone."""

    def __init__(self, memory: _Memory, number: int) -> None:
        self._memory = memory
        self._number = number

    def __del__(self) -> None:
        # One operation: it may run wherever the interpreter happens to be.
        if not self._memory.given_up:
            self._memory.free.append(self._number)


class _Memory:
    """One segment, and under which names the nodes know it."""

    def __init__(self, place_bytes: int) -> None:
        self.place_bytes = place_bytes
        self.nonce = os.urandom(NONCE_BYTES)
        self.segment = Segment(_HEAD + PLACES * place_bytes)
        self.segment.write(self.nonce)
        self.free = deque(range(PLACES))
        # By address; None: it is being shared, or cannot be.
        self.names: dict[str, bytes | None] = {}
        self.given_up = False


class BlockMemory:
    """The memory of this process for the blocks of one cluster. Safe to use from several threads, and after a fork."""

    def __init__(self, connection: NodeConnection) -> None:
        """Makes no memory yet.

        Args:
            connection: Of a `wire.FileStub`.
        """
        self._connection = connection
        self._lock = threading.Lock()
        self._memory: _Memory | None = None
        self._janitor: Janitor | None = None
        self._used = 0.0
        self._unavailable = False
        forks.remember(self)

    def place(self, address: str | None, size: int) -> Place | None:
        """A place for a block of so many bytes that a node can use.

        Args:
            address: ``"host:port"`` of the node.
            size: Of the block, in bytes.

        Returns:
            The place; None when the block is to travel in a message: the node is elsewhere, or unknown, or does not
            answer, or no place is free, or the block is so small that it does not matter.
        """
        if address is None or size < SMALLEST or self._unavailable or not on_this_host(address):
            return None
        if self._connection.avoids(address):
            return None
        memory = self._current(size)
        if memory is None or size > memory.place_bytes:
            return None
        name = self._name(memory, address)
        if name is None:
            return None
        try:
            number = memory.free.popleft()
        except IndexError:
            return None
        return Place(memory, number, address, name, size)

    def ask(self, place: Place, method: str, request: Any) -> Any | None:
        """Makes a call that names a place, once.

        Args:
            place: Where its node finds the block, or lays it.
            method: Of a `wire.FileStub`.
            request: The request.

        Returns:
            The response; None: the block is to travel in a message.

        Raises:
            TensorFlowIgniteError: What the node answered, as the class for it.
        """
        try:
            response = self._connection.ask(place.address, method, request)
        except SharingUnavailableError:
            self._forget(place.address)
            return None
        except TensorFlowIgniteError:
            raise
        except BaseException:  # such as KeyboardInterrupt: nobody waited for the answer
            place.give_up()
            raise
        if response is None:
            place.give_up()
        return response

    def clear(self) -> None:
        """Gives the memory back now; what has a place in it keeps that."""
        with collecting.held(), self._lock:
            memory, self._memory = self._memory, None
            janitor, self._janitor = self._janitor, None
        if janitor is not None:
            janitor.dismiss()
        if memory is not None:
            self._unshare(memory)

    def after_fork(self) -> None:
        """In a forked child: the memory is the parent's, and the thread that waits for it."""
        self._lock = threading.Lock()
        forks.leak(self._memory)
        self._memory = None
        self._janitor = None

    def _forget(self, address: str) -> None:
        """A node does not know the memory any more, as after a new start."""
        with self._lock:
            if self._memory is not None:
                self._memory.names.pop(address, None)

    def _current(self, size: int) -> _Memory | None:
        with self._lock:
            self._used = time.monotonic()
            memory = self._memory
            if memory is not None and not memory.given_up:
                return memory
            rounded = -(-size // _ROUNDING) * _ROUNDING
            try:
                made = _Memory(rounded if memory is None else max(rounded, memory.place_bytes))
            except SharingUnavailableError:
                # The platform has no such memory, or the machine is full.
                self._unavailable = True
                return None
            self._memory = made
            self._clean_later(made, IDLE_SECONDS)
        if memory is not None:
            self._unshare(memory)
        return made

    def _name(self, memory: _Memory, address: str) -> bytes | None:
        with self._lock:
            if address in memory.names:
                return memory.names[address]
            memory.names[address] = None
        request = storage_pb2.ShareMemoryRequest(
            pid=os.getpid(), fd=memory.segment.fd, bytes=memory.segment.size, nonce=memory.nonce
        )
        # A node that refuses is not asked again: it will do so again.
        with suppress(TensorFlowIgniteError):
            response = self._connection.ask(address, "share", request, _SECONDS_TO_SHARE)
            if response is not None:
                memory.names[address] = response.memory
        return memory.names[address]

    def _clean(self, memory: _Memory) -> None:
        """Gives memory back that nobody has used for a while; else looks again later."""
        # Whoever waits for the lock may be one for whom a call of TensorFlow waits.
        with collecting.held(), self._lock:
            if self._memory is not memory:
                return
            left = self._used + IDLE_SECONDS - time.monotonic()
            idle = left <= 0 and len(memory.free) == PLACES
            if idle:
                self._memory = self._janitor = None
            else:
                self._clean_later(memory, max(left, IDLE_SECONDS / 10))
        if idle:
            self._unshare(memory)

    def _clean_later(self, memory: _Memory, seconds: float) -> None:
        self._janitor = Janitor(lambda: self._clean(memory), seconds)
        self._janitor.start()

    def _unshare(self, memory: _Memory) -> None:
        for address, name in list(memory.names.items()):
            if name is not None and not self._connection.avoids(address):
                request = storage_pb2.UnshareMemoryRequest(memory=name)
                with suppress(TensorFlowIgniteError):
                    self._connection.ask(address, "unshare", request, _SECONDS_TO_SHARE)
