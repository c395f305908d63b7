"""This machine's files, as a file system of fsspec that replaces a file only when its new content is complete."""

from __future__ import annotations

import contextlib
import glob
import io
import os
import secrets
import stat
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fsspec.implementations.local import LocalFileSystem

from tensorflow_ignite.base import system
from tensorflow_ignite.errors import StorageError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class UnbufferedFile(io.FileIO):
    """A file of the operating system; `write` returns when everything is written."""

    def write(self, data: ReadableBuffer, /) -> int:
        """Writes all bytes, where one system call may write a part of them."""
        view = memoryview(data)
        written = 0
        while written < len(view):
            written += super().write(view[written:])
        return written


class LocalFiles(LocalFileSystem):  # type: ignore[misc]
    """Files of this machine under the paths that the user wrote; links are followed.

    fsspec's own class writes an uncommitted file in the directory for temporary files and copies it from there, cannot
    open a pipe, and makes every path absolute.
    """

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return path

    def unstrip_protocol(self, name: str) -> str:
        """The path itself: it needs no scheme."""
        return name

    def info(self, path: str, **options: Any) -> dict[str, Any]:
        """Name, size and type of a file, or of what a link refers to."""
        try:
            found = os.stat(path)
        except FileNotFoundError:
            if not os.path.islink(path):
                raise
            raise StorageError(
                f"{path} is a link to a file that does not exist. Links are followed when files are copied. "
                "Repair the link or remove it."
            ) from None
        if stat.S_ISDIR(found.st_mode):
            return {"name": path, "size": 0, "type": "directory"}
        return {"name": path, "size": found.st_size, "type": "file" if stat.S_ISREG(found.st_mode) else "other"}

    def ls(self, path: str, detail: bool = True, **options: Any) -> list[Any]:
        """The entries of a directory; only files and directories may be in it."""
        entries = []
        for name in os.listdir(path):
            with contextlib.suppress(FileNotFoundError):  # removed a moment ago
                entries.append(self.info(f"{path.rstrip('/')}/{name}"))
        for entry in entries:
            if entry["type"] == "other":
                raise StorageError(
                    f"{entry['name']} is neither a file nor a directory. Pipes, sockets and devices are copied only "
                    "when they are named themselves. Move it away, or copy the other entries."
                )
        return entries if detail else [entry["name"] for entry in entries]

    def exists(self, path: str, **options: Any) -> bool:
        """Whether anything has this name, a broken link included."""
        return os.path.lexists(path)

    def glob(self, path: str, **options: Any) -> list[str]:
        """The paths that match, as in a shell: hidden names only when the pattern begins with a dot."""
        return [system.slashed(found) for found in glob.glob(path, recursive=True)]

    def _open(self, path: str, mode: str = "rb", block_size: int | None = None, **options: Any) -> Any:
        return UnbufferedFile(path) if mode == "rb" else _replacement(path)


@contextlib.contextmanager
def _replacement(path: str) -> Iterator[UnbufferedFile]:
    """A file that takes the place of `path` at the end of the block; nothing changes when the block raises."""
    path = os.path.realpath(path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    existing = os.stat(path) if os.path.exists(path) else None
    if existing is not None and not stat.S_ISREG(existing.st_mode):
        # A device or a pipe is written to, not replaced.
        with UnbufferedFile(path, "w") as file:
            yield file
        return
    part = os.path.join(os.path.dirname(path), f".tensorflow-ignite-{secrets.token_hex(8)}.part")
    try:
        with UnbufferedFile(part, "x") as file:
            if existing is not None:
                os.chmod(part, stat.S_IMODE(existing.st_mode))
            yield file
        os.replace(part, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.remove(part)
        raise
