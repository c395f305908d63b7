"""The Python side of TensorFlow's file system calls for ``ignite://``.

The C extension calls these methods by name, in threads of TensorFlow, with the GIL. `FileSystemCalls.explain` turns an
exception into a status. Buffers belong to TensorFlow: no method keeps one after it returns.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from tensorflow_ignite import errors
from tensorflow_ignite.storage import gc_pause, paths
from tensorflow_ignite.storage.tf import patterns, statuses

if TYPE_CHECKING:
    from tensorflow_ignite.storage.files import Files
    from tensorflow_ignite.storage.info import FileInfo
    from tensorflow_ignite.storage.reader import Reader
    from tensorflow_ignite.storage.writer import Writer

# How TensorFlow and TensorBoard name event files.
_EVENTS = ".tfevents."
SECONDS_BETWEEN_PUBLICATIONS = 1.0

_log = logging.getLogger(__name__)


class FileSystemCalls:
    """The calls of one process; see the module."""

    def __init__(
        self,
        files_at: Callable[[tuple[str, ...] | None], Files] | None = None,
        raise_later: Callable[[BaseException], None] = lambda error: None,
    ) -> None:
        """Makes no call yet.

        Args:
            files_at: Returns the files of the cluster at some addresses; None: `Files.at`.
            raise_later: Raises an exception of a signal handler again, in the main thread.
        """
        self._files_at = files_at
        self._raise_later = raise_later
        #: The process ends: after one connection error no further file is closed.
        self.ending = False
        self._is_unreachable = False

    # -- names ---------------------------------------------------------------------------------------------------------

    def translate(self, url: str) -> bytes:
        """Normalizes a URL for all other methods, and keeps its hosts; an invalid URL stays as it is."""
        hosts, path = _split(url)
        with contextlib.suppress(errors.InvalidRequestError):  # the call that uses the URL raises it
            url = f"{paths.SCHEME}{hosts}{paths.normalize(path)}"
        return _encoded(url)

    def names_in(self, url: str) -> list[bytes]:
        """Returns the names of the entries of a directory."""
        files, path = self._at(url)
        return [_encoded(entry.name) for entry in _entries(files, path)]

    def matching(self, pattern: str) -> list[bytes]:
        """Returns the URLs that match a pattern, sorted, with the hosts of the pattern."""
        hosts, path = _split(pattern)
        files = self._files(paths.parse(f"{paths.SCHEME}{hosts}/").addresses)
        try:
            found = patterns.matching(patterns.split(path), lambda each: _entries(files, each), files.exists)
        except ValueError as error:
            raise errors.InvalidRequestError(str(error)) from None
        return [_encoded(f"{paths.SCHEME}{hosts}{each}") for each in found]

    # -- metadata ------------------------------------------------------------------------------------------------------

    def must_exist(self, url: str) -> None:
        """Raises StoredFileNotFoundError if the path does not exist."""
        files, path = self._at(url)
        if not files.exists(path):
            raise errors.StoredFileNotFoundError(f"{url} does not exist")

    def statistics_of(self, url: str) -> tuple[int, int, bool]:
        """Returns bytes, time of the last change in nanoseconds since the epoch, and whether it is a directory."""
        files, path = self._at(url)
        info = files.stat(path)
        return info.bytes, round(info.modified * 1e9), info.kind == "directory"

    # -- changes -------------------------------------------------------------------------------------------------------

    def make_directory(self, url: str) -> None:
        """Makes a directory; its parent must exist."""
        files, path = self._at(url)
        files.make_directory(path)

    def make_directories(self, url: str) -> None:
        """Makes a directory and its missing parents."""
        files, path = self._at(url)
        try:
            files.make_directory(path, parents=True, exist_ok=True)
        except errors.StoredFileExistsError as error:
            raise errors.StoredNotADirectoryError(str(error)) from None

    def remove_file(self, url: str) -> None:
        """Removes a file."""
        files, path = self._at(url)
        files.remove(path, kind="file")

    def remove_directory(self, url: str) -> None:
        """Removes an empty directory."""
        files, path = self._at(url)
        files.remove(path, kind="directory")

    def remove_tree(self, url: str) -> None:
        """Removes a file, or a directory with everything in it."""
        files, path = self._at(url)
        files.remove(path, recursive=True)

    def rename_path(self, source: str, target: str) -> None:
        """Renames a file or a directory, within one cluster."""
        files, path = self._at(source)
        others, new_path = self._at(target)
        if files is not others:
            raise errors.InvalidRequestError(
                f"{source} cannot be renamed to {target}: they are in different clusters. Both URLs of a rename must "
                "name the same nodes. Copy the file, then remove the source."
            )
        files.rename(path, new_path, overwrite=True)

    def copy_file(self, source: str, target: str) -> None:
        """Copies a file; the copy appears whole or not at all."""
        from tensorflow_ignite.storage.reader import copy_bytes

        with contextlib.closing(self.open_reader(source)) as reader:
            files, path = self._at(target)
            with files.open_writer(path, parents=True) as writer:
                copy_bytes(reader, writer)

    # -- reading -------------------------------------------------------------------------------------------------------

    def open_reader(self, url: str) -> Reader:
        """Opens a file for reading."""
        files, path = self._at(url)
        return files.open_reader(path)

    def bytes_of(self, reader: Reader) -> int:
        """Size of an open file."""
        return reader.bytes

    def read_into(self, reader: Reader, offset: int, buffer: memoryview) -> int:
        """Reads a range; a read at the end finds bytes that were appended since, as TensorBoard expects."""
        had = reader.read_into(offset, buffer)
        if had == 0 and offset >= reader.bytes:
            try:
                reader.refresh()
            except (errors.FileChangedError, errors.StoredFileNotFoundError):
                return 0  # the file that was opened has ended
            if offset < reader.bytes:
                had = reader.read_into(offset, buffer)
        return had

    def close_reader(self, reader: Reader) -> None:
        """Closes a file that was open for reading."""
        reader.close()

    # -- writing -------------------------------------------------------------------------------------------------------

    def open_writer(self, url: str, mode: Literal["w", "a"]) -> _OpenWriter:
        """Opens a file for writing; makes missing directories, as object stores and every other writer here do."""
        files, path = self._at(url)
        writer = files.open_writer(path, mode, parents=True)
        return _EventWriter(writer) if _EVENTS in path.rpartition("/")[2] else _OpenWriter(writer)

    def position_of(self, opened: _OpenWriter) -> int:
        """Position of the next byte that is written."""
        return opened.writer.position

    def write(self, opened: _OpenWriter, data: memoryview) -> None:
        """Appends bytes."""
        if opened.failure is not None:
            raise opened.failure
        try:
            opened.writer.write(data)
        except BaseException as error:
            opened.failure = error.with_traceback(None)
            raise

    def publish(self, opened: _OpenWriter) -> None:
        """Makes all bytes written so far visible."""
        if opened.failure is not None:
            raise opened.failure
        opened.publish()

    def close_writer(self, opened: _OpenWriter) -> None:
        """Publishes and ends the writer; a writer that has failed is abandoned."""
        opened.cancel()
        if opened.failure is not None:
            opened.writer.abandon()
            raise opened.failure
        opened.writer.close()

    def close_quietly(self, opened: _OpenWriter) -> None:
        """Closes a file that TensorFlow has not closed; an error is logged, since no caller waits for it."""
        if self._is_unreachable:
            return
        try:
            self.close_writer(opened)
        except Exception as error:
            # At the end of a process one timeout is enough.
            self._is_unreachable = self.ending and isinstance(error, (ConnectionError, TimeoutError))
            _log.warning("%s was not closed, and closing it failed: %s", opened.writer.path, error)

    # -- errors --------------------------------------------------------------------------------------------------------

    def explain(self, error: BaseException) -> tuple[int, bytes]:
        """Returns the number of TensorFlow's class for an error, and the text."""
        code = statuses.code_of(error)
        if code == statuses.CANCELLED:
            self._raise_later(error)
            text = f"interrupted by {type(error).__name__}"
        else:
            text = str(error)
        if code == statuses.INTERNAL:
            text = f"{type(error).__name__}: {text}"
            _log.debug("a call of TensorFlow's file system failed", exc_info=error)
        return code, text.encode("utf-8", "backslashreplace").replace(b"\0", b"\\0")

    # -- garbage collection --------------------------------------------------------------------------------------------

    def collect(self) -> None:
        """Collects cyclic garbage after a long pause, in a thread for which no call waits."""
        threading.Thread(target=gc.collect, name="tensorflow-ignite collects", daemon=True).start()

    # -- clusters ------------------------------------------------------------------------------------------------------

    def _at(self, url: str) -> tuple[Files, str]:
        location = paths.parse(url)
        return self._files(location.addresses), location.path

    def _files(self, addresses: tuple[str, ...] | None) -> Files:
        if self._files_at is None:
            from tensorflow_ignite.storage.files import Files

            self._files_at = Files.at
        return self._files_at(addresses)


