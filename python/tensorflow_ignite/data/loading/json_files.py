"""JSON files: one object in a line, or one list of objects."""

from __future__ import annotations

import collections
import contextlib
import json
import math
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Any

import pyarrow as pa
from pyarrow import json as arrow_json

from tensorflow_ignite import errors
from tensorflow_ignite.data.loading.source import Source

# A list of objects is read whole; a file of lines is not.
_LIST_BYTES = 256 << 20
# An object of a file of lines has at most this size; the first block decides the columns and their types.
_BLOCK_BYTES = 8 << 20
# A field with a long number may be in two pieces of the file: this number of bytes is searched again.
_LONGEST_FIELD = 256
_CHANGED = re.compile(r"Column\(/(.+?)\) changed from \w+ to (\w+)")
_VALUE = re.compile(r"couldn't parse:(.*)")
_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}
_MARK = b"\xef\xbb\xbf"
_FAULTS = (pa.ArrowException, OSError, EOFError, zlib.error, ValueError, OverflowError, RecursionError, TypeError)


def scan(
    source: Source, paths: Sequence[str], given: Mapping[str, pa.DataType]
) -> tuple[pa.Schema, Iterator[tuple[str, pa.RecordBatch]], dict[str, str]]:
    """The columns of the first file, with the caller's types, the rows of all files with the path of their file, notes.

    The notes say by field which number has lost digits; they are complete after the last row.

    Raises:
        InvalidRequestError: A file cannot be read, or has other fields or types than the beginning of the first one.
    """
    requested = pa.schema([(name, _with_long_floats(kind)) for name, kind in given.items()])
    lost: dict[str, str] = {}
    first = _batches(source, paths[0], requested, lost, is_whole=False)
    begin = next(first)

    def batches() -> Iterator[tuple[str, pa.RecordBatch]]:
        yield paths[0], begin
        for batch in first:
            yield paths[0], batch
        for path in paths[1:]:
            for batch in _batches(source, path, begin.schema, lost, is_whole=True):
                yield path, batch

    return begin.schema, batches(), lost


def _with_long_floats(kind: pa.DataType) -> pa.DataType:
    """The type with 64 bits in place of shorter floats, in which Arrow would read large numbers as infinity."""
    if pa.types.is_floating(kind):
        return pa.float64()
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_with_long_floats(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(kind.key_type, _with_long_floats(kind.item_type))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_with_long_floats(kind.value_type), kind.list_size)
    return pa.list_(_with_long_floats(kind.value_type)) if pa.types.is_list(kind) else kind


