"""What TensorFlow's calls come to, without TensorFlow, against a file service on a real socket."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from file_server import FileServer

from tensorflow_ignite import errors
from tensorflow_ignite.storage.files import Files
from tensorflow_ignite.storage.tf import filesystem_calls, patterns, statuses
from tensorflow_ignite.storage.tf.filesystem_calls import FileSystemCalls
from tensorflow_ignite.testing.patience import patiently


@pytest.fixture
def server() -> Iterator[FileServer]:
    with FileServer() as started:
        yield started


@pytest.fixture
def files(server: FileServer) -> Files:
    return Files.at((server.address,))


@pytest.fixture
def calls(files: Files) -> FileSystemCalls:
    return FileSystemCalls(lambda addresses: files)


def content(files: Files, path: str) -> bytes:
    with files.open_reader(path) as reader:
        return reader.read(0, reader.bytes)


def fail_writes(writer: Any, error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(data: memoryview) -> None:
        raise error

    monkeypatch.setattr(writer, "write", write)


def await_true(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + patiently(60.0)
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def write(calls: FileSystemCalls, url: str, content: bytes = b"content") -> None:
    open_writer = calls.open_writer(url, "w")
    calls.write(open_writer, memoryview(content))
    calls.close_writer(open_writer)


def test_every_error_of_ours_has_a_class_of_tensorflow() -> None:
    meant: dict[int, list[type[BaseException]]] = {
        statuses.NOT_FOUND: [errors.StoredFileNotFoundError],
        statuses.ALREADY_EXISTS: [errors.StoredFileExistsError],
        statuses.FAILED_PRECONDITION: [
            *(errors.StoredNotADirectoryError, errors.StoredIsADirectoryError, errors.DirectoryNotEmptyError),
            errors.ClusterNotActiveError,
        ],
        statuses.ABORTED: [errors.FileChangedError],
        statuses.DATA_LOSS: [errors.FileCorruptError, errors.FileLostError, errors.DataLossError],
        statuses.PERMISSION_DENIED: [errors.AttemptSupersededError],
        statuses.INVALID_ARGUMENT: [errors.InvalidRequestError],
        statuses.UNAVAILABLE: [errors.ConnectionFailedError],
        statuses.DEADLINE_EXCEEDED: [errors.RequestTimeoutError],
        statuses.RESOURCE_EXHAUSTED: [MemoryError],
        statuses.INTERNAL: [errors.InternalError, ZeroDivisionError],
        statuses.CANCELLED: [KeyboardInterrupt],
    }
    for code, kinds in meant.items():
        assert {statuses.code_of(kind("x")) for kind in kinds} == {code}


def test_an_error_is_encoded_in_bytes_that_c_can_read() -> None:
    calls = FileSystemCalls()
    code, text = calls.explain(errors.StoredFileNotFoundError("no \udcff here \0 ü"))
    assert code == statuses.NOT_FOUND
    assert text == b"no \\udcff here \\0 \xc3\xbc"
    assert calls.explain(ValueError("why")) == (statuses.INTERNAL, b"ValueError: why")


def test_an_exception_of_a_signal_handler_is_raised_later() -> None:
    later: list[BaseException] = []
    calls = FileSystemCalls(raise_later=later.append)
    interrupt = KeyboardInterrupt()
    assert calls.explain(interrupt)[0] == statuses.CANCELLED
    calls.explain(ValueError())
    assert later == [interrupt]


def test_a_name_is_tidied_and_keeps_its_host() -> None:
    for url, tidy in (
        ("ignite:///a//b/./c/", "ignite:///a/b/c"),
        ("ignite://h:1,h2:2/a/../b", "ignite://h:1,h2:2/b"),
        ("ignite://h", "ignite://h/"),
        ("ignite://", "ignite:///"),
        ("ignite:///%20 /#?ü", "ignite:///%20 /#?ü"),
    ):
        assert FileSystemCalls().translate(url) == tidy.encode()
        assert FileSystemCalls().translate(tidy) == tidy.encode()


def test_an_invalid_name_is_an_error_of_the_call_that_uses_it(calls: FileSystemCalls) -> None:
    url = f"ignite:///{'x' * 300}"
    assert calls.translate(url) == url.encode()
    with pytest.raises(errors.InvalidRequestError):
        calls.must_exist(url)


PATTERNS = {
    "*": ["[x]", "a", "a-b", "b", "c.txt", "d1", "d2", "x]"],
    "[ab]": ["a", "b"],
    "[!ab]": [],
    "[^a]": ["b"],
    "[a-b]": ["a", "b"],
    "a[-+]b": ["a-b"],
    r"\[x\]": ["[x]"],
    "[x]": [],
    "[[]x]": ["[x]"],
    "x[]]": ["x]"],
    "[": [],
    "c.t?t": ["c.txt"],
    "cxt*": [],
    "d?/f": ["d1/f", "d2/f"],
    "d*/*": ["d1/f", "d1/g", "d2/f"],
    "d1/../d2/*": ["d2/f"],
    "a/*": [],
    "missing/*": [],
}


def test_patterns_stand_for_paths_and_open_no_file(calls: FileSystemCalls, server: FileServer) -> None:
    for name in ("a", "b", "a-b", "c.txt", "[x]", "x]", "d1/f", "d1/g", "d2/f"):
        write(calls, f"ignite:///{name}")
    found = {pattern: calls.matching(f"ignite://h:1/{pattern}") for pattern in PATTERNS}
    assert found == {
        pattern: [f"ignite://h:1/{name}".encode() for name in names] for pattern, names in PATTERNS.items()
    }
    for pattern, lists in (("d1/*", 1), ("d1/f", 0)):
        del server.calls[:]
        assert calls.matching(f"ignite:///{pattern}")
        assert server.calls.count("ListDirectory") == lists
        assert "ReadBlocks" not in server.calls


def test_a_pattern_that_cannot_be_read_is_refused(calls: FileSystemCalls) -> None:
    with pytest.raises(errors.InvalidRequestError, match=r"\[z-a\]"):
        calls.matching("ignite:///[z-a]")
    assert patterns.literal("[a").fullmatch("[a")
    for char, others in (("d", "5"), ("w", "a"), ("s", " "), ("-", "+"), ("]", "["), ("^", "a"), ("\\", "a")):
        part = patterns.literal(rf"[x\{char}]")
        assert [part.fullmatch(text) is not None for text in (char, others)] == [True, False], char


def test_a_file_that_grows_is_read_on(calls: FileSystemCalls, files: Files) -> None:
    open_writer = calls.open_writer("ignite:///log", "w")
    calls.write(open_writer, memoryview(b"one"))
    calls.publish(open_writer)
    reader = calls.open_reader("ignite:///log")
    buffer = memoryview(bytearray(10))
    assert calls.read_into(reader, 0, buffer) == 3
    assert calls.read_into(reader, 3, buffer) == 0
    assert calls.position_of(open_writer) == 3
    calls.write(open_writer, memoryview(b"two"))
    calls.close_writer(open_writer)
    assert calls.read_into(reader, 3, buffer) == 3
    assert bytes(buffer[:3]) == b"two"
    files.remove("/log")
    assert calls.read_into(reader, 6, buffer) == 0


def test_a_flush_of_an_event_file_waits_for_no_answer_and_is_seen_soon(
    calls: FileSystemCalls, files: Files, server: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filesystem_calls, "SECONDS_BETWEEN_PUBLICATIONS", 3_600.0)
    path = "/events.out.tfevents.1.host"
    open_writer = calls.open_writer(f"ignite://{path}", "w")
    for _ in range(20):
        calls.write(open_writer, memoryview(b"x"))
        calls.publish(open_writer)
    assert content(files, path) == b"x"
    assert server.calls.count("PublishWrite") == 1
    calls.close_writer(open_writer)
    assert content(files, path) == b"x" * 20
    monkeypatch.setattr(filesystem_calls, "SECONDS_BETWEEN_PUBLICATIONS", 0.0)
    open_writer = calls.open_writer(f"ignite://{path}", "w")
    for letter in (b"a", b"b"):
        calls.write(open_writer, memoryview(letter))
        calls.publish(open_writer)
    await_true(lambda: content(files, path) == b"ab")

    def refuse() -> None:
        raise errors.ConnectionFailedError("gone")

    def fails() -> bool:
        try:
            calls.publish(open_writer)
        except errors.ConnectionFailedError:
            return True
        return False

    with monkeypatch.context() as patched:
        patched.setattr(open_writer.writer, "publish", refuse)
        # An error of the thread is that of a later flush.
        await_true(fails)
    calls.close_writer(open_writer)


def test_a_file_with_a_hole_is_never_published(
    calls: FileSystemCalls, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(calls, "ignite:///file", b"old")
    open_writer = calls.open_writer("ignite:///file", "w")
    calls.write(open_writer, memoryview(b"new"))
    # Only the first write fails; the hole stays.
    with monkeypatch.context() as patched:
        fail_writes(open_writer.writer, errors.ConnectionFailedError("gone"), patched)
        with pytest.raises(errors.ConnectionFailedError):
            calls.write(open_writer, memoryview(b"lost"))
    with pytest.raises(errors.ConnectionFailedError):
        calls.write(open_writer, memoryview(b"after"))
    assert open_writer.writer.position == 3
    for end in (calls.publish, calls.close_writer):
        with pytest.raises(errors.ConnectionFailedError):
            end(open_writer)
    assert content(files, "/file") == b"old"


def test_at_exit_a_terminated_cluster_is_waited_for_once(
    calls: FileSystemCalls, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_writers = [calls.open_writer(f"ignite:///{number}", "w") for number in range(3)]
    for open_writer in open_writers:
        fail_writes(open_writer.writer, errors.RequestTimeoutError("late"), monkeypatch)
        with pytest.raises(errors.RequestTimeoutError):
            calls.write(open_writer, memoryview(b"x"))
    calls.ending = True
    for open_writer in open_writers:
        calls.close_quietly(open_writer)
    assert caplog.text.count("late") == 1
    for open_writer in open_writers:
        open_writer.writer.abandon()


def test_a_rename_stays_in_its_cluster_and_a_copy_may_leave_it(server: FileServer) -> None:
    calls = FileSystemCalls()
    with FileServer() as other:
        source, target = f"ignite://{server.address}/file", f"ignite://{other.address}/file"
        write(calls, source)
        with pytest.raises(errors.InvalidRequestError, match="different clusters"):
            calls.rename_path(source, target)
        calls.copy_file(source, target)
        assert content(Files.at((other.address,)), "/file") == b"content"


def test_a_copy_that_fails_leaves_the_target_as_it_was(calls: FileSystemCalls, files: Files) -> None:
    write(calls, "ignite:///target", b"old")
    with pytest.raises(errors.StoredFileNotFoundError):
        calls.copy_file("ignite:///missing", "ignite:///target")
    assert content(files, "/target") == b"old"
