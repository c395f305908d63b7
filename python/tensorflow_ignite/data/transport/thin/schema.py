"""Which columns a cache has, where their values are, and how large its rows are.

What query entities tell comes first, then what the cluster knows of types of objects, then a look at rows, of several
partitions, as far as the other two leave types open. What a reader asks for stands above all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyignite.datatypes.prop_codes import PROP_CACHE_MODE, PROP_QUERY_ENTITIES

from tensorflow_ignite import errors
from tensorflow_ignite.credentials import Credentials
from tensorflow_ignite.data.transport.thin import layout, rows, types
from tensorflow_ignite.data.transport.thin.connection import BinaryType, Page, ThinConnection
from tensorflow_ignite.v1 import data_pb2

KEY_COLUMN = "_key"
# The only column of a cache whose values are no objects.
VALUE_COLUMN = "value"

ROWS_TO_LOOK_AT = 1000
BYTES_TO_LOOK_AT = 16 * 1024 * 1024
_FIRST_ROWS = 4
_ROWS_OF_A_PARTITION = 100


class TypeBook:
    """Types of objects, asked for once each, over connections of their own: a stream's may wait for its next page."""

    def __init__(self, address: str, credentials: Credentials | None, failure: str) -> None:
        """Asks nothing yet; the arguments are those of :class:`ThinConnection`."""
        self._arguments = (address, credentials, failure)
        self._known: dict[int | str, BinaryType | None] = {}

    def __call__(self, number: int | str) -> BinaryType | None:
        """By number or name."""
        return self._known[number] if number in self._known else self.again(number)

    def again(self, number: int | str) -> BinaryType | None:
        """By number or name, asked anew."""
        with ThinConnection(*self._arguments) as connection:
            found = self._known[number] = connection.binary_type(number)
        return found


@dataclass(frozen=True)
class Found:
    """What was learned of a cache.

    Attributes:
        schema: The columns asked for; each says where its values are.
        row_bytes: About so many bytes a row has on the wire; 0 when none was seen.
    """

    schema: pa.Schema
    row_bytes: int


def replicated(configuration: dict[str, Any]) -> bool:
    """Whether every node has every row."""
    return bool(configuration.get(PROP_CACHE_MODE) == 1)


