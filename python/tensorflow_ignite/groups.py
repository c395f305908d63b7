"""The groups of a job's options, with one name for each option in Python, in job files and on the command line.

Each is a frozen dataclass of the message of its name in job.proto. The rule of each option stands there, beside its
field: its smallest and largest value, and the kinds of jobs that have it. Nodes check these rules.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tensorflow_ignite.base.messages import Value
from tensorflow_ignite.kinds import DEFAULT_KIND, JobKind

OnJoin = Literal["restart", "ignore", "at-checkpoint"]
Quorum = Literal["majority", "none"]


@dataclass(frozen=True)
class Strategy(Value):
    """Which tasks run the script, and which roles the job has. Each kind has a subclass with its options.

    Attributes:
        kind: The kind of the job, by default multi-worker-mirrored; see `tensorflow_ignite.kinds`.
        servers: Number of parameter servers, by default 1. 0 means 1.
        server_nodes: Attributes of the nodes that run parameter servers; by default the workers' nodes run them. They
            are names and values of ``userAttributes`` of Ignite nodes. Parameter servers run on the nodes that have all
            of them.
        roles: Further tasks that run the script: the number of tasks of each role, by its name in TF_CONFIG. Only a
            custom job has them; they read no partitions.
        chief: TF_CONFIG calls the first worker the chief, for scripts that need a chief.
    """

    kind: JobKind = DEFAULT_KIND
    servers: int = 0
    server_nodes: Mapping[str, str] = field(default_factory=dict, hash=False)
    roles: Mapping[str, int] = field(default_factory=dict, hash=False)
    chief: bool = False

    def __init_subclass__(cls) -> None:
        """Lets `dataclasses.replace` give only what the subclass takes: the other options are those of its kind."""
        taken = inspect.signature(cls.__init__).parameters
        cls.__dataclass_fields__ = {name: copy.copy(each) for name, each in cls.__dataclass_fields__.items()}
        for name, each in cls.__dataclass_fields__.items():
            each.init = name in taken

    def __eq__(self, other: object) -> bool:
        """Whether all options are equal: a job's strategy has no subclass."""
        return isinstance(other, Strategy) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        """Equal for equal options."""
        return hash((self.kind, self.servers, self.chief))

    def __repr__(self) -> str:
        """The call that makes it."""
        of_kind = type(self) is Strategy
        given = {name: each for name, each in self.to_dict().items() if (each if name != "kind" else of_kind)}
        return f"{type(self).__name__}({', '.join(f'{name}={each!r}' for name, each in given.items())})"


class MultiWorkerMirrored(Strategy):
    """The script runs on every worker, and all train one model together."""

    def __init__(self, *, chief: bool = False) -> None:
        """Describes it.

        Args:
            chief: TF_CONFIG calls the first worker the chief, for scripts that need a chief.
        """
        super().__init__("multi-worker-mirrored", chief=chief)


class ParameterServer(Strategy):
    """Workers and parameter servers are TensorFlow servers; the script runs once, as their coordinator."""

    def __init__(self, servers: int = 1, *, server_nodes: Mapping[str, str] | None = None) -> None:
        """Describes it.

        Args:
            servers: Number of parameter servers, from 1 to 100.
            server_nodes: Attributes of Ignite nodes (``userAttributes``) with their values: parameter servers run on
                the nodes that have all of them; None: on the nodes of the workers.
        """
        super().__init__("parameter-server", servers=servers, server_nodes=server_nodes or {})


class Mirrored(Strategy):
    """The script runs once, on the GPUs of `Workers.gpus`, else on processors; it reads the whole cache."""

    def __init__(self) -> None:
        """Describes it."""
        super().__init__("mirrored")


class One(Strategy):
    """The script runs once, in one process that reads the whole cache."""

    def __init__(self) -> None:
        """Describes it."""
        super().__init__("one")


class CentralStorage(Strategy):
    """As `Mirrored`; variables are in the memory of the host."""

    def __init__(self) -> None:
        """Describes it."""
        super().__init__("central-storage")


class Custom(Strategy):
    """The script runs on every worker, with a strategy or a library of its own, such as JAX or PyTorch."""

    def __init__(self, *, roles: Mapping[str, int] | None = None, chief: bool = False) -> None:
        """Describes it.

        Args:
            roles: Further tasks that run the script too, and read no partitions: their roles, as in TF_CONFIG, with
                their numbers, together at most 100.
            chief: TF_CONFIG calls the first worker the chief, for scripts that need a chief.
        """
        super().__init__("custom", roles=roles or {}, chief=chief)


@dataclass(frozen=True)
class Workers(Value):
    """The tasks that read the partitions of the cache.

    Attributes:
        per_node: Number of workers that share the partitions of one node, by default 1. 0 means 1; 64 is the largest
            number. A node with fewer partitions has fewer workers.
        gpus: Number of GPUs that each worker has for itself, by default 0; a task sees no other GPU. 64 is the largest
            number. Workers run on nodes with this number of GPUs, and read the partitions of the other nodes over the
            network. The job waits in the queue until the GPUs are free.
        nodes: Attributes of the nodes that run workers; by default the owners of the partitions run them. They are
            names and values of ``userAttributes`` of Ignite nodes. Workers run on the nodes that have all of them, and
            read the partitions of the other nodes over the network.
        minimum: Smallest number of workers of an attempt, by default 1. 0 means 1.
    """

    per_node: int = 0
    gpus: int = 0
    nodes: Mapping[str, str] = field(default_factory=dict, hash=False)
    minimum: int = 0


