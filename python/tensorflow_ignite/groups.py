"""The groups of a job's options, with one name for each option in Python, in job files and on the command line.

Each is a frozen dataclass of the message of its name in job.proto. The rule of each option stands there, beside its
field: its smallest and largest value, and the kinds of jobs that have it. Nodes check these rules.
"""

from __future__ import annotations

from collections.abc import Mapping
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
        kind: The kind of the job, see `tensorflow_ignite.kinds`.
        servers: Number of parameter servers of a parameter-server job; 0 means 1.
        server_nodes: Attributes of Ignite nodes (``userAttributes``) with their values: parameter servers run on the
            nodes that have all of them; empty: on the nodes of the workers.
        roles: Further tasks of a custom job that run the script too, and read no partitions: their roles, as in
            TF_CONFIG, with their numbers.
        chief: TF_CONFIG calls the first worker the chief, for scripts that need a chief.
    """

    kind: JobKind = DEFAULT_KIND
    servers: int = 0
    server_nodes: Mapping[str, str] = field(default_factory=dict, hash=False)
    roles: Mapping[str, int] = field(default_factory=dict, hash=False)
    chief: bool = False


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
        per_node: Workers that share the partitions of one node, up to 64; 0 means 1. A node with fewer partitions has
            fewer workers.
        gpus: GPUs that each worker has for itself, up to 64. Workers run on nodes with this number of GPUs; the
            partitions of the other nodes are read over the network. The job waits in the queue until they are free. 0:
            its tasks use no GPU.
        nodes: Attributes of Ignite nodes (``userAttributes``) with their values. Workers run on the nodes that have all
            of them, and read the partitions of the others over the network; empty: on the owners of partitions.
        minimum: Smallest number of workers of an attempt; 0 means 1.
    """

    per_node: int = 0
    gpus: int = 0
    nodes: Mapping[str, str] = field(default_factory=dict, hash=False)
    minimum: int = 0


@dataclass(frozen=True)
class Restart(Value):
    """When another attempt follows.

    Attributes:
        max_crashes: Number of crashes that are followed by a restart, counted from 0 after a healthy time; None: 3.
        max_restarts: Number of restarts in a row, since nodes left or data moved, in which no task does a further step
            and no attempt runs for the healthy time; one more, and the job fails. None: 20.
        on_join: Reaction when a node joins or partitions move while the tasks run: ``"restart"`` after a quiet time,
            ``"ignore"``, or ``"at-checkpoint"``: restart after the next checkpoint.
        quorum: ``"majority"``: an attempt starts, and runs, only while more than half of the job's nodes are connected,
            or half of them with the oldest, so that at most one side of a cut network trains; see
            `JobHandle.accept_quorum`. ``"none"``: with any number of nodes.
        allow_data_loss: Start, and go on, with the remaining rows if partitions of a cache have lost all their copies.
            Datasets in its tasks accept that too.
    """

    max_crashes: int | None = None
    max_restarts: int | None = None
    on_join: OnJoin = "restart"
    quorum: Quorum = "majority"
    allow_data_loss: bool = False


@dataclass(frozen=True)
class Timeouts(Value):
    """Longest times, in seconds; None: the service's settings.

    Attributes:
        start: From the placement until every task runs.
        first_step: Time that a task may neither write output nor work before its first step; then the attempt ends with
            the cause ``stall``, which counts as a crash, and the stacks of Python's threads are in the output. 0: no
            limit; None: 300 unless the service says otherwise. See also `tensorflow_ignite.train.busy`.
        stall: Time that a task may take for each further step or checkpoint; as above, but 600.
        stop_grace: Time between SIGTERM and SIGKILL when tasks are stopped, and in which all tasks save together before
            a planned end.
        wait: Longest wait for an assignment, after the queue.
    """

    start: float | None = None
    first_step: float | None = None
    stall: float | None = None
    stop_grace: float | None = None
    wait: float | None = None


@dataclass(frozen=True)
class Environment(Value):
    """The processes of the tasks.

    Attributes:
        variables: Variables that are added to the environment of every task, by their names; of the tasks of one role:
            ``{"ps:OMP_NUM_THREADS": "1"}``.
        requirements: A file of requirements of pip. Each node installs them once, into an environment over the
            interpreter of the tasks; later jobs with the same requirements use it. A failed installation fails the job
            at once. With requirements or wheels, ``timeouts.start`` is 900 unless it is given. In the specification of
            a job: a path inside the code archive.
        wheels: Wheels to install, which are sent with the code; then nothing comes from an index.
        python: The interpreter of the tasks, an absolute path, the same on every node; empty: each node's own.
    """

    variables: Mapping[str, str] = field(default_factory=dict, hash=False)
    requirements: str = ""
    wheels: tuple[str, ...] = ()
    python: str = ""


@dataclass(frozen=True)
class Access(Value):
    """What the tasks may use besides the cache and the directory of the job, in a cluster that requires credentials.

    Attributes:
        caches: Further caches that the tasks may read.
        directories: Further directories of the cluster's files that the tasks may use, such as
            ``ignite:///models/trips``; the caller needs the permission to change them.
        allow_plaintext: Run although the cluster requires TLS: TensorFlow's connections between tasks are not
            encrypted, so gradients and weights can be read in the network.
    """

    caches: tuple[str, ...] = ()
    directories: tuple[str, ...] = ()
    allow_plaintext: bool = False


@dataclass(frozen=True)
class Evaluator(Value):
    """A further task that evaluates each checkpoint as it comes (`tensorflow_ignite.train.evaluate`).

    The training does not wait for it, and goes on if it fails.

    Attributes:
        cache: A cache with rows for the evaluator, which the tasks may read; empty: none.
        script: Its script inside the folder or archive; empty: the job's script, with the role ``evaluator``.
    """

    cache: str = ""
    script: str = ""


@dataclass(frozen=True)
class Rounds(Value):
    """Trains in rounds without an end (`tensorflow_ignite.train.rounds`).

    The first round trains on all rows of the cache, each later round on the rows that were put since. At most one of
    ``every`` and ``when_rows`` is given; without both, a round begins when a row has changed.

    Attributes:
        every: Seconds from the begin of a round to the begin of the next one, at least 1.
        when_rows: Number of changes of the cache after which a round begins; 0: unset.
        replay: The part of a round's rows that are older rows, about, from 0 to 0.99; each round replays others.
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
