"""The reason of a failure is found in the record of the script's exception, or in the end of the output."""

from pathlib import Path

import pytest

from tensorflow_ignite import errors
from tensorflow_ignite.agent.failure import (
    LAST_LINES,
    MAX_TRACEBACK_CHARACTERS,
    describe,
    find,
    find_stacks,
    find_traceback,
)
from tensorflow_ignite.base import failures
from tensorflow_ignite.base.messages import to_json
from tensorflow_ignite.v1 import job_pb2

TRACEBACK = """\
Traceback (most recent call last):
  File "/c/train.py", line 3, in <module>
    fit()
tensorflow.python.framework.errors_impl.UnavailableError: Collective ops is aborted by: peer
The error could be from a previous operation."""
UNAVAILABLE = "tensorflow.python.framework.errors_impl.UnavailableError: Collective"


def test_stacks_are_found_without_the_names_of_extension_modules() -> None:
    stacks = 'Fatal Python error: Aborted\n\nThread 0x1 (most recent call first):\n  File "x", line 1 in f'
    assert find_stacks(f"step 7\n{stacks}\n\nExtension modules: numpy.a, numpy.b (total: 2)\n") == stacks
    assert find_stacks("step 7\nstep 8\n") == "step 7\nstep 8"


def chained(link: str) -> str:
    return (
        f'Traceback (most recent call last):\n  File "x", line 1\nKeyError: 1\n\n{link}\n\n'
        'Traceback (most recent call last):\n  File "x", line 2\nValueError: two'
    )


CAUSED = chained("The above exception was the direct cause of the following exception:")
HANDLED = chained("During handling of the above exception, another exception occurred:")
# It has no header.
SYNTAX_ERROR = '  File "/c/train.py", line 1\n    def f(:\n          ^\nSyntaxError: invalid syntax'
LATE = f"{TRACEBACK}\n2026-01-01 W tensorflow/core: Shutdown: late"


@pytest.mark.parametrize(
    ("before", "traceback", "exception"),
    [
        ('Traceback (most recent call last):\n  File "x"\nKeyError: 1\ncaught, going on\n', TRACEBACK, UNAVAILABLE),
        ("epoch 2\n", LATE, UNAVAILABLE),
        ("epoch 2\n", CAUSED, "ValueError: two"),
        ("epoch 2\n", HANDLED, "ValueError: two"),
        ("", SYNTAX_ERROR, "SyntaxError: invalid syntax"),
    ],
    ids=["last", "output-follows", "caused", "handled", "syntax-error"],
)
def test_the_last_traceback_is_found_whole_with_its_exception(before: str, traceback: str, exception: str) -> None:
    text, found = find_traceback(f"{before}{traceback}\n")
    assert text == traceback
    assert found.startswith(exception)


def test_without_a_traceback_the_last_lines_are_reported() -> None:
    text, exception = find_traceback("".join(f"line {n}\n" for n in range(100)))
    assert text.split("\n") == [f"line {n}" for n in range(100 - LAST_LINES, 100)]
    assert exception == ""


def test_endless_message_is_bounded_and_keeps_both_ends() -> None:
    text, exception = find_traceback(f"{TRACEBACK}{'x' * 100_000}last")
    assert len(text) <= MAX_TRACEBACK_CHARACTERS
    assert text.startswith("Traceback")
    assert text.endswith("last")
    assert len(exception) < 1000


def test_signals_and_codes_are_named() -> None:
    assert describe("ps 0", -9, "")[0] == "ps 0 was ended by signal 9 (SIGKILL), which its agent did not send"
    assert describe("worker 1", 3, "bye")[0] == "worker 1 exited with code 3"
    assert describe("worker 1", 1, "a.b.OddError\n") == ("worker 1 exited with code 1: a.b.OddError", "a.b.OddError")


def test_a_fault_of_keras_under_several_workers_has_a_remedy() -> None:
    exception = "ValueError: Attempt to convert a value (PerReplica:{\n  0: 1\n})"
    tail = f"Traceback (most recent call last):\n  File 'x'\n{exception}"
    cause, _ = describe("worker 1", 1, tail)
    assert cause.endswith("which `import tensorflow_ignite` makes: add this line to the script")


