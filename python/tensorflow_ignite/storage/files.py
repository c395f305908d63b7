"""The cluster's files: one door for everything in Python that uses them.

files = Files.at(None)                          # the cluster of this job, or of the environment
with files.open_writer("/models/a.bin", parents=True) as writer:
    writer.write(b"...")
with files.open_reader("/models/a.bin") as reader:
    reader.read(0, reader.bytes)
"""

from __future__ import annotations

import builtins
import os
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from tensorflow_ignite.credentials import Credentials, find
from tensorflow_ignite.errors import (
    InvalidRequestError,
    StorageError,
    StoredFileNotFoundError,
    StoredIsADirectoryError,
    StoredNotADirectoryError,
    TensorFlowIgniteError,
)
from tensorflow_ignite.rpc import NodeConnection
from tensorflow_ignite.storage import paths
from tensorflow_ignite.storage.info import CheckedBlocks, Extent, FileInfo, FileKind, Usage
from tensorflow_ignite.storage.keeper import Keeper
from tensorflow_ignite.storage.memory import BlockMemory
from tensorflow_ignite.storage.reader import Reader
from tensorflow_ignite.storage.tasks import TaskIdentity
from tensorflow_ignite.storage.wire import FileStub
from tensorflow_ignite.storage.workers import Workers
from tensorflow_ignite.storage.writer import MODES, WriteMode, Writer
from tensorflow_ignite.v1 import job_pb2, storage_pb2

__all__ = ["CheckedBlocks", "FileInfo", "FileKind", "Files", "Reader", "Usage", "WriteMode", "Writer"]

_KINDS = {None: storage_pb2.FILE_KIND_UNSPECIFIED, "file": storage_pb2.REGULAR_FILE, "directory": storage_pb2.DIRECTORY}
# Threads that carry blocks, for all open files of a cluster together.
_THREADS = 16


