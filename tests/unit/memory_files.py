"""The cluster's files in the memory of one process: the interface of `storage.files`, and its errors."""

from __future__ import annotations

import threading
import time
from typing import Literal

from tensorflow_ignite.errors import (
    DirectoryNotEmptyError,
    StoredFileExistsError,
    StoredFileNotFoundError,
    StoredIsADirectoryError,
    StoredNotADirectoryError,
)
from tensorflow_ignite.storage import paths
from tensorflow_ignite.storage.info import FileInfo


class MemoryFiles:
    """Files by path; directories hold None."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.entries: dict[str, bytes | None] = {"/": None}
        self.calls: list[str] = []

    def stat(self, path: str) -> FileInfo:
        self.calls.append(f"stat {path}")
        with self.lock:
            above = paths.parent(path)
            while above != "/":
                if self.entries.get(above, None) is not None:
                    raise StoredNotADirectoryError(f"{above} is a file")
                above = paths.parent(above)
            if path not in self.entries:
                raise StoredFileNotFoundError(f"{path} does not exist")
            content = self.entries[path]
            return FileInfo(path, "directory" if content is None else "file", len(content or b""), time.time(), 1.0, 1)

    def exists(self, path: str) -> bool:
        try:
            self.stat(path)
        except (StoredFileNotFoundError, StoredNotADirectoryError):
            return False
        return True

    def list(self, path: str) -> list[FileInfo]:
        if self.stat(path).kind == "file":
            return [self.stat(path)]
        self.calls.append(f"list {path}")
        with self.lock:
            names = sorted(each for each in self.entries if each != "/" and paths.parent(each) == path)
            return [self.stat(each) for each in names]

    def make_directory(self, path: str, *, parents: bool = False, exist_ok: bool = False) -> None:
        with self.lock:
            if self.exists(path):
                if exist_ok and self.entries[path] is None:
                    return
                raise StoredFileExistsError(f"{path} exists")
            self._parent(path, parents)
            self.entries[path] = None

    def remove(self, path: str, *, recursive: bool = False, kind: Literal["file", "directory"] | None = None) -> None:
        with self.lock:
            info = self.stat(path)
            if kind == "file" and info.kind != kind:
                raise StoredIsADirectoryError(f"{path} is a directory")
            if kind == "directory" and info.kind != kind:
                raise StoredNotADirectoryError(f"{path} is a file")
            below = [each for each in self.entries if each.startswith(f"{path}/")]
            if below and not recursive:
                raise DirectoryNotEmptyError(f"{path} is not empty")
            for each in [*below, path]:
                del self.entries[each]

    def rename(self, source: str, target: str, *, overwrite: bool = True) -> None:
        with self.lock:
            self.stat(source)
            self._parent(target, False)
            if self.exists(target):
                if not overwrite:
                    raise StoredFileExistsError(f"{target} exists")
                self.remove(target)
            for each in [each for each in self.entries if each == source or each.startswith(f"{source}/")]:
                self.entries[target + each[len(source) :]] = self.entries.pop(each)

    def open_reader(self, path: str) -> MemoryReader:
        if self.stat(path).kind == "directory":
            raise StoredIsADirectoryError(f"{path} is a directory")
        return MemoryReader(self, path)

    def open_writer(
        self, path: str, mode: Literal["w", "x", "a"] = "w", *, parents: bool = False, block_bytes: int = 0
    ) -> MemoryWriter:
        with self.lock:
            self._parent(path, parents)
            if self.exists(path) and self.entries[path] is None:
                raise StoredIsADirectoryError(f"{path} is a directory")
            before = self.entries.get(path) if mode == "a" else None
            return MemoryWriter(self, path, before or b"")

    def _parent(self, path: str, parents: bool) -> None:
        above = paths.parent(path)
        if parents:
            self.make_directory(above, parents=True, exist_ok=True)
        elif self.stat(above).kind == "file":
            raise StoredNotADirectoryError(f"{above} is a file")


class MemoryReader:
    """The content at the time of opening, or of the last refresh."""

    def __init__(self, files: MemoryFiles, path: str) -> None:
        self.files = files
        self.path = path
        self.content = files.entries[path] or b""

    @property
    def bytes(self) -> int:
        return len(self.content)

    def read_into(self, offset: int, buffer: memoryview) -> int:
        part = self.content[offset : offset + len(buffer)]
        buffer[: len(part)] = part
        return len(part)

    def refresh(self) -> None:
        self.files.stat(self.path)
        self.content = self.files.entries[self.path] or b""

    def close(self) -> None:
        pass


class MemoryWriter:
    """Publishes whole contents."""

    def __init__(self, files: MemoryFiles, path: str, before: bytes) -> None:
        self.files = files
        self.path = path
        self.content = bytearray(before)
        self.writes = 0
        self.failure: Exception | None = None
        self.delay = 0.0

    @property
    def position(self) -> int:
        return len(self.content)

    def write(self, data: memoryview) -> None:
        self.writes += 1
        if self.failure is not None:
            raise self.failure
        time.sleep(self.delay)
        self.content += data

    def publish(self) -> None:
        with self.files.lock:
            self.files._parent(self.path, False)
            self.files.entries[self.path] = bytes(self.content)

    def close(self) -> None:
        self.publish()

    def abandon(self) -> None:
        pass

    def __enter__(self) -> MemoryWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is None:
            self.close()
