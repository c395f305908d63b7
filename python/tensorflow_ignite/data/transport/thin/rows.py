"""Rows of pages as record batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tensorflow_ignite import errors
from tensorflow_ignite.data.transport.thin import layout, values
from tensorflow_ignite.data.transport.thin.connection import Page
from tensorflow_ignite.data.transport.thin.scalars import Mismatch, Read
from tensorflow_ignite.data.transport.thin.types import Types, of_value

# Field metadata: where a column's values are, for the streams; no batch has it.
PLACE_KEY = b"tensorflow-ignite.place"

KEY, VALUE, FIELD_OF_KEY, FIELD_OF_VALUE = b"key", b"value", b"field of key", b"field of value"


def placed(field: pa.Field, place: bytes) -> pa.Field:
    """A field that says where its values are."""
    return field.with_metadata({**(field.metadata or {}), PLACE_KEY: place})


def plain(field: pa.Field) -> pa.Field:
    """A field as batches have it."""
    metadata = {key: value for key, value in (field.metadata or {}).items() if key != PLACE_KEY}
    return field.with_metadata(metadata or None)


@dataclass
class _Part:
    """What is read of all keys, or of all values."""

    whole: list[tuple[int, Read]]
    fields: list[int]
    reader: values.ObjectReader | None

    def read(self, data: bytearray, at: int, row: list[Any]) -> None:
        for index, read in self.whole:
            row[index] = read(data, at)
        if self.reader is None:
            return
        while (code := data[at]) != layout.OBJECT:
            if code != layout.WRAPPED:
                raise Mismatch(f"it is {layout.name(code)}, not an object with fields")
            at = layout.unwrap(data, at)
        for index, value in zip(self.fields, self.reader.read(data, at), strict=True):
            row[index] = value


class Rows:
    """Collects rows until they make a batch."""

    def __init__(self, schema: pa.Schema, nulls: str, skip: bool, known_types: Types, what: str) -> None:
        """Prepares for columns.

        Args:
            schema: Fields that say where their values are.
            nulls: As for :func:`values.reader`.
            skip: Leave out rows that do not fit, and count them.
            known_types: What the cluster knows of types of objects.
            what: What is read, for messages.
        """
        self.schema = pa.schema([plain(field) for field in schema])
        self.skipped = 0
        self._skip = skip
        self._types = known_types
        self._what = what
        self._rows: list[list[Any]] = []
        self._key = self._part(schema, KEY, FIELD_OF_KEY, nulls)
        self._value = self._part(schema, VALUE, FIELD_OF_VALUE, nulls)
        self._empty: list[Any] = [None] * len(schema)

    def _part(self, schema: pa.Schema, whole: bytes, of_field: bytes, nulls: str) -> _Part | None:
        at = {place: [n for n, field in enumerate(schema) if field.metadata[PLACE_KEY] == place] for place in _PLACES}
        if not at[whole] and not at[of_field]:
            return None
        found = [self.schema.field(number) for number in at[of_field]]
        reader = values.ObjectReader([field.name for field in found], found, nulls, self._types) if found else None
        readers = [(number, values.reader(self.schema.field(number), nulls, self._types)) for number in at[whole]]
        return _Part(readers, at[of_field], reader)

    def __len__(self) -> int:
        """How many rows wait."""
        return len(self._rows)

    def add(self, page: Page) -> None:
        """Takes the rows of a page.

        Raises:
            RowMismatchError: If one does not fit, unless such rows are skipped.
            UnsupportedTypeError: If a key or value is so foreign that nothing behind it can be found.
        """
        for key, value in boundaries(page, self._what):
            row = self._empty.copy()
            try:
                if self._key is not None:
                    self._key.read(page.data, key, row)
                if self._value is not None:
                    self._value.read(page.data, value, row)
            except (Mismatch, layout.Unreadable) as mismatch:
                if not self._skip:
                    raise self._mismatch(page.data, key, mismatch) from mismatch
                self.skipped += 1
            else:
                self._rows.append(row)

    def _mismatch(self, data: bytearray, key: int, mismatch: Exception) -> errors.RowMismatchError:
        return errors.RowMismatchError(
            f"{self._what}: the row with key {show_key(data, key, self._types)} does not fit: {mismatch}. Each row "
            f"must hold what its column's type says, and no null. Give types with schema=, read nulls with "
            f'nulls="default" or "mask", or leave such rows out with on_mismatch="skip"'
        )

    def batch(self) -> pa.RecordBatch:
        """All rows that wait.

        Raises:
            RowMismatchError: If Arrow does not take a value, such as text that is no UTF-8.
        """
        rows, self._rows = self._rows, []
        columns: Sequence[tuple[Any, ...]] = list(zip(*rows, strict=True)) or [()] * len(self.schema)
        try:
            arrays = [values.to_array(field, column) for field, column in zip(self.schema, columns, strict=True)]
        except pa.ArrowException as error:
            raise errors.RowMismatchError(
                f"{self._what}: a value among {len(rows)} rows does not fit: {error}. Each row must hold what its "
                f"column's type says. Give types with schema="
            ) from error
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


_PLACES = (KEY, VALUE, FIELD_OF_KEY, FIELD_OF_VALUE)


def boundaries(page: Page, what: str) -> Iterator[tuple[int, int]]:
    """Where the key and the value of each row begin.

    Raises:
        UnsupportedTypeError: If a key or value is so foreign that nothing behind it can be found.
    """
    data, at = page.data, page.start
    try:
        for _ in range(page.rows):
            value = layout.skip(data, at)
            end = layout.skip(data, value)
            yield at, value
            at = end
    except layout.Unreadable as foreign:
        raise errors.UnsupportedTypeError(
            f"{what}: it holds {foreign}. Only values that Ignite's own formats describe can be read by the thin way. "
            f'Read the cache with transport="flight"'
        ) from foreign


def show_key(data: bytearray, at: int, known_types: Types) -> str:
    """A key for messages."""
    try:
        found = values.reader(of_value(data, at, known_types).with_name("key"), "keep", known_types)(data, at)
    except Exception:  # of whatever kind: a message about a row must not fail for its key
        return f"({layout.name(data[at])})"
    return repr(found.decode(errors="replace")) if isinstance(found, bytes) else repr(found)
