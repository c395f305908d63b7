"""Writes rows of any input into a cache."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from tensorflow_ignite import errors
from tensorflow_ignite.data.epochs.tensor_schema import KEY_COLUMN
from tensorflow_ignite.data.loading.files import Input
from tensorflow_ignite.data.loading.inputs import open_input
from tensorflow_ignite.data.loading.progress import Progress
from tensorflow_ignite.data.transport import flight
from tensorflow_ignite.net import resolve
from tensorflow_ignite.net.credentials import Credentials, from_argument
from tensorflow_ignite.v1 import data_pb2

_log = logging.getLogger(__name__)

# Of the keys that are kept until the load has ended.
_KEPT_BYTES = 32 << 20

EXISTING = {
    "error": data_pb2.EXISTING_CACHE_ERROR,
    "replace": data_pb2.EXISTING_CACHE_REPLACE,
    "append": data_pb2.EXISTING_CACHE_APPEND,
}


@dataclass(frozen=True)
class LoadSummary:
    """The result of a load.

    Attributes:
        rows: Number of rows that the cluster stored.
        bytes: Size of the rows as Arrow columns.
        seconds: Duration of the load.
        schema: The columns as they are stored, the key among them.
        notes: By column, a note for the caller, such as a changed name.
    """

    rows: int
    bytes: int
    seconds: float
    schema: pa.Schema
    notes: dict[str, str]


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
    csv: Mapping[str, Any] | None = None,
    progress: bool | Callable[[Progress], None] = False,
    address: str | None = None,
    credentials: Any = None,
) -> int:
    """Writes rows into a cache, which is created if it does not exist; a failed load leaves no new cache behind.

    Only a few batches of some megabytes are in memory, whatever the size of the data, and of text files some blocks
    ahead: up to 70 MB of CSV, 256 MiB of JSON.

    Args:
        cache: Name of the cache.
        data: Rows, as one of these:

            - columns by name, with one entry for each row: numpy arrays (also masked or structured), lists, tensors, or
              a mapping of columns, which becomes a struct. :func:`tensorflow_ignite.dataset` reads an array
              ``[rows, 28, 28]`` as ``[28, 28]`` for each row;
            - a pandas.DataFrame, without its index;
            - a pyarrow Table, RecordBatch, RecordBatchReader or Dataset, or an object that exports an Arrow stream;
            - paths of ``.npz``, ``.csv``, ``.tsv``, ``.parquet``, ``.arrow``, ``.feather``, ``.json``, ``.jsonl`` or
              ``.tfrecord`` (whose columns ``schema`` names), also with ``.gz``: a file, a folder, a pattern, or a list
              of these; on this machine, or URLs that fsspec knows, such as ``s3://bucket/rows/*.parquet``;
            - a cursor of a database with the result of a query, of ADBC or of the DB-API, or a datasets.Dataset;
            - a tf.data.Dataset whose elements are dicts, or tuples whose components ``schema`` names;
            - an iterable of batches, each of a kind above that is in memory.
        key: The column that holds the keys, integers or text; it is not stored among the values. None: numbers from 0
            on, or with ``if_exists="append"`` from the highest key on.
        affinity: A column; rows with the same value in it are stored in the same partition. Requires ``key``. Keys are
            then objects of both columns, and both can be read as columns.
        partitions: Number of partitions of a new cache; None: Ignite's default.
        backups: Copies of each partition of a new cache on other nodes.
        replicated: Whether a new cache stores every row on every node.
        schema: Types of some or all columns, which are cast if the cast loses nothing: a pyarrow.Schema, or by name a
            pyarrow type, a numpy type (of the innermost values, if a column holds arrays), or None (not changed).
        sql: Whether a new cache has a SQL table; without it the cache loads faster and cannot be filtered.
        if_exists: The action if the cache exists: ``"error"``, ``"replace"`` it with all its rows, or ``"append"``.
        batched: Whether the elements of a tf.data.Dataset are batches of rows. None: they are not if a component is a
            scalar or a row of a ragged tensor, or the first dimensions differ. If all of these have an unknown size, it
            depends on whether ``batch`` or ``unbatch`` came last. An error if that is not known.
        csv: How CSV files are written, by the options of pyarrow.csv: ``{"delimiter": ";", "decimal_point": ",",
            "encoding": "cp1252", "null_values": ["", "NA"]}``. Without it, columns are separated by commas (in
            ``.tsv`` by tabs), the first line names them, and the text is UTF-8. ``null_values`` are null in columns of
            text, too.
        progress: Called with a :class:`Progress` while rows are stored; or True for a bar on a terminal. Its error ends
            the load; after the last rows were sent, it is raised when all of them are stored.
        address: ``host:port`` of any node; None: as for :func:`tensorflow_ignite.dataset`.
        credentials: As for :func:`tensorflow_ignite.dataset`.

    Returns:
        The number of rows written.

    Raises:
        InvalidRequestError: If the data, their columns or an option break a rule.
        UnsupportedTypeError: If no cache stores the values of a column.
        TensorFlowIgniteError: CacheExistsError and other errors of the node; if no node answers.
    """
    _require_options(if_exists, backups, partitions, key, affinity)
    resolved = from_argument(credentials)
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
        report = progress if callable(progress) else None
        if progress is True:
            from tensorflow_ignite.data.loading.meter import Meter

            report = stack.enter_context(Meter(cache)).show
        rows = open_input(data, schema, batched=batched, csv=csv)
        done = load_rows(command, rows, address=address, progress=report, credentials=resolved)
    for name, note in done.notes.items():
        _log.warning("column %r of cache %s %s", name, cache, note)
    return done.rows


def load_rows(
    command: data_pb2.LoadCommand,
    rows: Input,
    *,
    address: str | None,
    progress: Callable[[Progress], None] | None,
    credentials: Credentials | None = None,
) -> LoadSummary:
    """Executes a load; raises the errors of :func:`load`.

    Args:
        command: The command for the cluster; this function sets its first key.
        rows: The rows to write.
        address: ``host:port`` of any node; None: as for :func:`tensorflow_ignite.dataset`.
        progress: Called while rows are stored, and at the end.
        credentials: Credentials that the script gave; None: the credentials of this process.
    """
    if not command.without_sql:
        _require_names(rows.schema.names)
        rows = _without_dots(command, rows)
    names, keys = rows.schema.names, [name for name in (command.key_column, command.affinity_column) if name]
    for role, name in (("key", command.key_column), ("affinity", command.affinity_column)):
        if name and name not in names:
            raise errors.InvalidRequestError(
                f"{role}={name!r} is not a column of the data. Name one of: {', '.join(names)}"
            )
    if not set(names) - set(keys):
        raise errors.InvalidRequestError(
            f"cache {command.cache!r} needs at least one column besides the key; found {names}"
        )
    where = resolve.node(address)
    writer = resolve.find_credentials(credentials, (where,), data=True)
    if not command.key_column and command.existing == data_pb2.EXISTING_CACHE_APPEND:
        command.first_key = _first_key(command.cache, where, writer)
    sent = _SentBatches(rows, keys)

    def report(stored: int) -> None:
        if progress is not None:
            progress(sent.progress(stored))

    try:
        # The traceback of an error would keep them open until Python ends, where Arrow waits for reads of Python files
        # that never end.
        with contextlib.closing(sent.batches()) as batches:  # type: ignore[type-var]
            stored = flight.put(where, command, rows.schema, batches, writer, report if progress else None).rows
    except errors.RowMismatchError as error:
        twice = sent.key_of_several_rows()
        if twice is None:
            raise
        raise errors.RowMismatchError(f"{error}. Several rows have the key {twice}") from error
    report(stored)
    return LoadSummary(stored, sent.bytes, time.monotonic() - sent.began, rows.schema, rows.notes())


def _require_names(names: list[str]) -> None:
    """Refuses names that SQL does not distinguish, or that no query can write."""
    quoted = next((name for name in names if '"' in name), None)
    if quoted is not None:
        raise errors.InvalidRequestError(
            f"column {quoted!r} has a double quote in its name. In SQL a name has none, and no condition could be "
            "given for the cache. Rename the column, or load with sql=False (--no-sql)"
        )
    upper: dict[str, str] = {}
    for name in names:
        other = upper.setdefault(name.upper(), name)
        if other != name:
            raise errors.InvalidRequestError(
                f"columns {other!r} and {name!r} have one name in upper case, {name.upper()!r}. SQL does not "
                "distinguish them. Rename one of them"
            )


def _without_dots(command: data_pb2.LoadCommand, rows: Input) -> Input:
    """The rows with `a_b` in place of the name `a.b`, which Ignite's SQL would take for the field b of an object a."""
    names = {name: name.replace(".", "_") for name in rows.schema.names}
    changed = {name: new for name, new in names.items() if name != new}
    if not changed:
        return rows
    twice = next((name for name, new in changed.items() if list(names.values()).count(new) > 1), None)
    if twice is not None:
        raise errors.InvalidRequestError(
            f"column {twice!r} would be stored as {changed[twice]!r}, which is another column, too. In SQL a dot is no "
            "part of a name. Rename one of them, or load with sql=False (--no-sql)"
        )
    command.key_column = names.get(command.key_column, command.key_column)
    command.affinity_column = names.get(command.affinity_column, command.affinity_column)
    schema = pa.schema([field.with_name(names[field.name]) for field in rows.schema], rows.schema.metadata)

    def batches() -> Iterator[pa.RecordBatch]:
        with contextlib.closing(rows.batches):  # type: ignore[type-var]
            for batch in rows.batches:
                yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)

    def notes() -> dict[str, str]:
        renamed = {new: f"is {name} in the data; in SQL a dot is no part of a name" for name, new in changed.items()}
        return renamed | {
            names[name]: "; ".join(filter(None, (renamed.get(names[name]), note)))
            for name, note in rows.notes().items()
        }

    return Input(schema, rows.rows, batches(), notes)