class Files:
    """Files of one cluster; made by `Files.at`. Safe to use from several threads, and again after a fork.

    Paths begin with a slash; see `paths.normalize`. Every method may also raise `InvalidRequestError` (a path breaks a
    rule), `ConnectionFailedError` (no node answers), `RequestTimeoutError` (no answer in time), and, when it changes
    something for a task of a job, `AttemptSupersededError` (the task has been replaced).
    """

    def __init__(
        self, addresses: tuple[str, ...], timeout: float, own: bool, credentials: Credentials | None = None
    ) -> None:
        """Makes no call yet; see `at`.

        Args:
            addresses: One ``"host:port"`` for each node that may be asked.
            timeout: Seconds for each call at one address.
            own: They are of the cluster that this process is a task of, if it is one.
            credentials: Who calls.
        """
        self._credentials = credentials
        self._addresses = addresses
        self._timeout = timeout
        self._connection = NodeConnection(
            addresses, timeout, make_stub=FileStub, connect=False, credentials=credentials
        )
        self._task = TaskIdentity(addresses, timeout, own, credentials)
        self._memory = BlockMemory(self._connection)
        self._workers = Workers(_THREADS)
        self._keeper = Keeper()

    @staticmethod
    def at(addresses: tuple[str, ...] | None, *, timeout: float = 30.0, credentials: Any = None) -> Files:
        """The files of a cluster; one object for each process, addresses, time-out and credentials. Makes no call yet.

        Args:
            addresses: One ``"host:port"`` for each node that may be asked; None: see `paths.resolve`.
            timeout: Seconds for each call at one address.
            credentials: Who calls, and whom it trusts; see `tensorflow_ignite.connect`.

        Raises:
            InvalidRequestError: The credentials, or an address in the environment, cannot be read.
        """
        nodes = paths.resolve(addresses)
        key = nodes, float(timeout), not addresses, find(credentials, nodes)
        with _lock:
            if key not in _files:
                _files[key] = Files(*key)
            return _files[key]

    @property
    def addresses(self) -> tuple[str, ...]:
        """``"host:port"`` of the nodes that are asked."""
        return self._addresses

    def stat(self, path: str) -> FileInfo:
        """What is at a path.

        Raises:
            StoredFileNotFoundError: Nothing is.
            StoredNotADirectoryError: A file stands in the way.
        """
        return FileInfo.from_proto(self._locate(paths.normalize(path), holders=False).file)

    def exists(self, path: str) -> bool:
        """Whether anything is at a path."""
        try:
            self.stat(path)
        except (StoredFileNotFoundError, StoredNotADirectoryError):
            return False
        return True

    def list(self, path: str) -> list[FileInfo]:
        """The entries of a directory, sorted by name, with whole paths; of a file, itself.

        Raises:
            StoredFileNotFoundError: Nothing is there.
            StoredNotADirectoryError: A file stands in the way.
        """
        path = paths.normalize(path)
        files: builtins.list[Any] = []
        request = storage_pb2.ListDirectoryRequest(path=path)
        for response in self._connection.follow("ListDirectory", request, on_restart=files.clear):
            files.extend(response.files)
        return [FileInfo.from_proto(file, _whole_path(path, file.path)) for file in files]

    def make_directory(self, path: str, *, parents: bool = False, exist_ok: bool = False) -> None:
        """Makes a directory.

        Args:
            path: Of the directory.
            parents: Make those above it, too, if they are missing.
            exist_ok: A directory that is there already is no error.

        Raises:
            StoredFileExistsError: Something is there.
            StoredFileNotFoundError: The directory above it is missing.
            StoredNotADirectoryError: A file stands in the way.
        """
        path = paths.normalize(path)
        request = storage_pb2.MakeDirectoryRequest(path=path, parents=parents, exist_ok=exist_ok)
        self._change("MakeDirectory", request)

    def remove(self, path: str, *, recursive: bool = False, kind: FileKind | None = None) -> None:
        """Removes a file, an empty directory, or a whole one, in one step.

        Args:
            path: Of what is removed.
            recursive: Remove a directory with all that is in it.
            kind: What it must be; None: either.

        Raises:
            StoredFileNotFoundError: Nothing is there.
            DirectoryNotEmptyError: Something is in the directory.
            StoredIsADirectoryError: It is to be a file, and is not.
            StoredNotADirectoryError: It is to be a directory, and is not.
        """
        request = storage_pb2.RemoveFileRequest(path=paths.normalize(path), recursive=recursive, kind=_KINDS[kind])

        def settle(refusal: TensorFlowIgniteError) -> Any:
            gone = isinstance(refusal, StoredFileNotFoundError)
            return storage_pb2.RemoveFileResponse() if gone else None

        self._change("RemoveFile", request, settle)

    def rename(self, source: str, target: str, *, overwrite: bool = True) -> None:
        """Gives a file, or a directory with all that is in it, another path, in one step.

        Args:
            source: The path now.
            target: The path afterwards.
            overwrite: A file replaces a file, a directory an empty one.

        Raises:
            StoredFileNotFoundError: Nothing is there, or the target's directory is missing.
            StoredFileExistsError: Something is at the target, without overwrite.
            StoredIsADirectoryError: A file would replace a directory.
            StoredNotADirectoryError: A directory would replace a file.
            DirectoryNotEmptyError: The target directory has something in it.
        """
        source, target = paths.normalize(source), paths.normalize(target)

        def settle(refusal: TensorFlowIgniteError) -> Any:
            if isinstance(refusal, StorageError) and self.exists(target) and not self.exists(source):
                return storage_pb2.RenameFileResponse()
            return None

        request = storage_pb2.RenameFileRequest(source=source, target=target, overwrite=overwrite)
        self._change("RenameFile", request, settle)

    def usage(self, path: str) -> Usage:
        """Numbers and bytes below a path.

        Raises:
            StoredFileNotFoundError: Nothing is there.
        """
        request = storage_pb2.GetUsageRequest(path=paths.normalize(path))
        answer = self._connection.call("GetUsage", lambda: request)
        return Usage(answer.files, answer.directories, answer.bytes)

    def open_reader(self, path: str) -> Reader:
        """Opens a file for reading.

        Raises:
            StoredFileNotFoundError: Nothing is there.
            StoredIsADirectoryError: A directory is.
        """
        path = paths.normalize(path)
        return Reader(self._connection, self._memory, self._workers, partial(self._locate_file, path))

    def open_writer(self, path: str, mode: WriteMode = "w", *, parents: bool = False, block_bytes: int = 0) -> Writer:
        """Begins to write a file; nothing is visible yet.

        Args:
            path: Of the file.
            mode: ``"w"`` replaces what is there, ``"x"`` wants nothing there, ``"a"`` goes on behind what is there.
            parents: Make missing directories.
            block_bytes: From 4 KiB to 4 MiB; 0: the cluster's, 2 MiB unless it is set.

        Raises:
            StoredFileNotFoundError: The directory is missing.
            StoredFileExistsError: Mode ``"x"``, and something is there.
            StoredIsADirectoryError: A directory is there.
        """
        if mode not in MODES:
            raise InvalidRequestError(
                f"mode {mode!r} is unknown. A file is written with w, x or a. Choose one of them."
            )
        request = storage_pb2.BeginWriteRequest(
            path=paths.normalize(path),
            mode=MODES[mode],
            parents=parents,
            block_bytes=block_bytes,
            task=self._task.key(),
        )
        return Writer(self._connection, self._memory, self._workers, self._keeper, request)

    def extents(self, path: str) -> tuple[Extent, ...]:
        """What a file is made of, in order.

        Raises:
            StoredFileNotFoundError: Nothing is there.
            StoredIsADirectoryError: A directory is.
        """
        return tuple(
            Extent(extent.id, extent.bytes, extent.block_bytes)
            for extent in self._locate_file(paths.normalize(path)).file.extents
        )

    def check(self) -> Iterator[CheckedBlocks]:
        """Yields each block of the cluster once, checked at its first holder; an extent may come in several parts."""
        api = NodeConnection(self._addresses, self._timeout, credentials=self._credentials)
        try:
            nodes = api.call("ListNodes", job_pb2.ListNodesRequest).nodes
        finally:
            api.close()
        for node in nodes:
            yield from _check_node(node.address, self._timeout, self._credentials)

    def _locate(self, path: str, *, holders: bool = True) -> Any:
        request = storage_pb2.GetFileRequest(path=path, locate=holders)
        return self._connection.call("GetFile", lambda: request)

    def _locate_file(self, path: str) -> Any:
        response = self._locate(path)
        if response.file.kind == storage_pb2.DIRECTORY:
            raise StoredIsADirectoryError(
                f"{path} is a directory. Only files have bytes to read. List it, or open a file in it."
            )
        return response

    def _change(
        self, method: str, request: Any, settle: Callable[[TensorFlowIgniteError], Any] = lambda refusal: None
    ) -> None:
        """Makes a call that changes something, in the name of the task that this process is."""
        task = self._task.key()
        if task is not None:
            request.task.CopyFrom(task)
        self._connection.call(method, lambda: request, settle=settle)


_lock = threading.Lock()
_files: dict[tuple[tuple[str, ...], float, bool, Credentials | None], Files] = {}


def _forget_lock() -> None:
    """In a forked child: the lock may be held by a thread that is not there."""
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_forget_lock)


def _whole_path(directory: str, name: str) -> str:
    """The path of an entry; the one entry of a file is itself, and has a whole path already."""
    return name if name.startswith("/") else paths.join(directory, name)


def _check_node(address: str, timeout: float, credentials: Credentials | None) -> list[CheckedBlocks]:
    node = NodeConnection((address,), timeout, make_stub=FileStub, credentials=credentials)
    try:
        found: list[CheckedBlocks] = []
        for answer in node.follow("CheckBlocks", storage_pb2.CheckBlocksRequest(), on_restart=found.clear):
            found.append(
                CheckedBlocks(
                    address=address,
                    extent=answer.extent_id,
                    numbers=tuple(answer.numbers),
                    corrupt=tuple(answer.corrupt),
                    bytes=answer.bytes,
                    pending=answer.pending,
                )
            )
        return found
    finally:
        node.close()
