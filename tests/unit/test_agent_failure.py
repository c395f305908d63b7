"""The reason of a failure is found in the end of the output."""

import pytest

from tensorflow_ignite.agent.failure import LAST_LINES, MAX_TRACEBACK_CHARACTERS, describe, find_stacks, find_traceback

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