def find(
    connection: ThinConnection,
    configuration: dict[str, Any],
    command: data_pb2.ReadCommand,
    partitions: Iterable[int],
    book: TypeBook,
) -> Found:
    """Learns the columns that a command asks for.

    Args:
        connection: To any node.
        configuration: Of the cache.
        command: What is read.
        partitions: Those to look at rows in, in order.
        book: Knows types of objects.

    Raises:
        TensorFlowIgniteError: ColumnNotFoundError, UnsupportedTypeError or SchemaUnknownError, with the column.
    """
    wanted = pa.ipc.read_schema(pa.BufferReader(command.schema)) if command.schema else pa.schema([])
    columns = _Columns(command.cache, book)
    for entity in configuration.get(PROP_QUERY_ENTITIES) or ():
        columns.add_entity(entity)
    columns.declare(wanted)
    pages = _look(connection, command, partitions, columns)
    selected = columns.select(list(command.columns), command.key)
    schema = pa.schema([_nullable(field, command.nulls == data_pb2.NULLS_KEEP) for field in selected])
    if command.schema:
        _refuse_what_fits_no_row(schema, pages, f"cache {command.cache!r}", book)
    count = sum(page.rows for page in pages)
    return Found(schema, sum(len(page.data) - page.start for page in pages) // count if count else 0)


def _refuse_what_fits_no_row(schema: pa.Schema, pages: list[Page], what: str, book: TypeBook) -> None:
    """Else a reader who skips rows that do not fit would get none at all in silence."""
    trial = rows.Rows(schema, "keep", True, book, what)
    for page in pages:
        trial.add(page)
    if trial.skipped and not len(trial):
        try:
            rows.Rows(schema, "keep", False, book, what).add(pages[0])
        except errors.RowMismatchError as mismatch:
            raise errors.UnsupportedTypeError(
                f"schema= fits none of {trial.skipped} rows that were looked at. The first: {mismatch}"
            ) from mismatch


def _look(
    connection: ThinConnection, command: data_pb2.ReadCommand, partitions: Iterable[int], columns: _Columns
) -> list[Page]:
    """Looks at rows while a type is open, at a few in any case for their size."""
    pages = []
    count = size = 0
    wanted = _FIRST_ROWS
    for partition in partitions:
        page = connection.first_page(command.cache, partition, wanted)
        if page.rows:
            pages.append(page)
            columns.see(page, f"cache {command.cache!r}")
            count, size = count + page.rows, size + len(page.data) - page.start
            left = (BYTES_TO_LOOK_AT - size) * count // size
            wanted = max(1, min(_ROWS_OF_A_PARTITION, ROWS_TO_LOOK_AT - count, left))
            if columns.known(list(command.columns), command.key):
                break
        if count >= ROWS_TO_LOOK_AT or size >= BYTES_TO_LOOK_AT:
            break
    return pages


def _nullable(field: pa.Field, nullable: bool) -> pa.Field:
    kind = field.type
    if pa.types.is_struct(kind):
        kind = pa.struct([_nullable(member, nullable) for member in kind])
    elif pa.types.is_map(kind):
        kind = pa.map_(_nullable(kind.key_field, False), _nullable(kind.item_field, nullable))
    elif pa.types.is_large_list(kind):
        kind = pa.large_list(_nullable(kind.value_field, nullable))
    elif pa.types.is_fixed_size_list(kind):
        kind = pa.list_(_nullable(kind.value_field, nullable), kind.list_size)
    elif pa.types.is_list(kind):
        kind = pa.list_(_nullable(kind.value_field, nullable))
    return field.with_type(kind).with_nullable(nullable)


class _Columns:
    """The columns of a cache, as they become known."""

    def __init__(self, cache: str, book: TypeBook) -> None:
        self._cache = cache
        self._book = book
        self._columns: dict[str, pa.Field] = {}
        self._key = types.marked(KEY_COLUMN, types.UNKNOWN)
        self._declared: dict[str, pa.Field] = {}
        self._faults: dict[str, str] = {}
        # Query entities say which columns there are; a look may only say of what type.
        self._closed = False
        self._types_seen: set[int] = set()
        self._saw_rows = False

    def add_entity(self, entity: dict[str, Any]) -> None:
        """Takes what SQL knows of one type of values."""
        key_name, value_name = entity["key_field_name"], entity["value_field_name"]
        self._merge_key(types.of_class(entity["key_type_name"] or ""))
        for told in entity["query_fields"]:
            name = told["name"]
            # A dotted name is a path into a nested object, which is a column of its own.
            if "." in name:
                continue
            field = types.of_class(told["type_name"] or "", told["precision"], told["scale"]).with_name(name)
            place = rows.FIELD_OF_KEY if told["is_key_field"] else rows.FIELD_OF_VALUE
            place = rows.KEY if name == key_name else rows.VALUE if name == value_name else place
            self._merge(rows.placed(field, place))
            self._closed = True
        value = types.of_class(entity["value_type_name"] or "")
        if types.known(value.type) and not self._columns:
            self._merge(rows.placed(value.with_name(VALUE_COLUMN), rows.VALUE))
            self._closed = True

    def declare(self, wanted: pa.Schema) -> None:
        """Takes what the reader asks for."""
        self._declared = {field.name: field for field in wanted}

    def see(self, page: Page, what: str) -> None:
        """Takes what rows show."""
        data = page.data
        self._saw_rows = True
        for key, value in rows.boundaries(page, what):
            self._guarded(KEY_COLUMN, lambda at=key: self._merge_key(types.of_value(data, at, self._book)))
            self._see(data, key, rows.KEY, rows.FIELD_OF_KEY)
            self._see(data, value, rows.VALUE, rows.FIELD_OF_VALUE)

    def _see(self, data: bytearray, at: int, whole: bytes, of_field: bytes) -> None:
        places = {name: field.metadata[rows.PLACE_KEY] for name, field in self._columns.items()}
        for name in [name for name, place in places.items() if place == whole]:
            self._take(name, data, at, whole)
        if whole == rows.VALUE and not self._closed and data[at] not in (layout.OBJECT, layout.WRAPPED):
            self._take(VALUE_COLUMN, data, at, whole)
        while data[at] == layout.WRAPPED:
            at = layout.unwrap(data, at)
        if data[at] != layout.OBJECT:
            return
        number = layout.int_at(data, at + 4)
        found = self._book(number)
        if found is None:
            return
        if number not in self._types_seen and not self._closed and whole == rows.VALUE:
            self._types_seen.add(number)
            for name, code in found.fields.items():
                self._merge(rows.placed(types.of_code(code).with_name(name), of_field))
        names = {name.lower(): name for name, place in places.items() if place == of_field} | (
            {} if self._closed or whole == rows.KEY else {name.lower(): name for name in found.fields}
        )
        for name, place in layout.fields(data, at, found).items():
            column = names.get(name.lower())
            if column is not None and self._open(self._columns[column]):
                self._take(column, data, place, of_field)

    def _take(self, name: str, data: bytearray, at: int, place: bytes) -> None:
        if name not in self._columns or self._open(self._columns[name]):
            self._guarded(
                name, lambda: self._merge(rows.placed(types.of_value(data, at, self._book).with_name(name), place))
            )

    @staticmethod
    def _open(field: pa.Field) -> bool:
        """Whether a look tells more: a type, or the names of an enum's constants."""
        mark = (field.metadata or {}).get(types.TYPE_KEY)
        return not types.known(field.type) or (mark == b"enum" and types.ENUM_KEY not in field.metadata)

    def _guarded(self, name: str, action: Any) -> None:
        try:
            action()
        except (types.Disagreement, layout.Unreadable) as fault:
            self._faults.setdefault(name, str(fault))

    def _merge(self, field: pa.Field) -> None:
        known = self._columns.get(field.name)
        try:
            self._columns[field.name] = field if known is None else types.merge(known, field)
        except types.Disagreement as fault:
            self._faults.setdefault(field.name, str(fault))

    def _merge_key(self, field: pa.Field) -> None:
        self._key = types.merge(self._key, field)

    def known(self, names: list[str], with_key: bool) -> bool:
        """Whether no further row need be looked at."""
        # Objects of another type may bring further columns, unless those that are wanted are named, and told.
        if not self._closed and not (names and set(names) <= set(self._declared)):
            return False
        chosen = [self._columns[name] for name in names or self._columns if name in self._columns]
        chosen += [rows.placed(self._key, rows.KEY)] if with_key else []
        return not any(self._open(field) for field in chosen if field.name not in self._declared)

    def select(self, names: list[str], with_key: bool) -> list[pa.Field]:
        """The columns asked for, the key first."""
        if not self._columns and not self._saw_rows:
            # An empty cache of which nobody knows anything: the reader's own words must do.
            for field in self._declared.values():
                if field.name != KEY_COLUMN:
                    place = rows.VALUE if [*self._declared] == [VALUE_COLUMN] else rows.FIELD_OF_VALUE
                    self._columns[field.name] = rows.placed(field, place)
        if not self._columns:
            raise errors.SchemaUnknownError(
                f"cache {self._cache!r} does not tell its columns: it has no query entities and no rows of known types "
                f"to look at. Columns come from these. Give schema=, or read it when it has rows"
            )
        missing = [name for name in names if name not in self._columns]
        if missing:
            raise errors.ColumnNotFoundError(
                f"cache {self._cache!r} has no column {missing[0]!r}; its columns are {', '.join(self._columns)}. Name "
                f"one of these, or ask for the key with key=True"
            )
        chosen = [rows.placed(self._key, rows.KEY)] if with_key else []
        chosen += [self._columns[name] for name in names or self._columns]
        return [self._final(field) for field in chosen]

    def _final(self, field: pa.Field) -> pa.Field:
        declared = self._declared.get(field.name)
        if declared is not None:
            return rows.placed(declared, field.metadata[rows.PLACE_KEY])
        if field.name in self._faults:
            raise errors.UnsupportedTypeError(
                f"cache {self._cache!r}: column {field.name!r} has no one type: {self._faults[field.name]}. All "
                f"rows of a column are of one type. Say which with schema=, or leave the column out with columns=[...]"
            )
        if not types.known(field.type):
            raise errors.SchemaUnknownError(
                f"cache {self._cache!r}: the type of column {field.name!r} is not known: "
                f"{types.show(field.type)}. Neither the cluster's metadata nor a look at up to {ROWS_TO_LOOK_AT} rows "
                f"tells it. Say it with schema=, or leave the column out with columns=[...]"
            )
        return field
