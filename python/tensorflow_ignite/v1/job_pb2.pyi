import datetime

from google.protobuf import descriptor_pb2 as _descriptor_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ErrorCode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ERROR_CODE_UNSPECIFIED: _ClassVar[ErrorCode]
    ERROR_CODE_INVALID_REQUEST: _ClassVar[ErrorCode]
    ERROR_CODE_CACHE_NOT_FOUND: _ClassVar[ErrorCode]
    ERROR_CODE_CACHE_EMPTY: _ClassVar[ErrorCode]
    ERROR_CODE_CODE_NOT_FOUND: _ClassVar[ErrorCode]
    ERROR_CODE_CODE_INVALID: _ClassVar[ErrorCode]
    ERROR_CODE_JOB_NOT_FOUND: _ClassVar[ErrorCode]
    ERROR_CODE_JOB_FINISHED: _ClassVar[ErrorCode]
    ERROR_CODE_NO_AGENT: _ClassVar[ErrorCode]
    ERROR_CODE_CLUSTER_NOT_ACTIVE: _ClassVar[ErrorCode]
    ERROR_CODE_PARTITION_NOT_LOCAL: _ClassVar[ErrorCode]
    ERROR_CODE_COLUMN_NOT_FOUND: _ClassVar[ErrorCode]
    ERROR_CODE_UNSUPPORTED_TYPE: _ClassVar[ErrorCode]
    ERROR_CODE_SCHEMA_UNKNOWN: _ClassVar[ErrorCode]
    ERROR_CODE_ROW_MISMATCH: _ClassVar[ErrorCode]
    ERROR_CODE_CACHE_EXISTS: _ClassVar[ErrorCode]
    ERROR_CODE_INTERNAL_ERROR: _ClassVar[ErrorCode]
    ERROR_CODE_SHARING_UNAVAILABLE: _ClassVar[ErrorCode]
    ERROR_CODE_SQL_INVALID: _ClassVar[ErrorCode]
    ERROR_CODE_FILE_NOT_FOUND: _ClassVar[ErrorCode]
    ERROR_CODE_FILE_EXISTS: _ClassVar[ErrorCode]
    ERROR_CODE_NOT_A_DIRECTORY: _ClassVar[ErrorCode]
    ERROR_CODE_IS_A_DIRECTORY: _ClassVar[ErrorCode]
    ERROR_CODE_DIRECTORY_NOT_EMPTY: _ClassVar[ErrorCode]
    ERROR_CODE_FILE_CHANGED: _ClassVar[ErrorCode]
    ERROR_CODE_FILE_CORRUPT: _ClassVar[ErrorCode]
    ERROR_CODE_ATTEMPT_SUPERSEDED: _ClassVar[ErrorCode]
    ERROR_CODE_JOB_NOT_FINISHED: _ClassVar[ErrorCode]
    ERROR_CODE_STORAGE_FULL: _ClassVar[ErrorCode]
    ERROR_CODE_UNAUTHENTICATED: _ClassVar[ErrorCode]
    ERROR_CODE_PERMISSION_DENIED: _ClassVar[ErrorCode]
    ERROR_CODE_LIMIT_EXCEEDED: _ClassVar[ErrorCode]
    ERROR_CODE_DATA_LOST: _ClassVar[ErrorCode]
    ERROR_CODE_FILE_LOST: _ClassVar[ErrorCode]
    ERROR_CODE_JOB_UNREADABLE: _ClassVar[ErrorCode]
    ERROR_CODE_NODE_NOT_FOUND: _ClassVar[ErrorCode]
    ERROR_CODE_MODEL_NOT_FOUND: _ClassVar[ErrorCode]
    ERROR_CODE_MODEL_UNUSABLE: _ClassVar[ErrorCode]
    ERROR_CODE_MODEL_NOT_SERVED: _ClassVar[ErrorCode]
    ERROR_CODE_PREDICTION_TIMED_OUT: _ClassVar[ErrorCode]

class JobKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    JOB_KIND_UNSPECIFIED: _ClassVar[JobKind]
    JOB_KIND_MULTI_WORKER_MIRRORED: _ClassVar[JobKind]
    JOB_KIND_PARAMETER_SERVER: _ClassVar[JobKind]
    JOB_KIND_ONE: _ClassVar[JobKind]
    JOB_KIND_MIRRORED: _ClassVar[JobKind]
    JOB_KIND_CENTRAL_STORAGE: _ClassVar[JobKind]
    JOB_KIND_CUSTOM: _ClassVar[JobKind]
    JOB_KIND_PREDICT: _ClassVar[JobKind]

class JobState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    JOB_STATE_UNSPECIFIED: _ClassVar[JobState]
    JOB_STATE_PENDING: _ClassVar[JobState]
    JOB_STATE_RESERVING: _ClassVar[JobState]
    JOB_STATE_STARTING: _ClassVar[JobState]
    JOB_STATE_RUNNING: _ClassVar[JobState]
    JOB_STATE_ENDING: _ClassVar[JobState]
    JOB_STATE_SUCCEEDED: _ClassVar[JobState]
    JOB_STATE_FAILED: _ClassVar[JobState]
    JOB_STATE_STOPPED: _ClassVar[JobState]
    JOB_STATE_RESTARTING: _ClassVar[JobState]
    JOB_STATE_UNREADABLE: _ClassVar[JobState]

class CauseKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CAUSE_KIND_UNSPECIFIED: _ClassVar[CauseKind]
    CAUSE_KIND_CRASH: _ClassVar[CauseKind]
    CAUSE_KIND_NODE_LEFT: _ClassVar[CauseKind]
    CAUSE_KIND_DATA_MOVED: _ClassVar[CauseKind]
    CAUSE_KIND_DATA_LOST: _ClassVar[CauseKind]
    CAUSE_KIND_START_TIMEOUT: _ClassVar[CauseKind]
    CAUSE_KIND_STOP_REQUEST: _ClassVar[CauseKind]
    CAUSE_KIND_DONE: _ClassVar[CauseKind]
    CAUSE_KIND_NODE_FAILED: _ClassVar[CauseKind]
    CAUSE_KIND_STALL: _ClassVar[CauseKind]
    CAUSE_KIND_PLANNED: _ClassVar[CauseKind]
    CAUSE_KIND_NO_ROWS: _ClassVar[CauseKind]

