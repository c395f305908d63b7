"""What users see of jobs and nodes: one frozen dataclass for each message of job.proto, under the same name.

States, roles and kinds are plain strings (``"running"``, ``"worker"``, ``"multi-worker-mirrored"``), times are aware
datetimes in UTC, durations are seconds, and what is not known is None. A value that a newer node sends and this
version does not know reads ``"unknown-NUMBER"``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Literal, cast

from tensorflow_ignite.messages import MICROSECOND, Value, enum_text, seconds_of, time_of

if TYPE_CHECKING:
    from tensorflow_ignite.v1 import job_pb2

__all__ = [
    "JOB_KINDS",
    "ON_JOIN",
    "QUORUMS",
    "ROLES",
    "AgentInfo",
    "Attempt",
    "AttemptPhase",
    "CauseKind",
    "Event",
    "Job",
    "JobKind",
    "JobSpec",
    "JobState",
    "Node",
    "OnJoin",
    "Progress",
    "Quorum",
    "Role",
    "Task",
    "TaskState",
    "TaskStatus",
]

JobKind = Literal["multi-worker-mirrored", "parameter-server"]
JobState = Literal[
    "pending", "reserving", "starting", "running", "restarting", "ending", "succeeded", "failed", "stopped"
]
Role = Literal["client", "chief", "worker", "ps", "evaluator"]
TaskState = Literal["placed", "reserved", "running", "succeeded", "failed", "stopped", "lost"]
AttemptPhase = Literal["reserve", "run", "stop"]
#: Why an attempt ended; a crash and a start that took too long count against max_crashes, the others do not.
CauseKind = Literal["crash", "node-left", "data-moved", "data-lost", "start-timeout", "stop-request", "done"]
OnJoin = Literal["restart", "ignore", "at-checkpoint"]
Quorum = Literal["majority", "none"]

JOB_KINDS: tuple[JobKind, ...] = ("multi-worker-mirrored", "parameter-server")
ROLES: tuple[Role, ...] = ("client", "chief", "worker", "ps", "evaluator")
ON_JOIN: tuple[OnJoin, ...] = ("restart", "ignore", "at-checkpoint")
QUORUMS: tuple[Quorum, ...] = ("majority", "none")

_OVER = frozenset({"succeeded", "failed", "stopped"})
_TASK_ENDED = frozenset({"succeeded", "failed", "stopped", "lost"})


@dataclass(frozen=True)
class JobSpec(Value):
    """What a user asks for.

    Attributes:
        name: Any text; need not be unique.
        kind: Whether the script runs on every worker, or once, as coordinator of workers and parameter servers.
        cache: The cache whose partitions are split over the workers.
        code_digest: SHA-256 of the code archive, in lower-case hexadecimal.
        script: The script, as a path inside the archive.
        args: Passed to the script untouched.
        env: Added to the environment of every task.
        ps_count: Parameter servers of a parameter-server job; 0 means 1.
        start_timeout: Seconds from the placement until every task runs; None: the service's setting.
        stop_grace: Seconds between SIGTERM and SIGKILL when tasks are stopped; None: the service's setting.
        checkpoint_directory: Where the script should keep checkpoints; empty in what is submitted: in the cluster
            itself, ``ignite:///jobs/ID/checkpoints``.
        max_crashes: Crashes that are followed by a restart, counted anew after a healthy time; None: 3.
        min_workers: An attempt starts only with at least so many workers; 0 means 1.
        wait_timeout: Seconds that it waits for an assignment to start with; None: the service's setting.
        on_join: What happens when a node joins or partitions move while the tasks run well: a restart after a quiet
            time, nothing, or a restart as soon as a checkpoint has been saved.
        allow_data_loss: Go on with the rows that are left when partitions lost all their copies.
        quorum: How much of the cluster must be there for a restart: most of the nodes last seen together, or none.
        more_caches: Further caches that its tasks may read, where callers must say who they are.
        allow_plaintext: Run although the cluster encrypts, which TensorFlow's own connections between tasks do not.
    """

    cache: str
    code_digest: str
    script: str
    name: str = ""
    kind: JobKind = "multi-worker-mirrored"
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, hash=False)
    ps_count: int = 0
    start_timeout: float | None = None
    stop_grace: float | None = None
    checkpoint_directory: str = ""
    max_crashes: int | None = None
    min_workers: int = 0
    wait_timeout: float | None = None
    on_join: OnJoin = "restart"
    allow_data_loss: bool = False
    quorum: Quorum = "majority"
    more_caches: tuple[str, ...] = ()
    allow_plaintext: bool = False

    @classmethod
    def from_proto(cls, message: job_pb2.JobSpec) -> JobSpec:
        """Reads the message."""
        return cls(
            name=message.name,
            kind=cast("JobKind", enum_text(message, "kind")),
            cache=message.cache,
            code_digest=message.code_digest,
            script=message.script,
            args=tuple(message.args),
            env=dict(message.env),
            ps_count=message.ps_count,
            start_timeout=seconds_of(message, "start_timeout"),
            stop_grace=seconds_of(message, "stop_grace"),
            checkpoint_directory=message.checkpoint_directory,
            max_crashes=message.max_crashes if message.HasField("max_crashes") else None,
            min_workers=message.min_workers,
            wait_timeout=seconds_of(message, "wait_timeout"),
            on_join=cast("OnJoin", enum_text(message, "on_join")) if message.on_join else "restart",
            allow_data_loss=message.allow_data_loss,
            quorum=cast("Quorum", enum_text(message, "quorum")) if message.quorum else "majority",
            more_caches=tuple(message.more_caches),
            allow_plaintext=message.allow_plaintext,
        )

    def to_proto(self) -> job_pb2.JobSpec:
        """Writes the message."""
        from tensorflow_ignite.v1 import job_pb2

        message = job_pb2.JobSpec(
            name=self.name,
            kind=self.kind.replace("-", "_").upper(),
            cache=self.cache,
            code_digest=self.code_digest,
            script=self.script,
            args=self.args,
            env=self.env,
            ps_count=self.ps_count,
            checkpoint_directory=self.checkpoint_directory,
            max_crashes=self.max_crashes,
            min_workers=self.min_workers,
            on_join=self.on_join.replace("-", "_").upper(),
            allow_data_loss=self.allow_data_loss,
            quorum=self.quorum.upper(),
            more_caches=self.more_caches,
            allow_plaintext=self.allow_plaintext,
        )
        for name in ("start_timeout", "stop_grace", "wait_timeout"):
            seconds = getattr(self, name)
            if seconds is not None:
                getattr(message, name).FromMicroseconds(round(seconds * MICROSECOND))
        return message


@dataclass(frozen=True)
class Progress(Value):
    """What a script last told of its work.

    Attributes:
        step: Steps done.
        total_steps: Steps to do; None: not told.
        metrics: Numbers by name.
        reported_at: When it was told.
        resumed_from_step: The step of the checkpoint that the task resumed from; None: it began from the beginning.
        checkpoint_step: The step of the last checkpoint that was saved; None: none yet.
    """

    step: int
    total_steps: int | None
    metrics: Mapping[str, float] = field(hash=False)
    reported_at: datetime | None
    resumed_from_step: int | None = None
    checkpoint_step: int | None = None

    @classmethod
    def from_proto(cls, message: job_pb2.Progress) -> Progress:
        """Reads the message."""
        return cls(
            step=message.step,
            total_steps=message.total_steps or None,
            metrics=dict(message.metrics),
            reported_at=time_of(message, "reported_at"),
            resumed_from_step=message.resumed_from_step or None,
            checkpoint_step=message.checkpoint_step or None,
        )


@dataclass(frozen=True)
class TaskStatus(Value):
    """What a node reports of a task.

    Attributes:
        state: Where the task stands.
        address: host:port that its TensorFlow server listens on; empty before it is reserved.
        rows: Rows in its partitions when they were counted; 0 before that.
        pid: Of its process; None: no process yet.
        exit_code: Negative: the number of the signal that ended it; None: it has not ended.
        error: What went wrong, in one line.
        traceback: The traceback, or the last lines of its output.
        started_at: When its process started.
        finished_at: When it was known to have ended.
        progress: What the script last told of its work; None: nothing.
        log_complete: Its output has been stored up to its end.
        log_dropped_bytes: Output that was dropped, oldest first, because it exceeded the limit for one task.
        hopeless: It failed in a way that no further attempt could change.
        agent_lost: It ended with its agent.
    """

    state: TaskState
    address: str
    rows: int
    pid: int | None
    exit_code: int | None
    error: str
    traceback: str
    started_at: datetime | None
    finished_at: datetime | None
    progress: Progress | None
    log_complete: bool
    log_dropped_bytes: int
    hopeless: bool
    agent_lost: bool

    @classmethod
    def from_proto(cls, message: job_pb2.TaskStatus) -> TaskStatus:
        """Reads the message."""
        state = enum_text(message, "state", prefix="TASK_")
        return cls(
            state=cast("TaskState", state),
            address=message.address,
            rows=message.rows,
            pid=message.pid or None,
            exit_code=message.exit_code if state in _TASK_ENDED else None,
            error=message.error,
            traceback=message.traceback,
            started_at=time_of(message, "started_at"),
            finished_at=time_of(message, "finished_at"),
            progress=Progress.from_proto(message.progress) if message.HasField("progress") else None,
            log_complete=message.log_complete,
            log_dropped_bytes=message.log_dropped_bytes,
            hopeless=message.hopeless,
            agent_lost=message.agent_lost,
        )


@dataclass(frozen=True)
class Task(Value):
    """One TensorFlow process of an attempt.

    Attributes:
        role: What it does in the cluster of TensorFlow processes.
        index: Position within its role, from 0.
        node_id: The node that it is placed on.
        incarnation: Counts its replacements inside the attempt.
        partitions: The partitions of the job's cache that it reads; empty for roles that read none.
        status: What its node reports of it.
        node_address: host:port of its node's API.
    """

    role: Role
    index: int
    node_id: str
    incarnation: int
    partitions: tuple[int, ...]
    status: TaskStatus
    node_address: str

    @property
    def name(self) -> str:
        """The task as people write it: ``"worker 0"``."""
        return f"{self.role} {self.index}"

    @classmethod
    def from_proto(cls, message: job_pb2.Task) -> Task:
        """Reads the message."""
        return cls(
            role=cast("Role", enum_text(message, "role")),
            index=message.index,
            node_id=message.node_id,
            incarnation=message.incarnation,
            partitions=tuple(message.partitions),
            status=TaskStatus.from_proto(message.status),
            node_address=message.node_address,
        )


@dataclass(frozen=True)
class Attempt(Value):
    """One run of a job's tasks.

    Attributes:
        number: Counted from 1.
        phase: What its nodes shall do.
        tasks: In the order of roles and indices.
        assignment_digest: Identifies which partitions each task reads.
        started_at: When it was placed.
        running_at: When its tasks all ran.
        ending_at: When its end was decided, and its tasks were asked to stop.
        finished_at: When nothing of it was left.
        cause_kind: Why it ended; None: it has not.
        cause: The same in one line.
        last_step: The highest step that its tasks told of.
        resumed_from_step: The step that it resumed from; None: it began from the beginning.
    """

    number: int
    phase: AttemptPhase
    tasks: tuple[Task, ...]
    assignment_digest: str
    started_at: datetime | None
    running_at: datetime | None
    ending_at: datetime | None
    finished_at: datetime | None
    cause_kind: CauseKind | None
    cause: str
    last_step: int
    resumed_from_step: int | None

    @classmethod
    def from_proto(cls, message: job_pb2.Attempt) -> Attempt:
        """Reads the message."""
        return cls(
            number=message.number,
            phase=cast("AttemptPhase", enum_text(message, "phase")),
            tasks=tuple(Task.from_proto(task) for task in message.tasks),
            assignment_digest=message.assignment_digest,
            started_at=time_of(message, "started_at"),
            running_at=time_of(message, "running_at"),
            ending_at=time_of(message, "ending_at"),
            finished_at=time_of(message, "finished_at"),
            cause_kind=cast("CauseKind", enum_text(message, "cause_kind")) if message.cause_kind else None,
            cause=message.cause,
            last_step=message.last_step,
            resumed_from_step=message.resumed_from_step or None,
        )


@dataclass(frozen=True)
class Event(Value):
    """One line of a job's history.

    Attributes:
        at: When it happened.
        attempt: The newest attempt at that time; 0: before the first.
        state: The job's state from then on.
        text: What happened.
    """

    at: datetime | None
    attempt: int
    state: JobState
    text: str

    @classmethod
    def from_proto(cls, message: job_pb2.Event) -> Event:
        """Reads the message."""
        return cls(
            at=time_of(message, "at"),
            attempt=message.attempt,
            state=cast("JobState", enum_text(message, "state")),
            text=message.text,
        )


@dataclass(frozen=True)
class Job(Value):
    """One submitted training, with all that is known of it.

    Attributes:
        id: Unique in the cluster; a unique prefix of at least 4 characters is enough to name the job.
        spec: What was asked for.
        state: Where the job stands.
        attempts: The newest last.
        created_at: When it was submitted.
        finished_at: When it was over, its processes proven gone.
        outcome: ``"succeeded"``, ``"failed"`` or ``"stopped"``, told already while the job is ending; None before.
        cause: Why it ended, in one line; empty after success.
        traceback: The traceback, or the last lines, of the task that failed first.
        exit_code: 0 after success, that of the task that failed first, 130 when stopped, otherwise 1; None: not over.
        stop_requested: Somebody asked for its end.
        service_node_id: The node that hosts the job's service.
        waiting_for: What is waited for now, in one line.
        crashes: Crashes since the job was last healthy.
        not_before: The next attempt does not start before this moment (back-off after a crash).
        lost_partitions: Partitions of the job's cache that lost all their copies since the job began.
        events: What happened, oldest first; the newest 500.
        kept_until: When the cluster removes it with all that it has left; None: it is not over, or it is kept until
            somebody removes it.
        owner: Who has submitted it; empty: the cluster asks nobody.
    """

    id: str
    spec: JobSpec
    state: JobState
    attempts: tuple[Attempt, ...]
    created_at: datetime | None
    finished_at: datetime | None
    outcome: JobState | None
    cause: str
    traceback: str
    exit_code: int | None
    stop_requested: bool
    service_node_id: str
    waiting_for: str
    crashes: int
    not_before: datetime | None
    lost_partitions: tuple[int, ...]
    events: tuple[Event, ...]
    kept_until: datetime | None
    owner: str = ""

    @property
    def is_over(self) -> bool:
        """True when the outcome is decided and the job's processes are proven gone."""
        return self.state in _OVER

    @property
    def attempt(self) -> Attempt | None:
        """The newest attempt; None before the first."""
        return self.attempts[-1] if self.attempts else None

    @classmethod
    def from_proto(cls, message: job_pb2.Job) -> Job:
        """Reads the message."""
        state = enum_text(message, "state")
        return cls(
            id=message.id,
            spec=JobSpec.from_proto(message.spec),
            state=cast("JobState", state),
            attempts=tuple(Attempt.from_proto(attempt) for attempt in message.attempts),
            created_at=time_of(message, "created_at"),
            finished_at=time_of(message, "finished_at"),
            outcome=cast("JobState", enum_text(message, "outcome")) if message.outcome else None,
            cause=message.cause,
            traceback=message.traceback,
            exit_code=message.exit_code if state in _OVER else None,
            stop_requested=message.stop_requested,
            service_node_id=message.service_node_id,
            waiting_for=message.waiting_for,
            crashes=message.crashes,
            not_before=time_of(message, "not_before"),
            lost_partitions=tuple(message.lost_partitions),
            events=tuple(Event.from_proto(event) for event in message.events),
            kept_until=time_of(message, "kept_until"),
            owner=message.owner,
        )


