"""Tables out of several streams, and the arguments of read_table."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import tensorflow_ignite as tfi
from tensorflow_ignite import errors
from tensorflow_ignite.data.table import _batches


class FakeStream:
    """Batches of given rows, that may wait for another stream, or break."""

    def __init__(
        self, rows: list[int], wait_for: threading.Event | None = None, error: Exception | None = None
    ) -> None:
        self.rows = rows
        self.began = threading.Event()
        self.cancelled = threading.Event()
        self._wait_for = wait_for
        self._error = error

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        self.began.set()
        if self._wait_for is not None:
            assert self._wait_for.wait(20)
        for row in self.rows:
            yield pa.RecordBatch.from_pydict({"c": [row]})
        if self._error is not None:
            raise self._error

    def cancel(self) -> None:
        self.cancelled.set()


def rows(streams: list[Any]) -> list[int]:
    """All rows, in order."""
    return [row for batch in _batches(streams) for row in batch.column("c").to_pylist()]


def test_streams_are_read_side_by_side_and_kept_in_order() -> None:
    last = FakeStream([5])
    assert rows([FakeStream([1, 2], wait_for=last.began), FakeStream([3, 4]), last]) == [1, 2, 3, 4, 5]
    assert rows([]) == []


def test_more_streams_than_threads_are_all_read() -> None:
    assert rows([FakeStream([number]) for number in range(50)]) == list(range(50))


def test_when_a_stream_breaks_all_are_ended_and_no_thread_is_left() -> None:
    endless = FakeStream([1])
    endless._wait_for = endless.cancelled
    with pytest.raises(errors.PartitionNotLocalError, match="moved"):
        rows([endless, FakeStream([2], error=errors.PartitionNotLocalError("partition 3 moved"))])
    assert endless.cancelled.is_set()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("tensorflow-ignite-table")]


@pytest.mark.parametrize(
    "arguments",
    [
        {"columns": "pixels"},
        {"columns": []},
        {"columns": ["a", "a"]},
        {"partitions": []},
        {"partitions": "some"},
        {"partitions": [-1]},
        {"partitions": [1, 1]},
        {"on_mismatch": "ignore"},
        {"schema": 7},
        {"transport": "pigeon"},
        {"credentials": "password"},
    ],
)
def test_invalid_arguments_of_read_table_are_refused_before_any_call(arguments: dict[str, Any]) -> None:
    with pytest.raises(errors.InvalidRequestError, match=next(iter(arguments))):
        tfi.read_table("c", address="localhost:1", **arguments)