OURS = "tensorflow_ignite.errors"
TENSORFLOWS = "tensorflow.python.framework.errors_impl"
LOST_BLOCK = "/a cannot be read: Block 0 of extent b580aadd85c74373b66550a74c5d5caa is lost, and a file needs it"


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("ValueError: no such pixel", "SCRIPT"),
        (f"{OURS}.AttemptSupersededError: by attempt 2", "SCRIPT"),
        ("a.DataLossError: corrupted record at 0", "SCRIPT"),
        ("a.CacheEmptyError", "SCRIPT"),
        (f"{TENSORFLOWS}.UnavailableError: peer", "PEER"),
        (f"{TENSORFLOWS}.CancelledError", "PEER"),
        ("ConnectionRefusedError: [Errno 111]", "PEER"),
        ("BrokenPipeError", "PEER"),
        (f"{OURS}.ConnectionFailedError: no node answers", "PEER"),
        ("TimeoutError", "CLUSTER"),
        (f"{OURS}.StorageFullError: no memory", "CLUSTER"),
        *(
            (f"{OURS}.{name}: for now", "CLUSTER")
            for name in (
                "LimitExceededError",
                "RequestTimeoutError",
                "PredictionTimeoutError",
                "ClusterNotActiveError",
                "NoAgentError",
                "PartitionNotLocalError",
                "ModelNotServedError",
            )
        ),
        ("MemoryError", "MEMORY"),
        (f"{TENSORFLOWS}.ResourceExhaustedError: OOM", "MEMORY"),
        (f"{OURS}.DataLossError: worker 0 cannot", "DATA_LOST"),
        (f"{OURS}.FileLostError: /a cannot be read", "DATA_LOST"),
        (f"{TENSORFLOWS}.DataLossError: {LOST_BLOCK}", "DATA_LOST"),
        (f"{OURS}.CacheEmptyError: worker 1 has no row", "NO_ROWS"),
        (f"RuntimeError: {OURS}.CacheEmptyError: worker 1 has no row", "NO_ROWS"),
    ],
)
def test_the_kind_of_a_failure_follows_from_the_last_line_of_its_traceback(
    line: str, kind: str, tmp_path: Path
) -> None:
    tail = f"Traceback (most recent call last):\n  File 'x'\n{line}\n"
    found = find(1, tail, tmp_path / "none")
    assert kind_of(found) == kind
    name, _, text = line.partition(": ")
    assert (found.exception_class, found.exception_text) == (name, text)


def kind_of(found: job_pb2.TaskFailure) -> str:
    return job_pb2.FailureKind.Name(found.kind).removeprefix("FAILURE_KIND_")


def test_a_signal_is_no_exception_and_still_an_answer_about_the_data(tmp_path: Path) -> None:
    aborted = find(-6, f"{TRACEBACK}\n", tmp_path / "none")
    assert (kind_of(aborted), aborted.exception_class) == ("SIGNAL", "")
    lost = f"Traceback (most recent call last):\n{OURS}.DataLossError: worker 0 cannot"
    assert kind_of(find(-6, lost, tmp_path / "none")) == "DATA_LOST"
    assert find(3, "bye", tmp_path / "none") == job_pb2.TaskFailure(kind=job_pb2.FAILURE_KIND_SCRIPT)


def test_a_recorded_exception_counts_and_a_malformed_record_does_not(tmp_path: Path) -> None:
    record = tmp_path / "failure.7.json"
    known = failures.of_exception(errors.CacheEmptyError("worker 1 has no row\nof cache 'c'"))
    assert (kind_of(known), known.exception_class) == ("NO_ROWS", f"{OURS}.CacheEmptyError")
    assert known.exception_text == "worker 1 has no row"
    record.write_text(to_json(known))
    assert find(1, TRACEBACK, record) == known
    for text in ("{", "[]", '{"kind": {}}', '{"exceptionText": "' + "x" * 20_000 + '"}'):
        record.write_text(text)
        assert kind_of(find(1, TRACEBACK, record)) == "PEER"
    record.write_text(to_json(job_pb2.TaskFailure(kind=1, exception_text="x\n" * 5_000)))
    assert len(find(1, TRACEBACK, record).exception_text) <= 500


def test_an_exception_is_its_class_and_the_first_line_of_its_text_or_that_of_a_function_inside_tensorflow() -> None:
    class OpError(Exception):
        pass

    error = OpError(f"{{{{node PyFunc}}}} ValueError: a\n{HANDLED}\n\n\t [[node]]")
    assert failures.of_exception(error) == failures.of_line("ValueError: two")
    assert kind_of(failures.of_exception(OpError(f"Graph execution error:\n\n{LOST_BLOCK}"))) == "DATA_LOST"
    long = failures.of_exception(ValueError("\udc80" + "x" * 10_000))
    assert (long.exception_class, long.exception_text) == ("ValueError", "?" + "x" * 499)
