"""What every call of TensorFlow for ``ignite://`` comes to.

The extension module calls these methods, from threads of TensorFlow's, with the GIL and no lock of ours; whatever they
raise becomes a status by `Answers.explain`. Memory that they are lent is TensorFlow's: nobody keeps it.
"""

from __future__ import annotations

import gc
import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from tensorflow_ignite.errors import (
    FileChangedError,
    InvalidRequestError,
    StoredFileExistsError,
    StoredFileNotFoundError,
    StoredNotADirectoryError,
)
from tensorflow_ignite.storage import paths
from tensorflow_ignite.storage.tf import patterns, statuses

if TYPE_CHECKING:
    from tensorflow_ignite.storage.files import FileInfo, Files, Reader, Writer

__all__ = ["Answers"]

_log = logging.getLogger(__name__)
_COPIED_AT_ONCE = 4 << 20


class Answers:
    """Answers of one process; see the module."""

    def __init__(
        self,
        files_at: Callable[[tuple[str, ...] | None], Files] | None = None,
        raise_later: Callable[[BaseException], None] = lambda error: None,
    ) -> None:
        """Asks nobody yet.

        Args:
            files_at: Gives the files at addresses; None: `Files.at`.
            raise_later: Raises in the main thread what a signal's handler has raised in here.
        """
        self._files_at = files_at
        self._raise_later = raise_later
        #: The process ends: what cannot be reached once is not asked again.
        self.ending = False
        self._gone = False

    # -- names ---------------------------------------------------------------------------------------------------------

    def translate(self, url: str) -> bytes:
        """The URL as all other methods get it: tidy, with its host; one that breaks a rule stays as it is."""
        hosts, path = _split(url)
        try:
            tidy = f"{paths.SCHEME}{hosts}{paths.normalize(path)}"
        except InvalidRequestError:
            tidy = url
        return _encoded(tidy)

    def names_in(self, url: str) -> list[bytes]:
        """Names of what is in a directory."""
        files, path = self._at(url)
        return [_encoded(entry.name) for entry in _entries(files, path)]

    def matching(self, pattern: str) -> list[bytes]:
        """URLs that a pattern stands for, sorted, with the host as it was given."""
        hosts, path = _split(pattern)
        files = self._files(paths.parse(f"{paths.SCHEME}{hosts}/").addresses)
        try:
            found = patterns.matching(patterns.split(path), lambda each: _entries(files, each), files.exists)
        except ValueError as error:
            raise InvalidRequestError(str(error)) from None
        return [_encoded(f"{paths.SCHEME}{hosts}{each}") for each in found]

    # -- what is there -------------------------------------------------------------------------------------------------

    def must_exist(self, url: str) -> None:
        """Raises when nothing is there."""
        files, path = self._at(url)
        if not files.exists(path):
            raise StoredFileNotFoundError(f"{url} does not exist")

    def statistics_of(self, url: str) -> tuple[int, int, bool]:
        """Bytes, the time of the last change in nanoseconds since the epoch, and whether it is a directory."""
        files, path = self._at(url)
        info = files.stat(path)
        return info.bytes, round(info.modified * 1e9), info.kind == "directory"

    # -- changes -------------------------------------------------------------------------------------------------------

    def make_directory(self, url: str) -> None:
        """Makes a directory in one that is there."""
        files, path = self._at(url)
        files.make_directory(path)

    def make_directories(self, url: str) -> None:
        """Makes a directory and those above it, as far as they are missing."""
        files, path = self._at(url)
        try:
            files.make_directory(path, parents=True, exist_ok=True)
        except StoredFileExistsError as error:
            raise StoredNotADirectoryError(str(error)) from None

    def remove_file(self, url: str) -> None:
        """Removes a file."""
        files, path = self._at(url)
        files.remove(path, kind="file")

    def remove_directory(self, url: str) -> None:
        """Removes an empty directory."""
        files, path = self._at(url)
        files.remove(path, kind="directory")

    def remove_tree(self, url: str) -> None:
        """Removes whatever is there."""
        files, path = self._at(url)
        files.remove(path, recursive=True)

    def rename_path(self, source: str, target: str) -> None:
        """Renames a file or a directory, within one cluster."""
        files, path = self._at(source)
        others, new_path = self._at(target)
        if files is not others:
            raise InvalidRequestError(
                f"{source} cannot be renamed to {target}: they are in different clusters. A rename stays within the "
                "nodes that a URL names. Copy it, then remove it."
            )
        files.rename(path, new_path, overwrite=True)

    def copy_file(self, source: str, target: str) -> None:
        """Copies a file; the copy appears whole or not at all."""
        reader = self.open_reader(source)
        try:
            files, path = self._at(target)
            with files.open_writer(path) as writer:
                buffer = memoryview(bytearray(min(_COPIED_AT_ONCE, max(reader.bytes, 1))))
                offset = 0
                while offset < reader.bytes:
                    had = reader.read_into(offset, buffer)
                    writer.write(buffer[:had])
                    offset += had
        finally:
            reader.close()

    # -- reading -------------------------------------------------------------------------------------------------------

    def open_reader(self, url: str) -> Reader:
        """Opens a file for reading."""
        files, path = self._at(url)
        return files.open_reader(path)

    def bytes_of(self, reader: Reader) -> int:
        """Size of an open file."""
        return reader.bytes

    def read_into(self, reader: Reader, offset: int, buffer: memoryview) -> int:
        """Reads a range; whoever reads on at the end sees what has been appended, as TensorBoard expects."""
        had = reader.read_into(offset, buffer)
        if had == 0 and offset >= reader.bytes:
            try:
                reader.refresh()
            except (FileChangedError, StoredFileNotFoundError):
                return 0  # what was opened has ended; the new file is another one
            if offset < reader.bytes:
                had = reader.read_into(offset, buffer)
        return had

    def close_reader(self, reader: Reader) -> None:
        """Forgets what was read ahead."""
        reader.close()

    # -- writing -------------------------------------------------------------------------------------------------------

    def open_writer(self, url: str, mode: Literal["w", "a"]) -> _Writing:
        """Begins to write a file."""
        files, path = self._at(url)
        return _Writing(files.open_writer(path, mode))

    def position_of(self, writing: _Writing) -> int:
        """Bytes that stand before what is written next."""
        return writing.writer.position

    def write(self, writing: _Writing, data: memoryview) -> None:
        """Adds bytes at the end."""
        if writing.failure is not None:
            raise writing.failure
        try:
            writing.writer.write(data)
        except BaseException as error:
            writing.failure = error.with_traceback(None)
            raise

    def publish(self, writing: _Writing) -> None:
        """Makes what was written visible."""
        if writing.failure is not None:
            raise writing.failure
        writing.writer.publish()

    def close_writer(self, writing: _Writing) -> None:
        """Makes what was written visible, and ends; a writer that is broken ends without."""
        if writing.failure is not None:
            writing.writer.abandon()
            raise writing.failure
        writing.writer.close()

    def close_unheard(self, writing: _Writing) -> None:
        """Closes a file that nobody has closed, so that nobody waits for an error."""
        if self._gone:
            return
        try:
            self.close_writer(writing)
        except Exception as error:
            # At the end of a process one such wait is enough.
            self._gone = self.ending and isinstance(error, (ConnectionError, TimeoutError))
            _log.warning("%s was not closed, and closing it failed: %s", writing.writer.path, error)

    # -- errors --------------------------------------------------------------------------------------------------------

    def explain(self, error: BaseException) -> tuple[int, bytes]:
        """The number of TensorFlow's class for an error, and the text."""
        code = statuses.code_of(error)
        if code == statuses.CANCELLED:
            self._raise_later(error)
            text = f"interrupted by {type(error).__name__}"
        else:
            text = str(error)
        if code == statuses.INTERNAL:
            text = f"{type(error).__name__}: {text}"
            _log.debug("answering TensorFlow failed", exc_info=error)
        return code, text.encode("utf-8", "backslashreplace").replace(b"\0", b"\\0")

    # -- collections ---------------------------------------------------------------------------------------------------

    def collect(self) -> None:
        """Collects cyclic garbage, in a thread that no call waits for: calls have held collections back for long."""
        threading.Thread(target=gc.collect, name="tensorflow-ignite collects", daemon=True).start()

    # -- where ---------------------------------------------------------------------------------------------------------

    def _at(self, url: str) -> tuple[Files, str]:
        location = paths.parse(url)
        return self._files(location.addresses), location.path

    def _files(self, addresses: tuple[str, ...] | None) -> Files:
        if self._files_at is None:
            from tensorflow_ignite.storage.files import Files

            self._files_at = Files.at
        return self._files_at(addresses)


class _Writing:
    """A writer that remembers what broke it: a file with a hole must not be published."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.failure: BaseException | None = None


def _entries(files: Files, path: str) -> list[FileInfo]:
    entries = files.list(path)
    if len(entries) == 1 and entries[0].path == path:
        # A listing of a file gives the file, and TensorFlow wants none.
        raise StoredNotADirectoryError(
            f"{path} is a file. Only directories have entries. List the directory that it is in."
        )
    return entries


def _split(url: str) -> tuple[str, str]:
    """The hosts as they were written, and the path."""
    hosts, _, path = url[len(paths.SCHEME) :].partition("/")
    return hosts, f"/{path}"


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
