import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from tensorflow_ignite.v1 import job_pb2 as _job_pb2
from tensorflow_ignite.v1 import predict_pb2 as _predict_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AgentStart(_message.Message):
    __slots__ = ("secret", "work_directory", "lease_timeout", "host", "node_id", "log_limit_bytes", "warm_processes", "inherited_env")
    SECRET_FIELD_NUMBER: _ClassVar[int]
    WORK_DIRECTORY_FIELD_NUMBER: _ClassVar[int]
    LEASE_TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    LOG_LIMIT_BYTES_FIELD_NUMBER: _ClassVar[int]
    WARM_PROCESSES_FIELD_NUMBER: _ClassVar[int]
    INHERITED_ENV_FIELD_NUMBER: _ClassVar[int]
    secret: str
    work_directory: str
    lease_timeout: _duration_pb2.Duration
    host: str
    node_id: str
    log_limit_bytes: int
    warm_processes: int
    inherited_env: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, secret: _Optional[str] = ..., work_directory: _Optional[str] = ..., lease_timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., host: _Optional[str] = ..., node_id: _Optional[str] = ..., log_limit_bytes: _Optional[int] = ..., warm_processes: _Optional[int] = ..., inherited_env: _Optional[_Iterable[str]] = ...) -> None: ...

class AgentReady(_message.Message):
    __slots__ = ("port", "info")
    PORT_FIELD_NUMBER: _ClassVar[int]
    INFO_FIELD_NUMBER: _ClassVar[int]
    port: int
    info: _job_pb2.AgentInfo
    def __init__(self, port: _Optional[int] = ..., info: _Optional[_Union[_job_pb2.AgentInfo, _Mapping]] = ...) -> None: ...

class TaskKey(_message.Message):
    __slots__ = ("job_id", "attempt", "role", "index", "incarnation")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    attempt: int
    role: _job_pb2.Role
    index: int
    incarnation: int
    def __init__(self, job_id: _Optional[str] = ..., attempt: _Optional[int] = ..., role: _Optional[_Union[_job_pb2.Role, str]] = ..., index: _Optional[int] = ..., incarnation: _Optional[int] = ...) -> None: ...

class StoredOutput(_message.Message):
    __slots__ = ("tasks",)
    TASKS_FIELD_NUMBER: _ClassVar[int]
    tasks: _containers.RepeatedCompositeFieldContainer[TaskKey]
    def __init__(self, tasks: _Optional[_Iterable[_Union[TaskKey, _Mapping]]] = ...) -> None: ...

class HeartbeatRequest(_message.Message):
    __slots__ = ("leases", "peers")
    LEASES_FIELD_NUMBER: _ClassVar[int]
    PEERS_FIELD_NUMBER: _ClassVar[int]
    leases: _containers.RepeatedCompositeFieldContainer[AttemptLease]
    peers: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, leases: _Optional[_Iterable[_Union[AttemptLease, _Mapping]]] = ..., peers: _Optional[_Iterable[str]] = ...) -> None: ...

class AttemptLease(_message.Message):
    __slots__ = ("job_id", "attempt", "until_nanos")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    UNTIL_NANOS_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    attempt: int
    until_nanos: int
    def __init__(self, job_id: _Optional[str] = ..., attempt: _Optional[int] = ..., until_nanos: _Optional[int] = ...) -> None: ...

class HeartbeatResponse(_message.Message):
    __slots__ = ("info",)
    INFO_FIELD_NUMBER: _ClassVar[int]
    info: _job_pb2.AgentInfo
    def __init__(self, info: _Optional[_Union[_job_pb2.AgentInfo, _Mapping]] = ...) -> None: ...

class ReservePortsRequest(_message.Message):
    __slots__ = ("tasks",)
    TASKS_FIELD_NUMBER: _ClassVar[int]
    tasks: _containers.RepeatedCompositeFieldContainer[TaskKey]
    def __init__(self, tasks: _Optional[_Iterable[_Union[TaskKey, _Mapping]]] = ...) -> None: ...

class ReservePortsResponse(_message.Message):
    __slots__ = ("ports",)
    PORTS_FIELD_NUMBER: _ClassVar[int]
    ports: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, ports: _Optional[_Iterable[int]] = ...) -> None: ...

