import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from tensorflow_ignite.v1 import job_pb2 as _job_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ModelState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MODEL_STATE_UNSPECIFIED: _ClassVar[ModelState]
    MODEL_STATE_LOADING: _ClassVar[ModelState]
    MODEL_STATE_SERVING: _ClassVar[ModelState]
    MODEL_STATE_FAILED: _ClassVar[ModelState]
MODEL_STATE_UNSPECIFIED: ModelState
MODEL_STATE_LOADING: ModelState
MODEL_STATE_SERVING: ModelState
MODEL_STATE_FAILED: ModelState

class PingRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class PingResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Tensor(_message.Message):
    __slots__ = ("name", "dtype", "shape", "data", "strings")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    STRINGS_FIELD_NUMBER: _ClassVar[int]
    name: str
    dtype: str
    shape: _containers.RepeatedScalarFieldContainer[int]
    data: bytes
    strings: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, name: _Optional[str] = ..., dtype: _Optional[str] = ..., shape: _Optional[_Iterable[int]] = ..., data: _Optional[bytes] = ..., strings: _Optional[_Iterable[bytes]] = ...) -> None: ...

class PredictRequest(_message.Message):
    __slots__ = ("model", "signature", "inputs", "forwarded")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    FORWARDED_FIELD_NUMBER: _ClassVar[int]
    model: str
    signature: str
    inputs: _containers.RepeatedCompositeFieldContainer[Tensor]
    forwarded: bool
    def __init__(self, model: _Optional[str] = ..., signature: _Optional[str] = ..., inputs: _Optional[_Iterable[_Union[Tensor, _Mapping]]] = ..., forwarded: bool = ...) -> None: ...

class PredictResponse(_message.Message):
    __slots__ = ("outputs", "number")
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    outputs: _containers.RepeatedCompositeFieldContainer[Tensor]
    number: int
    def __init__(self, outputs: _Optional[_Iterable[_Union[Tensor, _Mapping]]] = ..., number: _Optional[int] = ...) -> None: ...

class TensorSpec(_message.Message):
    __slots__ = ("name", "dtype", "shape", "any_rank")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    ANY_RANK_FIELD_NUMBER: _ClassVar[int]
    name: str
    dtype: str
    shape: _containers.RepeatedScalarFieldContainer[int]
    any_rank: bool
    def __init__(self, name: _Optional[str] = ..., dtype: _Optional[str] = ..., shape: _Optional[_Iterable[int]] = ..., any_rank: bool = ...) -> None: ...

class ModelSignature(_message.Message):
    __slots__ = ("name", "inputs", "outputs", "method")
    NAME_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    name: str
    inputs: _containers.RepeatedCompositeFieldContainer[TensorSpec]
    outputs: _containers.RepeatedCompositeFieldContainer[TensorSpec]
    method: str
    def __init__(self, name: _Optional[str] = ..., inputs: _Optional[_Iterable[_Union[TensorSpec, _Mapping]]] = ..., outputs: _Optional[_Iterable[_Union[TensorSpec, _Mapping]]] = ..., method: _Optional[str] = ...) -> None: ...

class ModelKey(_message.Message):
    __slots__ = ("name", "number")
    NAME_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    name: str
    number: int
    def __init__(self, name: _Optional[str] = ..., number: _Optional[int] = ...) -> None: ...

class ModelStatus(_message.Message):
    __slots__ = ("key", "state", "socket", "pid", "restarts", "error", "signatures", "started_at", "retry_at", "unusable")
    KEY_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    SOCKET_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    RESTARTS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    SIGNATURES_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    RETRY_AT_FIELD_NUMBER: _ClassVar[int]
    UNUSABLE_FIELD_NUMBER: _ClassVar[int]
    key: ModelKey
    state: ModelState
    socket: str
    pid: int
    restarts: int
    error: str
    signatures: _containers.RepeatedCompositeFieldContainer[ModelSignature]
    started_at: _timestamp_pb2.Timestamp
    retry_at: _timestamp_pb2.Timestamp
    unusable: bool
    def __init__(self, key: _Optional[_Union[ModelKey, _Mapping]] = ..., state: _Optional[_Union[ModelState, str]] = ..., socket: _Optional[str] = ..., pid: _Optional[int] = ..., restarts: _Optional[int] = ..., error: _Optional[str] = ..., signatures: _Optional[_Iterable[_Union[ModelSignature, _Mapping]]] = ..., started_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., retry_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., unusable: bool = ...) -> None: ...

class RecordedLog(_message.Message):
    __slots__ = ("predict",)
    PREDICT_FIELD_NUMBER: _ClassVar[int]
    predict: RecordedPredict
    def __init__(self, predict: _Optional[_Union[RecordedPredict, _Mapping]] = ...) -> None: ...

class RecordedPredict(_message.Message):
    __slots__ = ("request",)
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    request: RecordedRequest
    def __init__(self, request: _Optional[_Union[RecordedRequest, _Mapping]] = ...) -> None: ...

