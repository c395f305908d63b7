"""JSON files: one object in a line, or one list of objects."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
from pyarrow import json as arrow_json

from tensorflow_ignite import errors
from tensorflow_ignite.data.loading.source import Source

# A list of objects is read whole; a file of lines is not.
_LIST_BYTES = 256 << 20
# An object of a file of lines has at most this size; what comes in the first block tells the columns and their types.
_BLOCK_BYTES = 8 << 20
_MARK = b"\xef\xbb\xbf"
_FAULTS = (pa.ArrowException, OSError, EOFError, zlib.error, ValueError, OverflowError, RecursionError, TypeError)


def scan(
    source: Source, paths: Sequence[str], given: Mapping[str, pa.DataType]
) -> tuple[pa.Schema, Iterator[tuple[str, pa.RecordBatch]]]:
    """The columns of the first file, with the caller's types, and the rows of all files with the path of their file.

    Raises:
        InvalidRequestError: A file cannot be read, or has other fields or types than the beginning of the first one.
    """
    requested = pa.schema(list(given.items()))
    first = _batches(source, paths[0], requested, is_whole=False)
    begin = next(first)

    def batches() -> Iterator[tuple[str, pa.RecordBatch]]:
        yield paths[0], begin
        for batch in first:
            yield paths[0], batch
        for path in paths[1:]:
            for batch in _batches(source, path, begin.schema, is_whole=True):
                yield path, batch

    return begin.schema, batches()


def _batches(source: Source, path: str, schema: pa.Schema, *, is_whole: bool) -> Iterator[pa.RecordBatch]:
    """At least one batch, which may have no row.

    Args:
        source: Where the file is.
        path: The file.
        schema: The types of these fields.
        is_whole: Whether the file has no other fields.
    """
    try:
        with source.open(path) as file:
            if _begins_a_list(file):
                file.seek(0)
                yield _of_list(path, file.read(_LIST_BYTES + 1), schema, is_whole=is_whole)
                return
        with source.open(path) as file:
            if file.read(len(_MARK)) != _MARK:
                file.seek(0)
            # Without line breaks in objects, Arrow reads one object without a line break at its end as nulls.
            options = arrow_json.ParseOptions(
                explicit_schema=schema if len(schema) else None,
                newlines_in_values=True,
                unexpected_field_behavior="error" if is_whole else "infer",
            )
            read = arrow_json.ReadOptions(block_size=_BLOCK_BYTES)
            reader = arrow_json.open_json(pa.PythonFile(file, mode="r"), read, options)
            yield pa.RecordBatch.from_pylist([], reader.schema)
            yield from reader
    except errors.TensorFlowIgniteError:
        raise
    except _FAULTS as error:
        raise errors.InvalidRequestError(
            f"{path} cannot be read as json: {_reason(error)}. Every object of every file has the fields and types of "
            f"the first {_BLOCK_BYTES >> 20} MiB of the first file. Repair the file, or name the field with its type: "
            "schema= (--schema NAME=TYPE)"
        ) from error


def _begins_a_list(file: object) -> bool:
    while piece := file.read(1 << 16):  # type: ignore[attr-defined]
        text = piece.removeprefix(_MARK).lstrip()
        if text:
            return bool(text.startswith(b"["))
    return False


def _of_list(path: str, text: bytes, schema: pa.Schema, *, is_whole: bool) -> pa.RecordBatch:
    if len(text) > _LIST_BYTES:
        raise errors.InvalidRequestError(
            f"{path} is a list of more than {_LIST_BYTES >> 20} MiB. A list of objects is read whole; larger files "
            "have one object in a line, which are read in pieces. Write it so, for example with "
            "DataFrame.to_json(path, orient='records', lines=True)"
        )
    rows = json.loads(text.removeprefix(_MARK))
    if not all(isinstance(row, dict) for row in rows):
        raise ValueError("its list has entries that are no objects")
    names = [*dict.fromkeys([*(schema.names if is_whole else ()), *(name for row in rows for name in row)])]
    unknown = [name for name in names if is_whole and name not in schema.names]
    if unknown:
        raise ValueError(f"unexpected field {unknown[0]!r}")
    if not names:
        raise ValueError("it has no object with a field")
    types = {field.name: field.type for field in schema}
    columns = [pa.array([row.get(name) for row in rows], types.get(name)) for name in names]
    return pa.RecordBatch.from_arrays(columns, names)


def _reason(error: BaseException) -> str:
    return str(error) or type(error).__name__
