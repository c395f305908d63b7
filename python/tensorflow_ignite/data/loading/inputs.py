"""Opens inputs of all kinds, as a schema and an iterator of record batches."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from pyarrow import dataset as arrow

from tensorflow_ignite import errors
from tensorflow_ignite.base.libraries import is_of
from tensorflow_ignite.data.loading import cursors, files, npz, tensor_batches, tf_records
from tensorflow_ignite.data.loading.casting import Casting
from tensorflow_ignite.data.loading.columns import column_of, is_nullable, table_of
from tensorflow_ignite.data.loading.csv_files import CsvOptions
from tensorflow_ignite.data.loading.files import Input
from tensorflow_ignite.data.loading.folders import FolderColumns

# Large enough for the network, small enough for many concurrent loads.
BATCH_BYTES = 4 * 1024 * 1024
# BATCH_BYTES of narrow rows would be many rows, and take seconds to store.
BATCH_ROWS = 16 * 1024

_Batch = TypeVar("_Batch", pa.RecordBatch, pa.Table)


def open_input(
    data: Any,
    schema: pa.Schema | Mapping[str, Any] | None = None,
    *,
    batched: bool | None = None,
    csv: Mapping[str, Any] | None = None,
) -> Input:
    """Opens the data, and reads its schema.

    Args:
        data: As for :func:`tensorflow_ignite.load`.
        schema: Requested types of some or all columns.
        batched: Whether elements of a tf.data.Dataset are batches; None: determined by the dataset.
        csv: How CSV files are written, by the options of pyarrow.csv.

    Raises:
        InvalidRequestError: If the data or their columns break a rule.
        UnsupportedTypeError: If no cache stores the values of a column.
    """
    casting = Casting(schema)
    raw = _open(data, casting, batched, CsvOptions.of(csv))
    found = casting.schema(raw.schema)
    return Input(found, raw.rows, _cast(raw, casting, found), raw.notes)


def _cast(raw: Input, casting: Casting, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    try:
        for number, batch in enumerate(raw.batches):
            for piece in _pieces(batch):
                yield casting.batch(piece, schema, number)
    finally:
        close = getattr(raw.batches, "close", None)
        if close is not None:
            close()


def _pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    rows = min(BATCH_ROWS, max(1, BATCH_BYTES * batch.num_rows // max(1, batch.nbytes)))
    # Each slice has the whole dictionary of a column, and all texts of a column of views.
    shared = batch.slice(0, 0).nbytes
    for first in range(0, batch.num_rows, rows):
        piece = batch.slice(first, rows)
        # Rows may differ in size.
        if piece.num_rows > 1 and piece.nbytes - shared > 2 * BATCH_BYTES:
            yield from _pieces(piece)
        else:
            yield piece


def _open(data: Any, casting: Casting, batched: bool | None, csv: CsvOptions) -> Input:
    if _is_path(data):
        return _of_files([data], casting, csv)
    if isinstance(data, Sequence) and data and all(map(_is_path, data)):
        return _of_files(data, casting, csv)
    if isinstance(data, (arrow.Dataset, arrow.Scanner)):
        found = data.schema if isinstance(data, arrow.Dataset) else data.projected_schema
        rows = files.read_ahead_little(data) if isinstance(data, arrow.Dataset) else data.to_batches()
        return Input(found, None, _arrow_batches(rows))
    if isinstance(data, pa.RecordBatchReader):
        return Input(data.schema, None, _arrow_batches(data))
    if tensor_batches.is_dataset(data):
        return _of_batches(tensor_batches.batches(data, casting.names, BATCH_BYTES, batched), casting)
    if is_of(type(data), "datasets") and isinstance(data, Mapping):
        raise errors.UnsupportedTypeError(
            f"a {type(data).__name__} has several datasets: {', '.join(map(str, data))}. A cache has the rows of one. "
            f"Load them one after the other, such as data[{next(iter(data), 'train')!r}]"
        )
    table = _table(data)
    if table is not None:
        return table
    if hasattr(data, "__arrow_c_stream__"):
        _require_values(data)
        try:
            reader = pa.RecordBatchReader.from_stream(data)
        except (pa.ArrowException, ValueError) as error:
            raise errors.UnsupportedTypeError(
                f"a {type(data).__module__}.{type(data).__qualname__} cannot be loaded: {error}. Its columns need "
                "types of Arrow. Convert the others first, such as integers of more than 64 bits"
            ) from error
        return _open(reader, casting, batched, csv)
    if hasattr(data, "fetchmany") and hasattr(data, "description"):
        reader = cursors.arrow_reader(data)
        if reader is not None:
            return _open(reader, casting, batched, csv)
        return _of_batches(cursors.batches(data, casting.names), casting)
    if is_of(type(data), "datasets") and hasattr(data, "with_format"):
        return _of_batches(_arrow_batches(_of_hugging_face(data).iter(BATCH_ROWS)), casting)
    if isinstance(data, Iterable) and not isinstance(data, (str, bytes, np.ndarray)):
        return _of_batches(data, casting)
    raise errors.UnsupportedTypeError(
        f"a {type(data).__module__}.{type(data).__qualname__} cannot be loaded. Rows are columns by name (arrays, "
        f"lists), a pandas.DataFrame, pyarrow tables, readers and datasets, a tf.data.Dataset, a datasets.Dataset, a "
        f"cursor of a database, paths of files, or an iterable of batches of these. Give one of them"
    )


def _of_hugging_face(data: Any) -> Any:
    """A datasets.Dataset or IterableDataset that gives Arrow, with the columns that its format has."""
    form = getattr(data, "format", None) or {}
    if form.get("type") == "custom":
        raise errors.UnsupportedTypeError(
            "a dataset with a transform of set_transform() or with_transform() cannot be loaded: it gives other "
            "values than it stores. Store them with data.map(...), or remove the transform with data.with_format(None)"
        )
    return data.with_format("arrow", columns=form["columns"]) if "columns" in form else data.with_format("arrow")


def _require_values(data: Any) -> None:
    """Refuses a polars frame with Python objects, of which polars gives the addresses."""
    schema = getattr(data, "schema", None) if is_of(type(data), "polars") else None
    column = next((name for name, kind in (schema or {}).items() if str(kind) == "Object"), None)
    if column is not None:
        raise errors.UnsupportedTypeError(
            f"column {column!r} has Python objects. A cache stores values of a type of Arrow. Convert the column "
            "first, for example to text"
        )


def _is_path(data: Any) -> bool:
    return isinstance(data, (str, os.PathLike))


def _table(data: Any) -> Input | None:
    """The rows of data that are in memory; None for other data."""
    if isinstance(data, np.ndarray) and data.dtype.names:
        data = {name: data[name] for name in data.dtype.names}
    if isinstance(data, Mapping):
        data = table_of(data)
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if isinstance(data, pa.Table):
        return Input(data.schema, data.num_rows, iter(data.to_batches()))
    if _is_frame(data):
        return _of_frame(data)
    return None


def _arrow_batches(batches: Iterable[_Batch]) -> Iterator[_Batch]:
    """Translates errors of Arrow, which otherwise would be taken for errors of the network."""
    try:
        yield from batches
    except (pa.ArrowException, OSError) as error:
        raise errors.InvalidRequestError(
            f"the rows could not be read to their end: {error}. A load writes all rows or fails. Repair the data, and "
            "load again"
        ) from error


def _of_batches(batches: Iterable[Any], casting: Casting) -> Input:
    iterator = iter(batches)
    first = next(iterator, None)
    if first is None:
        if casting.whole is not None:
            return Input(casting.whole, 0, iter(()))
        raise errors.InvalidRequestError(
            "there is no batch to load, so the columns of the cache are not known. Give at least one batch, which may "
            "have no row, or the whole schema as schema=pyarrow.schema(...)"
        )
    begin = _batch(first, 0)
    # A later batch may have nulls in a column without nulls in the first batch.
    schema = pa.schema([field.with_nullable(True) for field in begin.schema])
    return Input(schema, None, _all(begin, iterator, getattr(iterator, "close", None)))


def _all(begin: pa.RecordBatch, rest: Iterator[Any], close: Callable[[], None] | None) -> Iterator[pa.RecordBatch]:
    try:
        yield begin
        for number, batch in enumerate(rest, 1):
            yield _batch(batch, number)
    finally:
        if close is not None:
            close()


def _batch(data: Any, number: int) -> pa.RecordBatch:
    try:
        raw = _table(data)
    except errors.TensorFlowIgniteError as error:
        raise type(error)(f"batch {number}: {error}") from error
    if raw is None:
        raise errors.InvalidRequestError(
            f"batch {number} is a {type(data).__module__}.{type(data).__qualname__}; a batch is columns by "
            f"name, such as {{'label': labels}}, a pyarrow.RecordBatch or Table, or a pandas.DataFrame. "
            f"Make batches of one of these types"
        )
    table = pa.Table.from_batches(list(raw.batches), schema=raw.schema)
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], table.schema)


def _is_frame(data: Any) -> bool:
    """Whether it is a pandas.DataFrame; works without an import of pandas."""
    return any(is_of(base, "pandas") and base.__name__ == "DataFrame" for base in type(data).__mro__)


def _of_frame(frame: Any) -> Input:
    names = [str(name) for name in frame.columns]
    if not names:
        raise errors.InvalidRequestError("the DataFrame has no column to load. Give at least one column")
    columns = [column_of(name, frame.iloc[:, at])[0] for at, name in enumerate(names)]
    fields = [pa.field(name, column.type, is_nullable(column)) for name, column in zip(names, columns, strict=True)]
    batch = pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))
    return Input(batch.schema, batch.num_rows, iter((batch,)))


def _of_files(names: Sequence[Any], casting: Casting, csv: CsvOptions) -> Input:
    found = files.find(names)
    if csv != CsvOptions() and found.kind not in files.TEXT:
        raise errors.InvalidRequestError(
            f"csv= is given, and {found.paths[0]} is no CSV file but {found.kind}. The options say how CSV files are "
            "written. Leave them out"
        )
    if found.kind == files.NPZ:
        return _of_archives(found, casting)
    if found.kind == files.TFRECORD:
        folders = FolderColumns(found.paths, found.folder, casting)
        of_folders = {field.name for field in folders.fields}
        columns = {name: kind for name, kind in casting.types.items() if name not in of_folders}
        return _with_folders(found, folders, lambda path: tf_records.batches(found.source, path, columns), casting)
    scan = files.scan(found, casting, BATCH_BYTES, csv)
    return Input(scan.schema, scan.rows, scan.batches, scan.notes)


def _of_archives(found: files.Files, casting: Casting) -> Input:
    def batches(path: str) -> Iterator[pa.RecordBatch]:
        with found.source.local(path) as file:
            yield from npz.batches(file, BATCH_BYTES)

    # The headers of files that are elsewhere would be a copy of each.
    rows = sum(map(npz.rows, found.paths)) if found.source.filesystem is None else None
    raw = _with_folders(found, FolderColumns(found.paths, found.folder, casting), batches, casting)
    return Input(raw.schema, rows, raw.batches, raw.notes)


def _with_folders(
    found: files.Files, folders: FolderColumns, read: Callable[[str], Iterator[Any]], casting: Casting
) -> Input:
    def batches() -> Iterator[Any]:
        for path in found.paths:
            for number, batch in enumerate(read(path)):
                yield folders.add(_batch(batch, number), path) if folders.fields else batch

    raw = _of_batches(batches(), casting)
    return Input(raw.schema, raw.rows, raw.batches, lambda: folders.notes)