class _OpenWriter:
    """A writer and the first error of its writes: a file with a hole must not be published."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.failure: BaseException | None = None

    def publish(self) -> None:
        """Makes all bytes written so far visible."""
        self.writer.publish()

    def cancel(self) -> None:
        """Publishes nothing more by itself; the writer is about to be closed."""


class _EventWriter(_OpenWriter):
    """A writer of an event file: a thread publishes it, at most once a second, and no flush waits for that.

    Keras flushes the event files of its TensorBoard callback before each step if it writes some of the steps. Only the
    first worker has them, so all workers would wait for the answers of the cluster.
    """

    def __init__(self, writer: Writer) -> None:
        super().__init__(writer)
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._is_published = False
        self._next = 0.0
        # Of the thread; the next flush raises it.
        self._error: BaseException | None = None

    def publish(self) -> None:
        with self._lock:
            error, self._error = self._error, None
            if error is None and self._is_published:
                if self._timer is None:
                    timer = threading.Timer(max(0.0, self._next - time.monotonic()), self._publish_now)
                    timer.name, timer.daemon = "tensorflow-ignite events", True
                    # Without a thread, as at the end of Python, the bytes are published when the file is closed.
                    with contextlib.suppress(RuntimeError):
                        timer.start()
                        self._timer = timer
                return
        if error is not None:
            raise error
        # TensorFlow expects that the file exists after its first flush.
        self.writer.publish()
        self._is_published = True
        self._next = time.monotonic() + SECONDS_BETWEEN_PUBLICATIONS

    def _publish_now(self) -> None:
        # A call of TensorFlow may wait for the writer.
        with gc_pause.paused():
            with self._lock:
                self._timer = None
                self._next = time.monotonic() + SECONDS_BETWEEN_PUBLICATIONS
            if self.failure is not None:
                return
            try:
                self.writer.publish()
            except ValueError:
                pass  # it was closed meanwhile, which has published all
            except Exception as error:
                with self._lock:
                    self._error = error.with_traceback(None)

    def cancel(self) -> None:
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()


def _entries(files: Files, path: str) -> list[FileInfo]:
    entries = files.list(path)
    if len(entries) == 1 and entries[0].path == path:
        # `Files.list` of a file returns the file; TensorFlow expects an error.
        raise errors.StoredNotADirectoryError(
            f"{path} is a file. Only directories have entries. List the directory that it is in."
        )
    return entries


def _split(url: str) -> tuple[str, str]:
    """Splits a URL into its hosts, unchanged, and its path."""
    hosts, _, path = url[len(paths.SCHEME) :].partition("/")
    return hosts, f"/{path}"


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
