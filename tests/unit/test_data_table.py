"""Tables out of several streams, and the arguments of read_table."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from row_node import RowStream

import tensorflow_ignite as tfi
from tensorflow_ignite import errors
from tensorflow_ignite.data.table import _batches


def rows(streams: list[Any]) -> list[int]:
    return [row for batch in _batches(streams) for row in batch.column("c").to_pylist()]


def test_streams_are_read_side_by_side_and_kept_in_order() -> None:
    last = RowStream([5])
    assert rows([RowStream([1], [2], wait_for=last.began), RowStream([3], [4]), last]) == [1, 2, 3, 4, 5]
    assert rows([]) == []


def test_more_streams_than_threads_are_all_read() -> None:
    assert rows([RowStream([number]) for number in range(50)]) == list(range(50))


def test_when_a_stream_breaks_all_are_ended_and_no_thread_is_left() -> None:
    endless = RowStream([1])
    endless.wait_for = endless.cancelled
    with pytest.raises(errors.PartitionNotLocalError, match="moved"):
        rows([endless, RowStream([2], error=errors.PartitionNotLocalError("partition 3 moved"))])
    assert endless.cancelled.is_set()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("tensorflow-ignite-table")]


@pytest.mark.parametrize(
    "arguments",
    [
        # Others of this kind: `make_request`.
        {"columns": "pixels"},
        {"on_mismatch": "ignore"},
        {"schema": 7},
        {"options": tfi.ReadOptions(transport="pigeon")},
        {"options": tfi.ReadOptions(credentials="password")},
        {"options": "tcp"},
    ],
)
def test_invalid_arguments_of_read_table_are_refused_before_any_call(arguments: dict[str, Any]) -> None:
    with pytest.raises(
        errors.InvalidRequestError, match=r"columns=|on_mismatch=|schema=|transport=|credentials|options="
    ):
        tfi.read_table("c", **{"options": tfi.ReadOptions(address="localhost:1"), **arguments})
