"""Submitting and following jobs from Python.

import tensorflow_ignite as tfi

with tfi.connect("localhost:10820") as client:
    job = client.submit("train.py", cache="images", args=["--epochs", "3"])
    for line in job.logs(follow=True):
        print(line)
    job.wait()
"""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from types import TracebackType
from typing import Any, cast

from tensorflow_ignite.base.messages import enum_text
from tensorflow_ignite.errors import (
    InvalidRequestError,
    JobFailedError,
    JobNotFoundError,
    JobStoppedError,
    RequestTimeoutError,
    TensorFlowIgniteError,
)
from tensorflow_ignite.jobs import checks
from tensorflow_ignite.jobs.archive import Archive, pack
from tensorflow_ignite.jobs.display import html
from tensorflow_ignite.jobs.function import name_of, pack_function
from tensorflow_ignite.jobs.logs import LineAssembler, LogLine
from tensorflow_ignite.kinds import DEFAULT_KIND, JOB_KINDS, JobKind
from tensorflow_ignite.net.resolve import find_credentials, resolve
from tensorflow_ignite.net.rpc import NodeConnection
from tensorflow_ignite.spec import (
    JOB_STATES,
    ON_JOIN,
    QUORUMS,
    ROLES,
    Event,
    Job,
    JobSpec,
    JobState,
    Node,
    OnJoin,
    Quorum,
    Role,
    RoleEnvironment,
)
from tensorflow_ignite.v1 import job_pb2

_CHUNK = 1024 * 1024
# Seconds until every task runs, when nodes install packages first.
_INSTALL_TIMEOUT = 900
_PAGE_SIZE = 1000
# Shortest timeout of a submission, in seconds: the node checks the cache and the agents of the cluster.
_SUBMIT_TIMEOUT = 30.0
# Slowest expected upload, in bytes per second.
_UPLOAD_RATE = 2 * 1024 * 1024


def connect(address: str | None = None, *, timeout: float = 10.0, credentials: Any = None) -> Client:
    """Connects to a cluster through one of its nodes.

    Args:
        address: ``"host:port[,host:port]"``; the first node that answers is used, and the next one when it fails.
            None: in a task of a job, the node that it runs beside; else the environment variable
            TENSORFLOW_IGNITE_ADDRESS; else that of the profile; else ``localhost:10820``.
        timeout: Seconds to connect, and for each later call at one address.
        credentials: Credentials of the calls: :class:`tensorflow_ignite.Credentials`, ``(user, password)``, or a dict
            with some of username, password, token, certfile, keyfile, key_password, cafile and tls. None: those of the
            task, the environment, or a profile; see docs/security.md.

    Returns:
        A client; close it, or use it in a ``with`` block.

    Raises:
        InvalidRequestError: The address or the credentials are malformed, or a file of the credentials cannot be used.
        ConnectionFailedError: No node answers at any address, or the node and the credentials do not agree on TLS.
        UnauthenticatedError: The node requires credentials, and these are missing or wrong.
    """
    addresses = resolve(address)
    resolved = find_credentials(credentials, addresses)
    return Client(NodeConnection(addresses, checks.seconds("timeout", timeout), credentials=resolved), timeout)