class StartTaskRequest(_message.Message):
    __slots__ = ("key", "spec", "code_archive", "env", "context", "limits", "inherited_env", "lease_until_nanos", "first_step_timeout", "stall_timeout", "peers", "nice", "is_server", "gpus")
    class EnvEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    KEY_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    CODE_ARCHIVE_FIELD_NUMBER: _ClassVar[int]
    ENV_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    INHERITED_ENV_FIELD_NUMBER: _ClassVar[int]
    LEASE_UNTIL_NANOS_FIELD_NUMBER: _ClassVar[int]
    FIRST_STEP_TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    STALL_TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    PEERS_FIELD_NUMBER: _ClassVar[int]
    NICE_FIELD_NUMBER: _ClassVar[int]
    IS_SERVER_FIELD_NUMBER: _ClassVar[int]
    GPUS_FIELD_NUMBER: _ClassVar[int]
    key: TaskKey
    spec: _job_pb2.JobSpec
    code_archive: str
    env: _containers.ScalarMap[str, str]
    context: TaskContext
    limits: TaskLimits
    inherited_env: _containers.RepeatedScalarFieldContainer[str]
    lease_until_nanos: int
    first_step_timeout: _duration_pb2.Duration
    stall_timeout: _duration_pb2.Duration
    peers: _containers.RepeatedScalarFieldContainer[str]
    nice: int
    is_server: bool
    gpus: int
    def __init__(self, key: _Optional[_Union[TaskKey, _Mapping]] = ..., spec: _Optional[_Union[_job_pb2.JobSpec, _Mapping]] = ..., code_archive: _Optional[str] = ..., env: _Optional[_Mapping[str, str]] = ..., context: _Optional[_Union[TaskContext, _Mapping]] = ..., limits: _Optional[_Union[TaskLimits, _Mapping]] = ..., inherited_env: _Optional[_Iterable[str]] = ..., lease_until_nanos: _Optional[int] = ..., first_step_timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., stall_timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., peers: _Optional[_Iterable[str]] = ..., nice: _Optional[int] = ..., is_server: bool = ..., gpus: _Optional[int] = ...) -> None: ...

