"""The files of a cluster. All of Python uses them through `Files`.

files = Files.at(None)                          # the cluster of this job, or of the environment
with files.open_writer("/models/a.bin", parents=True) as writer:
    writer.write(b"...")
with files.open_reader("/models/a.bin") as reader:
    reader.read(0, reader.bytes)
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from tensorflow_ignite import errors
from tensorflow_ignite.base import forks
from tensorflow_ignite.net.credentials import Credentials
from tensorflow_ignite.net.resolve import find_credentials, resolve
from tensorflow_ignite.net.rpc import NodeConnection
from tensorflow_ignite.storage import paths
from tensorflow_ignite.storage.info import CheckedBlocks, Extent, FileInfo, FileKind, Usage
from tensorflow_ignite.storage.keep_alive import WriterKeepAlive
from tensorflow_ignite.storage.memory import BlockMemory
from tensorflow_ignite.storage.reader import Reader
from tensorflow_ignite.storage.tasks import TaskIdentity
from tensorflow_ignite.storage.wire import FileStub
from tensorflow_ignite.storage.workers import Workers
from tensorflow_ignite.storage.writer import MODES, WriteMode, Writer
from tensorflow_ignite.v1 import job_pb2, storage_pb2

_KINDS = {
    None: storage_pb2.FILE_KIND_UNSPECIFIED,
    "file": storage_pb2.FILE_KIND_REGULAR,
    "directory": storage_pb2.FILE_KIND_DIRECTORY,
}
# Threads that transfer blocks, for all open files of a cluster together.
_THREADS = 16


class Files:
    """Files of one cluster; returned by `Files.at`. Safe to use from several threads, and after a fork.

    Paths begin with a slash; see `paths.normalize`. Every method may also raise `InvalidRequestError` (a path breaks a
    rule), `ConnectionFailedError` (no node answers), `RequestTimeoutError` (no answer in time), and, if it changes
    files for a task of a job, `AttemptSupersededError` (the task has been replaced).
    """

    def __init__(
        self, addresses: tuple[str, ...], timeout: float, is_job_cluster: bool, credentials: Credentials | None = None
    ) -> None:
        """Makes no call yet; see `at`.

        Args:
            addresses: One ``"host:port"`` for each node that may be called.
            timeout: Seconds for each call at one address.
            is_job_cluster: If this process is a task of a job, the nodes are known to be of the job's cluster.
            credentials: Credentials of the calls.
        """
        self._credentials = credentials
        self._addresses = addresses
        self._timeout = timeout
        self._connection = NodeConnection(
            addresses, timeout, make_stub=FileStub, connect=False, credentials=credentials
        )
        self._task = TaskIdentity(addresses, timeout, is_job_cluster, credentials)
        self._memory = BlockMemory(self._connection)
        self._workers = Workers(_THREADS)
        self._keep_alive = WriterKeepAlive()

    @staticmethod
    def at(addresses: tuple[str, ...] | None, *, timeout: float = 30.0, credentials: Any = None) -> Files:
        """Returns the files of a cluster: one object per process, addresses, timeout and credentials. Makes no call.

        Args:
            addresses: One ``"host:port"`` for each node that may be called; None: see `resolve`.
            timeout: Seconds for each call at one address.
            credentials: Credentials of the calls; see `tensorflow_ignite.connect`.

        Raises:
            InvalidRequestError: The credentials, or an address in the environment, are malformed.
        """
        nodes = addresses or resolve()
        key = nodes, float(timeout), not addresses, find_credentials(credentials, nodes)
        with _lock:
            if key not in _files:
                _files[key] = Files(*key)
            return _files[key]

    @property
    def addresses(self) -> tuple[str, ...]:
        """``"host:port"`` of the nodes that are called."""
        return self._addresses

    @property
    def credentials(self) -> Credentials | None:
        """The credentials of the calls."""
        return self._credentials

    def stat(self, path: str) -> FileInfo:
        """Returns the metadata of a file or directory.

        Raises:
            StoredFileNotFoundError: The path does not exist.
            StoredNotADirectoryError: A parent of the path is a file.
        """
        return FileInfo.from_proto(self._locate(paths.normalize(path), holders=False).file)

    def exists(self, path: str) -> bool:
        """Whether the path exists."""
        try:
            self.stat(path)
        except (errors.StoredFileNotFoundError, errors.StoredNotADirectoryError):
            return False
        return True

    def list(self, path: str) -> list[FileInfo]:
        """Returns the entries of a directory, sorted by name, with absolute paths; for a file, the file itself.

        Raises:
            StoredFileNotFoundError: The path does not exist.
            StoredNotADirectoryError: A parent of the path is a file.
        """
        path = paths.normalize(path)
        files: builtins.list[Any] = []
        request = storage_pb2.ListDirectoryRequest(path=path)
        for response in self._connection.follow("ListDirectory", request, on_restart=files.clear):
            files.extend(response.files)
        # The one entry of a file is the file, and has an absolute path; entries of a directory have names.
        return [
            FileInfo.from_proto(file, file.path if file.path.startswith("/") else paths.join(path, file.path))
            for file in files
        ]

    def make_directory(self, path: str, *, parents: bool = False, exist_ok: bool = False) -> None:
        """Makes a directory.

        Args:
            path: Path of the directory.
            parents: Make missing parents, too.
            exist_ok: A directory that exists is no error.

        Raises:
            StoredFileExistsError: The path exists.
            StoredFileNotFoundError: The parent does not exist.
            StoredNotADirectoryError: A parent of the path is a file.
        """
        path = paths.normalize(path)
        request = storage_pb2.MakeDirectoryRequest(path=path, parents=parents, exist_ok=exist_ok)
        self._change("MakeDirectory", request)

    def remove(self, path: str, *, recursive: bool = False, kind: FileKind | None = None) -> None:
        """Removes a file or a directory, in one step.

        Args:
            path: Path of the file or directory.
            recursive: Remove a directory with everything in it; otherwise it must be empty.
            kind: Expected kind; None: either.

        Raises:
            StoredFileNotFoundError: The path does not exist.
            DirectoryNotEmptyError: The directory has entries.
            StoredIsADirectoryError: A file was expected.
            StoredNotADirectoryError: A directory was expected.
        """
        request = storage_pb2.RemoveFileRequest(path=paths.normalize(path), recursive=recursive, kind=_KINDS[kind])

        def was_done(error: errors.TensorFlowIgniteError) -> Any:
            return storage_pb2.RemoveFileResponse() if isinstance(error, errors.StoredFileNotFoundError) else None

        self._change("RemoveFile", request, was_done)

    def rename(self, source: str, target: str, *, overwrite: bool = True) -> None:
        """Moves a file, or a directory with everything in it, to another path, in one step.

        Args:
            source: The present path.
            target: The new path.
            overwrite: A file replaces a file, a directory an empty directory.

        Raises:
            StoredFileNotFoundError: The source, or the target's parent, does not exist.
            StoredFileExistsError: The target exists, without overwrite.
            StoredIsADirectoryError: A file would replace a directory.
            StoredNotADirectoryError: A directory would replace a file.
            DirectoryNotEmptyError: The target directory has entries.
        """
        source, target = paths.normalize(source), paths.normalize(target)

        def was_done(error: errors.TensorFlowIgniteError) -> Any:
            if isinstance(error, errors.StorageError) and self.exists(target) and not self.exists(source):
                return storage_pb2.RenameFileResponse()
            return None

        request = storage_pb2.RenameFileRequest(source=source, target=target, overwrite=overwrite)
        self._change("RenameFile", request, was_done)

    def usage(self, path: str) -> Usage:
        """Returns the number of files and directories below a path, and their bytes.

        Raises:
            StoredFileNotFoundError: The path does not exist.
        """
        request = storage_pb2.GetUsageRequest(path=paths.normalize(path))
        answer = self._connection.call("GetUsage", lambda: request)
        return Usage(answer.files, answer.directories, answer.bytes)

    def open_reader(self, path: str) -> Reader:
        """Opens a file for reading.

        Raises:
            StoredFileNotFoundError: The path does not exist.
            StoredIsADirectoryError: The path is a directory.
        """
        path = paths.normalize(path)
        return Reader(self._connection, self._memory, self._workers, partial(self._locate_file, path))

    def open_writer(self, path: str, mode: WriteMode = "w", *, parents: bool = False, block_bytes: int = 0) -> Writer:
        """Opens a file for writing; it becomes visible when it is published.

        Args:
            path: Path of the file.
            mode: ``"w"`` replaces an existing file, ``"x"`` refuses one, ``"a"`` appends to it.
            parents: Make missing directories.
            block_bytes: Size of a block, from 4 KiB to 4 MiB; 0: the cluster's setting, 2 MiB by default.

        Raises:
            StoredFileNotFoundError: The directory does not exist.
            StoredFileExistsError: Mode ``"x"``, and the path exists.
            StoredIsADirectoryError: The path is a directory.
        """
        if mode not in MODES:
            raise errors.InvalidRequestError(
                f"mode {mode!r} is unknown. A file is written with w, x or a. Choose one of them."
            )
        request = storage_pb2.BeginWriteRequest(
            path=paths.normalize(path),
            mode=MODES[mode],
            parents=parents,
            block_bytes=block_bytes,
            task=self._task.key(),
        )
        return Writer(self._connection, self._memory, self._workers, self._keep_alive, request)

    def read_file(self, path: str) -> bytes:
        """Returns all bytes of a file; raises as :meth:`open_reader`."""
        with self.open_reader(path) as reader:
            return reader.read(0, reader.bytes)

    def read_if_there(self, path: str) -> bytes | None:
        """Returns all bytes of a file; None: it does not exist."""
        try:
            return self.read_file(path)
        except errors.StoredFileNotFoundError:
            return None

    def write_file(self, path: str, content: bytes) -> None:
        """Replaces a file, and makes missing directories; raises as :meth:`open_writer`."""
        with self.open_writer(path, parents=True) as writer:
            writer.write(content)

    def extents(self, path: str) -> tuple[Extent, ...]:
        """Returns the extents of a file, in order.

        Raises:
            StoredFileNotFoundError: The path does not exist.
            StoredIsADirectoryError: The path is a directory.
        """
        return tuple(
            Extent(extent.id, extent.bytes, extent.block_bytes)
            for extent in self._locate_file(paths.normalize(path)).file.extents
        )

    def check(self) -> Iterator[CheckedBlocks]:
        """Yields each block of the cluster once, verified at its owner; an extent may come in several parts."""
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
        if response.file.kind == storage_pb2.FILE_KIND_DIRECTORY:
            raise errors.StoredIsADirectoryError(
                f"{path} is a directory. Only files have bytes to read. List it, or open a file in it."
            )
        return response

    def _change(
        self, method: str, request: Any, was_done: Callable[[errors.TensorFlowIgniteError], Any] = lambda error: None
    ) -> None:
        """Makes a call that changes files, with the key of this task if this process is one."""
        task = self._task.key()
        if task is not None:
            request.task.CopyFrom(task)
        self._connection.call(method, lambda: request, was_done=was_done)


_lock = forks.RenewedLock()
_files: dict[tuple[tuple[str, ...], float, bool, Credentials | None], Files] = {}


def _check_node(address: str, timeout: float, credentials: Credentials | None) -> list[CheckedBlocks]:
    node = NodeConnection((address,), timeout, make_stub=FileStub, credentials=credentials)
    try:
        checked: list[CheckedBlocks] = []
        for answer in node.follow("CheckBlocks", storage_pb2.CheckBlocksRequest(), on_restart=checked.clear):
            checked.append(
                CheckedBlocks(
                    address=address,
                    extent=answer.extent_id,
                    numbers=tuple(answer.numbers),
                    corrupt=tuple(answer.corrupt),
                    bytes=answer.bytes,
                    pending=answer.pending,
                )
            )
        return checked
    finally:
        node.close()