class Client:
    """A connection to a cluster; returned by `connect`. Safe to use from several threads.

    Every method raises `ConnectionFailedError` if no node answers, and `RequestTimeoutError` if an answer does not come
    in time.
    """

    def __init__(self, connection: NodeConnection, timeout: float) -> None:
        """Wraps a connection, and closes it in `close`."""
        self._connection = connection
        self._timeout = timeout

    @property
    def address(self) -> str:
        """``"host:port"`` of the node of the next call."""
        return self._connection.address

    def submit(
        self,
        code: str | os.PathLike[str] | Archive | Callable[..., Any],
        *,
        cache: str,
        script: str | None = None,
        kind: JobKind = DEFAULT_KIND,
        args: Sequence[Any] = (),
        env: Mapping[str, str] | None = None,
        name: str | None = None,
        ps: int | None = None,
        checkpoint_directory: str | None = None,
        start_timeout: float | None = None,
        first_step_timeout: float | None = None,
        stall_timeout: float | None = None,
        stop_grace: float | None = None,
        max_crashes: int | None = None,
        max_restarts: int | None = None,
        min_workers: int | None = None,
        wait_timeout: float | None = None,
        on_join: OnJoin = "restart",
        allow_data_loss: bool = False,
        quorum: Quorum = "majority",
        more_caches: Sequence[str] = (),
        allow_plaintext: bool = False,
        requirements: str | os.PathLike[str] | None = None,
        wheels: Sequence[str | os.PathLike[str]] = (),
        python: str | None = None,
        priority: int = 0,
        read_rate: str = "",
        continuous: bool = False,
        every: float | None = None,
        when_rows: int | None = None,
        replay: float = 0.0,
        workers_per_node: int | None = None,
        nodes: Mapping[str, str] | None = None,
        ps_nodes: Mapping[str, str] | None = None,
        role_env: Mapping[str, Mapping[str, str]] | None = None,
        chief: bool = False,
        roles: Mapping[str, int] | None = None,
        gpus_per_worker: int = 0,
        more_directories: Sequence[str] = (),
        evaluator: bool | str = False,
        evaluation_cache: str = "",
    ) -> JobHandle:
        """Packs and uploads code, and submits a job that runs it beside the rows of a cache.

        Args:
            code: A script, a folder or a .zip archive (`tensorflow_ignite.jobs.archive.pack`), or an `Archive`; or a
                function, such as one of a notebook. A function is sent with all that it uses of the notebook or file
                that defines it, and called on every worker (or as coordinator); nodes need the same version of Python,
                and the packages that it imports.
            cache: The cache whose partitions are split over the workers.
            script: The script inside a folder or archive; None: its main.py, else its train.py.
            kind: ``"multi-worker-mirrored"``: the script runs on every worker, and all train one model together;
                ``"parameter-server"``: workers and parameter servers are plain TensorFlow servers, and the script runs
                once, as their coordinator; ``"one"``, ``"mirrored"``, ``"central-storage"``: the script runs once, in
                one process that reads the whole cache, the last two on all devices of its node; ``"custom"``: the
                script runs on every worker, with a strategy or a library of its own.
            args: Arguments of the script, which are texts; of a function, which are of any type.
            env: Variables that are added to the environment of every task.
            name: Any text that identifies the job for people; None: the name of the script, without its suffix, or of
                the function.
            ps: Number of parameter servers of a parameter-server job; None: 1.
            checkpoint_directory: Directory for checkpoints, on storage that every node shares: an absolute path, or a
                URL of a file system that TensorFlow supports. None: the job's directory in the cluster,
                ``ignite:///jobs/ID/checkpoints``.
            start_timeout: Seconds from the placement until every task runs; None: the service's setting.
            first_step_timeout: Seconds that a task may neither write output nor work before its first step; then the
                attempt ends with the cause ``stall``, which counts as a crash, and the stacks of Python's threads are
                in the output. 0: no limit; None: the service's setting, 300. See also `tensorflow_ignite.train.busy`.
            stall_timeout: Seconds that a task may take for each further step or checkpoint; as above, but 600.
            stop_grace: Seconds between SIGTERM and SIGKILL when tasks are stopped, and in which all tasks save together
                before a planned end; None: the service's setting.
            max_crashes: Number of crashes that are followed by a restart, counted from 0 after a healthy time; None: 3.
            max_restarts: Number of restarts in a row, since nodes left or data moved, in which no task does a further
                step and no attempt runs for the healthy time; one more, and the job fails. None: 20.
            min_workers: Smallest number of workers with which an attempt starts; None: 1.
            wait_timeout: Longest wait, in seconds, for an assignment, after the queue; None: the service's setting.
            on_join: Reaction when a node joins or partitions move while the tasks run: ``"restart"`` after a quiet
                time, ``"ignore"``, or ``"at-checkpoint"``: restart after the next checkpoint.
            allow_data_loss: Start, and continue, with the remaining rows if partitions of a cache have lost all their
                copies. Datasets in its tasks accept that too.
            quorum: ``"majority"``: an attempt starts, and runs, only while more than half of the job's nodes are
                connected, or half of them with the oldest, so that at most one side of a cut network trains; see
                `JobHandle.accept_quorum`. ``"none"``: with any number of nodes.
            more_caches: Further caches that the tasks may read, in a cluster that requires credentials.
            allow_plaintext: Run although the cluster requires TLS: TensorFlow's connections between tasks are not
                encrypted, so gradients and weights can be read in the network.
            requirements: A file of requirements of pip. Each node installs them once, into an environment over the
                interpreter of the tasks; later jobs with the same requirements use it. A failed installation fails the
                job at once. With requirements or wheels, ``start_timeout`` is 900 unless it is given.
            wheels: Wheels to install, which are sent with the code; then nothing comes from an index.
            python: The interpreter of the tasks, an absolute path, the same on every node; None: that of each node.
            priority: From -100 to 100. Each unit moves the job ten minutes forward in the queue of jobs, in which it
                waits while its nodes have no room for its tasks.
            read_rate: The most that its tasks together read from each node in a second, ``"200MB"`` or ``"50000rows"``;
                empty: no limit of its own. Whatever it is, reading yields to the application's work on a node, unless
                the cluster is configured otherwise (``readRate``).
            continuous: Train in rounds without an end (`tensorflow_ignite.train.rounds`): the first one on all rows of
                the cache, each later one on what was put since. Only of kind ``"multi-worker-mirrored"``.
            every: Seconds from the begin of a round to that of the next one.
            when_rows: Number of changes of the cache after which a round begins. If neither is given, a round begins
                when a row has changed.
            replay: The part of a round's rows that were there before, about, from 0 to below 1; each round has others.
            workers_per_node: Number of workers that share the partitions of one node; None: 1. A node with fewer
                partitions has fewer.
            nodes: Attributes of Ignite nodes (``userAttributes``) with their values. Workers run on the nodes that have
                all of them, and read the partitions of the others over the network; None: on the owners of partitions.
            ps_nodes: The same for parameter servers; None: on the nodes of the workers.
            role_env: Variables for the tasks of one role, by role: ``{"ps": {"OMP_NUM_THREADS": "1"}}``.
            chief: Let TF_CONFIG call the first worker the chief, for scripts that look for one.
            roles: Further tasks of a custom job that run the script too, and read no partitions: their roles, as in
                TF_CONFIG, with their numbers.
            gpus_per_worker: GPUs that each worker has for itself. Workers run on nodes with as many; the partitions of
                the other nodes are read over the network. The job waits in the queue until they are free. 0: its tasks
                use no GPU.
            more_directories: Further directories of the cluster's files that the tasks may use, in a cluster that
                requires credentials, such as ``ignite:///models/trips``; the caller needs the permission to change
                them.
            evaluator: A further task evaluates each checkpoint as it comes (`tensorflow_ignite.train.evaluate`). True:
                it runs the script too, with the role ``evaluator``; a text: another script inside the folder or
                archive. The training does not wait for it, and goes on if it fails.
            evaluation_cache: A cache with rows for the evaluator, which the tasks may read.

        Returns:
            The job, which continues when this client is closed.

        Raises:
            CodeNotFoundError: The code, or the script in it, does not exist.
            CodeInvalidError: The code breaks a rule of archives, or the script has a syntax error.
            CacheNotFoundError: The cluster has no such cache.
            CacheEmptyError: The cache has no rows.
            DataLossError: Partitions of a cache have lost all their copies.
            NoAgentError: No node can run tasks.
            PermissionDeniedError: The caller may not submit jobs, or its tasks may not read the caches.
            ClusterNotActiveError: The cluster is not activated.
            InvalidRequestError: Another argument breaks a rule.
        """
        archive = code if isinstance(code, Archive) else None
        if archive is not None and (requirements is not None or wheels):
            raise InvalidRequestError(
                "requirements and wheels were given beside an Archive. They are packed together with the code. Pass "
                "them to pack(code, requirements=, wheels=), or pass the path of the code."
            )
        if isinstance(wheels, (str, os.PathLike)):
            raise InvalidRequestError(f"wheels {wheels!r} is not a list. It is a list of files. Pass wheels=[FILE].")
        if isinstance(args, (str, bytes)) or not isinstance(args, Iterable):
            raise InvalidRequestError(
                f"args {args!r} is not a list. It is a list, also of one argument. Pass args=[...]."
            )
        if callable(code):
            archive = pack_function(code, args, requirements, wheels)
            args, name = (), name or name_of(code)
        spec = JobSpec(
            name=checks.text("name", name or ""),
            kind=checks.choice("kind", kind, JOB_KINDS),
            cache=checks.text("cache", cache),
            code_digest="",
            script=script or "",
            args=tuple(checks.text(f"argument {number}", arg) for number, arg in enumerate(args, 1)),
            env=checks.variables(env),
            ps_count=checks.parameter_servers(ps, kind),
            start_timeout=checks.optional_seconds("start_timeout", start_timeout),
            first_step_timeout=checks.optional_seconds("first_step_timeout", first_step_timeout, zero=True),
            stall_timeout=checks.optional_seconds("stall_timeout", stall_timeout, zero=True),
            stop_grace=checks.optional_seconds("stop_grace", stop_grace, zero=True),
            checkpoint_directory=checks.directory(checkpoint_directory or ""),
            max_crashes=None if max_crashes is None else checks.count("max_crashes", max_crashes, 0),
            max_restarts=None if max_restarts is None else checks.count("max_restarts", max_restarts, 0),
            min_workers=0 if min_workers is None else checks.count("min_workers", min_workers, 1),
            wait_timeout=checks.optional_seconds("wait_timeout", wait_timeout),
            on_join=checks.choice("on_join", on_join, ON_JOIN),
            quorum=checks.choice("quorum", quorum, QUORUMS),
            allow_data_loss=bool(allow_data_loss),
            more_caches=checks.names("more_caches", more_caches, "validation"),
            allow_plaintext=bool(allow_plaintext),
            python=checks.interpreter(python or ""),
            priority=checks.priority(priority),
            read_rate=checks.read_rate(read_rate),
            continuous=checks.continuous(continuous, every, when_rows, replay),
            workers_per_node=0 if workers_per_node is None else checks.count("workers_per_node", workers_per_node, 1),
            nodes=checks.attributes("nodes", nodes),
            ps_nodes=checks.attributes("ps_nodes", ps_nodes),
            role_env=tuple(
                RoleEnvironment(checks.text("role", role), checks.variables(given))
                for role, given in (role_env or {}).items()
            ),
            chief=bool(chief),
            roles=checks.roles(roles, kind),
            gpus_per_worker=checks.count("gpus_per_worker", gpus_per_worker, 0),
            evaluator=checks.evaluator(evaluator, evaluation_cache),
            more_directories=checks.names("more_directories", more_directories, "ignite:///models/trips"),
        )
        if spec.continuous is not None and kind != DEFAULT_KIND:
            raise InvalidRequestError(
                f"a continuous job cannot be of kind {kind!r}. Its workers train in rounds, as multi-worker-mirrored. "
                "Leave kind or continuous out."
            )
        if not cache:
            raise InvalidRequestError("cache '' is not a name. A job reads one cache. Name it: cache=")
        if archive is None:
            archive = pack(code, script, requirements=requirements, wheels=wheels)  # type: ignore[arg-type]
        if spec.evaluator is not None:
            checks.evaluator_script(spec.evaluator.script, archive.files)
        message = spec.to_proto()
        message.code_digest = archive.digest
        message.script = archive.script
        message.requirements = archive.requirements
        message.wheels[:] = archive.wheels
        if start_timeout is None and (archive.requirements or archive.wheels):
            message.start_timeout.FromSeconds(_INSTALL_TIMEOUT)
        message.name = spec.name or os.path.splitext(os.path.basename(archive.script))[0]
        self._upload(archive)
        request = job_pb2.SubmitJobRequest(request_id=str(uuid.uuid4()), spec=message)
        response = self._connection.call("SubmitJob", lambda: request, timeout=max(self._timeout, _SUBMIT_TIMEOUT))
        return JobHandle(self._connection, Job.from_proto(response.job))

    def parameter_servers(
        self, cache: str, *, ps: int = 1, **options: Any
    ) -> contextlib.AbstractContextManager[JobHandle]:
        """Starts workers and parameter servers beside the rows of a cache, for this process as their client process.

            with client.parameter_servers("clicks", ps=2):
                strategy = tfi.train.strategy()
                coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
                rows = coordinator.create_per_worker_dataset(lambda: tfi.dataset("clicks").batch(64))

        As long as the context lasts, `tensorflow_ignite.train` and `tensorflow_ignite.dataset` behave as in the client
        process of a job of kind ``"parameter-server"``, and TF_CONFIG is set. The servers end with the context, and
        within seconds after this process, however it ends; they are not started again if one is lost. Nodes and this
        process must reach each other's ports. A process does this once, before its first use of TensorFlow.

        Args:
            cache: The cache whose partitions are split over the workers.
            ps: Number of parameter servers.
            **options: Further arguments of `submit`.

        Returns:
            A context with the job of the servers.

        Raises:
            TensorFlowIgniteError: As of `submit`; or the servers do not start.
        """
        from tensorflow_ignite.jobs.parameter_servers import held

        return held(self, cache, ps=ps, **options)

    def jobs(self, *, states: Sequence[JobState] = (), since: datetime | None = None, limit: int = 1000) -> list[Job]:
        """Returns summaries of jobs, newest first: without tasks, history and environment, which `job` has.

        Args:
            states: Only jobs in one of these states, such as ``["running", "pending"]``; empty: all.
            since: Only jobs that were submitted at this time or later; without a time zone: in this machine's zone.
            limit: Largest number of jobs, from 1 to 100,000.

        Raises:
            InvalidRequestError: A state is unknown, or the limit is out of range.
        """
        names = [checks.choice("state", state, JOB_STATES) for state in states]
        request = job_pb2.ListJobsRequest(states=[f"JOB_STATE_{name.upper()}" for name in names])
        if since is not None:
            request.since.FromDatetime(since.astimezone(timezone.utc))
        left = checks.limit(limit)
        found: list[Job] = []
        while left > 0:
            request.page_size = min(left, _PAGE_SIZE)
            response = self._connection.call("ListJobs", lambda: request)
            # A node of an earlier version sends all jobs at once.
            found += [Job.from_proto(job) for job in response.jobs[:left]]
            left = limit - len(found) if response.next_page_token else 0
            request.page_token = response.next_page_token
        return found

    def job(self, job_id: str) -> JobHandle:
        """Finds a job.

        Args:
            job_id: Its id, or a unique prefix of at least 4 characters.

        Returns:
            The job.

        Raises:
            JobNotFoundError: There is no such job.
        """
        request = job_pb2.GetJobRequest(job_id=checks.text("job id", job_id))
        return JobHandle(self._connection, Job.from_proto(self._connection.call("GetJob", lambda: request).job))

    def nodes(self) -> list[Node]:
        """Returns the nodes of the cluster that run the service, in the order in which they joined."""
        response = self._connection.call("ListNodes", job_pb2.ListNodesRequest)
        return sorted((Node.from_proto(node) for node in response.nodes), key=lambda node: node.order)

    def caches(self) -> list[str]:
        """Returns the names of the caches that the caller may read, sorted."""
        return list(self._connection.call("ListCaches", job_pb2.ListCachesRequest).caches)

    def drain(self, node: str, *, undo: bool = False) -> Node:
        """Drains a node: it gets no tasks any more, and those that it has end as planned.

        Workers on other nodes read its partitions. The mark ends with the node.

        Args:
            node: Its id or the begin of it, its name (consistent id), or its address.
            undo: It gets tasks again; jobs return to it as they do to a node that joins.

        Returns:
            The node.

        Raises:
            NodeNotFoundError: No node, or more than one, has this id, name or address.
            PermissionDeniedError: The caller may not stop all jobs.
        """
        request = job_pb2.DrainNodeRequest(node=node, undo=undo)
        return Node.from_proto(self._connection.call("DrainNode", lambda: request).node)

    def accept_data_loss(self, cache: str) -> tuple[int, ...]:
        """Accepts for all callers that partitions of a cache have lost all their copies.

        From now on the remaining rows are the whole cache. To accept it only once, see ``allow_data_loss`` of `submit`,
        and ``accept_data_loss`` of `tensorflow_ignite.dataset` and `tensorflow_ignite.read_table`.

        Args:
            cache: Name of the cache.

        Returns:
            The partitions that were lost; none if the cache is whole.

        Raises:
            CacheNotFoundError: The cluster has no such cache.
            PermissionDeniedError: The caller may not write to the cache.
        """
        request = job_pb2.AcceptDataLossRequest(cache=checks.text("cache", cache))
        response = self._connection.call("AcceptDataLoss", lambda: request, timeout=max(self._timeout, _SUBMIT_TIMEOUT))
        return tuple(response.partitions)

    def close(self) -> None:
        """Closes the connection; jobs continue. May be repeated."""
        self._connection.close()

    def __enter__(self) -> Client:
        """Returns itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the connection."""
        self.close()

    def _upload(self, archive: Archive) -> None:
        data = memoryview(archive.data)

        def requests() -> Iterator[job_pb2.UploadCodeRequest]:
            for start in range(0, len(data), _CHUNK):
                yield job_pb2.UploadCodeRequest(
                    digest=archive.digest if start == 0 else "", chunk=bytes(data[start : start + _CHUNK])
                )

        allowed = max(self._timeout, _SUBMIT_TIMEOUT) + len(data) / _UPLOAD_RATE
        self._connection.call("UploadCode", requests, timeout=allowed)