class TaskLimits(_message.Message):
    __slots__ = ("memory_bytes", "processes", "open_files", "cpu_time", "run_time")
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    PROCESSES_FIELD_NUMBER: _ClassVar[int]
    OPEN_FILES_FIELD_NUMBER: _ClassVar[int]
    CPU_TIME_FIELD_NUMBER: _ClassVar[int]
    RUN_TIME_FIELD_NUMBER: _ClassVar[int]
    memory_bytes: int
    processes: int
    open_files: int
    cpu_time: _duration_pb2.Duration
    run_time: _duration_pb2.Duration
    def __init__(self, memory_bytes: _Optional[int] = ..., processes: _Optional[int] = ..., open_files: _Optional[int] = ..., cpu_time: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., run_time: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class StartTaskResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TaskContext(_message.Message):
    __slots__ = ("job_id", "attempt", "role", "index", "cache", "node_address", "checkpoint_directory", "workers", "assignment_digest", "job_name", "kind", "incarnation", "token", "allow_data_loss", "read_rate", "rounds", "role_name", "role_index", "evaluator_cache")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    CACHE_FIELD_NUMBER: _ClassVar[int]
    NODE_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_DIRECTORY_FIELD_NUMBER: _ClassVar[int]
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    ASSIGNMENT_DIGEST_FIELD_NUMBER: _ClassVar[int]
    JOB_NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    ALLOW_DATA_LOSS_FIELD_NUMBER: _ClassVar[int]
    READ_RATE_FIELD_NUMBER: _ClassVar[int]
    ROUNDS_FIELD_NUMBER: _ClassVar[int]
    ROLE_NAME_FIELD_NUMBER: _ClassVar[int]
    ROLE_INDEX_FIELD_NUMBER: _ClassVar[int]
    EVALUATOR_CACHE_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    attempt: int
    role: _job_pb2.Role
    index: int
    cache: str
    node_address: str
    checkpoint_directory: str
    workers: _containers.RepeatedCompositeFieldContainer[WorkerAssignment]
    assignment_digest: str
    job_name: str
    kind: _job_pb2.JobKind
    incarnation: int
    token: str
    allow_data_loss: bool
    read_rate: str
    rounds: _job_pb2.Rounds
    role_name: str
    role_index: int
    evaluator_cache: str
    def __init__(self, job_id: _Optional[str] = ..., attempt: _Optional[int] = ..., role: _Optional[_Union[_job_pb2.Role, str]] = ..., index: _Optional[int] = ..., cache: _Optional[str] = ..., node_address: _Optional[str] = ..., checkpoint_directory: _Optional[str] = ..., workers: _Optional[_Iterable[_Union[WorkerAssignment, _Mapping]]] = ..., assignment_digest: _Optional[str] = ..., job_name: _Optional[str] = ..., kind: _Optional[_Union[_job_pb2.JobKind, str]] = ..., incarnation: _Optional[int] = ..., token: _Optional[str] = ..., allow_data_loss: bool = ..., read_rate: _Optional[str] = ..., rounds: _Optional[_Union[_job_pb2.Rounds, _Mapping]] = ..., role_name: _Optional[str] = ..., role_index: _Optional[int] = ..., evaluator_cache: _Optional[str] = ...) -> None: ...

class WorkerAssignment(_message.Message):
    __slots__ = ("index", "node_id", "partitions", "rows")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    index: int
    node_id: str
    partitions: _containers.RepeatedScalarFieldContainer[int]
    rows: int
    def __init__(self, index: _Optional[int] = ..., node_id: _Optional[str] = ..., partitions: _Optional[_Iterable[int]] = ..., rows: _Optional[int] = ...) -> None: ...

class PlanEndRequest(_message.Message):
    __slots__ = ("job_id", "attempt", "step", "agreed")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    AGREED_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    attempt: int
    step: int
    agreed: bool
    def __init__(self, job_id: _Optional[str] = ..., attempt: _Optional[int] = ..., step: _Optional[int] = ..., agreed: bool = ...) -> None: ...

class PlanEndResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TaskProfile(_message.Message):
    __slots__ = ("key", "profile_id", "seconds", "directory", "name")
    KEY_FIELD_NUMBER: _ClassVar[int]
    PROFILE_ID_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    DIRECTORY_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    key: TaskKey
    profile_id: str
    seconds: float
    directory: str
    name: str
    def __init__(self, key: _Optional[_Union[TaskKey, _Mapping]] = ..., profile_id: _Optional[str] = ..., seconds: _Optional[float] = ..., directory: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class ProfileResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TaskCommand(_message.Message):
    __slots__ = ("save", "step", "agreed", "stop", "profile", "profiles")
    SAVE_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    AGREED_FIELD_NUMBER: _ClassVar[int]
    STOP_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    PROFILES_FIELD_NUMBER: _ClassVar[int]
    save: bool
    step: int
    agreed: bool
    stop: bool
    profile: TaskProfile
    profiles: _containers.RepeatedCompositeFieldContainer[TaskProfile]
    def __init__(self, save: bool = ..., step: _Optional[int] = ..., agreed: bool = ..., stop: bool = ..., profile: _Optional[_Union[TaskProfile, _Mapping]] = ..., profiles: _Optional[_Iterable[_Union[TaskProfile, _Mapping]]] = ...) -> None: ...

class StopAttemptRequest(_message.Message):
    __slots__ = ("job_id", "attempt", "grace", "dump_stacks")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    GRACE_FIELD_NUMBER: _ClassVar[int]
    DUMP_STACKS_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    attempt: int
    grace: _duration_pb2.Duration
    dump_stacks: bool
    def __init__(self, job_id: _Optional[str] = ..., attempt: _Optional[int] = ..., grace: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., dump_stacks: bool = ...) -> None: ...

class StopAttemptResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class StartModelRequest(_message.Message):
    __slots__ = ("key", "directory", "limits", "inherited_env", "nice", "load_timeout", "max_answer_bytes")
    KEY_FIELD_NUMBER: _ClassVar[int]
    DIRECTORY_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    INHERITED_ENV_FIELD_NUMBER: _ClassVar[int]
    NICE_FIELD_NUMBER: _ClassVar[int]
    LOAD_TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    MAX_ANSWER_BYTES_FIELD_NUMBER: _ClassVar[int]
    key: _predict_pb2.ModelKey
    directory: str
    limits: TaskLimits
    inherited_env: _containers.RepeatedScalarFieldContainer[str]
    nice: int
    load_timeout: _duration_pb2.Duration
    max_answer_bytes: int
    def __init__(self, key: _Optional[_Union[_predict_pb2.ModelKey, _Mapping]] = ..., directory: _Optional[str] = ..., limits: _Optional[_Union[TaskLimits, _Mapping]] = ..., inherited_env: _Optional[_Iterable[str]] = ..., nice: _Optional[int] = ..., load_timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., max_answer_bytes: _Optional[int] = ...) -> None: ...

class StartModelResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RestartModelRequest(_message.Message):
    __slots__ = ("key", "reason")
    KEY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    key: _predict_pb2.ModelKey
    reason: str
    def __init__(self, key: _Optional[_Union[_predict_pb2.ModelKey, _Mapping]] = ..., reason: _Optional[str] = ...) -> None: ...

class RestartModelResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class StopModelRequest(_message.Message):
    __slots__ = ("key",)
    KEY_FIELD_NUMBER: _ClassVar[int]
    key: _predict_pb2.ModelKey
    def __init__(self, key: _Optional[_Union[_predict_pb2.ModelKey, _Mapping]] = ...) -> None: ...

class StopModelResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class WatchRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class WatchResponse(_message.Message):
    __slots__ = ("key", "status", "log", "model")
    KEY_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    LOG_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    key: TaskKey
    status: _job_pb2.TaskStatus
    log: LogChunk
    model: _predict_pb2.ModelStatus
    def __init__(self, key: _Optional[_Union[TaskKey, _Mapping]] = ..., status: _Optional[_Union[_job_pb2.TaskStatus, _Mapping]] = ..., log: _Optional[_Union[LogChunk, _Mapping]] = ..., model: _Optional[_Union[_predict_pb2.ModelStatus, _Mapping]] = ...) -> None: ...

class LogChunk(_message.Message):
    __slots__ = ("sequence", "data", "dropped_bytes", "position")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    DROPPED_BYTES_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    data: bytes
    dropped_bytes: int
    position: int
    def __init__(self, sequence: _Optional[int] = ..., data: _Optional[bytes] = ..., dropped_bytes: _Optional[int] = ..., position: _Optional[int] = ...) -> None: ...
