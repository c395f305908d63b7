"""Jobs and nodes as users see them: one frozen dataclass for each message of job.proto, of the same name.

States, roles and kinds are plain strings (``"running"``, ``"worker"``, ``"multi-worker-mirrored"``), times are aware
datetimes in UTC, durations are seconds, and an unknown value is None. If a newer node sends a value of an enum that
this version does not know, it is ``"unknown-NUMBER"``.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, get_args

from tensorflow_ignite import groups
from tensorflow_ignite.base.messages import Value, write_message
from tensorflow_ignite.kinds import JobKind as JobKind
from tensorflow_ignite.kinds import runs_script

if TYPE_CHECKING:
    from tensorflow_ignite.v1 import job_pb2

JobState = Literal[
    "pending",
    "reserving",
    "starting",
    "running",
    "restarting",
    "ending",
    "succeeded",
    "failed",
    "stopped",
    "unreadable",
]
Role = Literal["client", "worker", "ps", "evaluator", "named"]
TaskState = Literal["placed", "reserved", "running", "succeeded", "failed", "stopped", "lost"]
AttemptPhase = Literal["reserve", "run", "save", "stop"]
#: Why an attempt ended; only a crash counts against max_crashes.
CauseKind = Literal[
    "crash",
    "node-left",
    "data-moved",
    "data-lost",
    "start-timeout",
    "stop-request",
    "done",
    "node-failed",
    "stall",
    "planned",
    "no-rows",
]
NodeAvailability = Literal["drained", "stopping"]

ROLES: tuple[Role, ...] = ("client", "worker", "ps", "evaluator", "named")

JOB_STATES: tuple[JobState, ...] = get_args(JobState)
_OVER = frozenset({"succeeded", "failed", "stopped"})
#: Attempts and characters of a line in the text of a job.
_SHOWN_ATTEMPTS, _LINE_CHARACTERS = 5, 200
_TASK_ENDED = frozenset({"succeeded", "failed", "stopped", "lost"})


@dataclass(frozen=True)
class JobSpec(Value):
    """The specification of a job, as a user submits it.

    Attributes:
        cache: The cache whose partitions are split over the workers.
        code_digest: SHA-256 of the code archive, in lower-case hexadecimal.
        script: The script, as a path inside the archive.
        name: Any text; need not be unique.
        args: Passed to the script untouched.
        checkpoint_directory: The directory for the script's checkpoints. If it is empty in the submitted job, the
            cluster sets ``ignite:///jobs/ID/checkpoints``.
        priority: From -100 to 100: each unit moves the job ten minutes forward in the queue.
        read_rate: Limit of what all tasks of the job together read from each node per second, such as ``"200MB"``;
            empty: no limit of its own.
        strategy: Which tasks run the script, and which roles the job has.
        workers: The tasks that read the partitions of the cache.
        restart: The conditions of another attempt.
        timeouts: The longest times of its phases.
        environment: The processes of the tasks.
        access: Further caches and directories that the tasks may use, in a cluster that requires credentials.
        evaluator: A further task that evaluates each checkpoint as it comes; None: there is none.
        rounds: The rule for its rounds; None: the job has no rounds, and ends with its script.
        prediction: The input and the output of a job of kind predict; None for other kinds.
    """

    cache: str
    code_digest: str
    script: str
    name: str = ""
    args: tuple[str, ...] = ()
    checkpoint_directory: str = ""
    priority: int = 0
    read_rate: str = ""
    strategy: groups.Strategy = field(default_factory=groups.Strategy)
    workers: groups.Workers = field(default_factory=groups.Workers)
    restart: groups.Restart = field(default_factory=groups.Restart)
    timeouts: groups.Timeouts = field(default_factory=groups.Timeouts)
    environment: groups.Environment = field(default_factory=groups.Environment)
    access: groups.Access = field(default_factory=groups.Access)
    evaluator: groups.Evaluator | None = None
    rounds: groups.Rounds | None = None
    prediction: groups.Prediction | None = None

    def to_proto(self) -> job_pb2.JobSpec:
        """Writes the message."""
        from tensorflow_ignite.v1 import job_pb2

        return write_message(self, job_pb2.JobSpec)


@dataclass(frozen=True)
class EpochProgress(Value):
    """The rows of a task in one epoch of a dataset.

    Attributes:
        cache: Name of the cache.
        epoch: Number of the epoch, from 0.
        rows: Rows that were read.
        left_out: Of these, rows that the epoch has left out, since another worker has fewer.
        filled: Rows that were repeated, or added with weight 0, since another worker has more.
    """

    cache: str
    epoch: int
    rows: int
    left_out: int
    filled: int

    def __str__(self) -> str:
        """The rows in one line: ``"epoch 3 of 'images': 1,000 rows, 20 left out"``."""
        notes = [f"{self.left_out:,} left out"] if self.left_out else []
        notes += [f"{self.filled:,} filled"] if self.filled else []
        return ", ".join([f"epoch {self.epoch} of {self.cache!r}: {self.rows:,} rows", *notes])


@dataclass(frozen=True)
class Publication(Value):
    """What became of a model that a round has trained.

    Attributes:
        model: Name of the model: its versions are directories ``ignite:///models/NAME/VERSION``.
        measure: Its measure, on the rows that are held out.
        earlier_version: The version that was published before; None: there was none.
        earlier_measure: The measure of that one on the same rows.
        version: The version as which it was published; None: it was not, since it was worse.
    """

    model: str
    measure: float
    earlier_version: int | None = None
    earlier_measure: float = 0.0
    version: int | None = None

    def __str__(self) -> str:
        """The publication in one line: ``"trips: kept 4 (0.33 is worse than 0.29)"``."""
        if self.version is None:
            kept = f"kept {self.earlier_version}" if self.earlier_version else "published none"
            if not math.isfinite(self.measure):
                return f"{self.model}: {kept} ({self.measure:.4g} is no finite number)"
            return f"{self.model}: {kept} ({self.measure:.4g} is worse than {self.earlier_measure:.4g})"
        earlier = f", {self.earlier_version} has {self.earlier_measure:.4g}" if self.earlier_version else ""
        return f"{self.model}: published {self.version} ({self.measure:.4g}{earlier})"


@dataclass(frozen=True)
class RoundProgress(Value):
    """One round of a continuous job.

    Attributes:
        number: From 1.
        begun_at: When it began.
        finished_at: When it ended; None: it has not.
        changes: Puts and removals since the round before; of the first round, rows of the cache; None: not known, and
            some partitions were read whole.
        publications: What became of the models that it has trained.
    """

    number: int
    begun_at: datetime | None
    finished_at: datetime | None
    changes: int | None
    publications: tuple[Publication, ...]

    def __str__(self) -> str:
        """The round in one line: ``"round 7: 10,312 changes; trips: published 5 (0.28, 4 has 0.29)"``."""
        first = "all rows" if self.changes is None else f"{self.changes:,} {'rows' if self.number == 1 else 'changes'}"
        changes = first if self.number == 1 or self.changes is not None else "changes and whole partitions"
        return "; ".join([f"round {self.number}: {changes}", *map(str, self.publications)])


@dataclass(frozen=True)
class Throughput(Value):
    """How fast a task trains, over its last seconds.

    Attributes:
        steps_per_second: Steps; 0: none was finished, or the task counts none.
        examples_per_second: Rows that all datasets of the task have returned.
        input_wait: The share of time, 0 to 1, in which its datasets waited for rows from nodes.
    """

    steps_per_second: float = 0.0
    examples_per_second: float = 0.0
    input_wait: float = 0.0


@dataclass(frozen=True)
class Progress(Value):
    """The last progress that a script reported.

    Attributes:
        step: Steps done.
        total_steps: Steps to do; None: not reported.
        metrics: Numbers by name.
        reported_at: When the node got the report.
        resumed_from_step: The step of the checkpoint that the task resumed from; None: it began from the beginning.
        checkpoint_step: The step of the last checkpoint that was saved; None: none yet.
        epochs: The last epochs of the task's datasets that were read to their end, oldest first.
        rounds: The last rounds of a continuous job, oldest first.
        waiting_for: What the next round waits for; empty: a round trains.
        throughput: How fast it trains; None: not measured yet.
        snapshot_bytes: Memory of the rows that its datasets keep (``snapshot=``).
    """

    step: int
    total_steps: int | None
    metrics: Mapping[str, float] = field(hash=False)
    reported_at: datetime | None
    resumed_from_step: int | None = None
    checkpoint_step: int | None = None
    epochs: tuple[EpochProgress, ...] = ()
    rounds: tuple[RoundProgress, ...] = ()
    waiting_for: str = ""
    throughput: Throughput | None = None
    snapshot_bytes: int = 0

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the last step at the present speed; None: not known."""
        speed = self.throughput.steps_per_second if self.throughput else 0.0
        return max(0, self.total_steps - self.step) / speed if self.total_steps and speed > 0 else None

    def __str__(self) -> str:
        """The progress in one line: ``"step 120/300 accuracy=0.91"``."""
        steps = f"step {self.step:,}" + (f"/{self.total_steps:,}" if self.total_steps else "")
        return " ".join([steps, *(f"{name}={value:.4g}" for name, value in sorted(self.metrics.items()))])


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
        progress: The last progress that the script reported; None: none yet.
        log_complete: Its output has been stored up to its end.
        log_bytes: Bytes of its whole output, dropped ones included; 0: none, or it has not ended.
        log_dropped_bytes: Output that was dropped, oldest first, because it exceeded the limit for one task.
        failed_permanently: It failed in a way that no further attempt could change.
        agent_lost: It ended with its agent.
        node_failed: Its node or agent failed, and not the script.
        stalled: It was killed because it made no progress for too long.
        warm: Its process was a spare, which had TensorFlow imported before the task was started.
        gpus: Ids of the GPUs that it has for itself.
        memory_bytes: Resident memory of all its processes, measured every 5 s; 0: not known.
        device_memory_bytes: Used memory of its GPUs together; 0: not known.
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
    log_bytes: int
    log_dropped_bytes: int
    failed_permanently: bool
    agent_lost: bool
    node_failed: bool
    stalled: bool
    warm: bool
    gpus: tuple[str, ...] = ()
    memory_bytes: int = 0
    device_memory_bytes: int = 0

    @classmethod
    def from_proto(cls, message: Any) -> TaskStatus:
        """Reads the message; only a task that has ended has an exit code."""
        status = super().from_proto(message)
        return replace(status, exit_code=message.exit_code if status.state in _TASK_ENDED else None)