class JobHandle:
    """One job of a cluster; returned by `Client.submit` and `Client.job`.

    Attributes:
        id: The job's full id.
    """

    def __init__(self, connection: NodeConnection, job: Job) -> None:
        """Sets the connection and the present state of the job."""
        self._connection = connection
        self._status = job
        self.id = job.id

    def __repr__(self) -> str:
        """Returns id and state."""
        return f"JobHandle(id={self.id!r}, state={self._status.state!r})"

    def _repr_html_(self) -> str:
        """Shows the job's present state in a notebook; its newest known one if no node answers."""
        with contextlib.suppress(TensorFlowIgniteError):
            self.refresh()
        return html(self._status)

    @property
    def status(self) -> Job:
        """The newest state that a method of this handle has received; `refresh` gets the present one."""
        return self._status

    def refresh(self) -> Job:
        """Gets the present state of the job from the cluster."""
        request = job_pb2.GetJobRequest(job_id=self.id)
        self._status = Job.from_proto(self._connection.call("GetJob", lambda: request).job)
        return self._status

    def watch(self, timeout: float | None = None) -> Iterator[Job]:
        """Yields the job now, and again after each change, until its state is final.

        Args:
            timeout: Seconds until the state is final; None: no limit.

        Yields:
            The job; the last one is in a final state.

        Raises:
            RequestTimeoutError: The state was not final in time.
        """
        last: Job | None = None
        request = job_pb2.WatchJobRequest(job_id=self.id)
        messages = self._connection.follow(
            "WatchJob", request, timeout=timeout, is_complete=lambda: last is not None and last.is_over
        )
        try:
            for message in messages:
                job = Job.from_proto(message.job)
                if job != last:  # a stream that was opened again begins with the present state
                    self._status = last = job
                    yield job
                if job.is_over:
                    return
        except RequestTimeoutError:
            raise self._not_over(timeout) from None

    def wait(self, timeout: float | None = None, *, raise_on_failure: bool = True) -> Job:
        """Waits until the job is in a final state, and its processes are proven gone.

        Args:
            timeout: Seconds; None: no limit.
            raise_on_failure: Raise an error if the job did not succeed.

        Returns:
            The job in its final state.

        Raises:
            JobFailedError: The job failed; the error carries the job, and its text the first traceback.
            JobStoppedError: The job was stopped.
            RequestTimeoutError: The state was not final in time; the job continues.
        """
        for _ in self.watch(timeout):
            pass
        if raise_on_failure and self._status.state != "succeeded":
            raise _failure(self._status)
        return self._status

    def logs(
        self,
        *,
        follow: bool = False,
        role: str | None = None,
        index: int | None = None,
        attempt: int | None = None,
    ) -> Iterator[LogLine]:
        """Yields the output of the job's tasks, line by line, from the first line on, also after the job's end.

        Args:
            follow: Continue until the job is in a final state and its output is complete; otherwise end with the output
                so far.
            role: Only tasks of this role, also of one that a custom job has named.
            index: Only tasks of this index.
            attempt: Only this attempt, counted from 1.

        Yields:
            The lines; those of one task in order, those of different tasks in the order of their arrival.

        Raises:
            InvalidRequestError: There is no such role or index.
        """
        # The cluster counts the tasks of all named roles together.
        named = [(each.name, number) for each in self._status.spec.roles for number in range(each.count)]
        if role is not None:
            checks.choice("role", role, (*ROLES, *(each.name for each in self._status.spec.roles)))
        if index is not None:
            checks.count("index", index, 0)
        name = role if role not in ROLES else None
        if name is not None:
            role = "named"
            if index is not None:
                # One that is not there has no output, as of other roles.
                index = named.index((name, index)) if (name, index) in named else len(named)
        if attempt is not None:
            checks.count("attempt", attempt, 1)
        request = job_pb2.StreamLogsRequest(
            job_id=self.id,
            follow=follow,
            role=f"ROLE_{role.upper()}" if role else None,
            index=index,
            attempt=attempt or 0,
        )
        lines = (_with_name(line, named) for line in self._lines(request))
        return (line for line in lines if name in (None, line.role_name))

    def events(self, *, follow: bool = False) -> Iterator[Event]:
        """Yields the job's history, oldest first; the cluster keeps the newest 500 events of a job.

        Args:
            follow: Continue until the job is in a final state; otherwise end with the events so far.

        Yields:
            Each event once.
        """
        newest = 0
        for job in self.watch() if follow else (self.refresh(),):
            for event in job.events:
                if event.number > newest:
                    newest = event.number
                    yield event

    def stop(self, *, force: bool = False, save: bool = False, wait: bool = True, timeout: float | None = None) -> Job:
        """Stops the job.

        Args:
            force: End it although processes of it may still run, if their end is not proven within the stop grace, two
                leases and 10 s. The nodes without a proof get no task of any job until they have proven it.
            save: The tasks save a checkpoint after a common step before they end. They have the stop grace for it; then
                they end without, and the job's history says so. Only a script with `tensorflow_ignite.train.checkpoint`
                or `tensorflow_ignite.train.CheckpointCallback` can save.
            wait: Wait until its processes are proven gone.
            timeout: Seconds to wait; None: no limit.

        Returns:
            The job: in its final state, or without ``wait`` in its present one.

        Raises:
            JobFinishedError: The job is already in a final state.
            RequestTimeoutError: Its processes were not proven gone in time.
        """
        request = job_pb2.StopJobRequest(job_id=self.id, force=force, save=save)
        self._status = Job.from_proto(self._connection.call("StopJob", lambda: request).job)
        return self.wait(timeout, raise_on_failure=False) if wait else self._status

    def accept_quorum(self) -> tuple[Node, ...]:
        """Lets the job go on without the nodes that are missing now, although the others are no majority.

        Call this only if no task of the job runs on the missing nodes: they are off for good. The nodes of the cluster
        that answers are the job's nodes from now on. After a cut of the network, the other side may still train.

        Returns:
            The missing nodes, in the order in which they joined; none if all nodes of the job are here.

        Raises:
            JobFinishedError: The job is already in a final state.
            PermissionDeniedError: The caller may not stop the job.
        """
        request = job_pb2.AcceptQuorumRequest(job_id=self.id)
        response = self._connection.call("AcceptQuorum", lambda: request)
        self._status = Job.from_proto(response.job)
        return tuple(sorted((Node.from_proto(node) for node in response.missing), key=lambda node: node.order))

    def remove(self, *, force: bool = False) -> None:
        """Removes a job in a final state with its files: its checkpoints in the cluster, output and code.

        The cluster removes each job itself after the retention time. Checkpoints outside the cluster stay. May be
        repeated.

        Args:
            force: Also a job whose row the node cannot read, or whose row a later version has written; its tasks end.

        Raises:
            JobUnreadableError: It is such a job, and ``force`` is not set.
            JobNotFinishedError: The job is not in a final state, or another such job keeps its checkpoints among the
                job's files.
        """
        request = job_pb2.RemoveJobRequest(job_id=self.id, force=force)
        # The job existed when this handle was made: another caller, or an earlier attempt of this call, removed it.
        with contextlib.suppress(JobNotFoundError):
            self._connection.call("RemoveJob", lambda: request)

    def _lines(self, request: job_pb2.StreamLogsRequest) -> Iterator[LogLine]:
        assembler = LineAssembler()
        pieces = self._connection.follow(
            "StreamLogs",
            request,
            # A node that shuts down may end its streams regularly; the output is complete only after the job.
            is_complete=lambda: not request.follow or self.refresh().is_over,
            on_restart=assembler.restart,
        )
        for piece in pieces:
            task_role = cast("Role", enum_text(piece, "role"))
            yield from assembler.add(
                piece.attempt, task_role, piece.index, piece.data, piece.dropped_bytes, piece.incarnation
            )
        yield from assembler.finish()

    def _not_over(self, timeout: float | None) -> RequestTimeoutError:
        job = self._status
        waiting = f", waiting for {job.waiting_for}" if job.waiting_for else ""
        return RequestTimeoutError(
            f"job {job.id} is not over after {timeout:g} s: it is {job.state}{waiting}. The wait has ended at its "
            f"timeout, and the job continues. See its state: tensorflow-ignite describe {job.id}"
        )


def _failure(job: Job) -> JobFailedError:
    how, kind = ("was stopped", JobStoppedError) if job.state == "stopped" else ("failed", JobFailedError)
    text = f"job {job.id} {how} (exit code {job.exit_code}): {job.cause or 'no cause was reported'}"
    text += f"\nSee: tensorflow-ignite describe {job.id}"
    return kind(f"{text}\n\n{job.traceback.rstrip()}" if job.traceback else text, job=job)


def _with_name(line: LogLine, named: Sequence[tuple[str, int]]) -> LogLine:
    if line.role != "named" or line.index >= len(named):
        return line
    name, index = named[line.index]
    return replace(line, role_name=name, role_index=index)