class _SentBatches:
    """Counts the rows and bytes of the batches that are sent, and keeps the first keys, for an error."""

    def __init__(self, rows: Input, keys: list[str]) -> None:
        self.bytes = 0
        self._keys = keys
        self._first: list[pa.RecordBatch] = []
        self._room = _KEPT_BYTES if keys else 0
        self.began = time.monotonic()
        self._sent = 0
        self._rows = rows

    def batches(self) -> Iterator[pa.RecordBatch]:
        with contextlib.closing(self._rows.batches):  # type: ignore[type-var]
            for batch in self._rows.batches:
                self._sent += batch.num_rows
                self.bytes += batch.nbytes
                self._keep(batch)
                yield batch

    def _keep(self, batch: pa.RecordBatch) -> None:
        if self._room > 0:
            # A copy: a part of a batch would keep all its columns.
            columns = [pa.concat_arrays([batch.column(name)]) for name in self._keys]
            self._first.append(pa.RecordBatch.from_arrays(columns, self._keys))
            self._room -= self._first[-1].nbytes

    def key_of_several_rows(self) -> str | None:
        """A key that two of the first rows have; None: they have none twice."""
        if not self._first:
            return None
        counts = pa.Table.from_batches(self._first).group_by(self._keys).aggregate([([], "count_all")])
        several = counts.filter(pc.greater(counts.column("count_all"), 1)).slice(0, 1).to_pylist()
        return next((", ".join(f"{name}={row[name]!r}" for name in self._keys) for row in several), None)

    def progress(self, stored: int) -> Progress:
        """The progress with this number of stored rows, whose size is estimated from the rows sent so far."""
        size = self.bytes * stored // self._sent if self._sent else 0
        return Progress(stored, size, time.monotonic() - self.began, self._rows.rows)


