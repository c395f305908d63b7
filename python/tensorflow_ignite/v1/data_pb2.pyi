from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ExistingCache(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EXISTING_CACHE_UNSPECIFIED: _ClassVar[ExistingCache]
    EXISTING_CACHE_ERROR: _ClassVar[ExistingCache]
    EXISTING_CACHE_REPLACE: _ClassVar[ExistingCache]
    EXISTING_CACHE_APPEND: _ClassVar[ExistingCache]
EXISTING_CACHE_UNSPECIFIED: ExistingCache
EXISTING_CACHE_ERROR: ExistingCache
EXISTING_CACHE_REPLACE: ExistingCache
EXISTING_CACHE_APPEND: ExistingCache

class ReadCommand(_message.Message):
    __slots__ = ("cache", "columns", "key", "partitions", "batch_bytes", "batch_rows")
    CACHE_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    BATCH_BYTES_FIELD_NUMBER: _ClassVar[int]
    BATCH_ROWS_FIELD_NUMBER: _ClassVar[int]
    cache: str
    columns: _containers.RepeatedScalarFieldContainer[str]
    key: bool
    partitions: _containers.RepeatedScalarFieldContainer[int]
    batch_bytes: int
    batch_rows: int
    def __init__(self, cache: _Optional[str] = ..., columns: _Optional[_Iterable[str]] = ..., key: bool = ..., partitions: _Optional[_Iterable[int]] = ..., batch_bytes: _Optional[int] = ..., batch_rows: _Optional[int] = ...) -> None: ...

class LoadCommand(_message.Message):
    __slots__ = ("cache", "key_column", "first_key", "backups", "replicated", "partitions", "existing")
    CACHE_FIELD_NUMBER: _ClassVar[int]
    KEY_COLUMN_FIELD_NUMBER: _ClassVar[int]
    FIRST_KEY_FIELD_NUMBER: _ClassVar[int]
    BACKUPS_FIELD_NUMBER: _ClassVar[int]
    REPLICATED_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    EXISTING_FIELD_NUMBER: _ClassVar[int]
    cache: str
    key_column: str
    first_key: int
    backups: int
    replicated: bool
    partitions: int
    existing: ExistingCache
    def __init__(self, cache: _Optional[str] = ..., key_column: _Optional[str] = ..., first_key: _Optional[int] = ..., backups: _Optional[int] = ..., replicated: bool = ..., partitions: _Optional[int] = ..., existing: _Optional[_Union[ExistingCache, str]] = ...) -> None: ...

class LoadResult(_message.Message):
    __slots__ = ("rows",)
    ROWS_FIELD_NUMBER: _ClassVar[int]
    rows: int
    def __init__(self, rows: _Optional[int] = ...) -> None: ...
