from tensorflow_ignite.v1 import data_pb2 as _data_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ReadOverTcpRequest(_message.Message):
    __slots__ = ("command",)
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    command: _data_pb2.ReadCommand
    def __init__(self, command: _Optional[_Union[_data_pb2.ReadCommand, _Mapping]] = ...) -> None: ...

class ReadOverTcpResponse(_message.Message):
    __slots__ = ("connection", "result")
    CONNECTION_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    connection: TcpConnection
    result: _data_pb2.ReadResult
    def __init__(self, connection: _Optional[_Union[TcpConnection, _Mapping]] = ..., result: _Optional[_Union[_data_pb2.ReadResult, _Mapping]] = ...) -> None: ...

class TcpConnection(_message.Message):
    __slots__ = ("port", "token", "schema")
    PORT_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    port: int
    token: bytes
    schema: bytes
    def __init__(self, port: _Optional[int] = ..., token: _Optional[bytes] = ..., schema: _Optional[bytes] = ...) -> None: ...
