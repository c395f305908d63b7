"""The columns of a cache, the location of their values in a row, and the size of its rows.

Types come from query entities, then from the metadata of object types, then from samples of rows of several partitions,
if the other two leave a type unknown. Requested types override all of these.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyignite.datatypes.prop_codes import PROP_CACHE_MODE, PROP_QUERY_ENTITIES

from tensorflow_ignite import errors
from tensorflow_ignite.data.epochs.tensor_schema import KEY_COLUMN
from tensorflow_ignite.data.transport.thin import binary_format, page_rows, types
from tensorflow_ignite.data.transport.thin.connection import BinaryType, Page, ThinConnection
from tensorflow_ignite.net.credentials import Credentials
from tensorflow_ignite.v1 import data_pb2

# Name of the only column of a cache whose values are no objects.
VALUE_COLUMN = "value"

ROWS_TO_SAMPLE = 1000
BYTES_TO_SAMPLE = 16 * 1024 * 1024
_FIRST_ROWS = 4
_ROWS_OF_A_PARTITION = 100


class TypeCache:
    """A cache of object types. It opens its own connections: the connection of a stream may wait for its next page."""

    def __init__(self, address: str, credentials: Credentials | None, failure: str) -> None:
        """Opens nothing; for the arguments see :class:`ThinConnection`."""
        self._arguments = (address, credentials, failure)
        self._known: dict[int | str, BinaryType | None] = {}

    def __call__(self, number: int | str) -> BinaryType | None:
        """The cached type, by number or name."""
        return self._known[number] if number in self._known else self.refresh(number)

    def refresh(self, number: int | str) -> BinaryType | None:
        """The present type, by number or name, from the cluster."""
        with ThinConnection(*self._arguments) as connection:
            found = self._known[number] = connection.binary_type(number)
        return found


@dataclass(frozen=True)
class ThinSchema:
    """The columns of a cache.

    Attributes:
        schema: The requested columns, with the location of their values.
        row_bytes: Size of a row in a message in bytes, about; 0: no row was sampled.
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
    type_cache: TypeCache,
) -> ThinSchema:
    """Finds the columns that a command requests.

    Args:
        connection: Connection to any node.
        configuration: Configuration of the cache.
        command: The rows to read.
        partitions: Partitions whose rows may be sampled, in this order.
        type_cache: Metadata of object types.

    Raises:
        TensorFlowIgniteError: ColumnNotFoundError, UnsupportedTypeError or SchemaUnknownError, with the column.
    """
    requested = pa.ipc.read_schema(pa.BufferReader(command.schema)) if command.schema else pa.schema([])
    columns = _Columns(command.cache, type_cache, requested)
    for entity in configuration.get(PROP_QUERY_ENTITIES) or ():
        columns.add_entity(entity)
    pages = _sample(connection, command, partitions, columns)
    selected = columns.select(list(command.columns), command.key)
    schema = pa.schema([_nullable(field, command.nulls == data_pb2.NULLS_KEEP) for field in selected])
    if command.schema:
        _refuse_schema_that_fits_no_row(schema, pages, f"cache {command.cache!r}", type_cache)
    count = sum(page.rows for page in pages)
    return ThinSchema(schema, sum(len(page.data) - page.start for page in pages) // count if count else 0)


def _refuse_schema_that_fits_no_row(schema: pa.Schema, pages: list[Page], subject: str, type_cache: TypeCache) -> None:
    """Raises an error if no sampled row fits; with ``on_mismatch="skip"`` there would be no row and no error."""
    trial = page_rows.PageRows(schema, "keep", True, type_cache, subject)
    for page in pages:
        trial.add(page)
    if trial.skipped and not len(trial):
        try:
            page_rows.PageRows(schema, "keep", False, type_cache, subject).add(pages[0])
        except errors.RowMismatchError as mismatch:
            raise errors.UnsupportedTypeError(
                f"schema= fits none of {trial.skipped} sampled rows. The first: {mismatch}"
            ) from mismatch


def _sample(
    connection: ThinConnection, command: data_pb2.ReadCommand, partitions: Iterable[int], columns: _Columns
) -> list[Page]:
    """Samples rows until all types are known, and at least a few for their size."""
    pages = []
    count = size = 0
    requested = _FIRST_ROWS
    for partition in partitions:
        page = connection.first_page(command.cache, partition, requested)
        if page.rows:
            pages.append(page)
            columns.observe(page, f"cache {command.cache!r}")
            count, size = count + page.rows, size + len(page.data) - page.start
            left = (BYTES_TO_SAMPLE - size) * count // size
            requested = max(1, min(_ROWS_OF_A_PARTITION, ROWS_TO_SAMPLE - count, left))
            if columns.is_complete(list(command.columns), command.key):
                break
        if count >= ROWS_TO_SAMPLE or size >= BYTES_TO_SAMPLE:
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
    """Collects the columns of a cache."""

    def __init__(self, cache: str, type_cache: TypeCache, requested: pa.Schema) -> None:
        self._cache = cache
        self._book = type_cache
        self._columns: dict[str, pa.Field] = {}
        self._key = types.marked(KEY_COLUMN, types.UNKNOWN)
        self._declared = {field.name: field for field in requested}
        self._conflicts: dict[str, str] = {}
        # Whether query entities determine the columns; samples then only determine unknown types.
        self._closed = False
        self._observed_types: set[int] = set()
        self._has_rows = False

    def add_entity(self, entity: dict[str, Any]) -> None:
        """Adds the columns of a query entity."""
        key_name, value_name = entity["key_field_name"], entity["value_field_name"]
        self._merge_key(types.of_class(entity["key_type_name"] or ""))
        for metadata in entity["query_fields"]:
            name = metadata["name"]
            # A dotted name is a path into a nested object, which is a column of its own.
            if "." in name:
                continue
            field = types.of_class(metadata["type_name"] or "", metadata["precision"], metadata["scale"]).with_name(
                name
            )
            location = page_rows.FIELD_OF_KEY if metadata["is_key_field"] else page_rows.FIELD_OF_VALUE
            location = page_rows.KEY if name == key_name else page_rows.VALUE if name == value_name else location
            self._merge(page_rows.located(field, location))
            self._closed = True
        value = types.of_class(entity["value_type_name"] or "")
        if types.known(value.type) and not self._columns:
            self._merge(page_rows.located(value.with_name(VALUE_COLUMN), page_rows.VALUE))
            self._closed = True

    def observe(self, page: Page, subject: str) -> None:
        """Adds the types of sampled rows."""
        data = page.data
        self._has_rows = True
        for key, value in page_rows.boundaries(page, subject):
            self._guarded(KEY_COLUMN, lambda at=key: self._merge_key(types.of_value(data, at, self._book)))
            self._observe(data, key, page_rows.KEY, page_rows.FIELD_OF_KEY)
            self._observe(data, value, page_rows.VALUE, page_rows.FIELD_OF_VALUE)

    def _observe(self, data: bytearray, at: int, whole: bytes, of_field: bytes) -> None:
        locations = {name: field.metadata[page_rows.LOCATION_KEY] for name, field in self._columns.items()}
        for name in [name for name, location in locations.items() if location == whole]:
            self._take(name, data, at, whole)
        if (
            whole == page_rows.VALUE
            and not self._closed
            and data[at] not in (binary_format.OBJECT, binary_format.WRAPPED)
        ):
            self._take(VALUE_COLUMN, data, at, whole)
        while data[at] == binary_format.WRAPPED:
            at = binary_format.unwrap(data, at)
        if data[at] != binary_format.OBJECT:
            return
        number = binary_format.int_at(data, at + 4)
        found = self._book(number)
        if found is None:
            return
        if number not in self._observed_types and not self._closed and whole == page_rows.VALUE:
            self._observed_types.add(number)
            for name, code in found.fields.items():
                self._merge(page_rows.located(types.of_code(code).with_name(name), of_field))
        names = {name.lower(): name for name, location in locations.items() if location == of_field} | (
            {} if self._closed or whole == page_rows.KEY else {name.lower(): name for name in found.fields}
        )
        for name, location in binary_format.fields(data, at, found).items():
            column = names.get(name.lower())
            if column is not None and self._is_open(self._columns[column]):
                self._take(column, data, location, of_field)

    def _take(self, name: str, data: bytearray, at: int, location: bytes) -> None:
        if name not in self._columns or self._is_open(self._columns[name]):
            self._guarded(
                name,
                lambda: self._merge(page_rows.located(types.of_value(data, at, self._book).with_name(name), location)),
            )

    @staticmethod
    def _is_open(field: pa.Field) -> bool:
        """Whether a sample is needed: for the type, or for the names of an enum's constants."""
        mark = (field.metadata or {}).get(types.TYPE_KEY)
        return not types.known(field.type) or (mark == b"enum" and types.ENUM_KEY not in field.metadata)

    def _guarded(self, name: str, action: Any) -> None:
        try:
            action()
        except (types.TypeConflict, binary_format.MalformedDataError) as conflict:
            self._conflicts.setdefault(name, str(conflict))

    def _merge(self, field: pa.Field) -> None:
        is_complete = self._columns.get(field.name)
        try:
            self._columns[field.name] = field if is_complete is None else types.merge(is_complete, field)
        except types.TypeConflict as conflict:
            self._conflicts.setdefault(field.name, str(conflict))

    def _merge_key(self, field: pa.Field) -> None:
        self._key = types.merge(self._key, field)

    def is_complete(self, names: list[str], with_key: bool) -> bool:
        """Whether no further samples are needed."""
        # Objects of another type may have further columns, unless the request names all columns and their types.
        if not self._closed and not (names and set(names) <= set(self._declared)):
            return False
        chosen = [self._columns[name] for name in names or self._columns if name in self._columns]
        chosen += [page_rows.located(self._key, page_rows.KEY)] if with_key else []
        return not any(self._is_open(field) for field in chosen if field.name not in self._declared)

    def select(self, names: list[str], with_key: bool) -> list[pa.Field]:
        """The requested columns, the key first."""
        if not self._columns and not self._has_rows:
            # An empty cache without metadata has the requested columns.
            for field in self._declared.values():
                if field.name != KEY_COLUMN:
                    location = page_rows.VALUE if [*self._declared] == [VALUE_COLUMN] else page_rows.FIELD_OF_VALUE
                    self._columns[field.name] = page_rows.located(field, location)
        if not self._columns:
            raise errors.SchemaUnknownError(
                f"cache {self._cache!r} has no known columns: it has no query entities and no rows of known types. "
                f"Columns come from these. Give schema=, or read the cache when it has rows"
            )
        missing = [name for name in names if name not in self._columns]
        if missing:
            raise errors.ColumnNotFoundError(
                f"cache {self._cache!r} has no column {missing[0]!r}; its columns are {', '.join(self._columns)}. Name "
                f"one of these, or read the key with key=True"
            )
        chosen = [page_rows.located(self._key, page_rows.KEY)] if with_key else []
        chosen += [self._columns[name] for name in names or self._columns]
        return [self._final(field) for field in chosen]

    def _final(self, field: pa.Field) -> pa.Field:
        declared = self._declared.get(field.name)
        if declared is not None:
            return page_rows.located(declared, field.metadata[page_rows.LOCATION_KEY])
        if field.name in self._conflicts:
            raise errors.UnsupportedTypeError(
                f"cache {self._cache!r}: column {field.name!r} has no one type: {self._conflicts[field.name]}. All "
                "rows of a column have one type. Give the type with schema=, or choose other columns with columns=[...]"
            )
        if not types.known(field.type):
            raise errors.SchemaUnknownError(
                f"cache {self._cache!r}: the type of column {field.name!r} is not known: "
                f"{types.show(field.type)}. Neither the cluster's metadata nor a sample of up to "
                f"{ROWS_TO_SAMPLE} rows has it. Give the type with schema=, or choose other columns with columns=[...]"
            )
        return field