class RecordedRequest(_message.Message):
    __slots__ = ("model", "inputs")
    class InputsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: bytes
        def __init__(self, key: _Optional[str] = ..., value: _Optional[bytes] = ...) -> None: ...
    MODEL_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    model: RecordedModel
    inputs: _containers.ScalarMap[str, bytes]
    def __init__(self, model: _Optional[_Union[RecordedModel, _Mapping]] = ..., inputs: _Optional[_Mapping[str, bytes]] = ...) -> None: ...

class RecordedModel(_message.Message):
    __slots__ = ("signature",)
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    signature: str
    def __init__(self, signature: _Optional[str] = ...) -> None: ...

class BatchRule(_message.Message):
    __slots__ = ("max_rows", "max_delay", "max_waiting_rows")
    MAX_ROWS_FIELD_NUMBER: _ClassVar[int]
    MAX_DELAY_FIELD_NUMBER: _ClassVar[int]
    MAX_WAITING_ROWS_FIELD_NUMBER: _ClassVar[int]
    max_rows: int
    max_delay: _duration_pb2.Duration
    max_waiting_rows: int
    def __init__(self, max_rows: _Optional[int] = ..., max_delay: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., max_waiting_rows: _Optional[int] = ...) -> None: ...

class ModelDeployment(_message.Message):
    __slots__ = ("name", "current", "target", "previous", "kept", "replicas", "memory_bytes", "batches", "failed", "error", "switched_at", "owner", "keep_previous")
    NAME_FIELD_NUMBER: _ClassVar[int]
    CURRENT_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_FIELD_NUMBER: _ClassVar[int]
    KEPT_FIELD_NUMBER: _ClassVar[int]
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    BATCHES_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    SWITCHED_AT_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    KEEP_PREVIOUS_FIELD_NUMBER: _ClassVar[int]
    name: str
    current: int
    target: int
    previous: int
    kept: _containers.RepeatedScalarFieldContainer[int]
    replicas: int
    memory_bytes: int
    batches: BatchRule
    failed: int
    error: str
    switched_at: _timestamp_pb2.Timestamp
    owner: str
    keep_previous: bool
    def __init__(self, name: _Optional[str] = ..., current: _Optional[int] = ..., target: _Optional[int] = ..., previous: _Optional[int] = ..., kept: _Optional[_Iterable[int]] = ..., replicas: _Optional[int] = ..., memory_bytes: _Optional[int] = ..., batches: _Optional[_Union[BatchRule, _Mapping]] = ..., failed: _Optional[int] = ..., error: _Optional[str] = ..., switched_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., owner: _Optional[str] = ..., keep_previous: bool = ...) -> None: ...

class NodeModels(_message.Message):
    __slots__ = ("node_id", "models")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    MODELS_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    models: _containers.RepeatedCompositeFieldContainer[ModelStatus]
    def __init__(self, node_id: _Optional[str] = ..., models: _Optional[_Iterable[_Union[ModelStatus, _Mapping]]] = ...) -> None: ...

class DeployModelRequest(_message.Message):
    __slots__ = ("key", "replicas", "memory_bytes", "batches", "keep_previous")
    KEY_FIELD_NUMBER: _ClassVar[int]
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    BATCHES_FIELD_NUMBER: _ClassVar[int]
    KEEP_PREVIOUS_FIELD_NUMBER: _ClassVar[int]
    key: ModelKey
    replicas: int
    memory_bytes: int
    batches: BatchRule
    keep_previous: bool
    def __init__(self, key: _Optional[_Union[ModelKey, _Mapping]] = ..., replicas: _Optional[int] = ..., memory_bytes: _Optional[int] = ..., batches: _Optional[_Union[BatchRule, _Mapping]] = ..., keep_previous: bool = ...) -> None: ...

class DeployModelResponse(_message.Message):
    __slots__ = ("deployment",)
    DEPLOYMENT_FIELD_NUMBER: _ClassVar[int]
    deployment: ModelDeployment
    def __init__(self, deployment: _Optional[_Union[ModelDeployment, _Mapping]] = ...) -> None: ...

class UndeployModelRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class UndeployModelResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListDeploymentsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListDeploymentsResponse(_message.Message):
    __slots__ = ("deployments", "nodes")
    DEPLOYMENTS_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    deployments: _containers.RepeatedCompositeFieldContainer[ModelDeployment]
    nodes: _containers.RepeatedCompositeFieldContainer[NodeModels]
    def __init__(self, deployments: _Optional[_Iterable[_Union[ModelDeployment, _Mapping]]] = ..., nodes: _Optional[_Iterable[_Union[NodeModels, _Mapping]]] = ...) -> None: ...

class PredictOutcome(_message.Message):
    __slots__ = ("response", "code", "error", "busy")
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    BUSY_FIELD_NUMBER: _ClassVar[int]
    response: PredictResponse
    code: _job_pb2.ErrorCode
    error: str
    busy: bool
    def __init__(self, response: _Optional[_Union[PredictResponse, _Mapping]] = ..., code: _Optional[_Union[_job_pb2.ErrorCode, str]] = ..., error: _Optional[str] = ..., busy: bool = ...) -> None: ...