@dataclass(frozen=True)
class AgentInfo(Value):
    """What an agent tells of itself.

    Attributes:
        pid: Of the agent's process; None: no agent runs, and ``error`` says why.
        python: The interpreter that runs tasks.
        python_version: Of that interpreter.
        package_version: Of tensorflow-ignite there.
        tensorflow_version: Of TensorFlow there; empty: not installed.
        error: Why no agent runs.
    """

    pid: int | None
    python: str
    python_version: str
    package_version: str
    tensorflow_version: str
    error: str

    @classmethod
    def from_proto(cls, message: job_pb2.AgentInfo) -> AgentInfo:
        """Reads the message."""
        return cls(
            pid=message.pid or None,
            python=message.python,
            python_version=message.python_version,
            package_version=message.package_version,
            tensorflow_version=message.tensorflow_version,
            error=message.error,
        )


@dataclass(frozen=True)
class Node(Value):
    """One node of the cluster that runs the service.

    Attributes:
        id: Given by Ignite when the node joined.
        consistent_id: Survives restarts of the node.
        order: Position in the order in which nodes joined.
        address: host:port of its node API and data endpoint.
        host_name: Of its machine.
        agent: What its agent tells of itself.
        plugin_version: Of tensorflow-ignite in the node.
    """

    id: str
    consistent_id: str
    order: int
    address: str
    host_name: str
    agent: AgentInfo
    plugin_version: str

    @classmethod
    def from_proto(cls, message: job_pb2.Node) -> Node:
        """Reads the message."""
        return cls(
            id=message.id,
            consistent_id=message.consistent_id,
            order=message.order,
            address=message.address,
            host_name=message.host_name,
            agent=AgentInfo.from_proto(message.agent),
            plugin_version=message.plugin_version,
        )
