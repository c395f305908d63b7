"""The cluster's files as a file system of fsspec, for pandas, pyarrow, polars and other users of fsspec.

with fsspec.open("ignite:///data/rows.csv") as file: ...
frame = pandas.read_parquet("ignite://node-1:10820,node-2:10820/data/rows.parquet")
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from typing import Any

from fsspec.compression import compr
from fsspec.core import get_compression
from fsspec.spec import AbstractFileSystem
from fsspec.utils import stringify_path

from tensorflow_ignite import errors
from tensorflow_ignite.net.addresses import parse_addresses
from tensorflow_ignite.net.credentials import from_argument, store, stored
from tensorflow_ignite.storage import paths
from tensorflow_ignite.storage.files import Files
from tensorflow_ignite.storage.handles import CompressedFile, ReadFile, TextFile, WriteFile
from tensorflow_ignite.storage.info import FileInfo
from tensorflow_ignite.storage.reader import copy_bytes

_MISSING = (errors.StoredFileNotFoundError, errors.StoredNotADirectoryError)
# Threads of `cat_ranges`.
_RANGE_THREADS = 8
_TEXT_OPTIONS = ("encoding", "errors", "newline", "line_buffering", "write_through")


class _CredentialsByName(type(AbstractFileSystem)):  # type: ignore[misc]
    """fsspec stores and pickles the options of a file system, so credentials are replaced by a random name."""

    def __call__(cls, *args: Any, **options: Any) -> Any:
        credentials = options.get("credentials")
        if credentials is not None and not isinstance(credentials, str):
            options["credentials"] = store(from_argument(credentials))
        return super().__call__(*args, **options)


class IgniteFileSystem(AbstractFileSystem, metaclass=_CredentialsByName):  # type: ignore[misc]
    """Files inside an Ignite cluster: ``ignite://[host:port[,host:port]]/path``.

    A file becomes visible as a whole when it is closed. Missing directories are made when a file is written into them.
    Listings are not cached. All calls are synchronous. Errors are `tensorflow_ignite.errors.StorageError`, and also the
    class of the operating system's error, such as FileNotFoundError.
    """

    protocol = paths.PROTOCOL
    root_marker = "/"

    def __init__(
        self, address: str | None = None, timeout: float = 30.0, *, credentials: Any = None, **options: Any
    ) -> None:
        """Makes no call yet.

        Args:
            address: ``"host:port[,host:port]"``; None: in a job, the node that the task runs beside; else the
                environment variable TENSORFLOW_IGNITE_ADDRESS; else ``localhost:10820``.
            timeout: Seconds for each call at one address.
            credentials: Credentials of the calls; see `tensorflow_ignite.connect`. They stay in this process: a process
                that unpickles the file system uses its own.
            options: Options of every file system of fsspec.

        Raises:
            InvalidRequestError: The address or the credentials are malformed.
        """
        super().__init__(**options)
        # Here `credentials` is the name that the metaclass has put in.
        self._credentials = stored(credentials or "")
        self._addresses = parse_addresses(address) if address else None
        self._timeout = timeout

    @property
    def files(self) -> Files:
        """The files of the cluster."""
        return Files.at(self._addresses, timeout=self._timeout, credentials=self._credentials)

    @property
    def fsid(self) -> str:
        """The same for every process that uses the same addresses."""
        return f"{self.protocol}_{','.join(self.files.addresses)}"

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(one) for one in path]
        text = stringify_path(path)
        if paths.is_url(text):
            return paths.parse(text).path
        return paths.normalize(text if text.startswith("/") else "/" + text)

    @staticmethod
    def _get_kwargs_from_urls(path: str) -> dict[str, Any]:
        addresses = paths.parse(path).addresses if paths.is_url(path) else None
        return {"address": ",".join(addresses)} if addresses else {}

    def unstrip_protocol(self, name: str) -> str:
        """Returns the URL of a path, with addresses if this file system was created with them."""
        if paths.is_url(name) and paths.parse(name).addresses:
            return name
        return paths.format_url(self._addresses, self._strip_protocol(name))

    def info(self, path: str, **options: Any) -> dict[str, Any]:
        """Returns the metadata of a path: name, size, type, created, modified, mtime and generation."""
        return _describe(self.files.stat(self._strip_protocol(path)))

    def ls(self, path: str, detail: bool = True, **options: Any) -> list[Any]:
        """Returns the entries of a directory, or the file itself; as `info`, or by name."""
        found = self.files.list(self._strip_protocol(path))
        return [_describe(info) for info in found] if detail else [info.path for info in found]

    def exists(self, path: str, **options: Any) -> bool:
        """Whether the path exists; raises if no node answers."""
        return self.files.exists(self._strip_protocol(path))

    def isdir(self, path: str) -> bool:
        """Whether the path is a directory; raises if no node answers."""
        return self._kind(path) == "directory"

    def isfile(self, path: str) -> bool:
        """Whether the path is a file; raises if no node answers."""
        return self._kind(path) == "file"

    def walk(
        self, path: str, maxdepth: int | None = None, topdown: bool = True, on_error: Any = "omit", **options: Any
    ) -> Iterator[Any]:
        """Walks as fsspec does; missing directories are omitted by default, but connection errors are raised."""
        ignore = _omit_missing if on_error == "omit" else on_error
        yield from super().walk(path, maxdepth=maxdepth, topdown=topdown, on_error=ignore, **options)

    def created(self, path: str) -> datetime:
        """When a file was made."""
        return self.info(path)["created"]  # type: ignore[no-any-return]

    def modified(self, path: str) -> datetime:
        """When a file was last changed."""
        return self.info(path)["modified"]  # type: ignore[no-any-return]

    def mkdir(self, path: str, create_parents: bool = True, **options: Any) -> None:
        """Makes a directory that does not exist."""
        self.files.make_directory(self._strip_protocol(path), parents=create_parents)

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        """Makes a directory and its missing parents."""
        self.files.make_directory(self._strip_protocol(path), parents=True, exist_ok=exist_ok)

    def rmdir(self, path: str) -> None:
        """Removes an empty directory."""
        self.files.remove(self._strip_protocol(path), kind="directory")

    def rm_file(self, path: str) -> None:
        """Removes a file."""
        self.files.remove(self._strip_protocol(path), kind="file")

    _rm = rm_file

    def rm(self, path: str | list[str], recursive: bool = False, maxdepth: int | None = None) -> None:
        """Removes files and directories, each in one step; an existing path is never read as a pattern."""
        if maxdepth is not None:
            super().rm(path, recursive=recursive, maxdepth=maxdepth)
            return
        removed: set[str] = set()
        for one in [path] if isinstance(path, (str, os.PathLike)) else path:
            for found in self._expand(one):
                if not (recursive and paths.is_in(found, removed)):
                    self.files.remove(found, recursive=recursive)
                    removed.add(found)

    def mv(self, path1: Any, path2: Any, recursive: bool = False, maxdepth: int | None = None, **options: Any) -> None:
        """Renames a file, or a directory with everything in it, in one step; an existing directory is moved into."""
        if not isinstance(path1, (str, os.PathLike)) or maxdepth is not None:
            super().mv(path1, path2, recursive=recursive, maxdepth=maxdepth, **options)
            return
        sources = self._expand(path1)
        target = self._strip_protocol(path2)
        into = stringify_path(path2).endswith("/") or len(sources) > 1 or self.isdir(target)
        for source in sources:
            self._rename(source, paths.join(target, source.rpartition("/")[2]) if into else target)

    def cp_file(self, path1: str, path2: str, **options: Any) -> None:
        """Copies a file; for a directory, makes the target directory."""
        source, target = self._strip_protocol(path1), self._strip_protocol(path2)
        try:
            reader = self.files.open_reader(source)
        except errors.StoredIsADirectoryError:
            self.files.make_directory(target, parents=True, exist_ok=True)
            return
        with reader, self.files.open_writer(target, parents=True) as writer:
            copy_bytes(reader, writer)

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **options: Any) -> bytes:
        """Reads a file, or a range; negative positions count from the end."""
        with self.files.open_reader(self._strip_protocol(path)) as reader:
            first, last, _ = slice(start, end).indices(reader.bytes)
            return reader.read(first, max(last - first, 0))

    def cat_ranges(
        self,
        paths: list[str],
        starts: Any,
        ends: Any,
        max_gap: int | None = None,
        on_error: str = "return",
        **options: Any,
    ) -> list[Any]:
        """Reads many ranges, several at once; see fsspec."""
        if max_gap is not None:
            raise NotImplementedError("cat_ranges does not join ranges. max_gap must be None. Leave max_gap out.")
        begins = starts if isinstance(starts, Sequence) else [starts] * len(paths)
        stops = ends if isinstance(ends, Sequence) else [ends] * len(paths)
        if not len(begins) == len(stops) == len(paths):
            raise ValueError(
                f"cat_ranges got {len(paths)} paths, {len(begins)} starts and {len(stops)} ends. Their numbers must be "
                "equal. Give one start and one end for each path."
            )

        def read(path: str, start: int | None, end: int | None) -> Any:
            try:
                return self.cat_file(path, start, end)
            except Exception as error:
                if on_error == "return":
                    return error
                raise

        with ThreadPoolExecutor(_RANGE_THREADS) as threads:
            return list(threads.map(read, paths, begins, stops))

    def touch(self, path: str, truncate: bool = True, **options: Any) -> None:
        """Makes an empty file; without `truncate`, an existing file keeps its bytes and gets a new time."""
        self.files.open_writer(self._strip_protocol(path), "w" if truncate else "a", parents=True).close()

    def du(
        self, path: str, total: bool = True, maxdepth: int | None = None, withdirs: bool = False, **options: Any
    ) -> Any:
        """Returns the bytes of all files below a path, or of each file."""
        if total and maxdepth is None:
            return self.files.usage(self._strip_protocol(path)).bytes
        return super().du(path, total=total, maxdepth=maxdepth, withdirs=withdirs, **options)

    def open(
        self,
        path: str,
        mode: str = "rb",
        block_size: int | None = None,
        cache_options: Any = None,
        compression: str | None = None,
        **options: Any,
    ) -> Any:
        """Opens a file, for bytes or text: ``r``, ``w``, ``x`` or ``a``; see fsspec."""
        text = "b" not in mode
        as_text = {name: options.pop(name) for name in _TEXT_OPTIONS if text and name in options}
        kind = get_compression(path, compression)
        is_compressed = kind is not None and "r" not in mode
        binary = super().open(
            path,
            mode.replace("t", "") + "b" if text else mode,
            block_size=block_size,
            cache_options=cache_options,
            compression=None if is_compressed else kind,
            **options,
        )
        if is_compressed:
            binary = CompressedFile(compr[kind](binary, mode=mode[0]), binary)
        return TextFile(binary, **as_text) if text else binary

    def _open(
        self,
        path: str,
        mode: str = "rb",
        block_size: int | None = None,
        autocommit: bool = True,
        cache_options: Any = None,
        cache_type: str | None = None,
        **options: Any,
    ) -> ReadFile | WriteFile:
        if mode == "rb":
            return ReadFile(self, path, self.files.open_reader(path), block_size, cache_type, cache_options)
        if mode not in ("wb", "xb", "ab"):
            raise ValueError(f"mode {mode!r} is unknown. A mode is r, w, x or a. Use one of these.")
        writer = self.files.open_writer(path, mode[0], parents=True)  # type: ignore[arg-type]
        return WriteFile(self, path, mode, writer, block_size, autocommit)

    def _kind(self, path: str) -> str | None:
        try:
            return self.files.stat(self._strip_protocol(path)).kind
        except _MISSING:
            return None

    def _expand(self, path: Any) -> list[str]:
        """Returns the paths that a path or pattern matches; an existing path matches only itself."""
        stripped = self._strip_protocol(path)
        if not any(sign in stripped for sign in "*?[") or self.files.exists(stripped):
            return [stripped]
        found = self.glob(stripped)
        if not found:
            raise errors.StoredFileNotFoundError(
                f"no path matches {stripped}. A pattern matches existing files and directories. List them: ls "
                f"{paths.parent(stripped)}"
            )
        return [str(one) for one in found]

    def _rename(self, source: str, target: str) -> None:
        if source == target:
            return
        try:
            self.files.rename(source, target)
        except errors.StoredFileNotFoundError:
            if not self.files.exists(source) or self.files.exists(paths.parent(target)):
                raise
            self.files.make_directory(paths.parent(target), parents=True, exist_ok=True)
            self.files.rename(source, target)


def _describe(info: FileInfo) -> dict[str, Any]:
    return {
        "name": info.path,
        "size": info.bytes,
        "type": info.kind,
        "created": datetime.fromtimestamp(info.created, timezone.utc),
        "modified": datetime.fromtimestamp(info.modified, timezone.utc),
        "mtime": info.modified,
        "generation": info.generation,
    }


def _omit_missing(error: BaseException) -> None:
    if not isinstance(error, _MISSING):
        raise error