@dataclass(frozen=True)
class TaskProfile(Value):
    """Where a task stores its profile; the fields have the names of the node's answer.

    Attributes:
        profile_id: Identifies the profile within the job.
        directory: The directory of the files, ``ignite://``.
        name: The files are ``NAME.xplane.pb``, for TensorBoard's profiler, and ``NAME.json``, a summary, which is
            stored last.
    """

    profile_id: str
    directory: str
    name: str


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
        role_name: The name that a custom job has given its role; empty: the role has none.
        role_index: Position among the tasks of that name, from 0.
    """

    role: Role
    index: int
    node_id: str
    incarnation: int
    partitions: tuple[int, ...]
    status: TaskStatus
    node_address: str
    role_name: str = ""
    role_index: int = 0

    @property
    def name(self) -> str:
        """The task as people write it: ``"worker 0"``."""
        return f"{self.role_name} {self.role_index}" if self.role_name else f"{self.role} {self.index}"


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
        last_step: The highest step that its tasks reported.
        resumed_from_step: The step that it resumed from; None: it began from the beginning.
        unproven_node_ids: The nodes on which its processes may still run, although the job is over.
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
    unproven_node_ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class Event(Value):
    """One event of a job's history.

    Attributes:
        number: Position in the whole history, from 1; an event keeps it when older events are removed.
        at: When it happened.
        attempt: The newest attempt at that time; 0: before the first.
        state: The job's state from then on.
        text: What happened.
    """

    number: int
    at: datetime | None
    attempt: int
    state: JobState
    text: str


@dataclass(frozen=True, repr=False)
class Job(Value):
    """One submitted training, with its attempts and its history.

    Attributes:
        id: Unique in the cluster; a unique prefix of at least 4 characters is enough to name the job.
        spec: The specification that was submitted.
        state: Where the job stands; ``"unreadable"``: its row cannot be read, and ``cause`` says why.
        attempts: Its attempts, the newest last; an answer has room for some hundreds.
        earlier_attempts: The number of attempts before the first of ``attempts``.
        created_at: When it was submitted.
        finished_at: When its end was final: when the end of its processes was proven.
        outcome: ``"succeeded"``, ``"failed"`` or ``"stopped"``, known from the state ``ending`` on; None before.
        cause: Why it ended, in one line; empty after success.
        traceback: The traceback, or the last lines, of the task that failed first.
        exit_code: 0 after success; the exit code of the task that failed first; 130 when stopped; otherwise 1. None:
            not over.
        stop_requested: Whether a user has requested its end.
        service_node_id: The node that hosts the job's service.
        waiting_for: What the job waits for now, in one line.
        crashes: Crashes since the job was last healthy.
        node_failures: Consecutive attempts that ended because a node failed, or not every task ran in time.
        idle_restarts: Consecutive attempts that ended without a further step, because a node left or data moved.
        force_stop_requested: Whether a user has requested its end without the proof that all its processes have ended.
        not_before: The next attempt does not start before this moment (back-off after a crash).
        lost_partitions: Partitions of the job's cache that lost all their copies since the job began.
        events: What happened, oldest first; the newest 500.
        kept_until: When the cluster removes it with its files and its output; None: it is not over, or it is kept until
            a user removes it.
        owner: The user who submitted it; empty: the cluster has no authentication.
        admitted_at: When the queue admitted it; None: it waits.
        queue_position: Its position among the jobs that wait in the queue, from 1; 0: it does not wait there.
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
    node_failures: int = 0
    idle_restarts: int = 0
    force_stop_requested: bool = False
    earlier_attempts: int = 0
    admitted_at: datetime | None = None
    queue_position: int = 0

    @property
    def is_over(self) -> bool:
        """True when the outcome is decided and the end of the job's processes is proven."""
        return self.state in _OVER

    @property
    def attempt(self) -> Attempt | None:
        """The newest attempt; None before the first."""
        return self.attempts[-1] if self.attempts else None

    @property
    def progress(self) -> Progress | None:
        """The progress of the newest attempt's slowest task: a job has done the steps that all its tasks have done."""
        tasks = self.attempt.tasks if self.attempt else ()
        scripts = [task for task in tasks if runs_script(self.spec.strategy.kind, task.role)]
        reported = [task.status.progress for task in scripts if task.status.progress]
        return min(reported, key=lambda progress: progress.step, default=None)

    @property
    def rounds(self) -> tuple[RoundProgress, ...]:
        """The last rounds of a continuous job, oldest first."""
        reported = (task.status.progress for attempt in reversed(self.attempts) for task in attempt.tasks)
        return next((progress.rounds for progress in reported if progress and progress.rounds), ())

    @property
    def state_text(self) -> str:
        """The state; while the job is ending, with its outcome; in the queue, with its position."""
        if self.queue_position:
            return f"{self.state} (queue {self.queue_position})"
        return f"ending ({self.outcome})" if self.state == "ending" and self.outcome else self.state

    def __repr__(self) -> str:
        """Id and state; `to_dict` has everything."""
        return f"Job(id={self.id!r}, state={self.state!r}, attempts={self.attempt.number if self.attempt else 0})"

    def __str__(self) -> str:
        """The job on a part of a screen: its state, its newest attempts, and why each ended."""
        code = "" if self.exit_code is None else f", exit code {self.exit_code}"
        lines = [f"job {self.id} {self.state_text}{code}"]
        lines += [f"  waiting for {self.waiting_for}"] if self.waiting_for and not self.is_over else []
        lines += [
            f"  {' '.join([self.spec.script, *self.spec.args])}, cache {self.spec.cache}, {self.spec.strategy.kind}"
        ]
        earlier = self.earlier_attempts + len(self.attempts) - _SHOWN_ATTEMPTS
        lines += [f"  ({earlier} attempts before)"] if earlier > 0 else []
        for attempt in self.attempts[-_SHOWN_ATTEMPTS:]:
            done = (attempt is self.attempt and self.progress) or f"step {attempt.last_step:,}"
            end = f", {attempt.cause_kind}" if attempt.cause_kind else ""
            end += f": {attempt.cause}" if attempt.cause else ""
            tasks = f"{len(attempt.tasks)} task{'' if len(attempt.tasks) == 1 else 's'}"
            lines += [f"  attempt {attempt.number}: {tasks}, {done}{end}"]
        lines += [f"  {self.cause}"] if self.cause else []
        lines += [f"  See: tensorflow-ignite describe {self.id}"]
        return "\n".join(_shortened(line) for line in lines)

    @classmethod
    def from_proto(cls, message: Any) -> Job:
        """Reads the message; only a job that is over has an exit code."""
        job = super().from_proto(message)
        return replace(job, exit_code=message.exit_code if job.is_over else None)


