"""The files of this machine, and of every file system that fsspec knows."""

from __future__ import annotations

import contextlib
import glob
import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from typing import Any

from tensorflow_ignite.cli.fs.stores import CHUNK_BYTES, Entry, Sink, Store
from tensorflow_ignite.errors import StorageError, TensorFlowIgniteError

__all__ = ["LocalStore", "UrlStore"]


class LocalStore(Store):
    """This machine's files; links are followed."""

    @property
    def identity(self) -> object:
        """There is one."""
        return "local"

    def url(self, path: str) -> str:
        """A path needs nothing before it."""
        return path

    def name(self, path: str) -> str:
        """Of ``.`` and ``..`` the content is meant."""
        name = super().name(path)
        return "" if name in (".", "..") else name

    def real(self, path: str) -> str:
        """Without links."""
        return os.path.realpath(path)

    def find(self, path: str) -> Entry | None:
        """What is at a path, or behind the link there."""
        with _told(path):
            try:
                found = os.stat(path)
            except FileNotFoundError:
                if os.path.islink(path):
                    raise StorageError(
                        f"{path} is a link to a file that does not exist. Links are followed when files are copied. "
                        "Mend the link or remove it."
                    ) from None
                return None
        if stat.S_ISDIR(found.st_mode):
            return Entry(path, True, 0)
        return Entry(path, False, found.st_size)

    def children(self, path: str) -> Sequence[Entry]:
        """In the order of their names."""
        with _told(path):
            names = sorted(os.listdir(path))
        found = [self.find(self.join(path, name)) for name in names]
        # One that was removed a moment ago is not there.
        entries = [entry for entry in found if entry is not None]
        for entry in entries:
            if not entry.is_directory and not os.path.isfile(entry.path):
                raise StorageError(
                    f"{entry.path} is neither a file nor a directory. Pipes, sockets and devices are copied only when "
                    "they are named themselves. Move it away, or copy what is beside it."
                )
        return entries

    def expand(self, pattern: str) -> list[str]:
        """As the shell would."""
        return [pattern] if os.path.lexists(pattern) else sorted(glob.glob(pattern, recursive=True))

    def make_directory(self, path: str) -> None:
        """With those above it."""
        with _told(path):
            os.makedirs(path, exist_ok=True)

    @contextlib.contextmanager
    def reading(self, path: str) -> Iterator[Iterator[bytes]]:
        """Until there is no more of it."""
        with _told(path), open(path, "rb", buffering=0) as file:
            yield _pieces(path, file)

    @contextlib.contextmanager
    def writing(self, path: str) -> Iterator[Sink]:
        """Writes beside the file, and puts that in its place at the end."""
        path = self.real(path)
        with _told(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            before = os.stat(path) if os.path.exists(path) else None
            if before is not None and not stat.S_ISREG(before.st_mode):
                # A device or a pipe is written to, not replaced.
                with open(path, "wb", buffering=0) as file:
                    yield _All(file)
                return
            beside = os.path.join(os.path.dirname(path), f".tensorflow-ignite-{secrets.token_hex(8)}.part")
            try:
                with open(beside, "xb", buffering=0) as file:
                    if before is not None:
                        os.chmod(beside, stat.S_IMODE(before.st_mode))
                    yield _All(file)
                os.replace(beside, path)
            except BaseException:
                with contextlib.suppress(FileNotFoundError):
                    os.remove(beside)
                raise


class _All:
    """An unbuffered file may take less than it is given at once."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, data: bytes, /) -> object:
        """Takes all of it."""
        rest = memoryview(data)
        while rest:
            rest = rest[self._file.write(rest) :]
        return None


class UrlStore(Store):
    """A file system of fsspec. How far its files appear at once is its own affair."""

    def __init__(self, filesystem: Any) -> None:
        """Keeps the file system."""
        self._filesystem = filesystem

    @property
    def identity(self) -> object:
        """Fsspec's own: protocol and options."""
        return self._filesystem

    def url(self, path: str) -> str:
        """With the protocol."""
        return str(self._filesystem.unstrip_protocol(path))

    def find(self, path: str) -> Entry | None:
        """Asks the file system."""
        with _told(self.url(path)):
            try:
                return _entry(self._filesystem.info(path))
            except FileNotFoundError:
                return None

    def children(self, path: str) -> Sequence[Entry]:
        """Without the directory itself, which some of them list as their own entry."""
        with _told(self.url(path)):
            found = [_entry(info) for info in self._filesystem.ls(path, detail=True)]
        return sorted(
            (entry for entry in found if entry.path.rstrip("/") != path.rstrip("/")), key=lambda entry: entry.path
        )

    def expand(self, pattern: str) -> list[str]:
        """By the rules of the file system."""
        with _told(self.url(pattern)):
            if self._filesystem.exists(pattern):
                return [pattern]
            return sorted(self._filesystem.glob(pattern))

    def make_directory(self, path: str) -> None:
        """Where the file system has directories."""
        with _told(self.url(path)):
            self._filesystem.makedirs(path, exist_ok=True)

    @contextlib.contextmanager
    def reading(self, path: str) -> Iterator[Iterator[bytes]]:
        """Until there is no more of it."""
        with _told(self.url(path)), self._filesystem.open(path, "rb") as file:
            yield _pieces(self.url(path), file)

    @contextlib.contextmanager
    def writing(self, path: str) -> Iterator[Sink]:
        """Commits at the end, where the file system can; a new file of one that cannot is removed after a failure."""
        with _told(self.url(path)):
            new = not self._filesystem.exists(path)
            parent = self._filesystem._parent(path)
            if new and parent and not self._filesystem.exists(parent):
                self._filesystem.makedirs(parent, exist_ok=True)
            file = self._filesystem.open(path, "wb", autocommit=False)
            try:
                yield file
                file.close()
                file.commit()
            except BaseException:
                with contextlib.suppress(Exception):
                    file.discard()
                    if new and self._filesystem.exists(path):
                        self._filesystem.rm_file(path)
                raise


def _pieces(where: str, file: Any) -> Iterator[bytes]:
    # The block that reads them writes to another store, which would tell these errors as its own.
    with _told(where):
        while data := file.read(CHUNK_BYTES):
            yield data


def _entry(info: dict[str, Any]) -> Entry:
    return Entry(str(info["name"]), info["type"] == "directory", int(info.get("size") or 0))


@contextlib.contextmanager
def _told(where: str) -> Iterator[None]:
    """Makes an error of ours of what other file systems raise: each has its own."""
    try:
        yield
    except TensorFlowIgniteError:
        raise
    except OSError as error:
        raise _failed(where, error.strerror or str(error) or type(error).__name__) from error
    except Exception as error:
        raise _failed(where, f"{type(error).__name__}: {error}") from error


def _failed(where: str, reason: str) -> StorageError:
    return StorageError(
        f"{where} cannot be read or written: {reason}. Copying stops at the first failure, and leaves no half file. "
        "Mend what keeps it from working, and copy again."
    )
