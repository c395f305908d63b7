import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from tensorflow_ignite.v1 import agent_pb2 as _agent_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class FileKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FILE_KIND_UNSPECIFIED: _ClassVar[FileKind]
    FILE_KIND_REGULAR: _ClassVar[FileKind]
    FILE_KIND_DIRECTORY: _ClassVar[FileKind]

class WriteMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    WRITE_MODE_UNSPECIFIED: _ClassVar[WriteMode]
    WRITE_MODE_REPLACE: _ClassVar[WriteMode]
    WRITE_MODE_CREATE: _ClassVar[WriteMode]
    WRITE_MODE_APPEND: _ClassVar[WriteMode]
FILE_KIND_UNSPECIFIED: FileKind
FILE_KIND_REGULAR: FileKind
FILE_KIND_DIRECTORY: FileKind
WRITE_MODE_UNSPECIFIED: WriteMode
WRITE_MODE_REPLACE: WriteMode
WRITE_MODE_CREATE: WriteMode
WRITE_MODE_APPEND: WriteMode

class ShareMemoryRequest(_message.Message):
    __slots__ = ("pid", "fd", "bytes", "nonce")
    PID_FIELD_NUMBER: _ClassVar[int]
    FD_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    NONCE_FIELD_NUMBER: _ClassVar[int]
    pid: int
    fd: int
    bytes: int
    nonce: bytes
    def __init__(self, pid: _Optional[int] = ..., fd: _Optional[int] = ..., bytes: _Optional[int] = ..., nonce: _Optional[bytes] = ...) -> None: ...

class ShareMemoryResponse(_message.Message):
    __slots__ = ("memory",)
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    memory: bytes
    def __init__(self, memory: _Optional[bytes] = ...) -> None: ...

class UnshareMemoryRequest(_message.Message):
    __slots__ = ("memory",)
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    memory: bytes
    def __init__(self, memory: _Optional[bytes] = ...) -> None: ...

class UnshareMemoryResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class MemoryRange(_message.Message):
    __slots__ = ("memory", "offset", "bytes")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    memory: bytes
    offset: int
    bytes: int
    def __init__(self, memory: _Optional[bytes] = ..., offset: _Optional[int] = ..., bytes: _Optional[int] = ...) -> None: ...

class FileInfo(_message.Message):
    __slots__ = ("path", "kind", "bytes", "modified_at", "created_at", "generation", "extents")
    PATH_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    MODIFIED_AT_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    EXTENTS_FIELD_NUMBER: _ClassVar[int]
    path: str
    kind: FileKind
    bytes: int
    modified_at: _timestamp_pb2.Timestamp
    created_at: _timestamp_pb2.Timestamp
    generation: int
    extents: _containers.RepeatedCompositeFieldContainer[Extent]
    def __init__(self, path: _Optional[str] = ..., kind: _Optional[_Union[FileKind, str]] = ..., bytes: _Optional[int] = ..., modified_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., generation: _Optional[int] = ..., extents: _Optional[_Iterable[_Union[Extent, _Mapping]]] = ...) -> None: ...

class Extent(_message.Message):
    __slots__ = ("id", "bytes", "block_bytes")
    ID_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    BLOCK_BYTES_FIELD_NUMBER: _ClassVar[int]
    id: str
    bytes: int
    block_bytes: int
    def __init__(self, id: _Optional[str] = ..., bytes: _Optional[int] = ..., block_bytes: _Optional[int] = ...) -> None: ...

class BlockHolders(_message.Message):
    __slots__ = ("addresses", "holders")
    ADDRESSES_FIELD_NUMBER: _ClassVar[int]
    HOLDERS_FIELD_NUMBER: _ClassVar[int]
    addresses: _containers.RepeatedScalarFieldContainer[str]
    holders: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, addresses: _Optional[_Iterable[str]] = ..., holders: _Optional[_Iterable[int]] = ...) -> None: ...

class GetFileRequest(_message.Message):
    __slots__ = ("path", "locate")
    PATH_FIELD_NUMBER: _ClassVar[int]
    LOCATE_FIELD_NUMBER: _ClassVar[int]
    path: str
    locate: bool
    def __init__(self, path: _Optional[str] = ..., locate: bool = ...) -> None: ...