def _shortened(line: str) -> str:
    line = line.partition("\n")[0]
    return line if len(line) <= _LINE_CHARACTERS else f"{line[: _LINE_CHARACTERS - 1]}…"


@dataclass(frozen=True)
class Gpu(Value):
    """One GPU of a node.

    Attributes:
        id: As in CUDA_VISIBLE_DEVICES.
        name: Its model; empty: unknown.
        memory_bytes: Its memory; 0: unknown.
    """

    id: str
    name: str = ""
    memory_bytes: int = 0


@dataclass(frozen=True)
class AgentInfo(Value):
    """The report of an agent about itself.

    Attributes:
        pid: Of the agent's process; None: no agent runs, and ``error`` says why.
        python: The interpreter that runs tasks.
        python_version: Of that interpreter.
        package_version: Of tensorflow-ignite there.
        tensorflow_version: Of TensorFlow there; empty: not installed.
        error: Why no agent runs.
        warm_processes: Number of its spares, which have TensorFlow imported and wait for a task.
        warm_bytes: Their resident memory together, without pages of libraries.
        gpus: The GPUs that tasks of its node may use.
    """

    pid: int | None
    python: str
    python_version: str
    package_version: str
    tensorflow_version: str
    error: str
    warm_processes: int
    warm_bytes: int
    gpus: tuple[Gpu, ...] = ()


