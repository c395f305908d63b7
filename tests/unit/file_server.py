"""The file service in memory, on a real socket: what the tests of the cluster's files talk to.

It keeps the contract of storage.proto and nothing more. Several nodes may share one store, as those of a cluster do.
"""

from __future__ import annotations

import mmap
import threading
import uuid
import zlib
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import grpc
from node_api_server import NodeApiServer, State

from tensorflow_ignite.v1 import job_pb2, storage_pb2, storage_pb2_grpc

_STATUSES = {
    "FILE_NOT_FOUND": grpc.StatusCode.NOT_FOUND,
    "FILE_EXISTS": grpc.StatusCode.ALREADY_EXISTS,
    "FILE_CHANGED": grpc.StatusCode.ABORTED,
    "FILE_CORRUPT": grpc.StatusCode.DATA_LOSS,
    "FILE_LOST": grpc.StatusCode.DATA_LOSS,
    "STORAGE_FULL": grpc.StatusCode.RESOURCE_EXHAUSTED,
    "INVALID_REQUEST": grpc.StatusCode.INVALID_ARGUMENT,
}
#: Of all other codes.
_STATUS = grpc.StatusCode.FAILED_PRECONDITION
_LIST = 1000


class Refusal(Exception):
    """What the store answers instead; `code` is a name of the enum ErrorCode."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


class Store:
    """The files of one cluster; `block_bytes` and `writer_timeout` are its settings."""

    def __init__(self, *, block_bytes: int = 4096, writer_timeout: float = 120.0) -> None:
        self.block_bytes = block_bytes
        self.writer_timeout = writer_timeout
        self.entries: dict[str, Any] = {"/": self._entry("/", storage_pb2.FILE_KIND_DIRECTORY)}
        self.blocks: dict[tuple[str, int], bytes] = {}
        #: Blocks that are not what was written.
        self.corrupt: set[tuple[str, int]] = set()
        self.writers: dict[str, _Write] = {}
        #: Addresses of the nodes, which hold blocks in turn.
        self.addresses: list[str] = []
        #: The tasks that wrote something, in order; None: no task.
        self.tasks: list[Any] = []
        self._clock = 0
        self.lock = threading.RLock()

    def find(self, path: str) -> Any:
        if not path.startswith("/") or (path != "/" and any(part in ("", ".", "..") for part in path[1:].split("/"))):
            raise Refusal("INVALID_REQUEST", f"{path!r} is no path")
        above = path
        while above != "/" and (above := above.rpartition("/")[0] or "/"):
            if above in self.entries and self.entries[above].kind != storage_pb2.FILE_KIND_DIRECTORY:
                raise Refusal("NOT_A_DIRECTORY", f"{above} is a file, so nothing is at {path}")
        return self.entries.get(path)

    def get(self, path: str) -> Any:
        entry = self.find(path)
        if entry is None:
            raise Refusal("FILE_NOT_FOUND", f"there is nothing at {path}")
        return entry

    def children(self, path: str) -> list[Any]:
        prefix = path.rstrip("/") + "/"
        found = [(name, e) for name, e in self.entries.items() if name.startswith(prefix) and name != "/"]
        return [e for name, e in sorted(found, key=lambda pair: pair[0].encode()) if "/" not in name[len(prefix) :]]

    def below(self, path: str) -> list[str]:
        return [name for name in self.entries if name == path or name.startswith(path.rstrip("/") + "/")]

    def make_directory(self, path: str, parents: bool, exist_ok: bool) -> None:
        there = self.find(path)
        if there is not None:
            if exist_ok and there.kind == storage_pb2.FILE_KIND_DIRECTORY:
                return
            raise Refusal("FILE_EXISTS", f"{path} is there already")
        self.need_parent(path, parents)
        self.entries[path] = self._entry(path, storage_pb2.FILE_KIND_DIRECTORY)

    def need_parent(self, path: str, parents: bool) -> None:
        above = path.rpartition("/")[0] or "/"
        if self.find(above) is None:
            if not parents:
                raise Refusal("FILE_NOT_FOUND", f"{above} is missing")
            self.make_directory(above, True, True)
        elif self.entries[above].kind != storage_pb2.FILE_KIND_DIRECTORY:
            raise Refusal("NOT_A_DIRECTORY", f"{above} is a file")

    def remove(self, path: str, recursive: bool, kind: int) -> None:
        entry = self.get(path)
        if path == "/":
            raise Refusal("INVALID_REQUEST", "the root cannot be removed")
        if kind == storage_pb2.FILE_KIND_REGULAR and entry.kind == storage_pb2.FILE_KIND_DIRECTORY:
            raise Refusal("IS_A_DIRECTORY", f"{path} is a directory")
        if kind == storage_pb2.FILE_KIND_DIRECTORY and entry.kind != storage_pb2.FILE_KIND_DIRECTORY:
            raise Refusal("NOT_A_DIRECTORY", f"{path} is a file")
        if self.children(path) and not recursive:
            raise Refusal("DIRECTORY_NOT_EMPTY", f"{path} is not empty")
        for name in self.below(path):
            self.free(self.entries.pop(name), set())

    def rename(self, source: str, target: str, overwrite: bool) -> None:
        entry = self.get(source)
        if source == "/" or target == "/" or target.startswith(source + "/"):
            raise Refusal("INVALID_REQUEST", f"{source} cannot be renamed to {target}")
        self.need_parent(target, False)
        there = self.find(target)
        if source == target:
            return
        if there is not None:
            if not overwrite:
                raise Refusal("FILE_EXISTS", f"{target} is there already")
            self.remove(target, False, entry.kind)
        for name in self.below(source):
            moved = self.entries.pop(name)
            moved.path = target + name[len(source) :]
            self.entries[moved.path] = moved

    def begin(self, request: Any) -> Any:
        there = self.find(request.path)
        if there is not None and there.kind == storage_pb2.FILE_KIND_DIRECTORY:
            raise Refusal("IS_A_DIRECTORY", f"{request.path} is a directory")
        if there is not None and request.mode == storage_pb2.WRITE_MODE_CREATE:
            raise Refusal("FILE_EXISTS", f"{request.path} is there already")
        self.need_parent(request.path, request.parents)
        block_bytes = request.block_bytes or self.block_bytes
        write = _Write(uuid.uuid4().hex, request.path, request.mode, block_bytes, there.generation if there else 0)
        response = storage_pb2.BeginWriteResponse(
            extent_id=write.extent, block_bytes=block_bytes, writer_timeout=timedelta(seconds=self.writer_timeout)
        )
        if there is not None and request.mode == storage_pb2.WRITE_MODE_APPEND:
            write.kept = list(there.extents)
            response.offset = there.bytes
            if write.kept and write.kept[-1].bytes < block_bytes:
                last = write.kept.pop()
                response.offset -= last.bytes
                number = -(-last.bytes // last.block_bytes)
                response.head = b"".join(self.blocks[last.id, n] for n in range(number))[: last.bytes]
        self.writers[write.extent] = write
        return response

    def writer(self, extent: str) -> _Write:
        if extent not in self.writers:
            raise Refusal("FILE_CHANGED", f"the writer {extent} is held for dead")
        return self.writers[extent]

    def publish(self, request: Any) -> Any:
        there = self.find(request.path)
        if request.extent_id not in self.writers and there is not None and there.extents:
            size = sum(extent.bytes for extent in there.extents if extent.id == request.extent_id)
            if request.done and size == request.bytes > 0:
                return there  # repeated: the answer to the first time was lost
        write = self.writer(request.extent_id)
        there = self.find(write.path)
        if there is not None and there.kind == storage_pb2.FILE_KIND_DIRECTORY:
            raise Refusal("IS_A_DIRECTORY", f"{write.path} is a directory")
        generation = there.generation if there else 0
        if not write.published and write.mode == storage_pb2.WRITE_MODE_CREATE and there is not None:
            raise Refusal("FILE_EXISTS", f"{write.path} is there already")
        if (write.published or write.mode == storage_pb2.WRITE_MODE_APPEND) and generation != write.generation:
            raise Refusal("FILE_CHANGED", f"{write.path} was changed by somebody else")
        self.need_parent(write.path, False)
        for number in range(-(-request.bytes // write.block_bytes)):
            want = min(write.block_bytes, request.bytes - number * write.block_bytes)
            assert len(self.blocks[write.extent, number]) >= want, "published before it was put"
        self._clock += 1
        entry = self._entry(write.path, storage_pb2.FILE_KIND_REGULAR)
        entry.extents.extend(write.kept)
        if request.bytes:
            entry.extents.add(id=write.extent, bytes=request.bytes, block_bytes=write.block_bytes)
        entry.bytes = sum(extent.bytes for extent in entry.extents)
        entry.generation = self._clock
        if there is not None:
            entry.created_at.CopyFrom(there.created_at)
            self.free(there, {extent.id for extent in entry.extents})
        self.entries[write.path] = entry
        write.published, write.generation = True, entry.generation
        if request.done:
            del self.writers[write.extent]
        return entry

    def abandon(self, extent: str) -> None:
        write = self.writers.pop(extent, None)
        if write is not None and not write.published:
            for key in [key for key in self.blocks if key[0] == extent]:
                del self.blocks[key]

    def free(self, entry: Any, kept: set[str]) -> None:
        gone = {extent.id for extent in entry.extents} - kept
        for key in [key for key in self.blocks if key[0] in gone]:
            del self.blocks[key]

    def holders(self, blocks: int) -> Any:
        nodes = len(self.addresses)
        return storage_pb2.BlockHolders(addresses=self.addresses, holders=[n % nodes for n in range(blocks)])

    @staticmethod
    def _entry(path: str, kind: int) -> Any:
        entry = storage_pb2.FileInfo(path=path, kind=kind)
        entry.modified_at.GetCurrentTime()
        entry.created_at.CopyFrom(entry.modified_at)
        return entry


class _Write:
    def __init__(self, extent: str, path: str, mode: int, block_bytes: int, generation: int) -> None:
        self.extent, self.path, self.mode, self.block_bytes = extent, path, mode, block_bytes
        self.generation = generation
        self.kept: list[Any] = []
        self.reserved = 0
        self.published = False


def _answers(method: Callable[[FileServer, Any], Any]) -> Callable[[FileServer, Any, Any], Any]:
    """A call of gRPC with the answer of a method."""
    return lambda server, request, context: server._do(method.__name__, context, lambda: method(server, request))


class FileServer(NodeApiServer, storage_pb2_grpc.FileServiceServicer, storage_pb2_grpc.BlockMemoryServiceServicer):
    """One node; a context manager that serves on a free port of loopback."""

    def __init__(self, store: Store | None = None) -> None:
        super().__init__(State())
        self.store = store or Store()
        storage_pb2_grpc.add_FileServiceServicer_to_server(self, self._server)
        storage_pb2_grpc.add_BlockMemoryServiceServicer_to_server(self, self._server)
        self.store.addresses.append(self.address)
        #: Called with the extent and the number of each requested block.
        self.on_read: Callable[[str, int], None] = lambda extent, number: None
        #: Bytes of blocks that were sent in messages.
        self.sent = 0
        #: Whether it can use memory of processes on its host.
        self.shares = True
        #: The memory that it uses now, by name.
        self.memories: dict[bytes, mmap.mmap] = {}
        #: This number of blocks is spoiled on the way.
        self.spoil = 0
        #: Called with the extent and the number of each block before it is stored.
        self.on_put: Callable[[str, int], None] = lambda extent, number: None

    def ListNodes(self, request: Any, context: Any) -> Any:
        with self._call("ListNodes", context):
            return job_pb2.ListNodesResponse(nodes=[job_pb2.Node(address=a) for a in self.store.addresses])

    @_answers
    def GetFile(self, request: Any) -> Any:
        file = self.store.get(request.path)
        response = storage_pb2.GetFileResponse(file=file)
        for extent in file.extents if request.locate else ():
            response.holders.append(self.store.holders(-(-extent.bytes // extent.block_bytes)))
        return response

    @_answers
    def ListDirectory(self, request: Any) -> list[Any]:
        entry = self.store.get(request.path)
        if entry.kind == storage_pb2.FILE_KIND_DIRECTORY:
            files = [_listed(child, child.path.rpartition("/")[2]) for child in self.store.children(request.path)]
        else:
            files = [_listed(entry, entry.path)]
        return [storage_pb2.ListDirectoryResponse(files=files[at : at + _LIST]) for at in range(0, len(files), _LIST)]

    @_answers
    def MakeDirectory(self, request: Any) -> Any:
        self._note_task(request)
        self.store.make_directory(request.path, request.parents, request.exist_ok)
        return storage_pb2.MakeDirectoryResponse()

    @_answers
    def RemoveFile(self, request: Any) -> Any:
        self._note_task(request)
        self.store.remove(request.path, request.recursive, request.kind)
        return storage_pb2.RemoveFileResponse()

    @_answers
    def RenameFile(self, request: Any) -> Any:
        self._note_task(request)
        self.store.rename(request.source, request.target, request.overwrite)
        return storage_pb2.RenameFileResponse()

    @_answers
    def BeginWrite(self, request: Any) -> Any:
        self._note_task(request)
        return self.store.begin(request)

    @_answers
    def ReserveBlocks(self, request: Any) -> Any:
        write = self.store.writer(request.extent_id)
        write.reserved = max(write.reserved, request.blocks)
        return storage_pb2.ReserveBlocksResponse(holders=self.store.holders(write.reserved))

    def PutBlocks(self, requests: Iterator[Any], context: Any) -> Any:
        received = list(requests)
        for request in received:
            self.on_put(request.extent_id, request.number)
        return self._do("PutBlocks", context, lambda: self._put(received))

    def _put(self, requests: list[Any]) -> Any:
        for request in requests:
            write = self.store.writer(request.extent_id)
            assert request.number < write.reserved, "put before it was reserved"
            data = request.data
            if request.HasField("range"):
                data = self._range(request.range)[:]
            else:
                assert zlib.crc32(data) == request.checksum
            assert len(data) <= write.block_bytes
            self.store.blocks[request.extent_id, request.number] = bytes(data)
        return storage_pb2.PutBlocksResponse()

    @_answers
    def PublishWrite(self, request: Any) -> Any:
        self._note_task(request)
        return storage_pb2.PublishWriteResponse(file=self.store.publish(request))

    @_answers
    def AbandonWrite(self, request: Any) -> Any:
        self.store.abandon(request.extent_id)
        return storage_pb2.AbandonWriteResponse()

    def ReadBlocks(self, request: Any, context: Any) -> Any:
        for number in request.numbers:
            self.on_read(request.extent_id, number)
        return self._do("ReadBlocks", context, lambda: [self._block(request, number) for number in request.numbers])

    def _block(self, request: Any, number: int) -> Any:
        key = request.extent_id, number
        if key not in self.store.blocks:
            raise Refusal("FILE_LOST", f"block {number} of extent {request.extent_id} is lost")
        if key in self.store.corrupt:
            raise Refusal("FILE_CORRUPT", f"block {number} of extent {request.extent_id} is not what was written")
        end = request.offset + request.bytes if request.bytes else None
        data = self.store.blocks[key][request.offset : end]
        if request.HasField("range"):
            self._range(request.range)[: len(data)] = data
            return storage_pb2.ReadBlocksResponse(number=number, written_bytes=len(data))
        part = storage_pb2.ReadBlocksResponse(number=number, data=data, checksum=zlib.crc32(data))
        if self.spoil:
            self.spoil -= 1
            part.data = part.data[:-1] + b"?"
        self.sent += len(data)
        return part

    @_answers
    def ShareMemory(self, request: Any) -> Any:
        if not self.shares:
            raise Refusal("SHARING_UNAVAILABLE", "this node sees no memory of others")
        with open(f"/proc/{request.pid}/fd/{request.fd}", "r+b") as file:
            memory = mmap.mmap(file.fileno(), request.bytes)
        assert memory[: len(request.nonce)] == request.nonce
        self.memories[name := uuid.uuid4().bytes] = memory
        return storage_pb2.ShareMemoryResponse(memory=name)

    @_answers
    def UnshareMemory(self, request: Any) -> Any:
        self.memories.pop(request.memory, None)
        return storage_pb2.UnshareMemoryResponse()

    def _range(self, place: Any) -> memoryview:
        if place.memory not in self.memories:
            raise Refusal("SHARING_UNAVAILABLE", "no such memory is shared")
        return memoryview(self.memories[place.memory])[place.offset : place.offset + place.bytes]

    @_answers
    def CheckBlocks(self, request: Any) -> list[Any]:
        own = self.store.addresses.index(self.address)
        held: dict[str, list[int]] = {}
        for extent, number in sorted(self.store.blocks):
            if number % len(self.store.addresses) == own:
                held.setdefault(extent, []).append(number)
        return [
            storage_pb2.CheckBlocksResponse(
                extent_id=extent,
                numbers=numbers,
                corrupt=[number for number in numbers if (extent, number) in self.store.corrupt],
                bytes=sum(len(self.store.blocks[extent, number]) for number in numbers),
                pending=extent in self.store.writers,
            )
            for extent, numbers in held.items()
        ]

    @_answers
    def GetUsage(self, request: Any) -> Any:
        self.store.get(request.path)
        below = [self.store.entries[name] for name in self.store.below(request.path)]
        files = [entry for entry in below if entry.kind != storage_pb2.FILE_KIND_DIRECTORY]
        return storage_pb2.GetUsageResponse(
            files=len(files),
            directories=sum(e.kind == storage_pb2.FILE_KIND_DIRECTORY and e.path != request.path for e in below),
            bytes=sum(file.bytes for file in files),
        )

    def _do(self, method: str, context: Any, answer: Callable[[], Any]) -> Any:
        """The answer of the store to a call; a list is a stream."""
        with self._call(method, context):
            try:
                with self.store.lock:
                    found = answer()
            except Refusal as refusal:
                context.abort(_STATUSES.get(refusal.code, _STATUS), f"{refusal} [code={refusal.code}]")
        return iter(found) if isinstance(found, list) else found

    def _note_task(self, request: Any) -> None:
        self.store.tasks.append(request.task if request.HasField("task") else None)


def _listed(entry: Any, name: str) -> Any:
    listed = storage_pb2.FileInfo()
    listed.CopyFrom(entry)
    listed.path = name
    del listed.extents[:]
    return listed
