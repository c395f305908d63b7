from tensorflow_ignite.v1 import data_pb2 as _data_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ReadIntoMemoryRequest(_message.Message):
    __slots__ = ("start", "offer")
    START_FIELD_NUMBER: _ClassVar[int]
    OFFER_FIELD_NUMBER: _ClassVar[int]
    start: ReadIntoMemoryStart
    offer: Segment
    def __init__(self, start: _Optional[_Union[ReadIntoMemoryStart, _Mapping]] = ..., offer: _Optional[_Union[Segment, _Mapping]] = ...) -> None: ...

class ReadIntoMemoryStart(_message.Message):
    __slots__ = ("command", "pid", "nonce")
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    NONCE_FIELD_NUMBER: _ClassVar[int]
    command: _data_pb2.ReadCommand
    pid: int
    nonce: bytes
    def __init__(self, command: _Optional[_Union[_data_pb2.ReadCommand, _Mapping]] = ..., pid: _Optional[int] = ..., nonce: _Optional[bytes] = ...) -> None: ...

class Segment(_message.Message):
    __slots__ = ("id", "fd", "bytes", "once")
    ID_FIELD_NUMBER: _ClassVar[int]
    FD_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    ONCE_FIELD_NUMBER: _ClassVar[int]
    id: int
    fd: int
    bytes: int
    once: bool
    def __init__(self, id: _Optional[int] = ..., fd: _Optional[int] = ..., bytes: _Optional[int] = ..., once: bool = ...) -> None: ...

class ReadIntoMemoryResponse(_message.Message):
    __slots__ = ("schema", "batch", "segment", "needs_bytes", "result")
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    BATCH_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_FIELD_NUMBER: _ClassVar[int]
    NEEDS_BYTES_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    schema: bytes
    batch: _data_pb2.BatchLayout
    segment: int
    needs_bytes: int
    result: _data_pb2.ReadResult
    def __init__(self, schema: _Optional[bytes] = ..., batch: _Optional[_Union[_data_pb2.BatchLayout, _Mapping]] = ..., segment: _Optional[int] = ..., needs_bytes: _Optional[int] = ..., result: _Optional[_Union[_data_pb2.ReadResult, _Mapping]] = ...) -> None: ...
