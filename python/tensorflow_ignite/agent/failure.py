"""The cause of a task's failure, in one line and as a traceback, from its exit code and the end of its output."""

import re
import signal
from pathlib import Path

from google.protobuf import json_format

from tensorflow_ignite.base import failures
from tensorflow_ignite.base.messages import from_json
from tensorflow_ignite.v1 import job_pb2
from tensorflow_ignite.v1.job_pb2 import TaskFailure

# Bytes at the end of the output that are searched for a traceback.
TAIL_BYTES = 64 * 1024
LAST_LINES = 30
MAX_TRACEBACK_CHARACTERS = 16 * 1024
MAX_LINE_CHARACTERS = 500
# Of the record of an exception; the script may write anything into its file.
_MAX_RECORD_BYTES = 16 * 1024

_CHAINED = (
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:",
)
# What Python writes at a fatal signal; the names of a hundred extension modules follow the stacks.
_FATAL, _MODULES = "Fatal Python error: ", "\nExtension modules: "
# Exceptions whose text does not say what to do.
_REMEDIES = {
    "Attempt to convert a value (PerReplica": "fit of Keras 3 needs a correction under several workers, which `import "
    "tensorflow_ignite` makes: add this line to the script",
}
_SYNTAX_EXCEPTION = re.compile(r"^([A-Za-z_]\w*\.)*\w*(Error|Exception|Interrupt|Exit)(: .*)?$")


def describe(task_name: str, exit_code: int, tail: str) -> tuple[str, str]:
    """Returns one line and the traceback.

    Args:
        task_name: The task, as text: `worker 1`.
        exit_code: Negative: the number of the signal that ended it.
        tail: The end of its output.
    """
    cause = f"exited with code {exit_code}"
    if exit_code < 0:
        cause = f"was ended by signal {-exit_code} ({_signal_name(-exit_code)}), which its agent did not send"
    text, exception = find_traceback(tail)
    remedy = next((f"; {remedy}" for part, remedy in _REMEDIES.items() if part in exception), "")
    return f"{task_name} {cause}{f': {exception}' if exception else ''}{remedy}", text


def find(exit_code: int, tail: str, record: Path) -> TaskFailure:
    """Returns the reason of the failure of a script that nobody has ended.

    Args:
        exit_code: As above.
        tail: As above; it counts if the script has not recorded its exception: it does not import this package, or
            has ended without its hook.
        record: The file for that.
    """
    found = _recorded(record) or failures.of_line(find_traceback(tail)[1])
    if exit_code < 0 and found.kind not in (job_pb2.FAILURE_KIND_DATA_LOST, job_pb2.FAILURE_KIND_NO_ROWS):
        return TaskFailure(kind=job_pb2.FAILURE_KIND_SIGNAL)
    return found


def _recorded(record: Path) -> TaskFailure | None:
    try:
        if not record.is_file():
            return None
        with record.open("rb") as opened:
            found = from_json(opened.read(_MAX_RECORD_BYTES).decode(), TaskFailure())
        return failures.bounded(found) if found.kind else None
    except (OSError, ValueError, json_format.ParseError):
        return None


def find_traceback(tail: str) -> tuple[str, str]:
    """Returns the last traceback with its chained ones, else the last lines; and the exception's line, if any."""
    lines = _lines(tail)
    headers = [number for number, line in enumerate(lines) if failures.HEADER.match(line)]
    if not headers:
        last = lines[-LAST_LINES:]
        return _bounded("\n".join(last)), _last_match(_SYNTAX_EXCEPTION, last)
    first = headers.pop()
    exception = failures.last_exception(lines)
    while headers and _is_chained(lines[headers[-1] : first]):
        first = headers.pop()
    return _bounded("\n".join(lines[first:])), exception[:MAX_LINE_CHARACTERS]


def find_stacks(tail: str) -> str:
    """Returns the stacks of Python's threads that a fatal signal has written, else the last lines."""
    _, header, stacks = tail.rpartition(_FATAL)
    return (
        _bounded((header + stacks.partition(_MODULES)[0]).rstrip())
        if header
        else _bounded("\n".join(_lines(tail)[-LAST_LINES:]))
    )


def _lines(tail: str) -> list[str]:
    return tail.replace("\r\n", "\n").rstrip().split("\n")


def _is_chained(between: list[str]) -> bool:
    content = [line for line in between if line.strip()]
    return bool(content) and content[-1].strip() in _CHAINED


def _last_match(pattern: re.Pattern[str], lines: list[str]) -> str:
    return next((line[:MAX_LINE_CHARACTERS] for line in reversed(lines) if pattern.match(line)), "")


def _bounded(text: str) -> str:
    if len(text) <= MAX_TRACEBACK_CHARACTERS:
        return text
    cut = "\n[…]\n"
    head = MAX_TRACEBACK_CHARACTERS // 4
    return text[:head] + cut + text[head + len(cut) - MAX_TRACEBACK_CHARACTERS :]


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "real-time"