class OnJoin(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ON_JOIN_UNSPECIFIED: _ClassVar[OnJoin]
    ON_JOIN_RESTART: _ClassVar[OnJoin]
    ON_JOIN_IGNORE: _ClassVar[OnJoin]
    ON_JOIN_AT_CHECKPOINT: _ClassVar[OnJoin]

class Role(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ROLE_UNSPECIFIED: _ClassVar[Role]
    ROLE_CLIENT: _ClassVar[Role]
    ROLE_WORKER: _ClassVar[Role]
    ROLE_PS: _ClassVar[Role]
    ROLE_EVALUATOR: _ClassVar[Role]
    ROLE_NAMED: _ClassVar[Role]

class FailureKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FAILURE_KIND_UNSPECIFIED: _ClassVar[FailureKind]
    FAILURE_KIND_SCRIPT: _ClassVar[FailureKind]
    FAILURE_KIND_PEER: _ClassVar[FailureKind]
    FAILURE_KIND_CLUSTER: _ClassVar[FailureKind]
    FAILURE_KIND_MEMORY: _ClassVar[FailureKind]
    FAILURE_KIND_DATA_LOST: _ClassVar[FailureKind]
    FAILURE_KIND_NO_ROWS: _ClassVar[FailureKind]
    FAILURE_KIND_SIGNAL: _ClassVar[FailureKind]
    FAILURE_KIND_LIMIT: _ClassVar[FailureKind]
    FAILURE_KIND_PACKAGES: _ClassVar[FailureKind]

class TaskState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TASK_STATE_UNSPECIFIED: _ClassVar[TaskState]
    TASK_STATE_PLACED: _ClassVar[TaskState]
    TASK_STATE_RESERVED: _ClassVar[TaskState]
    TASK_STATE_RUNNING: _ClassVar[TaskState]
    TASK_STATE_SUCCEEDED: _ClassVar[TaskState]
    TASK_STATE_FAILED: _ClassVar[TaskState]
    TASK_STATE_STOPPED: _ClassVar[TaskState]
    TASK_STATE_LOST: _ClassVar[TaskState]

class AttemptPhase(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ATTEMPT_PHASE_UNSPECIFIED: _ClassVar[AttemptPhase]
    ATTEMPT_PHASE_RESERVE: _ClassVar[AttemptPhase]
    ATTEMPT_PHASE_RUN: _ClassVar[AttemptPhase]
    ATTEMPT_PHASE_STOP: _ClassVar[AttemptPhase]
    ATTEMPT_PHASE_SAVE: _ClassVar[AttemptPhase]

class Quorum(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    QUORUM_UNSPECIFIED: _ClassVar[Quorum]
    QUORUM_MAJORITY: _ClassVar[Quorum]
    QUORUM_NONE: _ClassVar[Quorum]

class NodeAvailability(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    NODE_AVAILABILITY_UNSPECIFIED: _ClassVar[NodeAvailability]
    NODE_AVAILABILITY_DRAINED: _ClassVar[NodeAvailability]
    NODE_AVAILABILITY_STOPPING: _ClassVar[NodeAvailability]
ERROR_CODE_UNSPECIFIED: ErrorCode
ERROR_CODE_INVALID_REQUEST: ErrorCode
ERROR_CODE_CACHE_NOT_FOUND: ErrorCode
ERROR_CODE_CACHE_EMPTY: ErrorCode
ERROR_CODE_CODE_NOT_FOUND: ErrorCode
ERROR_CODE_CODE_INVALID: ErrorCode
ERROR_CODE_JOB_NOT_FOUND: ErrorCode
ERROR_CODE_JOB_FINISHED: ErrorCode
ERROR_CODE_NO_AGENT: ErrorCode
ERROR_CODE_CLUSTER_NOT_ACTIVE: ErrorCode
ERROR_CODE_PARTITION_NOT_LOCAL: ErrorCode
ERROR_CODE_COLUMN_NOT_FOUND: ErrorCode
ERROR_CODE_UNSUPPORTED_TYPE: ErrorCode
ERROR_CODE_SCHEMA_UNKNOWN: ErrorCode
ERROR_CODE_ROW_MISMATCH: ErrorCode
ERROR_CODE_CACHE_EXISTS: ErrorCode
ERROR_CODE_INTERNAL_ERROR: ErrorCode
ERROR_CODE_SHARING_UNAVAILABLE: ErrorCode
ERROR_CODE_SQL_INVALID: ErrorCode
ERROR_CODE_FILE_NOT_FOUND: ErrorCode
ERROR_CODE_FILE_EXISTS: ErrorCode
ERROR_CODE_NOT_A_DIRECTORY: ErrorCode
ERROR_CODE_IS_A_DIRECTORY: ErrorCode
ERROR_CODE_DIRECTORY_NOT_EMPTY: ErrorCode
ERROR_CODE_FILE_CHANGED: ErrorCode
ERROR_CODE_FILE_CORRUPT: ErrorCode
ERROR_CODE_ATTEMPT_SUPERSEDED: ErrorCode
ERROR_CODE_JOB_NOT_FINISHED: ErrorCode
ERROR_CODE_STORAGE_FULL: ErrorCode
ERROR_CODE_UNAUTHENTICATED: ErrorCode
ERROR_CODE_PERMISSION_DENIED: ErrorCode
ERROR_CODE_LIMIT_EXCEEDED: ErrorCode
ERROR_CODE_DATA_LOST: ErrorCode
ERROR_CODE_FILE_LOST: ErrorCode
ERROR_CODE_JOB_UNREADABLE: ErrorCode
ERROR_CODE_NODE_NOT_FOUND: ErrorCode
ERROR_CODE_MODEL_NOT_FOUND: ErrorCode
ERROR_CODE_MODEL_UNUSABLE: ErrorCode
ERROR_CODE_MODEL_NOT_SERVED: ErrorCode
ERROR_CODE_PREDICTION_TIMED_OUT: ErrorCode
JOB_KIND_UNSPECIFIED: JobKind
JOB_KIND_MULTI_WORKER_MIRRORED: JobKind
JOB_KIND_PARAMETER_SERVER: JobKind
JOB_KIND_ONE: JobKind
JOB_KIND_MIRRORED: JobKind
JOB_KIND_CENTRAL_STORAGE: JobKind
JOB_KIND_CUSTOM: JobKind
JOB_KIND_PREDICT: JobKind
JOB_STATE_UNSPECIFIED: JobState
JOB_STATE_PENDING: JobState
JOB_STATE_RESERVING: JobState
JOB_STATE_STARTING: JobState
JOB_STATE_RUNNING: JobState
JOB_STATE_ENDING: JobState
JOB_STATE_SUCCEEDED: JobState
JOB_STATE_FAILED: JobState
JOB_STATE_STOPPED: JobState
JOB_STATE_RESTARTING: JobState
JOB_STATE_UNREADABLE: JobState
CAUSE_KIND_UNSPECIFIED: CauseKind
CAUSE_KIND_CRASH: CauseKind
CAUSE_KIND_NODE_LEFT: CauseKind
CAUSE_KIND_DATA_MOVED: CauseKind
CAUSE_KIND_DATA_LOST: CauseKind
CAUSE_KIND_START_TIMEOUT: CauseKind
CAUSE_KIND_STOP_REQUEST: CauseKind
CAUSE_KIND_DONE: CauseKind
CAUSE_KIND_NODE_FAILED: CauseKind
CAUSE_KIND_STALL: CauseKind
CAUSE_KIND_PLANNED: CauseKind
CAUSE_KIND_NO_ROWS: CauseKind
ON_JOIN_UNSPECIFIED: OnJoin
ON_JOIN_RESTART: OnJoin
ON_JOIN_IGNORE: OnJoin
ON_JOIN_AT_CHECKPOINT: OnJoin
ROLE_UNSPECIFIED: Role
ROLE_CLIENT: Role
ROLE_WORKER: Role
ROLE_PS: Role
ROLE_EVALUATOR: Role
ROLE_NAMED: Role
FAILURE_KIND_UNSPECIFIED: FailureKind
FAILURE_KIND_SCRIPT: FailureKind
FAILURE_KIND_PEER: FailureKind
FAILURE_KIND_CLUSTER: FailureKind
FAILURE_KIND_MEMORY: FailureKind
FAILURE_KIND_DATA_LOST: FailureKind
FAILURE_KIND_NO_ROWS: FailureKind
FAILURE_KIND_SIGNAL: FailureKind
FAILURE_KIND_LIMIT: FailureKind
FAILURE_KIND_PACKAGES: FailureKind
TASK_STATE_UNSPECIFIED: TaskState
TASK_STATE_PLACED: TaskState
TASK_STATE_RESERVED: TaskState
TASK_STATE_RUNNING: TaskState
TASK_STATE_SUCCEEDED: TaskState
TASK_STATE_FAILED: TaskState
TASK_STATE_STOPPED: TaskState
TASK_STATE_LOST: TaskState
ATTEMPT_PHASE_UNSPECIFIED: AttemptPhase
ATTEMPT_PHASE_RESERVE: AttemptPhase
ATTEMPT_PHASE_RUN: AttemptPhase
ATTEMPT_PHASE_STOP: AttemptPhase
ATTEMPT_PHASE_SAVE: AttemptPhase
QUORUM_UNSPECIFIED: Quorum
QUORUM_MAJORITY: Quorum
QUORUM_NONE: Quorum
NODE_AVAILABILITY_UNSPECIFIED: NodeAvailability
NODE_AVAILABILITY_DRAINED: NodeAvailability
NODE_AVAILABILITY_STOPPING: NodeAvailability
RULE_FIELD_NUMBER: _ClassVar[int]
rule: _descriptor.FieldDescriptor

class OptionRule(_message.Message):
    __slots__ = ("help", "least", "most", "kinds")
    HELP_FIELD_NUMBER: _ClassVar[int]
    LEAST_FIELD_NUMBER: _ClassVar[int]
    MOST_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    help: str
    least: float
    most: float
    kinds: _containers.RepeatedScalarFieldContainer[JobKind]
    def __init__(self, help: _Optional[str] = ..., least: _Optional[float] = ..., most: _Optional[float] = ..., kinds: _Optional[_Iterable[_Union[JobKind, str]]] = ...) -> None: ...

class JobSpec(_message.Message):
    __slots__ = ("name", "cache", "code_digest", "script", "args", "checkpoint_directory", "priority", "read_rate", "strategy", "workers", "restart", "timeouts", "environment", "access", "evaluator", "rounds", "prediction")
    NAME_FIELD_NUMBER: _ClassVar[int]
    CACHE_FIELD_NUMBER: _ClassVar[int]
    CODE_DIGEST_FIELD_NUMBER: _ClassVar[int]
    SCRIPT_FIELD_NUMBER: _ClassVar[int]
    ARGS_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_DIRECTORY_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    READ_RATE_FIELD_NUMBER: _ClassVar[int]
    STRATEGY_FIELD_NUMBER: _ClassVar[int]
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    RESTART_FIELD_NUMBER: _ClassVar[int]
    TIMEOUTS_FIELD_NUMBER: _ClassVar[int]
    ENVIRONMENT_FIELD_NUMBER: _ClassVar[int]
    ACCESS_FIELD_NUMBER: _ClassVar[int]
    EVALUATOR_FIELD_NUMBER: _ClassVar[int]
    ROUNDS_FIELD_NUMBER: _ClassVar[int]
    PREDICTION_FIELD_NUMBER: _ClassVar[int]
    name: str
    cache: str
    code_digest: str
    script: str
    args: _containers.RepeatedScalarFieldContainer[str]
    checkpoint_directory: str
    priority: int
    read_rate: str
    strategy: Strategy
    workers: Workers
    restart: Restart
    timeouts: Timeouts
    environment: Environment
    access: Access
    evaluator: Evaluator
    rounds: Rounds
    prediction: Prediction
    def __init__(self, name: _Optional[str] = ..., cache: _Optional[str] = ..., code_digest: _Optional[str] = ..., script: _Optional[str] = ..., args: _Optional[_Iterable[str]] = ..., checkpoint_directory: _Optional[str] = ..., priority: _Optional[int] = ..., read_rate: _Optional[str] = ..., strategy: _Optional[_Union[Strategy, _Mapping]] = ..., workers: _Optional[_Union[Workers, _Mapping]] = ..., restart: _Optional[_Union[Restart, _Mapping]] = ..., timeouts: _Optional[_Union[Timeouts, _Mapping]] = ..., environment: _Optional[_Union[Environment, _Mapping]] = ..., access: _Optional[_Union[Access, _Mapping]] = ..., evaluator: _Optional[_Union[Evaluator, _Mapping]] = ..., rounds: _Optional[_Union[Rounds, _Mapping]] = ..., prediction: _Optional[_Union[Prediction, _Mapping]] = ...) -> None: ...

class Strategy(_message.Message):
    __slots__ = ("kind", "servers", "server_nodes", "roles", "chief")
    class ServerNodesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class RolesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    KIND_FIELD_NUMBER: _ClassVar[int]
    SERVERS_FIELD_NUMBER: _ClassVar[int]
    SERVER_NODES_FIELD_NUMBER: _ClassVar[int]
    ROLES_FIELD_NUMBER: _ClassVar[int]
    CHIEF_FIELD_NUMBER: _ClassVar[int]
    kind: JobKind
    servers: int
    server_nodes: _containers.ScalarMap[str, str]
    roles: _containers.ScalarMap[str, int]
    chief: bool
    def __init__(self, kind: _Optional[_Union[JobKind, str]] = ..., servers: _Optional[int] = ..., server_nodes: _Optional[_Mapping[str, str]] = ..., roles: _Optional[_Mapping[str, int]] = ..., chief: bool = ...) -> None: ...

class Workers(_message.Message):
    __slots__ = ("per_node", "gpus", "nodes", "minimum")
    class NodesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    PER_NODE_FIELD_NUMBER: _ClassVar[int]
    GPUS_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    MINIMUM_FIELD_NUMBER: _ClassVar[int]
    per_node: int
    gpus: int
    nodes: _containers.ScalarMap[str, str]
    minimum: int
    def __init__(self, per_node: _Optional[int] = ..., gpus: _Optional[int] = ..., nodes: _Optional[_Mapping[str, str]] = ..., minimum: _Optional[int] = ...) -> None: ...

class Restart(_message.Message):
    __slots__ = ("max_crashes", "max_restarts", "on_join", "quorum", "allow_data_loss")
    MAX_CRASHES_FIELD_NUMBER: _ClassVar[int]
    MAX_RESTARTS_FIELD_NUMBER: _ClassVar[int]
    ON_JOIN_FIELD_NUMBER: _ClassVar[int]
    QUORUM_FIELD_NUMBER: _ClassVar[int]
    ALLOW_DATA_LOSS_FIELD_NUMBER: _ClassVar[int]
    max_crashes: int
    max_restarts: int
    on_join: OnJoin
    quorum: Quorum
    allow_data_loss: bool
    def __init__(self, max_crashes: _Optional[int] = ..., max_restarts: _Optional[int] = ..., on_join: _Optional[_Union[OnJoin, str]] = ..., quorum: _Optional[_Union[Quorum, str]] = ..., allow_data_loss: bool = ...) -> None: ...

class Timeouts(_message.Message):
    __slots__ = ("start", "first_step", "stall", "stop_grace", "wait")
    START_FIELD_NUMBER: _ClassVar[int]
    FIRST_STEP_FIELD_NUMBER: _ClassVar[int]
    STALL_FIELD_NUMBER: _ClassVar[int]
    STOP_GRACE_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    start: _duration_pb2.Duration
    first_step: _duration_pb2.Duration
    stall: _duration_pb2.Duration
    stop_grace: _duration_pb2.Duration
    wait: _duration_pb2.Duration
    def __init__(self, start: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., first_step: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., stall: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., stop_grace: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., wait: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class Environment(_message.Message):
    __slots__ = ("variables", "requirements", "wheels", "python")
    class VariablesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    VARIABLES_FIELD_NUMBER: _ClassVar[int]
    REQUIREMENTS_FIELD_NUMBER: _ClassVar[int]
    WHEELS_FIELD_NUMBER: _ClassVar[int]
    PYTHON_FIELD_NUMBER: _ClassVar[int]
    variables: _containers.ScalarMap[str, str]
    requirements: str
    wheels: _containers.RepeatedScalarFieldContainer[str]
    python: str
    def __init__(self, variables: _Optional[_Mapping[str, str]] = ..., requirements: _Optional[str] = ..., wheels: _Optional[_Iterable[str]] = ..., python: _Optional[str] = ...) -> None: ...

class Access(_message.Message):
    __slots__ = ("caches", "directories", "allow_plaintext")
    CACHES_FIELD_NUMBER: _ClassVar[int]
    DIRECTORIES_FIELD_NUMBER: _ClassVar[int]
    ALLOW_PLAINTEXT_FIELD_NUMBER: _ClassVar[int]
    caches: _containers.RepeatedScalarFieldContainer[str]
    directories: _containers.RepeatedScalarFieldContainer[str]
    allow_plaintext: bool
    def __init__(self, caches: _Optional[_Iterable[str]] = ..., directories: _Optional[_Iterable[str]] = ..., allow_plaintext: bool = ...) -> None: ...

class Evaluator(_message.Message):
    __slots__ = ("cache", "script")
    CACHE_FIELD_NUMBER: _ClassVar[int]
    SCRIPT_FIELD_NUMBER: _ClassVar[int]
    cache: str
    script: str
    def __init__(self, cache: _Optional[str] = ..., script: _Optional[str] = ...) -> None: ...

class Rounds(_message.Message):
    __slots__ = ("every", "when_rows", "replay")
    EVERY_FIELD_NUMBER: _ClassVar[int]
    WHEN_ROWS_FIELD_NUMBER: _ClassVar[int]
    REPLAY_FIELD_NUMBER: _ClassVar[int]
    every: _duration_pb2.Duration
    when_rows: int
    replay: float
    def __init__(self, every: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., when_rows: _Optional[int] = ..., replay: _Optional[float] = ...) -> None: ...

class Prediction(_message.Message):
    __slots__ = ("output_cache", "model", "model_directory")
    OUTPUT_CACHE_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    MODEL_DIRECTORY_FIELD_NUMBER: _ClassVar[int]
    output_cache: str
    model: str
    model_directory: str
    def __init__(self, output_cache: _Optional[str] = ..., model: _Optional[str] = ..., model_directory: _Optional[str] = ...) -> None: ...

class Job(_message.Message):
    __slots__ = ("id", "request_id", "spec", "state", "attempts", "created_at", "finished_at", "layout", "cause", "traceback", "exit_code", "stop_requested", "service_node_id", "waiting_for", "crashes", "not_before", "early_failures", "lost_partitions", "events", "members", "kept_until", "logs_stored", "owner", "early_exception", "node_failures", "save_requested", "force_stop_requested", "idle_restarts", "outcome", "earlier_attempts", "idle_causes", "admitted_at", "queue_position", "process_node_id")
    ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    FINISHED_AT_FIELD_NUMBER: _ClassVar[int]
    LAYOUT_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    TRACEBACK_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    STOP_REQUESTED_FIELD_NUMBER: _ClassVar[int]
    SERVICE_NODE_ID_FIELD_NUMBER: _ClassVar[int]
    WAITING_FOR_FIELD_NUMBER: _ClassVar[int]
    CRASHES_FIELD_NUMBER: _ClassVar[int]
    NOT_BEFORE_FIELD_NUMBER: _ClassVar[int]
    EARLY_FAILURES_FIELD_NUMBER: _ClassVar[int]
    LOST_PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    KEPT_UNTIL_FIELD_NUMBER: _ClassVar[int]
    LOGS_STORED_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    EARLY_EXCEPTION_FIELD_NUMBER: _ClassVar[int]
    NODE_FAILURES_FIELD_NUMBER: _ClassVar[int]
    SAVE_REQUESTED_FIELD_NUMBER: _ClassVar[int]
    FORCE_STOP_REQUESTED_FIELD_NUMBER: _ClassVar[int]
    IDLE_RESTARTS_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    EARLIER_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    IDLE_CAUSES_FIELD_NUMBER: _ClassVar[int]
    ADMITTED_AT_FIELD_NUMBER: _ClassVar[int]
    QUEUE_POSITION_FIELD_NUMBER: _ClassVar[int]
    PROCESS_NODE_ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    request_id: str
    spec: JobSpec
    state: JobState
    attempts: _containers.RepeatedCompositeFieldContainer[Attempt]
    created_at: _timestamp_pb2.Timestamp
    finished_at: _timestamp_pb2.Timestamp
    layout: int
    cause: str
    traceback: str
    exit_code: int
    stop_requested: bool
    service_node_id: str
    waiting_for: str
    crashes: int
    not_before: _timestamp_pb2.Timestamp
    early_failures: int
    lost_partitions: _containers.RepeatedScalarFieldContainer[int]
    events: _containers.RepeatedCompositeFieldContainer[Event]
    members: _containers.RepeatedCompositeFieldContainer[Node]
    kept_until: _timestamp_pb2.Timestamp
    logs_stored: bool
    owner: str
    early_exception: str
    node_failures: int
    save_requested: bool
    force_stop_requested: bool
    idle_restarts: int
    outcome: JobState
    earlier_attempts: int
    idle_causes: _containers.RepeatedCompositeFieldContainer[CauseCount]
    admitted_at: _timestamp_pb2.Timestamp
    queue_position: int
    process_node_id: str
    def __init__(self, id: _Optional[str] = ..., request_id: _Optional[str] = ..., spec: _Optional[_Union[JobSpec, _Mapping]] = ..., state: _Optional[_Union[JobState, str]] = ..., attempts: _Optional[_Iterable[_Union[Attempt, _Mapping]]] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., finished_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., layout: _Optional[int] = ..., cause: _Optional[str] = ..., traceback: _Optional[str] = ..., exit_code: _Optional[int] = ..., stop_requested: bool = ..., service_node_id: _Optional[str] = ..., waiting_for: _Optional[str] = ..., crashes: _Optional[int] = ..., not_before: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., early_failures: _Optional[int] = ..., lost_partitions: _Optional[_Iterable[int]] = ..., events: _Optional[_Iterable[_Union[Event, _Mapping]]] = ..., members: _Optional[_Iterable[_Union[Node, _Mapping]]] = ..., kept_until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., logs_stored: bool = ..., owner: _Optional[str] = ..., early_exception: _Optional[str] = ..., node_failures: _Optional[int] = ..., save_requested: bool = ..., force_stop_requested: bool = ..., idle_restarts: _Optional[int] = ..., outcome: _Optional[_Union[JobState, str]] = ..., earlier_attempts: _Optional[int] = ..., idle_causes: _Optional[_Iterable[_Union[CauseCount, _Mapping]]] = ..., admitted_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., queue_position: _Optional[int] = ..., process_node_id: _Optional[str] = ...) -> None: ...

class CauseCount(_message.Message):
    __slots__ = ("kind", "count", "last")
    KIND_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    kind: CauseKind
    count: int
    last: str
    def __init__(self, kind: _Optional[_Union[CauseKind, str]] = ..., count: _Optional[int] = ..., last: _Optional[str] = ...) -> None: ...

class EndedAttempt(_message.Message):
    __slots__ = ("job_id", "attempt", "events")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    attempt: Attempt
    events: _containers.RepeatedCompositeFieldContainer[Event]
    def __init__(self, job_id: _Optional[str] = ..., attempt: _Optional[_Union[Attempt, _Mapping]] = ..., events: _Optional[_Iterable[_Union[Event, _Mapping]]] = ...) -> None: ...

class Event(_message.Message):
    __slots__ = ("number", "at", "attempt", "state", "text")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    number: int
    at: _timestamp_pb2.Timestamp
    attempt: int
    state: JobState
    text: str
    def __init__(self, number: _Optional[int] = ..., at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., attempt: _Optional[int] = ..., state: _Optional[_Union[JobState, str]] = ..., text: _Optional[str] = ...) -> None: ...

class Attempt(_message.Message):
    __slots__ = ("number", "phase", "tasks", "assignment_digest", "started_at", "running_at", "finished_at", "ending_at", "cause_kind", "cause", "last_step", "resumed_from_step", "moved_at", "moved_digest", "moved_checkpoint_step", "planned_end", "unproven_node_ids")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    ASSIGNMENT_DIGEST_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    RUNNING_AT_FIELD_NUMBER: _ClassVar[int]
    FINISHED_AT_FIELD_NUMBER: _ClassVar[int]
    ENDING_AT_FIELD_NUMBER: _ClassVar[int]
    CAUSE_KIND_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    LAST_STEP_FIELD_NUMBER: _ClassVar[int]
    RESUMED_FROM_STEP_FIELD_NUMBER: _ClassVar[int]
    MOVED_AT_FIELD_NUMBER: _ClassVar[int]
    MOVED_DIGEST_FIELD_NUMBER: _ClassVar[int]
    MOVED_CHECKPOINT_STEP_FIELD_NUMBER: _ClassVar[int]
    PLANNED_END_FIELD_NUMBER: _ClassVar[int]
    UNPROVEN_NODE_IDS_FIELD_NUMBER: _ClassVar[int]
    number: int
    phase: AttemptPhase
    tasks: _containers.RepeatedCompositeFieldContainer[Task]
    assignment_digest: str
    started_at: _timestamp_pb2.Timestamp
    running_at: _timestamp_pb2.Timestamp
    finished_at: _timestamp_pb2.Timestamp
    ending_at: _timestamp_pb2.Timestamp
    cause_kind: CauseKind
    cause: str
    last_step: int
    resumed_from_step: int
    moved_at: _timestamp_pb2.Timestamp
    moved_digest: str
    moved_checkpoint_step: int
    planned_end: PlannedEnd
    unproven_node_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, number: _Optional[int] = ..., phase: _Optional[_Union[AttemptPhase, str]] = ..., tasks: _Optional[_Iterable[_Union[Task, _Mapping]]] = ..., assignment_digest: _Optional[str] = ..., started_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., running_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., finished_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., ending_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., cause_kind: _Optional[_Union[CauseKind, str]] = ..., cause: _Optional[str] = ..., last_step: _Optional[int] = ..., resumed_from_step: _Optional[int] = ..., moved_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., moved_digest: _Optional[str] = ..., moved_checkpoint_step: _Optional[int] = ..., planned_end: _Optional[_Union[PlannedEnd, _Mapping]] = ..., unproven_node_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class PlannedEnd(_message.Message):
    __slots__ = ("requested_at", "cause_kind", "cause", "step", "agreed")
    REQUESTED_AT_FIELD_NUMBER: _ClassVar[int]
    CAUSE_KIND_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    AGREED_FIELD_NUMBER: _ClassVar[int]
    requested_at: _timestamp_pb2.Timestamp
    cause_kind: CauseKind
    cause: str
    step: int
    agreed: bool
    def __init__(self, requested_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., cause_kind: _Optional[_Union[CauseKind, str]] = ..., cause: _Optional[str] = ..., step: _Optional[int] = ..., agreed: bool = ...) -> None: ...

class Task(_message.Message):
    __slots__ = ("role", "index", "node_id", "incarnation", "partitions", "status", "node_address", "role_name", "role_index", "abandoned")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    NODE_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    ROLE_NAME_FIELD_NUMBER: _ClassVar[int]
    ROLE_INDEX_FIELD_NUMBER: _ClassVar[int]
    ABANDONED_FIELD_NUMBER: _ClassVar[int]
    role: Role
    index: int
    node_id: str
    incarnation: int
    partitions: _containers.RepeatedScalarFieldContainer[int]
    status: TaskStatus
    node_address: str
    role_name: str
    role_index: int
    abandoned: bool
    def __init__(self, role: _Optional[_Union[Role, str]] = ..., index: _Optional[int] = ..., node_id: _Optional[str] = ..., incarnation: _Optional[int] = ..., partitions: _Optional[_Iterable[int]] = ..., status: _Optional[_Union[TaskStatus, _Mapping]] = ..., node_address: _Optional[str] = ..., role_name: _Optional[str] = ..., role_index: _Optional[int] = ..., abandoned: bool = ...) -> None: ...

class TaskStatus(_message.Message):
    __slots__ = ("state", "address", "rows", "pid", "exit_code", "error", "traceback", "started_at", "finished_at", "progress", "log_complete", "log_dropped_bytes", "failed_permanently", "agent_lost", "token_digest", "node_failed", "stalled", "end_requested", "log_bytes", "warm", "gpus", "memory_bytes", "device_memory_bytes", "failure")
    STATE_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    TRACEBACK_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    FINISHED_AT_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    LOG_COMPLETE_FIELD_NUMBER: _ClassVar[int]
    LOG_DROPPED_BYTES_FIELD_NUMBER: _ClassVar[int]
    FAILED_PERMANENTLY_FIELD_NUMBER: _ClassVar[int]
    AGENT_LOST_FIELD_NUMBER: _ClassVar[int]
    TOKEN_DIGEST_FIELD_NUMBER: _ClassVar[int]
    NODE_FAILED_FIELD_NUMBER: _ClassVar[int]
    STALLED_FIELD_NUMBER: _ClassVar[int]
    END_REQUESTED_FIELD_NUMBER: _ClassVar[int]
    LOG_BYTES_FIELD_NUMBER: _ClassVar[int]
    WARM_FIELD_NUMBER: _ClassVar[int]
    GPUS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    DEVICE_MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    state: TaskState
    address: str
    rows: int
    pid: int
    exit_code: int
    error: str
    traceback: str
    started_at: _timestamp_pb2.Timestamp
    finished_at: _timestamp_pb2.Timestamp
    progress: Progress
    log_complete: bool
    log_dropped_bytes: int
    failed_permanently: bool
    agent_lost: bool
    token_digest: bytes
    node_failed: bool
    stalled: bool
    end_requested: str
    log_bytes: int
    warm: bool
    gpus: _containers.RepeatedScalarFieldContainer[str]
    memory_bytes: int
    device_memory_bytes: int
    failure: TaskFailure
    def __init__(self, state: _Optional[_Union[TaskState, str]] = ..., address: _Optional[str] = ..., rows: _Optional[int] = ..., pid: _Optional[int] = ..., exit_code: _Optional[int] = ..., error: _Optional[str] = ..., traceback: _Optional[str] = ..., started_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., finished_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., progress: _Optional[_Union[Progress, _Mapping]] = ..., log_complete: bool = ..., log_dropped_bytes: _Optional[int] = ..., failed_permanently: bool = ..., agent_lost: bool = ..., token_digest: _Optional[bytes] = ..., node_failed: bool = ..., stalled: bool = ..., end_requested: _Optional[str] = ..., log_bytes: _Optional[int] = ..., warm: bool = ..., gpus: _Optional[_Iterable[str]] = ..., memory_bytes: _Optional[int] = ..., device_memory_bytes: _Optional[int] = ..., failure: _Optional[_Union[TaskFailure, _Mapping]] = ...) -> None: ...

class TaskFailure(_message.Message):
    __slots__ = ("kind", "exception_class", "exception_text")
    KIND_FIELD_NUMBER: _ClassVar[int]
    EXCEPTION_CLASS_FIELD_NUMBER: _ClassVar[int]
    EXCEPTION_TEXT_FIELD_NUMBER: _ClassVar[int]
    kind: FailureKind
    exception_class: str
    exception_text: str
    def __init__(self, kind: _Optional[_Union[FailureKind, str]] = ..., exception_class: _Optional[str] = ..., exception_text: _Optional[str] = ...) -> None: ...

class Progress(_message.Message):
    __slots__ = ("step", "total_steps", "metrics", "reported_at", "resumed_from_step", "checkpoint_step", "busy_until_nanos", "end", "epochs", "rounds", "waiting_for", "throughput", "snapshot_bytes")
    class MetricsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    STEP_FIELD_NUMBER: _ClassVar[int]
    TOTAL_STEPS_FIELD_NUMBER: _ClassVar[int]
    METRICS_FIELD_NUMBER: _ClassVar[int]
    REPORTED_AT_FIELD_NUMBER: _ClassVar[int]
    RESUMED_FROM_STEP_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_STEP_FIELD_NUMBER: _ClassVar[int]
    BUSY_UNTIL_NANOS_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    EPOCHS_FIELD_NUMBER: _ClassVar[int]
    ROUNDS_FIELD_NUMBER: _ClassVar[int]
    WAITING_FOR_FIELD_NUMBER: _ClassVar[int]
    THROUGHPUT_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_BYTES_FIELD_NUMBER: _ClassVar[int]
    step: int
    total_steps: int
    metrics: _containers.ScalarMap[str, float]
    reported_at: _timestamp_pb2.Timestamp
    resumed_from_step: int
    checkpoint_step: int
    busy_until_nanos: int
    end: EndProgress
    epochs: _containers.RepeatedCompositeFieldContainer[EpochProgress]
    rounds: _containers.RepeatedCompositeFieldContainer[RoundProgress]
    waiting_for: str
    throughput: Throughput
    snapshot_bytes: int
    def __init__(self, step: _Optional[int] = ..., total_steps: _Optional[int] = ..., metrics: _Optional[_Mapping[str, float]] = ..., reported_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., resumed_from_step: _Optional[int] = ..., checkpoint_step: _Optional[int] = ..., busy_until_nanos: _Optional[int] = ..., end: _Optional[_Union[EndProgress, _Mapping]] = ..., epochs: _Optional[_Iterable[_Union[EpochProgress, _Mapping]]] = ..., rounds: _Optional[_Iterable[_Union[RoundProgress, _Mapping]]] = ..., waiting_for: _Optional[str] = ..., throughput: _Optional[_Union[Throughput, _Mapping]] = ..., snapshot_bytes: _Optional[int] = ...) -> None: ...

class Throughput(_message.Message):
    __slots__ = ("steps_per_second", "examples_per_second", "input_wait")
    STEPS_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    EXAMPLES_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    INPUT_WAIT_FIELD_NUMBER: _ClassVar[int]
    steps_per_second: float
    examples_per_second: float
    input_wait: float
    def __init__(self, steps_per_second: _Optional[float] = ..., examples_per_second: _Optional[float] = ..., input_wait: _Optional[float] = ...) -> None: ...

class RoundProgress(_message.Message):
    __slots__ = ("number", "begun_at", "finished_at", "changes", "publications")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    BEGUN_AT_FIELD_NUMBER: _ClassVar[int]
    FINISHED_AT_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    PUBLICATIONS_FIELD_NUMBER: _ClassVar[int]
    number: int
    begun_at: _timestamp_pb2.Timestamp
    finished_at: _timestamp_pb2.Timestamp
    changes: int
    publications: _containers.RepeatedCompositeFieldContainer[Publication]
    def __init__(self, number: _Optional[int] = ..., begun_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., finished_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., changes: _Optional[int] = ..., publications: _Optional[_Iterable[_Union[Publication, _Mapping]]] = ...) -> None: ...

class Publication(_message.Message):
    __slots__ = ("model", "measure", "earlier_version", "earlier_measure", "version")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    MEASURE_FIELD_NUMBER: _ClassVar[int]
    EARLIER_VERSION_FIELD_NUMBER: _ClassVar[int]
    EARLIER_MEASURE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    model: str
    measure: float
    earlier_version: int
    earlier_measure: float
    version: int
    def __init__(self, model: _Optional[str] = ..., measure: _Optional[float] = ..., earlier_version: _Optional[int] = ..., earlier_measure: _Optional[float] = ..., version: _Optional[int] = ...) -> None: ...

class EpochProgress(_message.Message):
    __slots__ = ("cache", "epoch", "rows", "left_out", "filled")
    CACHE_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    FILLED_FIELD_NUMBER: _ClassVar[int]
    cache: str
    epoch: int
    rows: int
    left_out: int
    filled: int
    def __init__(self, cache: _Optional[str] = ..., epoch: _Optional[int] = ..., rows: _Optional[int] = ..., left_out: _Optional[int] = ..., filled: _Optional[int] = ...) -> None: ...

class RoundState(_message.Message):
    __slots__ = ("rounds", "since", "until")
    ROUNDS_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    rounds: _containers.RepeatedCompositeFieldContainer[RoundProgress]
    since: str
    until: str
    def __init__(self, rounds: _Optional[_Iterable[_Union[RoundProgress, _Mapping]]] = ..., since: _Optional[str] = ..., until: _Optional[str] = ...) -> None: ...

class EndProgress(_message.Message):
    __slots__ = ("ready", "step", "saved", "terminated")
    READY_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    SAVED_FIELD_NUMBER: _ClassVar[int]
    TERMINATED_FIELD_NUMBER: _ClassVar[int]
    ready: bool
    step: int
    saved: bool
    terminated: bool
    def __init__(self, ready: bool = ..., step: _Optional[int] = ..., saved: bool = ..., terminated: bool = ...) -> None: ...

class NodeReport(_message.Message):
    __slots__ = ("job_id", "attempt", "node_id", "tasks", "reached", "error", "revision")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    REACHED_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    attempt: int
    node_id: str
    tasks: _containers.RepeatedCompositeFieldContainer[Task]
    reached: AttemptPhase
    error: str
    revision: int
    def __init__(self, job_id: _Optional[str] = ..., attempt: _Optional[int] = ..., node_id: _Optional[str] = ..., tasks: _Optional[_Iterable[_Union[Task, _Mapping]]] = ..., reached: _Optional[_Union[AttemptPhase, str]] = ..., error: _Optional[str] = ..., revision: _Optional[int] = ...) -> None: ...

class ReportReceipt(_message.Message):
    __slots__ = ("job_id", "attempt", "revision", "watched")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    WATCHED_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    attempt: int
    revision: int
    watched: bool
    def __init__(self, job_id: _Optional[str] = ..., attempt: _Optional[int] = ..., revision: _Optional[int] = ..., watched: bool = ...) -> None: ...

class Node(_message.Message):
    __slots__ = ("id", "consistent_id", "order", "address", "host_name", "agent", "plugin_version", "loops", "losses", "lost_nodes", "quarantine", "availability", "restored_caches", "missing_nodes", "max_tasks", "tasks", "gpus", "http_address", "serves_models", "time_zone", "is_outside_baseline")
    ID_FIELD_NUMBER: _ClassVar[int]
    CONSISTENT_ID_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    HOST_NAME_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    PLUGIN_VERSION_FIELD_NUMBER: _ClassVar[int]
    LOOPS_FIELD_NUMBER: _ClassVar[int]
    LOSSES_FIELD_NUMBER: _ClassVar[int]
    LOST_NODES_FIELD_NUMBER: _ClassVar[int]
    QUARANTINE_FIELD_NUMBER: _ClassVar[int]
    AVAILABILITY_FIELD_NUMBER: _ClassVar[int]
    RESTORED_CACHES_FIELD_NUMBER: _ClassVar[int]
    MISSING_NODES_FIELD_NUMBER: _ClassVar[int]
    MAX_TASKS_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    GPUS_FIELD_NUMBER: _ClassVar[int]
    HTTP_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    SERVES_MODELS_FIELD_NUMBER: _ClassVar[int]
    TIME_ZONE_FIELD_NUMBER: _ClassVar[int]
    IS_OUTSIDE_BASELINE_FIELD_NUMBER: _ClassVar[int]
    id: str
    consistent_id: str
    order: int
    address: str
    host_name: str
    agent: AgentInfo
    plugin_version: str
    loops: _containers.RepeatedCompositeFieldContainer[NodeLoop]
    losses: _containers.RepeatedCompositeFieldContainer[CacheLoss]
    lost_nodes: _containers.RepeatedCompositeFieldContainer[LostNode]
    quarantine: _containers.RepeatedCompositeFieldContainer[UnprovenAttempt]
    availability: NodeAvailability
    restored_caches: _containers.RepeatedScalarFieldContainer[str]
    missing_nodes: _containers.RepeatedCompositeFieldContainer[MissingNode]
    max_tasks: int
    tasks: int
    gpus: _containers.RepeatedCompositeFieldContainer[Gpu]
    http_address: str
    serves_models: bool
    time_zone: str
    is_outside_baseline: bool
    def __init__(self, id: _Optional[str] = ..., consistent_id: _Optional[str] = ..., order: _Optional[int] = ..., address: _Optional[str] = ..., host_name: _Optional[str] = ..., agent: _Optional[_Union[AgentInfo, _Mapping]] = ..., plugin_version: _Optional[str] = ..., loops: _Optional[_Iterable[_Union[NodeLoop, _Mapping]]] = ..., losses: _Optional[_Iterable[_Union[CacheLoss, _Mapping]]] = ..., lost_nodes: _Optional[_Iterable[_Union[LostNode, _Mapping]]] = ..., quarantine: _Optional[_Iterable[_Union[UnprovenAttempt, _Mapping]]] = ..., availability: _Optional[_Union[NodeAvailability, str]] = ..., restored_caches: _Optional[_Iterable[str]] = ..., missing_nodes: _Optional[_Iterable[_Union[MissingNode, _Mapping]]] = ..., max_tasks: _Optional[int] = ..., tasks: _Optional[int] = ..., gpus: _Optional[_Iterable[_Union[Gpu, _Mapping]]] = ..., http_address: _Optional[str] = ..., serves_models: bool = ..., time_zone: _Optional[str] = ..., is_outside_baseline: bool = ...) -> None: ...

class UnprovenAttempt(_message.Message):
    __slots__ = ("job_id", "attempt", "pids")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    PIDS_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    attempt: int
    pids: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, job_id: _Optional[str] = ..., attempt: _Optional[int] = ..., pids: _Optional[_Iterable[int]] = ...) -> None: ...

class MissingNode(_message.Message):
    __slots__ = ("consistent_id", "host")
    CONSISTENT_ID_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    consistent_id: str
    host: str
    def __init__(self, consistent_id: _Optional[str] = ..., host: _Optional[str] = ...) -> None: ...

class LostNode(_message.Message):
    __slots__ = ("id", "consistent_id", "address", "lost_at")
    ID_FIELD_NUMBER: _ClassVar[int]
    CONSISTENT_ID_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    LOST_AT_FIELD_NUMBER: _ClassVar[int]
    id: str
    consistent_id: str
    address: str
    lost_at: _timestamp_pb2.Timestamp
    def __init__(self, id: _Optional[str] = ..., consistent_id: _Optional[str] = ..., address: _Optional[str] = ..., lost_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class NodeLoop(_message.Message):
    __slots__ = ("name", "error", "completed_at", "failures")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    COMPLETED_AT_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    name: str
    error: str
    completed_at: _timestamp_pb2.Timestamp
    failures: int
    def __init__(self, name: _Optional[str] = ..., error: _Optional[str] = ..., completed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., failures: _Optional[int] = ...) -> None: ...

class Gpu(_message.Message):
    __slots__ = ("id", "name", "memory_bytes")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    memory_bytes: int
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., memory_bytes: _Optional[int] = ...) -> None: ...

class AgentInfo(_message.Message):
    __slots__ = ("pid", "python", "python_version", "package_version", "tensorflow_version", "error", "warm_processes", "warm_bytes", "gpus")
    PID_FIELD_NUMBER: _ClassVar[int]
    PYTHON_FIELD_NUMBER: _ClassVar[int]
    PYTHON_VERSION_FIELD_NUMBER: _ClassVar[int]
    PACKAGE_VERSION_FIELD_NUMBER: _ClassVar[int]
    TENSORFLOW_VERSION_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    WARM_PROCESSES_FIELD_NUMBER: _ClassVar[int]
    WARM_BYTES_FIELD_NUMBER: _ClassVar[int]
    GPUS_FIELD_NUMBER: _ClassVar[int]
    pid: int
    python: str
    python_version: str
    package_version: str
    tensorflow_version: str
    error: str
    warm_processes: int
    warm_bytes: int
    gpus: _containers.RepeatedCompositeFieldContainer[Gpu]
    def __init__(self, pid: _Optional[int] = ..., python: _Optional[str] = ..., python_version: _Optional[str] = ..., package_version: _Optional[str] = ..., tensorflow_version: _Optional[str] = ..., error: _Optional[str] = ..., warm_processes: _Optional[int] = ..., warm_bytes: _Optional[int] = ..., gpus: _Optional[_Iterable[_Union[Gpu, _Mapping]]] = ...) -> None: ...

class CacheLoss(_message.Message):
    __slots__ = ("cache", "deployment_id", "partitions", "lost_at", "owners", "is_of_service", "is_persistent")
    CACHE_FIELD_NUMBER: _ClassVar[int]
    DEPLOYMENT_ID_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    LOST_AT_FIELD_NUMBER: _ClassVar[int]
    OWNERS_FIELD_NUMBER: _ClassVar[int]
    IS_OF_SERVICE_FIELD_NUMBER: _ClassVar[int]
    IS_PERSISTENT_FIELD_NUMBER: _ClassVar[int]
    cache: str
    deployment_id: str
    partitions: _containers.RepeatedScalarFieldContainer[int]
    lost_at: _timestamp_pb2.Timestamp
    owners: _containers.RepeatedScalarFieldContainer[str]
    is_of_service: bool
    is_persistent: bool
    def __init__(self, cache: _Optional[str] = ..., deployment_id: _Optional[str] = ..., partitions: _Optional[_Iterable[int]] = ..., lost_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., owners: _Optional[_Iterable[str]] = ..., is_of_service: bool = ..., is_persistent: bool = ...) -> None: ...

class JobFence(_message.Message):
    __slots__ = ("job_id", "attempt", "tasks")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    attempt: int
    tasks: _containers.RepeatedCompositeFieldContainer[Task]
    def __init__(self, job_id: _Optional[str] = ..., attempt: _Optional[int] = ..., tasks: _Optional[_Iterable[_Union[Task, _Mapping]]] = ...) -> None: ...

class UploadCodeRequest(_message.Message):
    __slots__ = ("digest", "chunk")
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    digest: str
    chunk: bytes
    def __init__(self, digest: _Optional[str] = ..., chunk: _Optional[bytes] = ...) -> None: ...

class UploadCodeResponse(_message.Message):
    __slots__ = ("size",)
    SIZE_FIELD_NUMBER: _ClassVar[int]
    size: int
    def __init__(self, size: _Optional[int] = ...) -> None: ...

class SubmitJobRequest(_message.Message):
    __slots__ = ("request_id", "spec")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    spec: JobSpec
    def __init__(self, request_id: _Optional[str] = ..., spec: _Optional[_Union[JobSpec, _Mapping]] = ...) -> None: ...

class SubmitJobResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: Job
    def __init__(self, job: _Optional[_Union[Job, _Mapping]] = ...) -> None: ...

class GetJobRequest(_message.Message):
    __slots__ = ("job_id",)
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    def __init__(self, job_id: _Optional[str] = ...) -> None: ...

class GetJobResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: Job
    def __init__(self, job: _Optional[_Union[Job, _Mapping]] = ...) -> None: ...

class ListJobsRequest(_message.Message):
    __slots__ = ("page_size", "page_token", "states", "since")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    states: _containers.RepeatedScalarFieldContainer[JobState]
    since: _timestamp_pb2.Timestamp
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., states: _Optional[_Iterable[_Union[JobState, str]]] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ListJobsResponse(_message.Message):
    __slots__ = ("jobs", "next_page_token")
    JOBS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    jobs: _containers.RepeatedCompositeFieldContainer[Job]
    next_page_token: str
    def __init__(self, jobs: _Optional[_Iterable[_Union[Job, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class StopJobRequest(_message.Message):
    __slots__ = ("job_id", "force", "save")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    SAVE_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    force: bool
    save: bool
    def __init__(self, job_id: _Optional[str] = ..., force: bool = ..., save: bool = ...) -> None: ...

class StopJobResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: Job
    def __init__(self, job: _Optional[_Union[Job, _Mapping]] = ...) -> None: ...

class RemoveJobRequest(_message.Message):
    __slots__ = ("job_id", "force")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    force: bool
    def __init__(self, job_id: _Optional[str] = ..., force: bool = ...) -> None: ...

class RemoveJobResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: Job
    def __init__(self, job: _Optional[_Union[Job, _Mapping]] = ...) -> None: ...

class WatchJobRequest(_message.Message):
    __slots__ = ("job_id",)
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    def __init__(self, job_id: _Optional[str] = ...) -> None: ...

class WatchJobResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: Job
    def __init__(self, job: _Optional[_Union[Job, _Mapping]] = ...) -> None: ...

class StreamLogsRequest(_message.Message):
    __slots__ = ("job_id", "follow", "role", "index", "attempt")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    FOLLOW_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    follow: bool
    role: Role
    index: int
    attempt: int
    def __init__(self, job_id: _Optional[str] = ..., follow: bool = ..., role: _Optional[_Union[Role, str]] = ..., index: _Optional[int] = ..., attempt: _Optional[int] = ...) -> None: ...

class StreamLogsResponse(_message.Message):
    __slots__ = ("attempt", "role", "index", "data", "dropped_bytes", "incarnation")
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    DROPPED_BYTES_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    attempt: int
    role: Role
    index: int
    data: bytes
    dropped_bytes: int
    incarnation: int
    def __init__(self, attempt: _Optional[int] = ..., role: _Optional[_Union[Role, str]] = ..., index: _Optional[int] = ..., data: _Optional[bytes] = ..., dropped_bytes: _Optional[int] = ..., incarnation: _Optional[int] = ...) -> None: ...

class ListNodesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListNodesResponse(_message.Message):
    __slots__ = ("nodes",)
    NODES_FIELD_NUMBER: _ClassVar[int]
    nodes: _containers.RepeatedCompositeFieldContainer[Node]
    def __init__(self, nodes: _Optional[_Iterable[_Union[Node, _Mapping]]] = ...) -> None: ...

class ListCachesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListCachesResponse(_message.Message):
    __slots__ = ("caches",)
    CACHES_FIELD_NUMBER: _ClassVar[int]
    caches: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, caches: _Optional[_Iterable[str]] = ...) -> None: ...

class DrainNodeRequest(_message.Message):
    __slots__ = ("node", "undo")
    NODE_FIELD_NUMBER: _ClassVar[int]
    UNDO_FIELD_NUMBER: _ClassVar[int]
    node: str
    undo: bool
    def __init__(self, node: _Optional[str] = ..., undo: bool = ...) -> None: ...

class DrainNodeResponse(_message.Message):
    __slots__ = ("node",)
    NODE_FIELD_NUMBER: _ClassVar[int]
    node: Node
    def __init__(self, node: _Optional[_Union[Node, _Mapping]] = ...) -> None: ...

class BaselineEntry(_message.Message):
    __slots__ = ("consistent_id", "address", "is_member", "is_online")
    CONSISTENT_ID_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    IS_MEMBER_FIELD_NUMBER: _ClassVar[int]
    IS_ONLINE_FIELD_NUMBER: _ClassVar[int]
    consistent_id: str
    address: str
    is_member: bool
    is_online: bool
    def __init__(self, consistent_id: _Optional[str] = ..., address: _Optional[str] = ..., is_member: bool = ..., is_online: bool = ...) -> None: ...

class BaselineState(_message.Message):
    __slots__ = ("nodes", "is_automatic")
    NODES_FIELD_NUMBER: _ClassVar[int]
    IS_AUTOMATIC_FIELD_NUMBER: _ClassVar[int]
    nodes: _containers.RepeatedCompositeFieldContainer[BaselineEntry]
    is_automatic: bool
    def __init__(self, nodes: _Optional[_Iterable[_Union[BaselineEntry, _Mapping]]] = ..., is_automatic: bool = ...) -> None: ...

class GetBaselineRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetBaselineResponse(_message.Message):
    __slots__ = ("baseline",)
    BASELINE_FIELD_NUMBER: _ClassVar[int]
    baseline: BaselineState
    def __init__(self, baseline: _Optional[_Union[BaselineState, _Mapping]] = ...) -> None: ...

class ChangeBaselineRequest(_message.Message):
    __slots__ = ("add", "add_online", "remove", "force")
    ADD_FIELD_NUMBER: _ClassVar[int]
    ADD_ONLINE_FIELD_NUMBER: _ClassVar[int]
    REMOVE_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    add: _containers.RepeatedScalarFieldContainer[str]
    add_online: bool
    remove: _containers.RepeatedScalarFieldContainer[str]
    force: bool
    def __init__(self, add: _Optional[_Iterable[str]] = ..., add_online: bool = ..., remove: _Optional[_Iterable[str]] = ..., force: bool = ...) -> None: ...

class ChangeBaselineResponse(_message.Message):
    __slots__ = ("baseline",)
    BASELINE_FIELD_NUMBER: _ClassVar[int]
    baseline: BaselineState
    def __init__(self, baseline: _Optional[_Union[BaselineState, _Mapping]] = ...) -> None: ...

class ReportTerminationRequest(_message.Message):
    __slots__ = ("token",)
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    token: str
    def __init__(self, token: _Optional[str] = ...) -> None: ...

class ReportTerminationResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AgreeOnRowsRequest(_message.Message):
    __slots__ = ("job_id", "attempt", "worker", "incarnation", "dataset", "epoch", "rows", "others")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    DATASET_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    OTHERS_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    attempt: int
    worker: int
    incarnation: int
    dataset: str
    epoch: int
    rows: int
    others: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, job_id: _Optional[str] = ..., attempt: _Optional[int] = ..., worker: _Optional[int] = ..., incarnation: _Optional[int] = ..., dataset: _Optional[str] = ..., epoch: _Optional[int] = ..., rows: _Optional[int] = ..., others: _Optional[_Iterable[int]] = ...) -> None: ...

class AgreeOnRowsResponse(_message.Message):
    __slots__ = ("rows",)
    ROWS_FIELD_NUMBER: _ClassVar[int]
    rows: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, rows: _Optional[_Iterable[int]] = ...) -> None: ...

class EpochRows(_message.Message):
    __slots__ = ("rows",)
    class RowsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: int
        def __init__(self, key: _Optional[int] = ..., value: _Optional[int] = ...) -> None: ...
    ROWS_FIELD_NUMBER: _ClassVar[int]
    rows: _containers.ScalarMap[int, int]
    def __init__(self, rows: _Optional[_Mapping[int, int]] = ...) -> None: ...

class AcceptDataLossRequest(_message.Message):
    __slots__ = ("cache",)
    CACHE_FIELD_NUMBER: _ClassVar[int]
    cache: str
    def __init__(self, cache: _Optional[str] = ...) -> None: ...

class AcceptDataLossResponse(_message.Message):
    __slots__ = ("partitions",)
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    partitions: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, partitions: _Optional[_Iterable[int]] = ...) -> None: ...

class AcceptQuorumRequest(_message.Message):
    __slots__ = ("job_id",)
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    def __init__(self, job_id: _Optional[str] = ...) -> None: ...

class AcceptQuorumResponse(_message.Message):
    __slots__ = ("job", "missing")
    JOB_FIELD_NUMBER: _ClassVar[int]
    MISSING_FIELD_NUMBER: _ClassVar[int]
    job: Job
    missing: _containers.RepeatedCompositeFieldContainer[Node]
    def __init__(self, job: _Optional[_Union[Job, _Mapping]] = ..., missing: _Optional[_Iterable[_Union[Node, _Mapping]]] = ...) -> None: ...

class ProfileTaskRequest(_message.Message):
    __slots__ = ("job_id", "role", "index", "seconds")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    role: Role
    index: int
    seconds: float
    def __init__(self, job_id: _Optional[str] = ..., role: _Optional[_Union[Role, str]] = ..., index: _Optional[int] = ..., seconds: _Optional[float] = ...) -> None: ...

class ProfileTaskResponse(_message.Message):
    __slots__ = ("profile_id", "directory", "name")
    PROFILE_ID_FIELD_NUMBER: _ClassVar[int]
    DIRECTORY_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    profile_id: str
    directory: str
    name: str
    def __init__(self, profile_id: _Optional[str] = ..., directory: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...