@dataclass(frozen=True)
class NodeLoop(Value):
    """A loop of a node that has failed or is silent.

    Attributes:
        name: What the loop does: ``"node runner"``.
        error: The error of its last pass that failed; empty: none has failed, but a pass has not ended in time.
        completed_at: The end of its last completed pass.
        failures: Consecutive passes that failed.
    """

    name: str
    error: str
    completed_at: datetime | None
    failures: int


#: Of the service's own caches, by the last word of their names.
_CONTENTS = {
    "jobs": "jobs",
    "reports": "reports on tasks",
    "logs": "output of unfinished jobs",
    "schemas": "types of columns",
    "losses": "losses of other caches",
    "files": "directories and names of files",
    "blocks": "contents of files",
    "small": "contents of small files",
}


@dataclass(frozen=True)
class CacheLoss(Value):
    """Partitions of a cache that have lost all their copies, and whose loss nobody has accepted.

    Attributes:
        cache: The cache.
        partitions: Their numbers, ascending.
        lost_at: When the first of them was lost; None: Ignite itself refuses to read them, and keeps no time.
        is_of_service: Whether it is a cache of the service itself, with jobs, output or files.
        is_persistent: Whether its rows are on disk too, and come back with their nodes.
    """

    cache: str
    partitions: tuple[int, ...]
    lost_at: datetime | None
    is_of_service: bool = False
    is_persistent: bool = False

    @property
    def text(self) -> str:
        """The loss, in one sentence without its full stop."""
        number = len(self.partitions)
        contents = f" ({_CONTENTS.get(self.cache.rpartition('-')[2], 'rows')})" if self.is_of_service else ""
        return f"cache {self.cache}{contents} has lost {number:,} {'partition' if number == 1 else 'partitions'}"

    @property
    def remedy(self) -> str:
        """What to do, in one sentence without its full stop."""
        if self.is_of_service:
            return "Find damaged files (tensorflow-ignite fs check), and remove them or write them again"
        if self.is_persistent:
            return "Start the nodes that have the rows on disk"
        return "Load the cache again, with more backups"

    @property
    def accept_command(self) -> str:
        """The command that accepts the loss."""
        return (
            f"tensorflow-ignite accept-data-loss {'-- ' if self.cache.startswith('-') else ''}{shlex.quote(self.cache)}"
        )