@dataclass(frozen=True)
class Restart(Value):
    """When the job gets another attempt.

    Attributes:
        max_crashes: Number of crashes after which the job restarts, by default 3; the next crash fails it. The count
            begins again at 0 after a healthy time.
        max_restarts: Restarts in a row without progress, because nodes left or data moved, by default 20; then the job
            fails. Progress is a further step of a task, or an attempt that runs for the healthy time.
        on_join: What the job does when a node joins or partitions move; by default it restarts. ``"restart"``: after a
            quiet time; ``"ignore"``: it goes on; ``"at-checkpoint"``: it restarts after the next checkpoint.
        quorum: The share of the job's nodes that must be connected while it trains, by default a majority.
            ``"majority"``: an attempt starts, and runs, only while more than half of the job's nodes are connected, or
            half of them with the oldest, so that at most one side of a cut network trains; see
            `JobHandle.accept_quorum`. ``"none"``: any number of nodes.
        allow_data_loss: Start, and continue, with the remaining rows if partitions have lost all their copies. Its
            tasks also read the remaining rows.
    """

    max_crashes: int | None = None
    max_restarts: int | None = None
    on_join: OnJoin = "restart"
    quorum: Quorum = "majority"
    allow_data_loss: bool = False


@dataclass(frozen=True)
class Timeouts(Value):
    """Longest times, in seconds; by default the cluster's.

    Attributes:
        start: Longest time from the placement until every task runs.
        first_step: Longest time without output and processor time before a task's first step; 0: no limit. Then the
            attempt ends with the cause ``stall``, which counts as a crash, and the stacks of Python's threads are in
            the output. None: 300 unless the service says otherwise. See also `tensorflow_ignite.train.busy`.
        stall: Longest time of a task for each further step or checkpoint; 0: no limit. Afterwards the attempt ends as
            for ``first_step``. None: 600 unless the service says otherwise.
        stop_grace: Time between SIGTERM and SIGKILL, and for the checkpoint before a planned end. All tasks save
            together in this time.
        wait: Longest wait for the rows and nodes that the job needs, after its wait in the queue.
    """

    start: float | None = None
    first_step: float | None = None
    stall: float | None = None
    stop_grace: float | None = None
    wait: float | None = None


@dataclass(frozen=True)
class Environment(Value):
    """The processes of the tasks: variables, packages and the interpreter.

    Attributes:
        variables: Environment variables of every task; ROLE:NAME is a variable of one role's tasks. For example:
            ``{"SEED": "7", "ps:OMP_NUM_THREADS": "1"}``.
        requirements: A requirements file; pip installs its packages on each node, once for all jobs with equal
            packages. They come into an environment over the interpreter of the tasks. If pip fails, the job fails at
            once. With requirements or wheels, ``timeouts.start`` is 900 unless it is given. In the specification of a
            job: a path inside the code archive.
        wheels: Wheels to install, which are sent with the code; then pip uses no package index.
        python: The interpreter of the tasks, an absolute path on every node; by default each node's own.
    """

    variables: Mapping[str, str] = field(default_factory=dict, hash=False)
    requirements: str = ""
    wheels: Sequence[str] = ()
    python: str = ""

    def __post_init__(self) -> None:
        """Makes it comparable."""
        _freeze(self, "wheels")


@dataclass(frozen=True)
class Access(Value):
    """Further caches and directories that the tasks may use, in a cluster that requires credentials.

    The tasks may always use the cache and the directory of the job.

    Attributes:
        caches: Further caches that the tasks may read.
        directories: Further directories of the cluster's files that the tasks may use, such as
            ``ignite:///models/trips``. The caller needs the permission to change them.
        allow_plaintext: Run although the cluster requires TLS: connections between tasks of TensorFlow are not
            encrypted. Gradients and weights can be read in the network.
    """

    caches: Sequence[str] = ()
    directories: Sequence[str] = ()
    allow_plaintext: bool = False

    def __post_init__(self) -> None:
        """Makes it comparable."""
        _freeze(self, "caches", "directories")


@dataclass(frozen=True)
class Evaluator(Value):
    """A further task evaluates each new checkpoint (`tensorflow_ignite.train.evaluate`).

    The training does not wait for it, and goes on if it fails.

    Attributes:
        cache: A cache with rows for the evaluator, besides the job's cache. The tasks may read it; empty: there is
            none.
        script: The evaluator's script inside the folder or archive; by default the job's script. In the job's script
            the role is ``evaluator``.
    """

    cache: str = ""
    script: str = ""


@dataclass(frozen=True)
class Rounds(Value):
    """Train in rounds without an end: first on all rows, then on the rows that were put since.

    A script iterates over `tensorflow_ignite.train.rounds`. At most one of ``every`` and ``when_rows`` is given;
    without both, a round begins when a row has changed.

    Attributes:
        every: Seconds from the begin of a round to the begin of the next one. At least 1.
        when_rows: Number of changes of the cache after which a round begins. 0: unset.
        replay: Approximate share of older rows in a round: 0.5 is half of its rows. From 0 to 0.99; each round replays
            other rows.
    """

    every: float | None = None
    when_rows: int = 0
    replay: float = 0.0


@dataclass(frozen=True)
class Prediction(Value):
    """What a job of kind predict reads besides its cache, and writes.

    Attributes:
        output_cache: The cache for the results.
        model: The version of the model that predicts, ``NAME:NUMBER``; empty: a script of the caller does.
        model_directory: The directory of the model's files, a URL ``ignite:///…``; empty: none.
    """

    output_cache: str
    model: str = ""
    model_directory: str = ""


def _freeze(group: Value, *options: str) -> None:
    """Replaces lists by tuples, which are equal to the options of a job, and have a hash."""
    for option in options:
        if isinstance(getattr(group, option), list):
            object.__setattr__(group, option, tuple(getattr(group, option)))
