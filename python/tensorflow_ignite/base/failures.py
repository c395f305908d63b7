"""What an exception says about the failure of a task, from the exception itself or from its line in a traceback."""

import re
from collections.abc import Sequence
from pathlib import Path

from tensorflow_ignite.v1 import job_pb2
from tensorflow_ignite.v1.job_pb2 import TaskFailure

HEADER = re.compile(r"^[ +|]*(Exception Group )?Traceback \(most recent call last\):\s*$")
_EXCEPTION = re.compile(r"^([A-Za-z_]\w*\.)*[A-Z]\w*(: .*)?$")
_LINE = re.compile(r"((?:[A-Za-z_]\w*\.)*\w+)(?:: (.*))?")
_SCRIPT = job_pb2.FAILURE_KIND_SCRIPT
# Of a class and of a text.
_MAX_CHARACTERS = 500
# TensorFlow gives the text of a lost block of a file a class of its own.
_DATA_LOST = re.compile(
    r"\btensorflow_ignite\.errors\.(DataLossError|FileLostError)\b|\bof extent [0-9a-f]{32} is lost\b"
)
_NO_ROWS = re.compile(r"\btensorflow_ignite\.errors\.CacheEmptyError\b")
# By the name of the class, without its module.
_KINDS = {
    job_pb2.FAILURE_KIND_PEER: re.compile(
        r"(Aborted|Cancelled|DeadlineExceeded|Unavailable|BrokenPipe)Error|Connection\w*Error"
    ),
    job_pb2.FAILURE_KIND_CLUSTER: re.compile(
        r"(Request|Prediction)?TimeoutError|LimitExceededError|StorageFullError|ClusterNotActiveError|NoAgentError"
        r"|PartitionNotLocalError|ModelNotServedError|SystemExit|gaierror|_InactiveRpcError|_MultiThreadedRendezvous"
        # Any exceptions, of several tasks of asyncio.
        r"|(Base)?ExceptionGroup"
    ),
    job_pb2.FAILURE_KIND_MEMORY: re.compile(r"(_Array)?MemoryError|ResourceExhaustedError"),
}


def record_path(context: Path, pid: int) -> Path:
    """Returns the file in which the process of a script leaves the exception that ends it, as JSON of TaskFailure.

    Args:
        context: The context file of the task.
        pid: The process.
    """
    return context.with_name(f"failure.{pid}.json")


def of_exception(error: BaseException) -> TaskFailure:
    """Returns what ended a script.

    An error of TensorFlow may have the traceback of a function of Python as its text; this function's exception counts.
    """
    text = str(error)
    inner = last_exception(text.splitlines())
    if inner:
        return of_line(inner)
    module, name = type(error).__module__, type(error).__qualname__
    return _failure(name if module in ("builtins", "__main__") else f"{module}.{name}", text)


def of_line(line: str) -> TaskFailure:
    """Returns what the last line of a traceback says: the class and the text; empty: no exception is known."""
    found = _LINE.fullmatch(line)
    return _failure(found[1], found[2] or "") if found else TaskFailure(kind=_SCRIPT)


def last_exception(lines: Sequence[str]) -> str:
    """Returns the line with the exception of the last traceback; empty: there is none."""
    headers = [number for number, line in enumerate(lines) if HEADER.match(line)]
    return next((line for line in lines[headers[-1] + 1 :] if _EXCEPTION.match(line)), "") if headers else ""


def bounded(failure: TaskFailure) -> TaskFailure:
    """Returns the failure with short texts in one line."""
    return TaskFailure(
        kind=failure.kind,
        exception_class=_one_line(failure.exception_class),
        exception_text=_one_line(failure.exception_text),
    )


def _failure(name: str, text: str) -> TaskFailure:
    by_name = (kind for kind, names in _KINDS.items() if names.fullmatch(name.rpartition(".")[2]))
    kind = _answer(f"{name}: {text}") or next(by_name, _SCRIPT)
    first = next(iter(text.splitlines()), "")
    return TaskFailure(kind=kind, exception_class=_one_line(name), exception_text=_one_line(first))


def _answer(text: str) -> "job_pb2.FailureKind | None":
    """The kinds that the next attempt would have too."""
    if _DATA_LOST.search(text):
        return job_pb2.FAILURE_KIND_DATA_LOST
    return job_pb2.FAILURE_KIND_NO_ROWS if _NO_ROWS.search(text) else None


def _one_line(text: str) -> str:
    return " ".join(text[:_MAX_CHARACTERS].encode(errors="replace").decode().split())
