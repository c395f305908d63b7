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
import functools
import os
import posixpath
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from types import TracebackType
from typing import TYPE_CHECKING, Any

from tensorflow_ignite.errors import InvalidRequestError
from tensorflow_ignite.jobs import checks
from tensorflow_ignite.jobs.archive import Archive, pack, pack_files, read_file, with_script
from tensorflow_ignite.jobs.function import name_of, pack_function
from tensorflow_ignite.jobs.handle import JobHandle
from tensorflow_ignite.kinds import DEFAULT_KIND, JOB_KINDS, JobKind
from tensorflow_ignite.net.resolve import find_credentials, resolve
from tensorflow_ignite.net.rpc import NodeConnection
from tensorflow_ignite.spec import (
    JOB_STATES,
    ON_JOIN,
    QUORUMS,
    Job,
    JobSpec,
    JobState,
    Node,
    OnJoin,
    Prediction,
    Quorum,
    RoleEnvironment,
)
from tensorflow_ignite.v1 import job_pb2

if TYPE_CHECKING:
    from tensorflow_ignite.models.registry import Models

_CHUNK = 1024 * 1024
# The script of the tasks of a prediction.
_PREDICT_SCRIPT = "predict_rows.py"
_PREDICT_CODE = b"from tensorflow_ignite.predict.task import main\n\nmain()\n"
_PREDICT_OPTIONS = frozenset(
    {
        *("name", "env", "nodes", "priority", "read_rate", "workers_per_node"),
        *("gpus_per_worker", "python", "more_caches", "more_directories", "start_timeout", "first_step_timeout"),
        *("stall_timeout", "stop_grace", "wait_timeout", "min_workers", "max_crashes", "max_restarts"),
        *("on_join", "allow_data_loss", "quorum"),
    }
)
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
        prediction: Prediction | None = None,
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
                one process that reads the whole cache, the last two on the GPUs of `gpus_per_worker`, else on
                processors; ``"custom"``: the script runs on every worker, with a strategy or a library of its own.
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
            prediction: What a job of kind ``"predict"`` reads and writes; :meth:`predict` makes such jobs.

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
            workers_per_node=checks.workers_per_node(workers_per_node),
            nodes=checks.attributes("nodes", nodes),
            ps_nodes=checks.attributes("ps_nodes", ps_nodes),
            role_env=tuple(
                RoleEnvironment(checks.text("role", role), checks.variables(given))
                for role, given in (role_env or {}).items()
            ),
            chief=bool(chief),
            roles=checks.roles(roles, kind),
            gpus_per_worker=checks.count("gpus_per_worker", gpus_per_worker, 0, checks.MAX_GPUS),
            evaluator=checks.evaluator(evaluator, evaluation_cache),
            more_directories=checks.directories(more_directories),
            prediction=checks.prediction(prediction, kind),
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

    def predict(
        self,
        model: str | None = None,
        *,
        cache: str,
        into: str,
        script: str | os.PathLike[str] | None = None,
        signature: str = "",
        columns: Sequence[str] | None = None,
        keep: Sequence[str] = (),
        where: str | None = None,
        parameters: Sequence[Any] = (),
        batch_size: int | None = None,
        requirements: str | os.PathLike[str] | None = None,
        wheels: Sequence[str | os.PathLike[str]] = (),
        **options: Any,
    ) -> JobHandle:
        """Submits a job that predicts the rows of a cache by a model, beside each node, into another cache.

            job = client.predict("digits", cache="images", into="predictions", keep=["label"])
            job.wait()

        Each node predicts the rows of its primary partitions, and stores the results there: the cache of results has
        the keys, the affinity, the partitions and the backups of the other one, and is made if it does not exist. A row
        of it has the kept columns, a column for each output, ``model_version`` (``NAME:NUMBER``, or the name of the
        script) and ``predicted_at``. After any number of restarts each key has one result, and partitions that were
        finished are not predicted again. See docs/predict.md.

        Args:
            model: The model, as ``"NAME"``, ``"NAME:NUMBER"`` or ``"NAME@LABEL"``. The version is chosen now.
            cache: The cache of the rows.
            into: The cache for the results, which has exactly the columns above if it exists.
            script: A script, or a folder with ``main.py``, in place of a model. It defines ``predict(batch)``, which
                takes the arrays of some rows by the names of their columns, as `tensorflow_ignite.batches` gives them,
                and returns arrays of as many rows by the names of the outputs.
            signature: Name of the model's function; empty: its default one.
            columns: The columns that the model or script takes. None: those with the names of the model's inputs; of a
                model with one input of another name, the only column that fits; for a script all.
            keep: Columns that are copied into the results.
            where: Condition in SQL over the columns; only rows that meet it are predicted.
            parameters: Values for the question marks of ``where``.
            batch_size: Rows of a call of the model or script; None: 8,192.
            requirements: As for :meth:`submit`.
            wheels: As for :meth:`submit`.
            options: Options of :meth:`submit` for jobs of any kind: ``name``, ``env``, ``nodes``, ``priority``,
                ``read_rate``, ``workers_per_node``, ``max_crashes`` and others.

        Returns:
            The job, which continues when this client is closed.

        Raises:
            ModelNotFoundError: There is no such model, version or label.
            InvalidRequestError: The columns do not fit the model, or another argument breaks a rule.
            ColumnNotFoundError: The cache has no such column.
            UnsupportedTypeError: A cache of results cannot have the keys of the cache, or an output.
            RowMismatchError: The cache of results exists, and has other columns, keys, affinity or nodes.
            TensorFlowIgniteError: As of :meth:`submit`.
        """
        from tensorflow_ignite.predict import planning

        if (model is None) == (script is None):
            raise InvalidRequestError(
                f"model={model!r} and script={script!r} are given. A prediction is made by a model or by a script. "
                "Name one of them"
            )
        unknown = sorted(options.keys() - _PREDICT_OPTIONS)
        if unknown:
            raise InvalidRequestError(
                f"{', '.join(unknown)} {'is' if len(unknown) == 1 else 'are'} no option of a prediction. It has "
                f"{', '.join(sorted(_PREDICT_OPTIONS))}. Use these"
            )
        code = None if script is None else pack(script, requirements=requirements, wheels=wheels)
        if code is not None:
            planning.check_script(code.script, read_file(code, code.script))
        version = None if model is None else self.models.get(model)
        request = planning.make_request(
            into=into,
            cache=checks.text("cache", cache),
            version=version,
            signature=signature,
            script="" if code is None else code.script,
            columns=columns,
            keep=keep,
            where=where,
            parameters=parameters,
            batch_size=batch_size,
        )
        node = self.address
        credentials = find_credentials(self._connection.credentials, (node,), data=True)
        planning.check(request, cache, version, node, credentials)
        archive = (
            pack_files({_PREDICT_SCRIPT: _PREDICT_CODE}, _PREDICT_SCRIPT, requirements, wheels)
            if code is None
            else with_script(code, _PREDICT_SCRIPT, _PREDICT_CODE)
        )
        directory = "" if version is None else f"ignite://{posixpath.dirname(version.path)}"
        options.setdefault("name", f"predict {request.source}")
        return self.submit(
            archive,
            cache=cache,
            kind="predict",
            args=request.to_arguments(),
            prediction=Prediction(request.into, request.model, directory),
            **options,
        )

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
            **options: Further arguments of `submit`, but for those of a script in the cluster: ``args``, ``evaluator``,
                ``evaluation_cache``, and ``role_env`` of the client.

        Returns:
            A context with the job of the servers.

        Raises:
            InvalidRequestError: An argument of a script in the cluster is given.
            TensorFlowIgniteError: As of `submit`; or the servers do not start.
        """
        from tensorflow_ignite.jobs.parameter_servers import check_options, held

        check_options(options)
        return held(self, self._connection.credentials, cache, ps=ps, **options)

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

    @functools.cached_property
    def models(self) -> Models:
        """The models of the cluster: numbered versions, their labels, and what the nodes serve."""
        # numpy, which most commands do not need.
        from tensorflow_ignite.models.registry import Models
        from tensorflow_ignite.storage.files import Files

        return Models(Files.at(self._connection.addresses, credentials=self._connection.credentials))

    def close(self) -> None:
        """Closes the connection; jobs continue. May be repeated."""
        self._connection.close()
        if "models" in self.__dict__:
            self.models.close()

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