def _require_options(
    if_exists: str, backups: int, partitions: int | None, key: str | None, affinity: str | None
) -> None:
    if if_exists not in EXISTING:
        raise errors.InvalidRequestError(f'if_exists={if_exists!r} is unknown. It is "error", "replace" or "append"')
    if backups < 0 or (partitions is not None and partitions < 1):
        raise errors.InvalidRequestError(f"backups={backups} must be at least 0, partitions={partitions} at least 1")
    if affinity is not None and key in (None, affinity):
        raise errors.InvalidRequestError(
            f"affinity={affinity!r} and key={key!r}: a key is made of both columns, and each row needs a different "
            f"key. Name another column, with a different value for each row, with key="
        )


def _first_key(cache: str, address: str, writer: Credentials | None) -> int:
    """One more than the highest key of the cache; 0 if the cache has no row or does not exist."""
    try:
        report = flight.describe(address, data_pb2.ReadCommand(cache=cache, key=True), writer)
    except errors.CacheNotFoundError:
        return 0
    except errors.SchemaUnknownError as error:
        raise errors.InvalidRequestError(
            f"the highest key of cache {cache!r} is not known: {error}. New keys are counted from it. Name the column "
            "of the new keys with key=, or load with if_exists='replace'"
        ) from error
    kind = report.schema.field(KEY_COLUMN).type
    if kind != pa.int64():
        raise errors.InvalidRequestError(
            f"cache {cache!r} has keys of type {kind}; new keys can be counted only from 64-bit numbers. Name the "
            "column of the new keys with key="
        )
    # The narrowest column in addition to the key, because a request needs a column.
    values = [field for field in report.schema if field.name != KEY_COLUMN]
    values.sort(
        key=lambda field: getattr(field.type, "bit_width", 1 << 30) if pa.types.is_primitive(field.type) else 1 << 31
    )
    report = flight.describe(
        address, data_pb2.ReadCommand(cache=cache, key=True, columns=[field.name for field in values[:1]]), writer
    )
    highest = -1
    for endpoint in report.endpoints:
        for batch in flight.BatchStream(endpoint, f"cache {cache!r}", credentials=writer):
            keys = batch.column(KEY_COLUMN).to_numpy()
            highest = max(highest, int(keys.max(initial=-1)))
    return highest + 1