class GetFileResponse(_message.Message):
    __slots__ = ("file", "holders")
    FILE_FIELD_NUMBER: _ClassVar[int]
    HOLDERS_FIELD_NUMBER: _ClassVar[int]
    file: FileInfo
    holders: _containers.RepeatedCompositeFieldContainer[BlockHolders]
    def __init__(self, file: _Optional[_Union[FileInfo, _Mapping]] = ..., holders: _Optional[_Iterable[_Union[BlockHolders, _Mapping]]] = ...) -> None: ...

class ListDirectoryRequest(_message.Message):
    __slots__ = ("path",)
    PATH_FIELD_NUMBER: _ClassVar[int]
    path: str
    def __init__(self, path: _Optional[str] = ...) -> None: ...

class ListDirectoryResponse(_message.Message):
    __slots__ = ("files",)
    FILES_FIELD_NUMBER: _ClassVar[int]
    files: _containers.RepeatedCompositeFieldContainer[FileInfo]
    def __init__(self, files: _Optional[_Iterable[_Union[FileInfo, _Mapping]]] = ...) -> None: ...

class MakeDirectoryRequest(_message.Message):
    __slots__ = ("path", "parents", "exist_ok", "task")
    PATH_FIELD_NUMBER: _ClassVar[int]
    PARENTS_FIELD_NUMBER: _ClassVar[int]
    EXIST_OK_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    path: str
    parents: bool
    exist_ok: bool
    task: _agent_pb2.TaskKey
    def __init__(self, path: _Optional[str] = ..., parents: bool = ..., exist_ok: bool = ..., task: _Optional[_Union[_agent_pb2.TaskKey, _Mapping]] = ...) -> None: ...

class MakeDirectoryResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RemoveFileRequest(_message.Message):
    __slots__ = ("path", "recursive", "kind", "task")
    PATH_FIELD_NUMBER: _ClassVar[int]
    RECURSIVE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    path: str
    recursive: bool
    kind: FileKind
    task: _agent_pb2.TaskKey
    def __init__(self, path: _Optional[str] = ..., recursive: bool = ..., kind: _Optional[_Union[FileKind, str]] = ..., task: _Optional[_Union[_agent_pb2.TaskKey, _Mapping]] = ...) -> None: ...

class RemoveFileResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RenameFileRequest(_message.Message):
    __slots__ = ("source", "target", "overwrite", "task")
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    OVERWRITE_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    source: str
    target: str
    overwrite: bool
    task: _agent_pb2.TaskKey
    def __init__(self, source: _Optional[str] = ..., target: _Optional[str] = ..., overwrite: bool = ..., task: _Optional[_Union[_agent_pb2.TaskKey, _Mapping]] = ...) -> None: ...

class RenameFileResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class BeginWriteRequest(_message.Message):
    __slots__ = ("path", "mode", "parents", "block_bytes", "task")
    PATH_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    PARENTS_FIELD_NUMBER: _ClassVar[int]
    BLOCK_BYTES_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    path: str
    mode: WriteMode
    parents: bool
    block_bytes: int
    task: _agent_pb2.TaskKey
    def __init__(self, path: _Optional[str] = ..., mode: _Optional[_Union[WriteMode, str]] = ..., parents: bool = ..., block_bytes: _Optional[int] = ..., task: _Optional[_Union[_agent_pb2.TaskKey, _Mapping]] = ...) -> None: ...

