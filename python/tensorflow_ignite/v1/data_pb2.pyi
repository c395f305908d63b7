from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Nulls(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    NULLS_UNSPECIFIED: _ClassVar[Nulls]
    NULLS_ERROR: _ClassVar[Nulls]
    NULLS_DEFAULT: _ClassVar[Nulls]
    NULLS_KEEP: _ClassVar[Nulls]

class Mismatch(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MISMATCH_UNSPECIFIED: _ClassVar[Mismatch]
    MISMATCH_ERROR: _ClassVar[Mismatch]
    MISMATCH_SKIP: _ClassVar[Mismatch]

class ExistingCache(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EXISTING_CACHE_UNSPECIFIED: _ClassVar[ExistingCache]
    EXISTING_CACHE_ERROR: _ClassVar[ExistingCache]
    EXISTING_CACHE_REPLACE: _ClassVar[ExistingCache]
    EXISTING_CACHE_APPEND: _ClassVar[ExistingCache]
NULLS_UNSPECIFIED: Nulls
NULLS_ERROR: Nulls
NULLS_DEFAULT: Nulls
NULLS_KEEP: Nulls
MISMATCH_UNSPECIFIED: Mismatch
MISMATCH_ERROR: Mismatch
MISMATCH_SKIP: Mismatch
EXISTING_CACHE_UNSPECIFIED: ExistingCache
EXISTING_CACHE_ERROR: ExistingCache
EXISTING_CACHE_REPLACE: ExistingCache
EXISTING_CACHE_APPEND: ExistingCache

class ReadCommand(_message.Message):
    __slots__ = ("cache", "columns", "key", "partitions", "batch_bytes", "batch_rows", "nulls", "on_mismatch", "schema", "where", "sql", "parameters", "uncounted", "follow", "accept_data_loss", "positions", "since", "wait_millis", "read_rate", "positions_only", "deletions", "keys", "replay", "identities")
    CACHE_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    BATCH_BYTES_FIELD_NUMBER: _ClassVar[int]
    BATCH_ROWS_FIELD_NUMBER: _ClassVar[int]
    NULLS_FIELD_NUMBER: _ClassVar[int]
    ON_MISMATCH_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    WHERE_FIELD_NUMBER: _ClassVar[int]
    SQL_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    UNCOUNTED_FIELD_NUMBER: _ClassVar[int]
    FOLLOW_FIELD_NUMBER: _ClassVar[int]
    ACCEPT_DATA_LOSS_FIELD_NUMBER: _ClassVar[int]
    POSITIONS_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    WAIT_MILLIS_FIELD_NUMBER: _ClassVar[int]
    READ_RATE_FIELD_NUMBER: _ClassVar[int]
    POSITIONS_ONLY_FIELD_NUMBER: _ClassVar[int]
    DELETIONS_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    REPLAY_FIELD_NUMBER: _ClassVar[int]
    IDENTITIES_FIELD_NUMBER: _ClassVar[int]
    cache: str
    columns: _containers.RepeatedScalarFieldContainer[str]
    key: bool
    partitions: _containers.RepeatedScalarFieldContainer[int]
    batch_bytes: int
    batch_rows: int
    nulls: Nulls
    on_mismatch: Mismatch
    schema: bytes
    where: str
    sql: str
    parameters: _containers.RepeatedCompositeFieldContainer[Parameter]
    uncounted: bool
    follow: bool
    accept_data_loss: bool
    positions: bool
    since: _containers.RepeatedCompositeFieldContainer[PartitionPosition]
    wait_millis: int
    read_rate: ReadLimit
    positions_only: bool
    deletions: bool
    keys: KeyRange
    replay: Replay
    identities: bool
    def __init__(self, cache: _Optional[str] = ..., columns: _Optional[_Iterable[str]] = ..., key: bool = ..., partitions: _Optional[_Iterable[int]] = ..., batch_bytes: _Optional[int] = ..., batch_rows: _Optional[int] = ..., nulls: _Optional[_Union[Nulls, str]] = ..., on_mismatch: _Optional[_Union[Mismatch, str]] = ..., schema: _Optional[bytes] = ..., where: _Optional[str] = ..., sql: _Optional[str] = ..., parameters: _Optional[_Iterable[_Union[Parameter, _Mapping]]] = ..., uncounted: bool = ..., follow: bool = ..., accept_data_loss: bool = ..., positions: bool = ..., since: _Optional[_Iterable[_Union[PartitionPosition, _Mapping]]] = ..., wait_millis: _Optional[int] = ..., read_rate: _Optional[_Union[ReadLimit, _Mapping]] = ..., positions_only: bool = ..., deletions: bool = ..., keys: _Optional[_Union[KeyRange, _Mapping]] = ..., replay: _Optional[_Union[Replay, _Mapping]] = ..., identities: bool = ...) -> None: ...

class KeyRange(_message.Message):
    __slots__ = ("begin", "end")
    BEGIN_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    begin: int
    end: int
    def __init__(self, begin: _Optional[int] = ..., end: _Optional[int] = ...) -> None: ...

class Replay(_message.Message):
    __slots__ = ("share", "begin")
    SHARE_FIELD_NUMBER: _ClassVar[int]
    BEGIN_FIELD_NUMBER: _ClassVar[int]
    share: float
    begin: int
    def __init__(self, share: _Optional[float] = ..., begin: _Optional[int] = ...) -> None: ...

class PartitionPosition(_message.Message):
    __slots__ = ("partition", "feed", "sequence")
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    FEED_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    partition: int
    feed: int
    sequence: int
    def __init__(self, partition: _Optional[int] = ..., feed: _Optional[int] = ..., sequence: _Optional[int] = ...) -> None: ...

class ReadLimit(_message.Message):
    __slots__ = ("bytes_per_second", "rows_per_second", "group")
    BYTES_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    ROWS_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    bytes_per_second: int
    rows_per_second: int
    group: str
    def __init__(self, bytes_per_second: _Optional[int] = ..., rows_per_second: _Optional[int] = ..., group: _Optional[str] = ...) -> None: ...

class Parameter(_message.Message):
    __slots__ = ("bool_value", "int_value", "double_value", "string_value", "bytes_value")
    BOOL_VALUE_FIELD_NUMBER: _ClassVar[int]
    INT_VALUE_FIELD_NUMBER: _ClassVar[int]
    DOUBLE_VALUE_FIELD_NUMBER: _ClassVar[int]
    STRING_VALUE_FIELD_NUMBER: _ClassVar[int]
    BYTES_VALUE_FIELD_NUMBER: _ClassVar[int]
    bool_value: bool
    int_value: int
    double_value: float
    string_value: str
    bytes_value: bytes
    def __init__(self, bool_value: bool = ..., int_value: _Optional[int] = ..., double_value: _Optional[float] = ..., string_value: _Optional[str] = ..., bytes_value: _Optional[bytes] = ...) -> None: ...

class ReadResult(_message.Message):
    __slots__ = ("rows", "skipped", "moved", "positions", "whole", "removed")
    ROWS_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_FIELD_NUMBER: _ClassVar[int]
    MOVED_FIELD_NUMBER: _ClassVar[int]
    POSITIONS_FIELD_NUMBER: _ClassVar[int]
    WHOLE_FIELD_NUMBER: _ClassVar[int]
    REMOVED_FIELD_NUMBER: _ClassVar[int]
    rows: int
    skipped: int
    moved: _containers.RepeatedScalarFieldContainer[int]
    positions: _containers.RepeatedCompositeFieldContainer[PartitionPosition]
    whole: _containers.RepeatedScalarFieldContainer[int]
    removed: bytes
    def __init__(self, rows: _Optional[int] = ..., skipped: _Optional[int] = ..., moved: _Optional[_Iterable[int]] = ..., positions: _Optional[_Iterable[_Union[PartitionPosition, _Mapping]]] = ..., whole: _Optional[_Iterable[int]] = ..., removed: _Optional[bytes] = ...) -> None: ...

class BatchLayout(_message.Message):
    __slots__ = ("rows", "nodes", "buffers")
    ROWS_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    BUFFERS_FIELD_NUMBER: _ClassVar[int]
    rows: int
    nodes: _containers.RepeatedCompositeFieldContainer[BatchNode]
    buffers: _containers.RepeatedCompositeFieldContainer[BatchBuffer]
    def __init__(self, rows: _Optional[int] = ..., nodes: _Optional[_Iterable[_Union[BatchNode, _Mapping]]] = ..., buffers: _Optional[_Iterable[_Union[BatchBuffer, _Mapping]]] = ...) -> None: ...

class BatchNode(_message.Message):
    __slots__ = ("length", "nulls")
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    NULLS_FIELD_NUMBER: _ClassVar[int]
    length: int
    nulls: int
    def __init__(self, length: _Optional[int] = ..., nulls: _Optional[int] = ...) -> None: ...

class BatchBuffer(_message.Message):
    __slots__ = ("offset", "bytes")
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    offset: int
    bytes: int
    def __init__(self, offset: _Optional[int] = ..., bytes: _Optional[int] = ...) -> None: ...

class LoadCommand(_message.Message):
    __slots__ = ("cache", "key_column", "first_key", "backups", "replicated", "partitions", "existing", "affinity_column", "without_sql", "sealed", "progress", "like", "count_partitions", "only_check")
    CACHE_FIELD_NUMBER: _ClassVar[int]
    KEY_COLUMN_FIELD_NUMBER: _ClassVar[int]
    FIRST_KEY_FIELD_NUMBER: _ClassVar[int]
    BACKUPS_FIELD_NUMBER: _ClassVar[int]
    REPLICATED_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    EXISTING_FIELD_NUMBER: _ClassVar[int]
    AFFINITY_COLUMN_FIELD_NUMBER: _ClassVar[int]
    WITHOUT_SQL_FIELD_NUMBER: _ClassVar[int]
    SEALED_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    LIKE_FIELD_NUMBER: _ClassVar[int]
    COUNT_PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    ONLY_CHECK_FIELD_NUMBER: _ClassVar[int]
    cache: str
    key_column: str
    first_key: int
    backups: int
    replicated: bool
    partitions: int
    existing: ExistingCache
    affinity_column: str
    without_sql: bool
    sealed: bool
    progress: bool
    like: str
    count_partitions: bool
    only_check: bool
    def __init__(self, cache: _Optional[str] = ..., key_column: _Optional[str] = ..., first_key: _Optional[int] = ..., backups: _Optional[int] = ..., replicated: bool = ..., partitions: _Optional[int] = ..., existing: _Optional[_Union[ExistingCache, str]] = ..., affinity_column: _Optional[str] = ..., without_sql: bool = ..., sealed: bool = ..., progress: bool = ..., like: _Optional[str] = ..., count_partitions: bool = ..., only_check: bool = ...) -> None: ...

class LoadResult(_message.Message):
    __slots__ = ("rows", "partial", "partition_rows")
    class PartitionRowsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: int
        def __init__(self, key: _Optional[int] = ..., value: _Optional[int] = ...) -> None: ...
    ROWS_FIELD_NUMBER: _ClassVar[int]
    PARTIAL_FIELD_NUMBER: _ClassVar[int]
    PARTITION_ROWS_FIELD_NUMBER: _ClassVar[int]
    rows: int
    partial: bool
    partition_rows: _containers.ScalarMap[int, int]
    def __init__(self, rows: _Optional[int] = ..., partial: bool = ..., partition_rows: _Optional[_Mapping[int, int]] = ...) -> None: ...