@dataclass(frozen=True)
class LostNode(Value):
    """A node that has left the cluster without being stopped: it was killed, or the network to it is cut.

    Attributes:
        id: Given by Ignite when the node joined.
        consistent_id: A node that is started again with the same one is not lost any more.
        address: host:port of its node API.
        lost_at: When the node that answers has noticed it.
    """

    id: str
    consistent_id: str
    address: str
    lost_at: datetime | None


@dataclass(frozen=True)
class UnprovenAttempt(Value):
    """An attempt whose processes may still run on a node although its job has ended.

    Attributes:
        job_id: The job.
        attempt: Its number.
        pids: The processes of its tasks, as far as they are known.
    """

    job_id: str
    attempt: int
    pids: tuple[int, ...]

    @property
    def text(self) -> str:
        """The attempt in one line: ``"the end of attempt 2 of job 7f3a is not proven (pids 12, 13)"``."""
        pids = f" (pids {', '.join(map(str, self.pids))})" if self.pids else ""
        return f"the end of attempt {self.attempt} of job {self.job_id} is not proven{pids}"


@dataclass(frozen=True)
class MissingNode(Value):
    """A node of the cluster's baseline, to which Ignite assigns partitions, that is not in the cluster.

    Attributes:
        consistent_id: Survives restarts of the node.
        host: An address of its host; empty: unknown.
    """

    consistent_id: str
    host: str

    @property
    def text(self) -> str:
        """The node for people: ``"node-2 at 10.0.0.3"``."""
        return f"{self.consistent_id} at {self.host}" if self.host else self.consistent_id