class BeginWriteResponse(_message.Message):
    __slots__ = ("extent_id", "block_bytes", "offset", "head", "writer_timeout")
    EXTENT_ID_FIELD_NUMBER: _ClassVar[int]
    BLOCK_BYTES_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    HEAD_FIELD_NUMBER: _ClassVar[int]
    WRITER_TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    extent_id: str
    block_bytes: int
    offset: int
    head: bytes
    writer_timeout: _duration_pb2.Duration
    def __init__(self, extent_id: _Optional[str] = ..., block_bytes: _Optional[int] = ..., offset: _Optional[int] = ..., head: _Optional[bytes] = ..., writer_timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class ReserveBlocksRequest(_message.Message):
    __slots__ = ("extent_id", "blocks")
    EXTENT_ID_FIELD_NUMBER: _ClassVar[int]
    BLOCKS_FIELD_NUMBER: _ClassVar[int]
    extent_id: str
    blocks: int
    def __init__(self, extent_id: _Optional[str] = ..., blocks: _Optional[int] = ...) -> None: ...

class ReserveBlocksResponse(_message.Message):
    __slots__ = ("holders",)
    HOLDERS_FIELD_NUMBER: _ClassVar[int]
    holders: BlockHolders
    def __init__(self, holders: _Optional[_Union[BlockHolders, _Mapping]] = ...) -> None: ...

class PutBlocksRequest(_message.Message):
    __slots__ = ("extent_id", "number", "data", "checksum", "range")
    EXTENT_ID_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    CHECKSUM_FIELD_NUMBER: _ClassVar[int]
    RANGE_FIELD_NUMBER: _ClassVar[int]
    extent_id: str
    number: int
    data: bytes
    checksum: int
    range: MemoryRange
    def __init__(self, extent_id: _Optional[str] = ..., number: _Optional[int] = ..., data: _Optional[bytes] = ..., checksum: _Optional[int] = ..., range: _Optional[_Union[MemoryRange, _Mapping]] = ...) -> None: ...

class PutBlocksResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class PublishWriteRequest(_message.Message):
    __slots__ = ("extent_id", "bytes", "done", "task", "path")
    EXTENT_ID_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    extent_id: str
    bytes: int
    done: bool
    task: _agent_pb2.TaskKey
    path: str
    def __init__(self, extent_id: _Optional[str] = ..., bytes: _Optional[int] = ..., done: bool = ..., task: _Optional[_Union[_agent_pb2.TaskKey, _Mapping]] = ..., path: _Optional[str] = ...) -> None: ...

class PublishWriteResponse(_message.Message):
    __slots__ = ("file",)
    FILE_FIELD_NUMBER: _ClassVar[int]
    file: FileInfo
    def __init__(self, file: _Optional[_Union[FileInfo, _Mapping]] = ...) -> None: ...

class AbandonWriteRequest(_message.Message):
    __slots__ = ("extent_id",)
    EXTENT_ID_FIELD_NUMBER: _ClassVar[int]
    extent_id: str
    def __init__(self, extent_id: _Optional[str] = ...) -> None: ...

class AbandonWriteResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ReadBlocksRequest(_message.Message):
    __slots__ = ("extent_id", "numbers", "offset", "bytes", "range")
    EXTENT_ID_FIELD_NUMBER: _ClassVar[int]
    NUMBERS_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    RANGE_FIELD_NUMBER: _ClassVar[int]
    extent_id: str
    numbers: _containers.RepeatedScalarFieldContainer[int]
    offset: int
    bytes: int
    range: MemoryRange
    def __init__(self, extent_id: _Optional[str] = ..., numbers: _Optional[_Iterable[int]] = ..., offset: _Optional[int] = ..., bytes: _Optional[int] = ..., range: _Optional[_Union[MemoryRange, _Mapping]] = ...) -> None: ...

class ReadBlocksResponse(_message.Message):
    __slots__ = ("number", "data", "checksum", "written_bytes")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    CHECKSUM_FIELD_NUMBER: _ClassVar[int]
    WRITTEN_BYTES_FIELD_NUMBER: _ClassVar[int]
    number: int
    data: bytes
    checksum: int
    written_bytes: int
    def __init__(self, number: _Optional[int] = ..., data: _Optional[bytes] = ..., checksum: _Optional[int] = ..., written_bytes: _Optional[int] = ...) -> None: ...

class CheckBlocksRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CheckBlocksResponse(_message.Message):
    __slots__ = ("extent_id", "numbers", "corrupt", "bytes", "pending")
    EXTENT_ID_FIELD_NUMBER: _ClassVar[int]
    NUMBERS_FIELD_NUMBER: _ClassVar[int]
    CORRUPT_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    extent_id: str
    numbers: _containers.RepeatedScalarFieldContainer[int]
    corrupt: _containers.RepeatedScalarFieldContainer[int]
    bytes: int
    pending: bool
    def __init__(self, extent_id: _Optional[str] = ..., numbers: _Optional[_Iterable[int]] = ..., corrupt: _Optional[_Iterable[int]] = ..., bytes: _Optional[int] = ..., pending: bool = ...) -> None: ...

class GetUsageRequest(_message.Message):
    __slots__ = ("path",)
    PATH_FIELD_NUMBER: _ClassVar[int]
    path: str
    def __init__(self, path: _Optional[str] = ...) -> None: ...

class GetUsageResponse(_message.Message):
    __slots__ = ("files", "directories", "bytes")
    FILES_FIELD_NUMBER: _ClassVar[int]
    DIRECTORIES_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    files: int
    directories: int
    bytes: int
    def __init__(self, files: _Optional[int] = ..., directories: _Optional[int] = ..., bytes: _Optional[int] = ...) -> None: ...

class DirectoryState(_message.Message):
    __slots__ = ("level", "split", "created_at")
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    SPLIT_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    level: int
    split: int
    created_at: _timestamp_pb2.Timestamp
    def __init__(self, level: _Optional[int] = ..., split: _Optional[int] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class DirectoryBucket(_message.Message):
    __slots__ = ("entries", "level")
    class EntriesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: DirectoryEntry
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[DirectoryEntry, _Mapping]] = ...) -> None: ...
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.MessageMap[str, DirectoryEntry]
    level: int
    def __init__(self, entries: _Optional[_Mapping[str, DirectoryEntry]] = ..., level: _Optional[int] = ...) -> None: ...

