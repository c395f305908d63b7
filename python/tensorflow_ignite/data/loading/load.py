"""Rows of any kind written into a cache."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

from tensorflow_ignite import errors
from tensorflow_ignite.credentials import Credentials, find, given
from tensorflow_ignite.data import reading
from tensorflow_ignite.data.loading.columns import table_of
from tensorflow_ignite.data.loading.inputs import Input, open_input
from tensorflow_ignite.data.transport import flight, place
from tensorflow_ignite.v1 import data_pb2

__all__ = ["EXISTING", "Loaded", "Progress", "load", "load_rows", "table_of"]

EXISTING = {
    "error": data_pb2.EXISTING_CACHE_ERROR,
    "replace": data_pb2.EXISTING_CACHE_REPLACE,
    "append": data_pb2.EXISTING_CACHE_APPEND,
}


@dataclass(frozen=True)
class Progress:
    """How far a load is.

    Attributes:
        rows: Rows that have been handed to the cluster.
        bytes: Their size, as Arrow columns.
        seconds: Time since the load began.
        total_rows: Rows that there will be; None: not known.
    """

    rows: int
    bytes: int
    seconds: float
    total_rows: int | None


@dataclass(frozen=True)
class Loaded:
    """What a load did.

    Attributes:
        rows: Rows that the cluster has stored.
        bytes: Their size, as Arrow columns.
        seconds: Time it took.
    """

    rows: int
    bytes: int
    seconds: float


def load(
    cache: str,
    data: Any,
    *,
    key: str | None = None,
    affinity: str | None = None,
    partitions: int | None = None,
    backups: int = 0,
    replicated: bool = False,
    schema: pa.Schema | Mapping[str, Any] | None = None,
    sql: bool = True,
    if_exists: Literal["error", "replace", "append"] = "error",
    batched: bool | None = None,
    progress: bool | Callable[[Progress], None] = False,
    address: str | None = None,
    credentials: Any = None,
) -> int:
    """Writes rows into a cache, which is made if it does not exist: all of them, or none into a cache that it makes.

    No more than some batches of a few megabytes are in memory, whatever the size of what is read.

    Args:
        cache: Name of the cache.
        data: Rows, as one of these:

            - columns by name, each with one entry a row: numpy arrays (also masked or structured), lists, tensors, or
              again columns by name, which become a struct. An array ``[rows, 28, 28]`` comes back from
              :func:`tensorflow_ignite.dataset` as ``[28, 28]`` a row;
            - a pandas.DataFrame, without its index;
            - a pyarrow Table, RecordBatch, RecordBatchReader or Dataset, or what exports an Arrow stream;
            - paths of ``.npz``, ``.csv``, ``.parquet``, ``.arrow`` or ``.feather``: a file, a folder, a pattern, or a
              list of these;
            - a tf.data.Dataset whose elements are dicts, or tuples that ``schema`` names;
            - an iterable of batches, each of a kind named above that is in memory.
        key: The column that holds the keys, integers or text; it is not stored among the values. None: numbers from 0
            on, or, with ``if_exists="append"``, from the highest key on.
        affinity: A column; rows with the same value in it are kept in the same partition. Needs ``key``. Keys are then
            objects of both columns, and both can be read as columns.
        partitions: Number of partitions, when the cache is made; None: Ignite's default.
        backups: Copies of each partition on other nodes, when the cache is made.
        replicated: Keep every row on every node, when the cache is made.
        schema: Types of some or all columns, which are cast where that loses nothing: a pyarrow.Schema, or by name a
            pyarrow type, a numpy type (of the innermost values, where a column holds arrays), or None (as it is).
        sql: Whether SQL knows the cache, when it is made; without, it loads faster and cannot be filtered.
        if_exists: What to do when the cache exists: ``"error"``, ``"replace"`` it with all its rows, or ``"append"``.
        batched: Whether the elements of a tf.data.Dataset are batches of rows. None: they are when each component has a
            first dimension of unknown size, and are not when one has none.
        progress: Called with a :class:`Progress` after each batch; or True for a bar on a terminal.
        address: ``host:port`` of any node; None: as for :func:`tensorflow_ignite.dataset`.
        credentials: Who writes, and whom it trusts; as for :func:`tensorflow_ignite.dataset`.

    Returns:
        The number of rows written.

    Raises:
        InvalidRequestError: If the data, their columns or an option break a rule.
        UnsupportedTypeError: If a column holds what no cache stores.
        TensorFlowIgniteError: CacheExistsError and others, as the node says; or if no node answers.
    """
    _require_options(if_exists, backups, partitions, key, affinity)
    who = given(credentials)
    command = data_pb2.LoadCommand(
        cache=cache,
        key_column=key or "",
        affinity_column=affinity or "",
        backups=backups,
        replicated=replicated,
        partitions=partitions or 0,
        existing=EXISTING[if_exists],
        without_sql=not sql,
    )
    with contextlib.ExitStack() as stack:
        told = progress if callable(progress) else None
        if progress is True:
            from tensorflow_ignite.data.loading.meter import Meter

            told = stack.enter_context(Meter(cache)).show
        rows = open_input(data, schema, batched=batched)
        return load_rows(command, rows, address=address, progress=told, credentials=who).rows


def load_rows(
    command: data_pb2.LoadCommand,
    rows: Input,
    *,
    address: str | None,
    progress: Callable[[Progress], None] | None,
    credentials: Credentials | None = None,
) -> Loaded:
    """Carries out a load; the arguments are those of :func:`load`, which raises the same.

    Args:
        command: All that the cluster is told; its first key is found out here.
        rows: What is written.
        address: ``host:port`` of any node; None: as for :func:`tensorflow_ignite.dataset`.
        progress: Called after each batch.
        credentials: Who writes.
    """
    names, keys = rows.schema.names, [name for name in (command.key_column, command.affinity_column) if name]
    for role, name in (("key", command.key_column), ("affinity", command.affinity_column)):
        if name and name not in names:
            raise errors.InvalidRequestError(f"{role}={name!r} is not a column of the data: {', '.join(names)}")
    if not set(names) - set(keys):
        raise errors.InvalidRequestError(
            f"cache {command.cache!r} needs at least one column besides the key; found {names}"
        )
    where = place.node(address)
    writer = find(credentials, (where,), data=True)
    if not command.key_column and command.existing == data_pb2.EXISTING_CACHE_APPEND:
        command.first_key = _first_key(command.cache, where, writer)
    counted = _Counted(rows, progress)
    stored = flight.put(where, command, rows.schema, counted.batches(), writer)
    return Loaded(stored, counted.bytes, time.monotonic() - counted.began)


class _Counted:
    """Counts the batches that pass."""

    def __init__(self, rows: Input, told: Callable[[Progress], None] | None) -> None:
        self.bytes = 0
        self.began = time.monotonic()
        self._rows = rows
        self._told = told

    def batches(self) -> Iterator[pa.RecordBatch]:
        rows = 0
        with contextlib.closing(self._rows.batches):  # type: ignore[type-var]
            for batch in self._rows.batches:
                yield batch
                rows += batch.num_rows
                self.bytes += batch.nbytes
                if self._told is not None:
                    self._told(Progress(rows, self.bytes, time.monotonic() - self.began, self._rows.rows))


def _require_options(
    if_exists: str, backups: int, partitions: int | None, key: str | None, affinity: str | None
) -> None:
    if if_exists not in EXISTING:
        raise errors.InvalidRequestError(f'if_exists={if_exists!r} is unknown; it is "error", "replace" or "append"')
    if backups < 0 or (partitions is not None and partitions < 1):
        raise errors.InvalidRequestError(f"backups={backups} must be at least 0, partitions={partitions} at least 1")
    if affinity is not None and key in (None, affinity):
        raise errors.InvalidRequestError(
            f"affinity={affinity!r} and key={key!r}: keys are made of both columns, and each row needs a key of its "
            f"own. Name the column of the keys, another one, with key="
        )


def _first_key(cache: str, address: str, writer: Credentials | None) -> int:
    """One more than the highest key of the cache; 0 if it has none or does not exist."""
    try:
        told = flight.describe(address, data_pb2.ReadCommand(cache=cache, key=True), writer)
    except errors.CacheNotFoundError:
        return 0
    except errors.SchemaUnknownError as error:
        raise errors.InvalidRequestError(
            f"cache {cache!r} does not tell its highest key, which new keys are counted from: {error}. Name the column "
            f"of the new keys with key=, or load with if_exists='replace'"
        ) from error
    kind = told.schema.field(reading.KEY_COLUMN).type
    if kind != pa.int64():
        raise errors.InvalidRequestError(
            f"cache {cache!r} has keys of type {kind}; only 64-bit numbers can be counted on. Name the column of the "
            f"new keys with key="
        )
    # The narrowest column beside the key: the keys alone cannot be asked for.
    values = [field for field in told.schema if field.name != reading.KEY_COLUMN]
    values.sort(
        key=lambda field: getattr(field.type, "bit_width", 1 << 30) if pa.types.is_primitive(field.type) else 1 << 31
    )
    told = flight.describe(
        address, data_pb2.ReadCommand(cache=cache, key=True, columns=[field.name for field in values[:1]]), writer
    )
    highest = -1
    for endpoint in told.endpoints:
        for batch in flight.BatchStream(endpoint, f"cache {cache!r}", credentials=writer):
            keys = batch.column(reading.KEY_COLUMN).to_numpy()
            highest = max(highest, int(keys.max(initial=-1)))
    return highest + 1
