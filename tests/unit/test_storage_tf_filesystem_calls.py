"""What TensorFlow's calls come to, without TensorFlow and without a node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from memory_files import MemoryFiles

from tensorflow_ignite import errors
from tensorflow_ignite.storage.tf import patterns, statuses
from tensorflow_ignite.storage.tf.filesystem_calls import FileSystemCalls


@pytest.fixture
def files() -> MemoryFiles:
    return MemoryFiles()


@pytest.fixture
def calls(files: MemoryFiles) -> FileSystemCalls:
    return FileSystemCalls(lambda addresses: files)


def write(calls: FileSystemCalls, url: str, content: bytes = b"content") -> None:
    open_writer = calls.open_writer(url, "w")
    calls.write(open_writer, memoryview(content))
    calls.close_writer(open_writer)


def test_every_error_of_ours_has_a_class_of_tensorflow() -> None:
    meant = {
        errors.StoredFileNotFoundError: statuses.NOT_FOUND,
        errors.StoredFileExistsError: statuses.ALREADY_EXISTS,
        errors.StoredNotADirectoryError: statuses.FAILED_PRECONDITION,
        errors.StoredIsADirectoryError: statuses.FAILED_PRECONDITION,
        errors.DirectoryNotEmptyError: statuses.FAILED_PRECONDITION,
        errors.FileChangedError: statuses.ABORTED,
        errors.FileCorruptError: statuses.DATA_LOSS,
        errors.FileLostError: statuses.DATA_LOSS,
        errors.DataLossError: statuses.DATA_LOSS,
        errors.AttemptSupersededError: statuses.PERMISSION_DENIED,
        errors.InvalidRequestError: statuses.INVALID_ARGUMENT,
        errors.ConnectionFailedError: statuses.UNAVAILABLE,
        errors.RequestTimeoutError: statuses.DEADLINE_EXCEEDED,
        errors.ClusterNotActiveError: statuses.FAILED_PRECONDITION,
        errors.InternalError: statuses.INTERNAL,
        MemoryError: statuses.RESOURCE_EXHAUSTED,
        ZeroDivisionError: statuses.INTERNAL,
        KeyboardInterrupt: statuses.CANCELLED,
    }
    assert {kind: statuses.code_of(kind("x")) for kind in meant} == meant


def test_an_error_is_encoded_in_bytes_that_c_can_read(calls: FileSystemCalls) -> None:
    code, text = calls.explain(errors.StoredFileNotFoundError("no \udcff here \0 ü"))
    assert code == statuses.NOT_FOUND
    assert text == b"no \\udcff here \\0 \xc3\xbc"
    assert calls.explain(ValueError("why")) == (statuses.INTERNAL, b"ValueError: why")


def test_an_exception_of_a_signal_handler_is_raised_later(files: MemoryFiles) -> None:
    later: list[BaseException] = []
    calls = FileSystemCalls(lambda addresses: files, later.append)
    interrupt = KeyboardInterrupt()
    assert calls.explain(interrupt)[0] == statuses.CANCELLED
    calls.explain(ValueError())
    assert later == [interrupt]


@pytest.mark.parametrize(
    ("url", "tidy"),
    [
        ("ignite:///a//b/./c/", "ignite:///a/b/c"),
        ("ignite://h:1,h2:2/a/../b", "ignite://h:1,h2:2/b"),
        ("ignite://h", "ignite://h/"),
        ("ignite://", "ignite:///"),
        ("ignite:///%20 /#?ü", "ignite:///%20 /#?ü"),
    ],
)
def test_a_name_is_tidied_and_keeps_its_host(calls: FileSystemCalls, url: str, tidy: str) -> None:
    assert calls.translate(url) == tidy.encode()
    assert calls.translate(tidy) == tidy.encode()


def test_an_invalid_name_is_an_error_of_the_call_that_uses_it(calls: FileSystemCalls) -> None:
    url = f"ignite:///{'x' * 300}"
    assert calls.translate(url) == url.encode()
    with pytest.raises(errors.InvalidRequestError):
        calls.must_exist(url)


PATTERNS = [
    ("*", ["[x]", "a", "a-b", "b", "c.txt", "d1", "d2", "x]"]),
    ("[ab]", ["a", "b"]),
    ("[!ab]", []),
    ("[^a]", ["b"]),
    ("[a-b]", ["a", "b"]),
    ("a[-+]b", ["a-b"]),
    (r"\[x\]", ["[x]"]),
    ("[x]", []),
    ("[[]x]", ["[x]"]),
    ("x[]]", ["x]"]),
    ("[", []),
    ("c.t?t", ["c.txt"]),
    ("cxt*", []),
    ("d?/f", ["d1/f", "d2/f"]),
    ("d*/*", ["d1/f", "d1/g", "d2/f"]),
    ("d1/../d2/*", ["d2/f"]),
    ("a/*", []),
    ("missing/*", []),
]


@pytest.mark.parametrize(("pattern", "names"), PATTERNS)
def test_patterns_stand_for_paths(calls: FileSystemCalls, pattern: str, names: list[str]) -> None:
    for directory in ("d1", "d2"):
        calls.make_directory(f"ignite:///{directory}")
    for name in ("a", "b", "a-b", "c.txt", "[x]", "x]", "d1/f", "d1/g", "d2/f"):
        write(calls, f"ignite:///{name}")
    assert calls.matching(f"ignite://h:1/{pattern}") == [f"ignite://h:1/{name}".encode() for name in names]


def test_a_pattern_lists_directories_and_opens_no_file(calls: FileSystemCalls, files: MemoryFiles) -> None:
    calls.make_directory("ignite:///d")
    for number in range(100):
        write(calls, f"ignite:///d/ckpt-{number}")
    files.calls.clear()
    assert len(calls.matching("ignite:///d/ckpt-*")) == 100
    assert [call for call in files.calls if call.startswith("list")] == ["list /d"]
    files.calls.clear()
    assert calls.matching("ignite:///d/ckpt-7") == [b"ignite:///d/ckpt-7"]
    assert [call for call in files.calls if call.startswith("list")] == []


def test_a_pattern_that_cannot_be_read_is_refused(calls: FileSystemCalls) -> None:
    with pytest.raises(errors.InvalidRequestError, match=r"\[z-a\]"):
        calls.matching("ignite:///[z-a]")
    assert patterns.literal("[a").fullmatch("[a")


def test_a_file_that_is_being_appended_to_is_read_on(calls: FileSystemCalls, files: MemoryFiles) -> None:
    write(calls, "ignite:///log", b"one")
    reader = calls.open_reader("ignite:///log")
    buffer = memoryview(bytearray(10))
    assert calls.read_into(reader, 0, buffer) == 3
    assert calls.read_into(reader, 3, buffer) == 0
    open_writer = calls.open_writer("ignite:///log", "a")
    assert calls.position_of(open_writer) == 3
    calls.write(open_writer, memoryview(b"two"))
    calls.publish(open_writer)
    assert calls.read_into(reader, 3, buffer) == 3
    assert bytes(buffer[:3]) == b"two"
    files.remove("/log")
    assert calls.read_into(reader, 6, buffer) == 0


def test_a_file_with_a_hole_is_never_published(calls: FileSystemCalls, files: MemoryFiles) -> None:
    write(calls, "ignite:///file", b"old")
    open_writer = calls.open_writer("ignite:///file", "w")
    writer: Any = open_writer.writer
    calls.write(open_writer, memoryview(b"new"))
    writer.failure = errors.ConnectionFailedError("gone")
    steps: list[Callable[[], Any]] = [
        lambda: calls.write(open_writer, memoryview(b"lost")),
        lambda: calls.write(open_writer, memoryview(b"after")),
        lambda: calls.publish(open_writer),
        lambda: calls.close_writer(open_writer),
    ]
    for step in steps:
        with pytest.raises(errors.ConnectionFailedError):
            step()
        writer.failure = None  # the cluster is back, the hole stays
    assert files.entries["/file"] == b"old"
    assert writer.writes == 2


def test_at_exit_a_terminated_cluster_is_waited_for_once(calls: FileSystemCalls, caplog: Any) -> None:
    open_writers = [calls.open_writer(f"ignite:///{number}", "w") for number in range(3)]
    for open_writer in open_writers:
        writer: Any = open_writer.writer
        writer.failure = errors.RequestTimeoutError("late")
        with pytest.raises(errors.RequestTimeoutError):
            calls.write(open_writer, memoryview(b"x"))
    calls.ending = True
    for open_writer in open_writers:
        calls.close_quietly(open_writer)
    assert caplog.text.count("late") == 1


def test_a_rename_stays_in_its_cluster() -> None:
    clusters: dict[Any, MemoryFiles] = {}
    calls = FileSystemCalls(lambda addresses: clusters.setdefault(addresses, MemoryFiles()))
    write(calls, "ignite://one:1/file")
    with pytest.raises(errors.InvalidRequestError, match="different clusters"):
        calls.rename_path("ignite://one:1/file", "ignite://two:2/file")
    calls.copy_file("ignite://one:1/file", "ignite://two:2/file")
    assert clusters[("two:2",)].entries["/file"] == b"content"


def test_a_copy_that_fails_leaves_the_target_as_it_was(calls: FileSystemCalls, files: MemoryFiles) -> None:
    write(calls, "ignite:///target", b"old")
    with pytest.raises(errors.StoredFileNotFoundError):
        calls.copy_file("ignite:///missing", "ignite:///target")
    assert files.entries["/target"] == b"old"