class DirectoryEntry(_message.Message):
    __slots__ = ("directory_id", "file")
    DIRECTORY_ID_FIELD_NUMBER: _ClassVar[int]
    FILE_FIELD_NUMBER: _ClassVar[int]
    directory_id: str
    file: FileInfo
    def __init__(self, directory_id: _Optional[str] = ..., file: _Optional[_Union[FileInfo, _Mapping]] = ...) -> None: ...

class PendingExtents(_message.Message):
    __slots__ = ("extents",)
    class ExtentsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: PendingExtent
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[PendingExtent, _Mapping]] = ...) -> None: ...
    EXTENTS_FIELD_NUMBER: _ClassVar[int]
    extents: _containers.MessageMap[str, PendingExtent]
    def __init__(self, extents: _Optional[_Mapping[str, PendingExtent]] = ...) -> None: ...

class PendingExtent(_message.Message):
    __slots__ = ("blocks", "seen_at", "write", "directory_id", "first")
    BLOCKS_FIELD_NUMBER: _ClassVar[int]
    SEEN_AT_FIELD_NUMBER: _ClassVar[int]
    WRITE_FIELD_NUMBER: _ClassVar[int]
    DIRECTORY_ID_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    blocks: int
    seen_at: _timestamp_pb2.Timestamp
    write: PendingWrite
    directory_id: str
    first: int
    def __init__(self, blocks: _Optional[int] = ..., seen_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., write: _Optional[_Union[PendingWrite, _Mapping]] = ..., directory_id: _Optional[str] = ..., first: _Optional[int] = ...) -> None: ...

class PendingWrite(_message.Message):
    __slots__ = ("path", "mode", "block_bytes", "kept", "published", "generation", "bytes", "tail")
    PATH_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    BLOCK_BYTES_FIELD_NUMBER: _ClassVar[int]
    KEPT_FIELD_NUMBER: _ClassVar[int]
    PUBLISHED_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    TAIL_FIELD_NUMBER: _ClassVar[int]
    path: str
    mode: WriteMode
    block_bytes: int
    kept: _containers.RepeatedCompositeFieldContainer[Extent]
    published: bool
    generation: int
    bytes: int
    tail: Extent
    def __init__(self, path: _Optional[str] = ..., mode: _Optional[_Union[WriteMode, str]] = ..., block_bytes: _Optional[int] = ..., kept: _Optional[_Iterable[_Union[Extent, _Mapping]]] = ..., published: bool = ..., generation: _Optional[int] = ..., bytes: _Optional[int] = ..., tail: _Optional[_Union[Extent, _Mapping]] = ...) -> None: ...