def _batches(
    source: Source, path: str, schema: pa.Schema, lost: dict[str, str], *, is_whole: bool
) -> Iterator[pa.RecordBatch]:
    """At least one batch, which may have no row.

    Args:
        source: Where the file is.
        path: The file.
        schema: The types of these fields.
        lost: Gets notes of numbers that lose digits.
        is_whole: Whether the file has no other fields.
    """
    known = schema.names
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
            numbers = _ReadNumbers(file)
            reader = arrow_json.open_json(pa.PythonFile(numbers, mode="r"), read, options)
            known = reader.schema.names
            yield pa.RecordBatch.from_pylist([], reader.schema)
            for batch in reader:
                numbers.check(reader.schema)
                yield batch
            numbers.check(reader.schema)
            for name, number in numbers.lost.items():
                lost.setdefault(name, _note(name, number))
    except errors.TensorFlowIgniteError:
        raise
    except _FAULTS as error:
        reason = _reason(error) + _line(source, path, str(error), known)
        raise errors.InvalidRequestError(
            f"{path} cannot be read as json: {reason}. Every object of every file has the fields and types of "
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
    rows = json.loads(text.removeprefix(_MARK), object_pairs_hook=_object, parse_float=_float)
    if not all(isinstance(row, dict) for row in rows):
        raise ValueError("its list has entries that are no objects")
    names = [*dict.fromkeys([*(schema.names if is_whole else ()), *(name for row in rows for name in row)])]
    unknown = [name for name in names if is_whole and name not in schema.names]
    if unknown:
        raise ValueError(f"unexpected field {unknown[0]!r}")
    if not names:
        raise ValueError("it has no object with a field")
    types = {field.name: field.type for field in schema}
    columns = [_column(name, [row.get(name) for row in rows], types.get(name)) for name in names]
    return pa.RecordBatch.from_arrays(columns, names)


def _column(name: str, values: list[Any], kind: pa.DataType | None) -> pa.Array:
    try:
        return pa.array(values, kind)
    except _FAULTS as error:
        raise ValueError(f"field {name!r}: {error}") from error


def _object(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(fields)
    if len(found) < len(fields):
        twice = next(name for name, number in collections.Counter(name for name, _ in fields).items() if number > 1)
        raise ValueError(f"an object has two fields {twice!r}")
    return found


def _float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text} is too large for a floating-point number of 64 bits")
    return number


def _line(source: Source, path: str, reason: str, names: Sequence[str]) -> str:
    """The line and the field of an error of Arrow, in a file with one object in a line; empty: they are not found."""
    column, value = _CHANGED.search(reason), _VALUE.search(reason)
    with contextlib.suppress(*_FAULTS), source.open_text(path, "utf-8-sig") as text:
        for number, line in enumerate(text, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line, parse_float=None if value is None else str)
            except ValueError:
                # Of an object in several lines the first one is no JSON.
                return f" (line {number})" if number > 1 else ""
            if not isinstance(row, dict):
                return ""
            fields = list(row.items())
            found: str | None = None
            if "unexpected field" in reason:
                found = next((name for name, _ in fields if name not in names), None)
            elif value is not None:
                found = next((name for name, part in fields if _has(part, value[1])), None)
            elif column is not None and type(row.get(column[1])) in _KINDS.get(column[2], ()):
                found = column[1]
            if found is not None:
                return f" (field {found!r} in line {number})"
    return ""


def _note(name: str, number: int) -> str:
    return (
        f"is a floating-point number, and loses digits: {number} is {float(number)!r}; schema={{{name!r}: "
        "pyarrow.decimal128(38, 0)}, with as many digits after the point as it needs, keeps them"
    )


def _has(part: object, text: str) -> bool:
    """Whether a value of JSON has a number or text that Arrow's error names."""
    if isinstance(part, dict):
        return any(_has(inner, text) for inner in part.values())
    if isinstance(part, list):
        return any(_has(inner, text) for inner in part)
    return str(part) == text


class _ReadNumbers:
    """A file that notes fields with an integer that a 64-bit floating-point number does not hold exactly.

    Attributes:
        lost: By field, the first such integer.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self.lost: dict[str, int] = {}
        self._file = file
        self._read: collections.deque[bytes] = collections.deque()
        self._last = b""

    def read(self, size: int = -1) -> bytes:
        """The next bytes, which :meth:`check` searches."""
        content = self._file.read(size)
        self._read.append(content)
        return content

    def check(self, schema: pa.Schema) -> None:
        """Searches the text that has been read since the last call for numbers that lose digits.

        Args:
            schema: The schema of the rows: only its floating-point numbers lose digits.
        """
        names = "|".join(sorted(re.escape(json.dumps(name, ensure_ascii=False)) for name in _floating(schema)))
        pattern = re.compile(rf"({names})\s*:\s*(-?\d{{16,300}})(?=[\s,}}])".encode())
        while self._read:
            content = self._last + self._read.popleft()
            self._last = content[-_LONGEST_FIELD:]
            for match in pattern.finditer(content) if names else ():
                number = int(match[2])
                if int(float(number)) != number:
                    self.lost.setdefault(json.loads(match[1]), number)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def _floating(fields: Iterable[pa.Field]) -> set[str]:
    """The names of fields of floating-point numbers, also in structs."""
    found: set[str] = set()
    for field in fields:
        kind = field.type
        if pa.types.is_floating(kind):
            found.add(field.name)
        while pa.types.is_list(kind):
            kind = kind.value_type
        if pa.types.is_struct(kind):
            found |= _floating(kind)
    return found


def _reason(error: BaseException) -> str:
    return str(error) or type(error).__name__
