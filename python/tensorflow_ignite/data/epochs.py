"""One epoch: passes over the rows that a process reads, shuffled, kept, and dealt out as its share says.

Knows no cluster and no graph: it is given streams of record batches.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import Any

import pyarrow as pa
import pyarrow.types as types

from tensorflow_ignite import errors
from tensorflow_ignite.data import shuffling
from tensorflow_ignite.data.layout import Column, columns_like, describe
from tensorflow_ignite.data.reader import Ahead, ReaderClosed, Stream, Threads, in_turns
from tensorflow_ignite.data.shares import OPEN, PAD, STRICT, Share
from tensorflow_ignite.data.snapshots import Filling, Part, Snapshot, Snapshots
from tensorflow_ignite.data.tensors import ALIGNMENT, arrays_of

_log = logging.getLogger(__name__)

# Bytes of a batch of rows of weight 0, about.
ZEROS_BYTES = 1 << 20

# Keeps the order of kept batches apart from that of partitions and of rows in their windows.
_BATCHES, _ROWS = 1, 2

Parts = Generator[Part, None, None]
Keep = Callable[[int], bool]


@dataclass(frozen=True)
class Keeping:
    """Where the batches of an epoch are kept for later ones.

    Attributes:
        home: The snapshots of the process.
        name: Of the dataset.
        limit: Bytes that all of them may have together.
    """

    home: Snapshots
    name: str
    limit: Callable[[], int]


@dataclass(frozen=True)
class Order:
    """The order of the rows of an epoch.

    Attributes:
        epoch: Its number.
        seed: Decides, together with that number, how rows are shuffled.
        window: Rows that are shuffled together; 0: as memory suggests; None: nothing is shuffled.
        base: Number of the epoch whose batches are kept, when they are shuffled rather than read; -1: they are read.
    """

    epoch: int = 0
    seed: int = 0
    window: int | None = None
    base: int = -1


@dataclass(frozen=True)
class Epoch:
    """What one iterator reads.

    Attributes:
        streams: Opens the streams that an epoch of this number reads. When their batches are kept it is given what
            answers, for the size of a batch, whether they still are. And it is told whether partitions may be followed
            to where they have moved, which changes the order of rows.
        layout: How each column must arrive.
        share: How many rows there are.
        order: In which order.
        what: What is read, for messages.
        keeping: Where batches are kept; None: nowhere.
        snapshot: What was kept when the epoch began.
        told: What a snapshot remembers of the pass that filled it.
        zeros: Schema of rows of weight 0.
        warn: Says, once for a dataset, that other rows arrived than were counted.
    """

    streams: Callable[[int, Keep | None, bool], list[Stream]]
    layout: tuple[Column, ...]
    share: Share
    order: Order
    what: str
    keeping: Keeping | None = None
    snapshot: Snapshot | None = None
    told: Any = None
    zeros: pa.Schema | None = None
    warn: Callable[[str], None] = _log.warning

    def parts(self, threads: Threads, again: bool) -> Iterator[Part]:
        """The batches from the first row on.

        Args:
            threads: Help to read.
            again: Whether rows were given out before, so that all must come in the same order.

        Raises:
            TensorFlowIgniteError: If a node fails, or other rows arrive than were expected.
        """
        parts = _Reading(self, threads, again).dealt()
        if self.order.window is None:
            return parts
        # Shuffling copies: that goes on while the consumer is busy.
        return iter(threads.start(self._converted(parts), lambda: None))

    def _converted(self, parts: Parts) -> Parts:
        with closing(parts):
            for part in parts:
                yield replace(part, arrays=arrays_of(part.batch, self.layout, part.real))


class _Reading:
    """One way through an epoch, from its start."""

    def __init__(self, epoch: Epoch, threads: Threads, again: bool) -> None:
        self._epoch = epoch
        self._threads = threads
        self._again = again
        self._snapshot = epoch.snapshot
        self._filling: Filling | None = None

    def dealt(self) -> Parts:
        """Exactly the rows of the share."""
        share = self._epoch.share
        exact = share.fill not in (OPEN, STRICT)
        given = 0
        for number in count():
            arrived = 0
            with closing(self._pass(number)) as parts:
                for part in parts:
                    arrived += part.rows
                    if exact:
                        part = part.slice(0, share.rows - given)
                    if part.rows:
                        given += part.rows
                        yield part
                    if exact and given == share.rows and not (number == 0 and self._reads_on()):
                        return
            if number == 0:
                self._compare(arrived)
            if not exact or given == share.rows:
                return
            if share.fill == PAD:
                yield from self._zeros(share.rows - given)
                return
            if not arrived:
                raise errors.RowMismatchError(
                    f"{self._epoch.what} has no row any more, {share.own} were counted. An epoch of this worker has "
                    f"{share.rows} rows, as on all workers; rows that are missing are repeated, but there is none. "
                    f"Load rows, and start the job again"
                )

    def _reads_on(self) -> bool:
        """Whether rows beyond the share matter: to a snapshot, or since there should be none."""
        return self._filling is not None or self._epoch.share.own == self._epoch.share.rows

    def _compare(self, arrived: int) -> None:
        share, what = self._epoch.share, self._epoch.what
        if share.own < 0 or arrived == share.own or share.fill == OPEN:
            return
        if share.fill == STRICT:
            raise errors.RowMismatchError(
                f"{what} was not read as expected: {arrived} rows arrived, {share.own} were expected. The number of "
                f"rows of a dataset is fixed when it is made, unless it reads them anew each epoch. Make the dataset "
                f"again once the cache is no longer written, or use snapshot=False, which takes what is there"
            )
        self._epoch.warn(
            f"{what} is written while it is read: {arrived} rows arrived, {share.own} were expected. An epoch has "
            f"{share.rows} rows on every worker; what is missing is filled, what is too much left out"
        )

    def _pass(self, number: int) -> Parts:
        order = self._epoch.order
        if order.window is None:
            return self._kept(order.epoch)
        if order.base < 0:
            parts: Iterator[Part] = self._kept(order.epoch)
        else:
            parts = iter(shuffling.order(self._held(), order.seed, order.epoch, _BATCHES))
        batches = shuffling.windows(
            (part.batch for part in parts), order.window, order.seed, order.epoch, _ROWS, number
        )
        return (Part(batch) for batch in batches)

    def _held(self) -> tuple[Part, ...]:
        """All batches of the epoch that shuffled batches are drawn from, read again when they are not kept any more."""
        base = self._epoch.order.base
        if self._snapshot is None or self._snapshot.epoch != base:
            self._snapshot = Snapshot(tuple(self._read(base)), base, None)
        return self._snapshot.parts

    def _kept(self, epoch: int) -> Parts:
        """The batches in the order of that epoch, from memory when they are there."""
        keeping = self._epoch.keeping
        snapshot = self._snapshot or (keeping.home.get(keeping.name) if keeping else None)
        if snapshot is not None and (self._epoch.order.window is None or snapshot.epoch == epoch):
            return _parts_of(snapshot)
        return self._read(epoch)

    def _read(self, epoch: int) -> Parts:
        """The batches from their nodes; kept, when they all came."""
        keeping = self._epoch.keeping
        filling = keeping.home.begin(keeping.name, keeping.limit(), self._epoch.what) if keeping else None
        self._filling = filling
        sources: list[Ahead[Part]] = []
        try:
            for stream in self._epoch.streams(epoch, filling.goes_on if filling else None, not self._again):
                sources.append(self._threads.start(self._arriving(stream, filling is not None), stream.cancel))
            for part in in_turns(sources):
                if filling is not None and not filling.add(part):
                    filling = self._filling = None
                yield part
            if filling is not None:
                filling.complete(epoch, self._epoch.told)
        finally:
            if filling is not None:
                filling.abandon()
            self._filling = None
            for source in sources:
                source.cancel()

    def _arriving(self, stream: Stream, kept: bool) -> Parts:
        layout = self._epoch.layout
        checked: pa.Schema | None = None
        for batch in stream:
            if checked is None or not batch.schema.equals(checked):
                self._check(batch.schema)
                checked = batch.schema
            if kept:
                batch = _aligned(batch)
            yield Part(batch, arrays_of(batch, layout) if self._epoch.order.window is None else None)

    def _check(self, schema: pa.Schema) -> None:
        found = columns_like(schema, self._epoch.layout)
        if found != self._epoch.layout:
            raise errors.RowMismatchError(
                f"{self._epoch.what} arrives as {describe(found)}, but the dataset was made for "
                f"{describe(self._epoch.layout)}. The columns of a dataset are fixed when it is made. Make the dataset "
                f"anew"
            )

    def _zeros(self, rows: int) -> Parts:
        assert self._epoch.zeros is not None
        step = max(1, ZEROS_BYTES // max(1, zeros(self._epoch.zeros, 1).nbytes))
        for begin in range(0, rows, step):
            yield Part(zeros(self._epoch.zeros, min(step, rows - begin)), None, False)


def _parts_of(snapshot: Snapshot) -> Parts:
    """A generator, as the other ways to batches are: it can be closed."""
    yield from snapshot.parts


def zeros(schema: pa.Schema, rows: int) -> pa.RecordBatch:
    """Rows of zeros, empty texts and empty lists."""
    return pa.RecordBatch.from_arrays([_zeros(field.type, rows) for field in schema], schema=schema)


def _zeros(kind: pa.DataType, rows: int) -> pa.Array:
    """Memory of zeros is a value without nulls of every type, if its children are as long as zeros say."""
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, _zeros(kind.storage_type, rows))
    children: list[pa.Array] = []
    if types.is_struct(kind):
        children = [_zeros(field.type, rows) for field in kind]
    elif types.is_fixed_size_list(kind):
        children = [_zeros(kind.value_type, rows * kind.list_size)]
    elif types.is_map(kind):
        children = [_zeros(pa.struct([kind.key_field, kind.item_field]), 0)]
    elif types.is_list(kind) or types.is_large_list(kind):
        children = [_zeros(kind.value_type, 0)]
    sizes = [] if types.is_struct(kind) or types.is_fixed_size_list(kind) else [_zero_bytes(kind, rows)]
    text = types.is_string(kind) or types.is_binary(kind) or types.is_large_string(kind) or types.is_large_binary(kind)
    buffers = [None, *(pa.py_buffer(bytes(size)) for size in [*sizes, *([0] * text)])]
    return pa.Array.from_buffers(kind, rows, buffers, 0, 0, children)


def _zero_bytes(kind: pa.DataType, rows: int) -> int:
    """Size of the buffer of values, or of offsets."""
    try:
        return -(-int(kind.bit_width) // 8) * (rows + 1)
    except ValueError:
        return 8 * (rows + 1)


def _aligned(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch in memory that TensorFlow takes without a copy: one here spares one in each later epoch."""
    buffers = chain.from_iterable(column.buffers() for column in batch.columns)
    if all(buffer is None or not buffer.size or buffer.address % ALIGNMENT == 0 for buffer in buffers):
        return batch
    # Two pieces, of which one is empty, are always written into memory of their own.
    return pa.concat_batches([batch, batch.slice(0, 0)])


__all__ = ["Epoch", "Keeping", "Order", "ReaderClosed", "zeros"]
