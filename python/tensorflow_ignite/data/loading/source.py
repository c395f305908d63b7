"""Where files are: on this machine, or below a URL that fsspec knows."""

from __future__ import annotations

import glob
import gzip
import io
import os
import posixpath
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from tensorflow_ignite import errors
from tensorflow_ignite.base import system


@dataclass(frozen=True)
class Source:
    """A file system.

    Attributes:
        filesystem: The file system of fsspec; None: files of this machine.
    """

    filesystem: Any = None

    @staticmethod
    def of(name: str) -> tuple[Source, str]:
        """The file system of a path or URL, and the path in it.

        Raises:
            InvalidRequestError: fsspec does not know the URL.
        """
        if "://" not in name:
            return Source(), system.slashed(name)
        import fsspec

        try:
            filesystem, path = fsspec.core.url_to_fs(name)
        except (ImportError, ValueError, OSError) as error:
            raise errors.InvalidRequestError(
                f"{name!r} cannot be opened: {error}. A URL names files of a file system that fsspec knows, such as "
                "s3:// or ignite://. Install its package, or correct the URL"
            ) from error
        return Source(filesystem), path

    def open(self, path: str) -> IO[bytes]:
        """A file, decompressed if its name ends in .gz."""
        is_compressed = path.lower().endswith(".gz")
        if self.filesystem is None:
            return cast(IO[bytes], gzip.open(path) if is_compressed else Path(path).open("rb"))
        return cast(IO[bytes], self.filesystem.open(path, "rb", compression="gzip" if is_compressed else None))

    def open_text(self, path: str, encoding: str) -> IO[str]:
        """A file as text, with its line breaks as they are."""
        return io.TextIOWrapper(self.open(path), encoding=encoding, newline="")

    def exists(self, path: str) -> bool:
        """Whether a file or folder is there."""
        return os.path.exists(path) if self.filesystem is None else bool(self.filesystem.exists(path))

    def is_folder(self, path: str) -> bool:
        """Whether it is a folder."""
        return os.path.isdir(path) if self.filesystem is None else bool(self.filesystem.isdir(path))

    def files_below(self, folder: str) -> list[str]:
        """All files below a folder, sorted; links of this machine are followed."""
        if self.filesystem is None:
            return sorted(map(system.slashed, _files_below(folder, ())), key=lambda path: path.split("/"))
        return sorted(self.filesystem.find(folder))

    def matching(self, pattern: str) -> list[str]:
        """The files that fit a pattern, sorted."""
        if self.filesystem is None:
            found = map(system.slashed, glob.glob(pattern, recursive=True))
        else:
            found = self.filesystem.glob(pattern)
        return sorted(path for path in found if not self.is_folder(path))

    @contextmanager
    def local(self, path: str) -> Iterator[str]:
        """A path of this machine for readers that need one; a file of a URL is copied for that long."""
        if self.filesystem is None:
            yield path
            return
        with tempfile.TemporaryDirectory(prefix="tensorflow-ignite-load-") as folder:
            copy = os.path.join(folder, os.path.basename(path))
            self.filesystem.get_file(path, copy)
            yield copy


def _files_below(folder: str, above: tuple[str, ...]) -> Iterator[str]:
    here = os.path.realpath(folder)
    if here in above:  # a link to a folder that it is in
        return
    for entry in os.scandir(folder):
        if entry.is_dir():
            yield from _files_below(entry.path, (*above, here))
        elif entry.is_file():
            yield entry.path


def below(path: str, folder: str) -> str:
    """The path of a file from a folder that it is in; both may begin with ``./``, or have ``//`` and ``.`` inside."""
    return posixpath.relpath(path, folder)


def shown(paths: Sequence[str]) -> str:
    """Files in an error text: the first one, and how many others there are."""
    return paths[0] + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")
