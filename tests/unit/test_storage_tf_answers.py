"""What TensorFlow's calls come to, without TensorFlow and without a node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from memory_files import MemoryFiles

from tensorflow_ignite import errors
from tensorflow_ignite.storage.tf import patterns, statuses
from tensorflow_ignite.storage.tf.answers import Answers


@pytest.fixture
def files() -> MemoryFiles:
    return MemoryFiles()


@pytest.fixture
def answers(files: MemoryFiles) -> Answers:
    return Answers(lambda addresses: files)


def write(answers: Answers, url: str, content: bytes = b"content") -> None:
    writing = answers.open_writer(url, "w")
    answers.write(writing, memoryview(content))
    answers.close_writer(writing)


def test_every_error_of_ours_has_a_class_of_tensorflow() -> None:
    meant = {
        errors.StoredFileNotFoundError: statuses.NOT_FOUND,
        errors.StoredFileExistsError: statuses.ALREADY_EXISTS,
        errors.StoredNotADirectoryError: statuses.FAILED_PRECONDITION,
        errors.StoredIsADirectoryError: statuses.FAILED_PRECONDITION,
        errors.DirectoryNotEmptyError: statuses.FAILED_PRECONDITION,
        errors.FileChangedError: statuses.ABORTED,
        errors.FileCorruptError: statuses.DATA_LOSS,
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


def test_an_error_is_told_in_bytes_that_c_can_read(answers: Answers) -> None:
    code, text = answers.explain(errors.StoredFileNotFoundError("no \udcff here \0 ü"))
    assert code == statuses.NOT_FOUND
    assert text == b"no \\udcff here \\0 \xc3\xbc"
    assert answers.explain(ValueError("why")) == (statuses.INTERNAL, b"ValueError: why")


def test_what_a_signal_raised_is_raised_later(files: MemoryFiles) -> None:
    later: list[BaseException] = []
    answers = Answers(lambda addresses: files, later.append)
    interrupt = KeyboardInterrupt()
    assert answers.explain(interrupt)[0] == statuses.CANCELLED
    answers.explain(ValueError())
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
def test_a_name_is_tidied_and_keeps_its_host(answers: Answers, url: str, tidy: str) -> None:
    assert answers.translate(url) == tidy.encode()
    assert answers.translate(tidy) == tidy.encode()


def test_a_name_that_breaks_a_rule_is_told_by_the_call_that_uses_it(answers: Answers) -> None:
    url = f"ignite:///{'x' * 300}"
    assert answers.translate(url) == url.encode()
    with pytest.raises(errors.InvalidRequestError):
        answers.must_exist(url)


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
def test_patterns_stand_for_paths(answers: Answers, pattern: str, names: list[str]) -> None:
    for directory in ("d1", "d2"):
        answers.make_directory(f"ignite:///{directory}")
    for name in ("a", "b", "a-b", "c.txt", "[x]", "x]", "d1/f", "d1/g", "d2/f"):
        write(answers, f"ignite:///{name}")
    assert answers.matching(f"ignite://h:1/{pattern}") == [f"ignite://h:1/{name}".encode() for name in names]


def test_a_pattern_lists_directories_and_looks_at_no_file(answers: Answers, files: MemoryFiles) -> None:
    answers.make_directory("ignite:///d")
    for number in range(100):
        write(answers, f"ignite:///d/ckpt-{number}")
    files.calls.clear()
    assert len(answers.matching("ignite:///d/ckpt-*")) == 100
    assert [call for call in files.calls if call.startswith("list")] == ["list /d"]
    files.calls.clear()
    assert answers.matching("ignite:///d/ckpt-7") == [b"ignite:///d/ckpt-7"]
    assert [call for call in files.calls if call.startswith("list")] == []


def test_a_pattern_that_cannot_be_read_is_refused(answers: Answers) -> None:
    with pytest.raises(errors.InvalidRequestError, match=r"\[z-a\]"):
        answers.matching("ignite:///[z-a]")
    assert patterns.literal("[a").fullmatch("[a")


def test_a_file_that_somebody_appends_to_is_read_on(answers: Answers, files: MemoryFiles) -> None:
    write(answers, "ignite:///log", b"one")
    reader = answers.open_reader("ignite:///log")
    buffer = memoryview(bytearray(10))
    assert answers.read_into(reader, 0, buffer) == 3
    assert answers.read_into(reader, 3, buffer) == 0
    writing = answers.open_writer("ignite:///log", "a")
    assert answers.position_of(writing) == 3
    answers.write(writing, memoryview(b"two"))
    answers.publish(writing)
    assert answers.read_into(reader, 3, buffer) == 3
    assert bytes(buffer[:3]) == b"two"
    files.remove("/log")
    assert answers.read_into(reader, 6, buffer) == 0


def test_a_file_with_a_hole_is_never_published(answers: Answers, files: MemoryFiles) -> None:
    write(answers, "ignite:///file", b"old")
    writing = answers.open_writer("ignite:///file", "w")
    writer: Any = writing.writer
    answers.write(writing, memoryview(b"new"))
    writer.failure = errors.ConnectionFailedError("gone")
    steps: list[Callable[[], Any]] = [
        lambda: answers.write(writing, memoryview(b"lost")),
        lambda: answers.write(writing, memoryview(b"after")),
        lambda: answers.publish(writing),
        lambda: answers.close_writer(writing),
    ]
    for step in steps:
        with pytest.raises(errors.ConnectionFailedError):
            step()
        writer.failure = None  # the cluster is back, the hole stays
    assert files.entries["/file"] == b"old"
    assert writer.writes == 2


def test_at_the_end_a_cluster_that_is_gone_is_waited_for_once(answers: Answers, caplog: Any) -> None:
    writings = [answers.open_writer(f"ignite:///{number}", "w") for number in range(3)]
    for writing in writings:
        writer: Any = writing.writer
        writer.failure = errors.RequestTimeoutError("late")
        with pytest.raises(errors.RequestTimeoutError):
            answers.write(writing, memoryview(b"x"))
    answers.ending = True
    for writing in writings:
        answers.close_unheard(writing)
    assert caplog.text.count("late") == 1


def test_a_rename_stays_in_its_cluster() -> None:
    clusters: dict[Any, MemoryFiles] = {}
    answers = Answers(lambda addresses: clusters.setdefault(addresses, MemoryFiles()))
    write(answers, "ignite://one:1/file")
    with pytest.raises(errors.InvalidRequestError, match="different clusters"):
        answers.rename_path("ignite://one:1/file", "ignite://two:2/file")
    answers.copy_file("ignite://one:1/file", "ignite://two:2/file")
    assert clusters[("two:2",)].entries["/file"] == b"content"


def test_a_copy_that_fails_leaves_the_target_as_it_was(answers: Answers, files: MemoryFiles) -> None:
    write(answers, "ignite:///target", b"old")
    with pytest.raises(errors.StoredFileNotFoundError):
        answers.copy_file("ignite:///missing", "ignite:///target")
    assert files.entries["/target"] == b"old"
