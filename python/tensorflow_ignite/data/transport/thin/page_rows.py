"""Converts rows of pages to record batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tensorflow_ignite import errors
from tensorflow_ignite.data.transport.thin import binary_format, values
from tensorflow_ignite.data.transport.thin.connection import Page
from tensorflow_ignite.data.transport.thin.scalars import Mismatch, Read
from tensorflow_ignite.data.transport.thin.types import Types, of_value

# Field metadata: the location of a column's values in a row, for the streams; batches do not have it.
LOCATION_KEY = b"tensorflow-ignite.place"

KEY, VALUE, FIELD_OF_KEY, FIELD_OF_VALUE = b"key", b"value", b"field of key", b"field of value"


def located(field: pa.Field, location: bytes) -> pa.Field:
    """The field, with the location of its values in the metadata."""
    return field.with_metadata({**(field.metadata or {}), LOCATION_KEY: location})


def plain(field: pa.Field) -> pa.Field:
    """The field without the location, as in batches."""
    metadata = {key: value for key, value in (field.metadata or {}).items() if key != LOCATION_KEY}
    return field.with_metadata(metadata or None)


@dataclass
class _Part:
    """The columns that are read from all keys, or from all values."""

    whole: list[tuple[int, Read]]
    fields: list[int]
    reader: values.ObjectReader | None

    def read(self, data: bytearray, at: int, row: list[Any]) -> None:
        for index, read in self.whole:
            row[index] = read(data, at)
        if self.reader is None:
            return
        while (code := data[at]) != binary_format.OBJECT:
            if code != binary_format.WRAPPED:
                raise Mismatch(f"it is {binary_format.name(code)}, not an object with fields")
            at = binary_format.unwrap(data, at)
        for index, value in zip(self.fields, self.reader.read(data, at), strict=True):
            row[index] = value


class PageRows:
    """Collects rows until they make a batch."""

    def __init__(self, schema: pa.Schema, nulls: str, skip: bool, known_types: Types, subject: str) -> None:
        """Prepares the columns.

        Args:
            schema: Fields with the location of their values.
            nulls: As for :func:`values.reader`.
            skip: Whether rows that do not fit are left out and counted.
            known_types: Metadata of object types.
            subject: Names the rows in error texts, such as "cache 'x'".
        """
        self.schema = pa.schema([plain(field) for field in schema])
        self.skipped = 0
        self._skip = skip
        self._types = known_types
        self._subject = subject
        self._rows: list[list[Any]] = []
        self._key = self._part(schema, KEY, FIELD_OF_KEY, nulls)
        self._value = self._part(schema, VALUE, FIELD_OF_VALUE, nulls)
        self._empty: list[Any] = [None] * len(schema)

    def _part(self, schema: pa.Schema, whole: bytes, of_field: bytes, nulls: str) -> _Part | None:
        at = {
            location: [n for n, field in enumerate(schema) if field.metadata[LOCATION_KEY] == location]
            for location in _LOCATIONS
        }
        if not at[whole] and not at[of_field]:
            return None
        found = [self.schema.field(number) for number in at[of_field]]
        reader = values.ObjectReader([field.name for field in found], found, nulls, self._types) if found else None
        readers = [(number, values.reader(self.schema.field(number), nulls, self._types)) for number in at[whole]]
        return _Part(readers, at[of_field], reader)

    def __len__(self) -> int:
        """Number of collected rows."""
        return len(self._rows)

    def add(self, page: Page) -> None:
        """Adds the rows of a page.

        Raises:
            RowMismatchError: If a row does not fit, unless such rows are skipped.
            UnsupportedTypeError: If a key or value has an unknown type, so that its end is not known.
        """
        for key, value in boundaries(page, self._subject):
            row = self._empty.copy()
            try:
                if self._key is not None:
                    self._key.read(page.data, key, row)
                if self._value is not None:
                    self._value.read(page.data, value, row)
            except (Mismatch, binary_format.MalformedDataError) as mismatch:
                if not self._skip:
                    raise self._mismatch(page.data, key, mismatch) from mismatch
                self.skipped += 1
            else:
                self._rows.append(row)

    def _mismatch(self, data: bytearray, key: int, mismatch: Exception) -> errors.RowMismatchError:
        return errors.RowMismatchError(
            f"{self._subject}: the row with key {show_key(data, key, self._types)} does not fit: {mismatch}. Each row "
            f"must hold what its column's type says, and no null. Give types with schema=, read nulls with "
            f'nulls="default" or "mask", or leave such rows out with on_mismatch="skip"'
        )

    def batch(self) -> pa.RecordBatch:
        """All collected rows.

        Raises:
            RowMismatchError: If Arrow rejects a value, such as text that is no UTF-8.
        """
        rows, self._rows = self._rows, []
        columns: Sequence[tuple[Any, ...]] = list(zip(*rows, strict=True)) or [()] * len(self.schema)
        try:
            arrays = [values.to_array(field, column) for field, column in zip(self.schema, columns, strict=True)]
        except pa.ArrowException as error:
            raise errors.RowMismatchError(
                f"{self._subject}: a value among {len(rows)} rows does not fit: {error}. Each row must hold what its "
                f"column's type says. Give types with schema="
            ) from error
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


_LOCATIONS = (KEY, VALUE, FIELD_OF_KEY, FIELD_OF_VALUE)


def boundaries(page: Page, subject: str) -> Iterator[tuple[int, int]]:
    """The positions of the key and the value of each row.

    Raises:
        UnsupportedTypeError: If a key or value has an unknown type, so that its end is not known.
    """
    data, at = page.data, page.start
    try:
        for _ in range(page.rows):
            value = binary_format.skip(data, at)
            end = binary_format.skip(data, value)
            yield at, value
            at = end
    except binary_format.MalformedDataError as foreign:
        raise errors.UnsupportedTypeError(
            f"{subject}: it holds {foreign}. The thin client protocol reads only values that Ignite's binary format "
            'describes. Read the cache with transport="flight"'
        ) from foreign


def show_key(data: bytearray, at: int, known_types: Types) -> str:
    """A key for error texts."""
    try:
        found = values.reader(of_value(data, at, known_types).with_name("key"), "keep", known_types)(data, at)
    except Exception:  # any error: the error text of a row must not fail because of its key
        return f"({binary_format.name(data[at])})"
    return repr(found.decode(errors="replace")) if isinstance(found, bytes) else repr(found)