@dataclass(frozen=True)
class BaselineNode(Value):
    """A node of the baseline, or another server node of the cluster.

    Attributes:
        consistent_id: Its name.
        address: host:port of its node API; without a service: an address of its host; empty: unknown.
        is_member: Whether it is in the baseline.
        is_online: Whether it is in the cluster.
    """

    consistent_id: str
    address: str
    is_member: bool
    is_online: bool

    @property
    def state(self) -> Literal["online", "offline", "outside"]:
        """Of a node of the baseline, whether it is in the cluster; else ``"outside"``."""
        return "outside" if not self.is_member else "online" if self.is_online else "offline"


@dataclass(frozen=True)
class Baseline(Value):
    """The nodes to which Ignite assigns partitions.

    Attributes:
        nodes: Those of the baseline, and the other server nodes of the cluster, sorted by their names.
        is_automatic: Whether Ignite adjusts it itself when nodes join and leave, as it does by default in memory.
    """

    nodes: tuple[BaselineNode, ...]
    is_automatic: bool


@dataclass(frozen=True)
class Node(Value):
    """One node of the cluster that runs the service.

    Attributes:
        id: Given by Ignite when the node joined.
        consistent_id: Survives restarts of the node.
        order: Position in the order in which nodes joined.
        address: host:port of its node API and data endpoint.
        host_name: Of its machine.
        agent: The report of its agent.
        plugin_version: Of tensorflow-ignite in the node.
        loops: The loops of the node that have failed or are silent; none: all go on.
        losses: What the caches that the caller may read, and the service's own, have lost; the same for all nodes.
        lost_nodes: The nodes that have left the cluster without being stopped and are not back, as far as the answering
            node knows; the same for all nodes.
        quarantine: Attempts of ended jobs whose processes may still run on the node: it gets no task meanwhile.
        availability: Whether it gets tasks; None: yes. ``"stopping"``: its tasks end, and then the node.
        missing_nodes: The nodes of the baseline that are not in the cluster; the same for all nodes.
        max_tasks: Tasks that the queue admits on the node at one time; 0: any number.
        tasks: Tasks of jobs that are not over on the node.
        gpus: The GPUs that tasks may use; of the last agent while none runs.
        http_address: ``"host:port"`` of its HTTP port; empty: it has none.
        serves_models: Whether it is of a version that serves models.
        time_zone: The time zone of its JVM, such as ``"Europe/Berlin"``, for DATE and TIME.
        is_outside_baseline: Whether Ignite gives it no partitions on disk until somebody adds it to the baseline.
    """

    id: str
    consistent_id: str
    order: int
    address: str
    host_name: str
    agent: AgentInfo
    plugin_version: str
    loops: tuple[NodeLoop, ...] = ()
    losses: tuple[CacheLoss, ...] = ()
    lost_nodes: tuple[LostNode, ...] = ()
    quarantine: tuple[UnprovenAttempt, ...] = ()
    availability: NodeAvailability | None = None
    missing_nodes: tuple[MissingNode, ...] = ()
    max_tasks: int = 0
    tasks: int = 0
    gpus: tuple[Gpu, ...] = ()
    http_address: str = ""
    serves_models: bool = False
    time_zone: str = ""
    is_outside_baseline: bool = False
