"""Arrays and tables as rows of a cache."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from tensorflow_ignite import errors
from tensorflow_ignite.data import flight, place, reading
from tensorflow_ignite.data.tensors import SHAPE_KEY
from tensorflow_ignite.train.context import context
from tensorflow_ignite.v1 import data_pb2

# Stays below the 4 MiB that a gRPC server accepts in a message unless told otherwise.
BATCH_BYTES = 2 * 1024 * 1024

_EXISTING = {
    "error": data_pb2.EXISTING_CACHE_ERROR,
    "replace": data_pb2.EXISTING_CACHE_REPLACE,
    "append": data_pb2.EXISTING_CACHE_APPEND,
}


def load(
    cache: str,
    data: Mapping[str, Any] | pa.Table,
    *,
    key: str | None = None,
    backups: int = 0,
    replicated: bool = False,
    partitions: int | None = None,
    if_exists: Literal["error", "replace", "append"] = "error",
    address: str | None = None,
) -> int:
    """Writes columns into a cache, which is made if it does not exist.

    Args:
        cache: Name of the cache.
        data: Columns by name, each with one entry a row: numpy arrays, or lists of text, bytes or numbers; or a
            pyarrow.Table. An array ``[rows, 28, 28]`` comes back from :func:`tensorflow_ignite.dataset` as ``[28, 28]``
            a row.
        key: The column that holds the keys; it is not stored among the values. None: numbers from 0 on, or, with
            ``if_exists="append"``, from the highest key on.
        backups: Copies of each partition on other nodes, when the cache is made.
        replicated: Keep every row on every node, when the cache is made.
        partitions: Number of partitions, when the cache is made; None: Ignite's default.
        if_exists: What to do when the cache exists: ``"error"``, ``"replace"`` it with all its rows, or ``"append"``.
        address: ``host:port`` of any node; None: as for :func:`tensorflow_ignite.dataset`.

    Returns:
        The number of rows written.

    Raises:
        InvalidRequestError: If the columns or an option break a rule.
        UnsupportedTypeError: If a column holds what no cache stores.
        TensorFlowIgniteError: CacheExistsError and others, as the node says; or if no node answers.
    """
    if if_exists not in _EXISTING:
        raise errors.InvalidRequestError(f'if_exists={if_exists!r} is unknown; it is "error", "replace" or "append"')
    if backups < 0 or (partitions is not None and partitions < 1):
        raise errors.InvalidRequestError(f"backups={backups} must be at least 0, partitions={partitions} at least 1")
    table = data if isinstance(data, pa.Table) else table_of(data)
    if key is not None and key not in table.column_names:
        raise errors.InvalidRequestError(f"key={key!r} is not a column of the data: {', '.join(table.column_names)}")
    if not [name for name in table.column_names if name != key]:
        raise errors.InvalidRequestError(
            f"cache {cache!r} needs at least one column besides the key; found {table.column_names}"
        )
    here = context()
    where = here.node_address if here.in_job else place.answering(place.addresses(address))
    command = data_pb2.LoadCommand(
        cache=cache,
        key_column=key or "",
        first_key=_first_key(cache, where) if key is None and if_exists == "append" else 0,
        backups=backups,
        replicated=replicated,
        partitions=partitions or 0,
        existing=_EXISTING[if_exists],
    )
    rows_a_batch = max(1, BATCH_BYTES * table.num_rows // max(1, table.nbytes))
    return flight.put(where, command, table.schema, table.to_batches(max_chunksize=rows_a_batch))


def _first_key(cache: str, address: str) -> int:
    """One more than the highest key of the cache; 0 if it has none or does not exist."""
    try:
        told = flight.describe(address, data_pb2.ReadCommand(cache=cache, key=True))
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
        address, data_pb2.ReadCommand(cache=cache, key=True, columns=[field.name for field in values[:1]])
    )
    highest = -1
    for endpoint in told.endpoints:
        for batch in flight.BatchStream(endpoint, f"cache {cache!r}"):
            keys = batch.column(reading.KEY_COLUMN).to_numpy()
            highest = max(highest, int(keys.max(initial=-1)))
    return highest + 1


def table_of(data: Mapping[str, Any]) -> pa.Table:
    """Arrow columns of arrays and lists, one entry a row.

    Raises:
        InvalidRequestError: If there is no column, or the columns differ in length, or a shape has no elements.
        UnsupportedTypeError: If a column holds what no cache stores.
    """
    if not data:
        raise errors.InvalidRequestError("there is no column to load; give at least one, such as {'label': labels}")
    fields, columns = [], []
    for name, values in data.items():
        if not isinstance(name, str) or not name:
            raise errors.InvalidRequestError(f"{name!r} is not the name of a column; it is a text that is not empty")
        field, column = _column(name, values)
        fields.append(field)
        columns.append(column)
    lengths = {name: len(column) for name, column in zip(data, columns, strict=True)}
    if len(set(lengths.values())) > 1:
        raise errors.InvalidRequestError(
            f"columns differ in length: {lengths}. Each column needs one entry for each row"
        )
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _column(name: str, values: Any) -> tuple[pa.Field, pa.Array]:
    if isinstance(values, np.ndarray) or not isinstance(values, Sequence) or isinstance(values, (str, bytes)):
        array = np.asarray(values)
        if array.ndim == 0:
            raise errors.InvalidRequestError(
                f"column {name!r} is a single value, {values!r:.80}; it needs one entry for each row"
            )
        return _array(name, array)
    try:
        column = pa.array(values)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise errors.UnsupportedTypeError(f"column {name!r} mixes what one column cannot hold: {error}") from error
    if column.null_count or pa.types.is_null(column.type):
        raise errors.UnsupportedTypeError(
            f"column {name!r} holds None, or nothing at all; a column needs a value in each row"
        )
    return pa.field(name, column.type, nullable=False), column


def _array(name: str, array: np.ndarray[Any, Any]) -> tuple[pa.Field, pa.Array]:
    shape = array.shape[1:]
    if 0 in shape:
        raise errors.InvalidRequestError(f"column {name!r} has shape {list(array.shape)}: a row of it has no elements")
    if array.dtype.kind in "OUS":
        flat = _text(name, array.reshape(-1))
    elif array.dtype.kind in "biuf" and array.dtype.itemsize <= 8:
        native = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
        flat = pa.array(native.reshape(-1))
    else:
        raise errors.UnsupportedTypeError(
            f"column {name!r} is of type {array.dtype}; caches store booleans, integers, floats up to 64 bits and "
            f"text. Convert it first, for example with .astype('float32')"
        )
    if not shape:
        return pa.field(name, flat.type, nullable=False), flat
    column = pa.FixedSizeListArray.from_arrays(flat, int(np.prod(shape)))
    metadata = {SHAPE_KEY: json.dumps(shape).encode()} if len(shape) > 1 else None
    return pa.field(name, column.type, nullable=False, metadata=metadata), column


def _text(name: str, array: np.ndarray[Any, Any]) -> pa.Array:
    entries = array.tolist()
    kinds = {type(entry) for entry in entries}
    if kinds <= {str}:
        return pa.array(entries, pa.string())
    if kinds <= {bytes}:
        return pa.array(entries, pa.binary())
    raise errors.UnsupportedTypeError(
        f"column {name!r} is an array of Python objects of types {', '.join(sorted(kind.__name__ for kind in kinds))}; "
        f"only arrays of text or of bytes can be stored"
    )
