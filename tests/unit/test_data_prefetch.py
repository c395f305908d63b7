"""Rows by their place in the epoch, from streams that are fetched ahead."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from row_node import RowStream

from tensorflow_ignite import errors
from tensorflow_ignite.data.epochs.epoch import Epoch, Keep, RowOrder
from tensorflow_ignite.data.epochs.prefetch import PREFETCH_BATCHES, EpochReader, ReaderClosedError, Stream
from tensorflow_ignite.data.epochs.rows_per_worker import STRICT, EpochLength, EpochStart
from tensorflow_ignite.data.epochs.tensor_schema import Column

LAYOUT = (Column("c", "int64"),)


def reader_of(*streams: RowStream, rows: int | None = None, layout: tuple[Column, ...] = LAYOUT) -> EpochReader:
    """A reader over streams that begin anew each time they are opened."""

    def opened(epoch: int, start: EpochStart, keep: Keep | None, follow: bool) -> list[Stream]:
        return list(streams)

    length = EpochLength() if rows is None else EpochLength(rows, rows, STRICT)
    return EpochReader(Epoch(opened, layout, length, RowOrder(), "cache 'c'").batches, layout)


def read(reader: EpochReader, offset: int = 0, batches: int = 1000) -> list[list[int]]:
    found: list[list[int]] = []
    while len(found) < batches and (batch := reader.take(offset)) is not None:
        assert batch.arrays is not None
        found.append(batch.arrays[0].tolist())
        offset += batch.rows
    return found


def test_streams_take_turns_in_the_same_order_every_time() -> None:
    for _ in range(20):
        reader = reader_of(RowStream([1], [2], [3]), RowStream([10]), RowStream([20], [21]))
        assert read(reader) == [[1], [10], [20], [2], [21], [3]]


def test_rows_are_found_by_their_place_from_anywhere() -> None:
    reader = reader_of(RowStream([1, 2], [3]), RowStream([10], [11, 12, 13]), rows=7)
    for offset, rest in [(3, [3, 11, 12, 13]), (1, [2, 10, 3, 11, 12, 13]), (5, [12, 13]), (7, [])]:
        assert [number for batch in read(reader, offset) for number in batch] == rest
    assert read(reader_of(rows=0)) == []


def test_only_a_few_batches_are_fetched_ahead() -> None:
    stream = RowStream(*([number] for number in range(100)))
    reader = reader_of(stream)
    assert read(reader, batches=10) == [[number] for number in range(10)]
    assert stream.fetched <= 10 + PREFETCH_BATCHES + 1
    reader.close()


@pytest.mark.parametrize(("expected", "arrived"), [(3, 2), (1, 2)])
def test_other_rows_than_expected_are_an_error(expected: int, arrived: int) -> None:
    reader = reader_of(RowStream([1], [2]), rows=expected)
    with pytest.raises(errors.RowMismatchError, match=f"{arrived} rows arrived, {expected} were .*snapshot=False"):
        read(reader)


def test_an_error_of_a_stream_comes_after_its_batches_each_time() -> None:
    reader = reader_of(RowStream([1], error=errors.PartitionNotLocalError("partition 3 moved")))
    for _ in range(3):
        assert read(reader, batches=1) == [[1]]
        with pytest.raises(errors.PartitionNotLocalError, match="partition 3 moved"):
            reader.take(1)


def test_other_columns_than_expected_are_an_error() -> None:
    reader = reader_of(RowStream([1]), layout=(Column("c", "float32"),))
    with pytest.raises(errors.TensorFlowIgniteError, match="float32"):
        reader.take(0)


def test_closing_ends_the_threads_of_a_reader_that_is_not_at_its_end() -> None:
    stream = RowStream(*([number] for number in range(100)))
    reader = reader_of(stream)
    reader.take(0)
    reader.close()
    reader.join(20)
    assert stream.cancelled.is_set()
    assert stream.fetched < 100
    assert not [thread for thread in threading.enumerate() if thread.name == "tensorflow-ignite-reader"]
    # It never signals the end of the rows.
    with pytest.raises(ReaderClosedError):
        reader.take(0)


def test_closing_frees_a_caller_that_waits_for_a_batch() -> None:
    silent = RowStream([1])
    silent.wait_for = silent.cancelled
    reader = reader_of(silent, rows=5)
    results: list[Any] = []

    def call() -> None:
        try:
            results.append(reader.take(0))
        except ReaderClosedError as closed:
            results.append(closed)

    caller = threading.Thread(target=call)
    caller.start()
    assert silent.began.wait(20)
    reader.close()
    caller.join(20)
    assert [type(result) for result in results] == [ReaderClosedError]
