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
import dataclasses
import functools
import os
import posixpath
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from tensorflow_ignite.errors import InvalidRequestError
from tensorflow_ignite.groups import (
    Access,
    Environment,
    Evaluator,
    ParameterServer,
    Prediction,
    Restart,
    Rounds,
    Strategy,
    Timeouts,
    Workers,
)
from tensorflow_ignite.jobs import checks, options
from tensorflow_ignite.jobs.archive import Archive, pack, pack_files, read_file, with_script
from tensorflow_ignite.jobs.function import name_of, pack_function
from tensorflow_ignite.jobs.handle import JobHandle
from tensorflow_ignite.kinds import JobKind
from tensorflow_ignite.net.resolve import find_credentials, resolve
from tensorflow_ignite.net.rpc import NodeConnection
from tensorflow_ignite.spec import JOB_STATES, Baseline, Job, JobSpec, JobState, Node
from tensorflow_ignite.v1 import job_pb2

if TYPE_CHECKING:
    from tensorflow_ignite.models.registry import Models

_CHUNK = 1024 * 1024
# The script of the tasks of a prediction.
_PREDICT_SCRIPT = "predict_rows.py"
#: The partition maps of all nodes change before the answer.
_BASELINE_SECONDS = 60.0
_PREDICT_CODE = b"from tensorflow_ignite.predict.task import main\n\nmain()\n"
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
            TENSORFLOW_IGNITE_ADDRESS; else the address of the profile; else ``localhost:10820``.
        timeout: Seconds to connect, and for each later call at one address.
        credentials: Credentials of the calls: :class:`tensorflow_ignite.Credentials`, ``(user, password)``, or a dict
            with some of username, password, token, certfile, keyfile, key_password, cafile and tls. None: from the
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
        args: Sequence[Any] = (),
        name: str | None = None,
        priority: int = 0,
        checkpoint_directory: str | None = None,
        read_rate: str = "",
        strategy: Strategy | JobKind | None = None,
        workers: Workers | None = None,
        restart: Restart | None = None,
        timeouts: Timeouts | None = None,
        environment: Environment | None = None,
        access: Access | None = None,
        evaluator: Evaluator | None = None,
        rounds: Rounds | None = None,
        prediction: Prediction | None = None,
    ) -> JobHandle:
        """Packs and uploads code, and submits a job that runs it beside the rows of a cache.

        Args:
            code: A script, a folder or a .zip archive (`tensorflow_ignite.jobs.archive.pack`), or an `Archive`; or a
                function, for example of a notebook. A function is sent with everything that it uses of its notebook or
                file, and called on every worker (or as coordinator). Nodes need the same version of Python, and the
                packages that the function imports.
            cache: The cache whose partitions are split over the workers.
            script: The script inside a folder or archive; by default main.py or train.py.
            args: Arguments of the script, passed unchanged: texts. Those of a function may have any type.
            name: A name for people; by default the script's name without its suffix, or the name of the function.
            priority: Each unit moves the job ten minutes forward in the queue of jobs, where it waits for nodes with
                room for its tasks. From -100 to 100.
            checkpoint_directory: The directory for checkpoints, a path or URL that every node reaches; by default in
                the cluster: ``ignite:///jobs/ID/checkpoints``. A path is absolute and on shared storage; TensorFlow
                supports the file system of the URL.
            read_rate: Limit of bytes or rows that all tasks of the job together read from each node per second:
                ``"200MB"``, ``"50000rows"``; empty: no limit of its own. With any limit, reading yields to the
                application's work on a node, unless the cluster is configured otherwise (``rows.readRate``).
            strategy: Which tasks run the script, and which roles the job has: ``tfi.MultiWorkerMirrored()`` if None,
                ``tfi.ParameterServer(servers=2)``, ``tfi.Mirrored()``, ``tfi.One()``, ``tfi.CentralStorage()``,
                ``tfi.Custom(roles={"actor": 2})``; or a kind as a text, ``"parameter-server"``.
            workers: The tasks that read the partitions of the cache: their number, GPUs and nodes.
            restart: When the job gets another attempt.
            timeouts: Longest times, in seconds; by default the cluster's.
            environment: The processes of the tasks: variables, packages and the interpreter.
            access: Further caches and directories that the tasks may use, in a cluster that requires credentials.
            evaluator: A further task evaluates each new checkpoint; None: there is none.
            rounds: Train in rounds without an end: first on all rows, then on the rows that were put since; None: the
                job ends with its script.
            prediction: The input and the output of a job of kind ``"predict"``; see :meth:`predict`.

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
        chosen = options.strategy(strategy)
        processes = options.group("environment", environment, Environment)
        packages = options.packages(processes)
        archive = code if isinstance(code, Archive) else None
        if archive is not None and any(packages.values()):
            raise InvalidRequestError(
                "environment has requirements or wheels beside an Archive. They are packed together with the code. "
                "Pass them to pack(code, requirements=, wheels=), or pass the path of the code."
            )
        if not callable(code) and not isinstance(code, (str, os.PathLike, Archive)):
            raise InvalidRequestError(
                f"code is {code!r}, a {type(code).__name__}. It is the path of a script, a folder or a .zip archive, "
                'or an Archive or a function. Pass, for example, "train.py".'
            )
        script = options.value("script", script, str | None)
        if isinstance(args, (str, bytes, Mapping, Set)) or not isinstance(args, Iterable):
            raise InvalidRequestError(
                f"args {args!r} is not a list. It is a list, also of one argument. Pass args=[...]."
            )
        if callable(code):
            archive = pack_function(code, args, **packages)
            args, name = (), name or name_of(code)
        cache = options.value("cache", cache, str)
        if not cache:
            raise InvalidRequestError("cache '' is not a name. A job reads one cache. Name it: cache=")
        spec = JobSpec(
            cache=cache,
            code_digest="",
            script=script or "",
            name=options.value("name", name, str | None) or "",
            args=tuple(checks.text(f"argument {number}", arg) for number, arg in enumerate(args, 1)),
            checkpoint_directory=checks.directory(
                options.value("checkpoint_directory", checkpoint_directory, str | None) or ""
            ),
            priority=options.value("priority", priority, int),
            read_rate=options.value("read_rate", read_rate, str),
            strategy=chosen,
            workers=options.group("workers", workers, Workers),
            restart=options.group("restart", restart, Restart),
            timeouts=options.group("timeouts", timeouts, Timeouts),
            environment=processes,
            access=options.group("access", access, Access),
            evaluator=None if evaluator is None else options.group("evaluator", evaluator, Evaluator),
            rounds=None if rounds is None else options.group("rounds", rounds, Rounds),
            prediction=None if prediction is None else options.group("prediction", prediction, Prediction),
        )
        if archive is None:
            archive = pack(code, script, **packages)  # type: ignore[arg-type]
        if spec.evaluator is not None:
            checks.evaluator_script(spec.evaluator.script, archive.files)
        message = spec.to_proto()
        message.code_digest = archive.digest
        message.script = archive.script
        message.environment.requirements = archive.requirements
        message.environment.wheels[:] = archive.wheels
        if spec.timeouts.start is None and (archive.requirements or archive.wheels):
            message.timeouts.start.FromSeconds(_INSTALL_TIMEOUT)
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
        name: str | None = None,
        priority: int = 0,
        read_rate: str = "",
        workers: Workers | None = None,
        restart: Restart | None = None,
        timeouts: Timeouts | None = None,
        environment: Environment | None = None,
        access: Access | None = None,
    ) -> JobHandle:
        """Submits a job that predicts the rows of a cache by a model, beside each node, into another cache.

            job = client.predict("digits", cache="images", into="predictions", keep=["label"])
            job.wait()

        Each node predicts the rows of its primary partitions, and stores the results there. The cache of results is
        made if it does not exist, with the keys, the affinity, the partitions and the backups of the cache of rows. A
        row of results has the kept columns, a column for each output, ``model_version`` (``NAME:NUMBER``, or the name
        of the script) and ``predicted_at``. After any number of restarts each key has one result, and finished
        partitions are not predicted again. See docs/predict.md.

        Args:
            model: The model, as ``"NAME"``, ``"NAME:NUMBER"`` or ``"NAME@LABEL"``. The version is chosen now.
            cache: The cache of the rows.
            into: The cache for the results, which has exactly the columns above if it exists.
            script: A script, or a folder with ``main.py``, in place of a model. It defines ``predict(batch)``, which
                takes the arrays of some rows by the names of their columns, as `tensorflow_ignite.batches` gives them,
                and returns arrays of as many rows by the names of the outputs.
            signature: Name of the model's function; empty: its default one.
            columns: The columns that the model or script takes. None: the columns with the names of the model's inputs;
                for a model with one input of another name, the only column that fits; for a script all.
            keep: Columns that are copied into the results.
            where: Condition in SQL over the columns; only rows that meet it are predicted.
            parameters: Values for the question marks of ``where``.
            batch_size: Rows of a call of the model or script; None: 8,192.
            name: As for :meth:`submit`; None: ``predict`` and the name of the model or script.
            priority: As for :meth:`submit`.
            read_rate: As for :meth:`submit`.
            workers: As for :meth:`submit`.
            restart: As for :meth:`submit`.
            timeouts: As for :meth:`submit`.
            environment: As for :meth:`submit`.
            access: As for :meth:`submit`.

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
        processes = options.group("environment", environment, Environment)
        packages = options.packages(processes)
        code = None if script is None else pack(script, **packages)
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
            pack_files({_PREDICT_SCRIPT: _PREDICT_CODE}, _PREDICT_SCRIPT, **packages)
            if code is None
            else with_script(code, _PREDICT_SCRIPT, _PREDICT_CODE)
        )
        directory = "" if version is None else f"ignite://{posixpath.dirname(version.path)}"
        return self.submit(
            archive,
            cache=cache,
            args=request.to_arguments(),
            name=name or f"predict {request.source}",
            priority=priority,
            read_rate=read_rate,
            strategy="predict",
            workers=workers,
            restart=restart,
            timeouts=timeouts,
            environment=dataclasses.replace(processes, requirements="", wheels=()),
            access=access,
            prediction=Prediction(request.into, request.model, directory),
        )

    def parameter_servers(
        self, cache: str, *, servers: int = 1, server_nodes: Mapping[str, str] | None = None, **options: Any
    ) -> contextlib.AbstractContextManager[JobHandle]:
        """Starts workers and parameter servers beside the rows of a cache, for this process as their client process.

            with client.parameter_servers("clicks", servers=2):
                strategy = tfi.train.strategy()
                coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
                rows = coordinator.create_per_worker_dataset(lambda: tfi.dataset("clicks").batch(64))

        As long as the context lasts, `tensorflow_ignite.train` and `tensorflow_ignite.dataset` behave as in the client
        process of a job of kind ``"parameter-server"``, and TF_CONFIG is set. The servers end with the context, and
        within seconds after this process, however it ends; they are not started again if one is lost. Nodes and this
        process must reach each other's ports. A process does this once, before its first use of TensorFlow.

        Args:
            cache: The cache whose partitions are split over the workers.
            servers: Number of parameter servers.
            server_nodes: Attributes of the nodes that run them, as for `tensorflow_ignite.ParameterServer`.
            **options: Further arguments of `submit`, without the arguments of a script in the cluster: ``args``,
                ``evaluator``, and variables of the role ``client``.

        Returns:
            A context with the job of the servers.

        Raises:
            InvalidRequestError: An argument of a script in the cluster is given.
            TensorFlowIgniteError: As of `submit`; or the servers do not start.
        """
        from tensorflow_ignite.jobs.parameter_servers import check_options, held

        check_options(options)
        strategy = ParameterServer(servers, server_nodes=server_nodes)
        return held(self, self._connection.credentials, cache, strategy=strategy, **options)

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

    def baseline(self) -> Baseline:
        """Returns the nodes to which Ignite assigns partitions, and the other server nodes of the cluster."""
        return Baseline.from_proto(self._connection.call("GetBaseline", job_pb2.GetBaselineRequest).baseline)

    def change_baseline(
        self, *, add: Iterable[str] = (), add_online: bool = False, remove: Iterable[str] = (), force: bool = False
    ) -> Baseline:
        """Changes the baseline of a cluster with data on disk; Ignite then moves partitions.

        Args:
            add: Names (consistent ids) of nodes of the cluster, or one name.
            add_online: All server nodes of the cluster are added.
            remove: Names of nodes that are offline, or one name.
            force: Also if no node of the cluster has a complete copy of some partitions on disk. Other nodes get these
                partitions empty, and readers an error until `accept_data_loss`.

        Returns:
            The baseline after the change.

        Raises:
            NodeNotFoundError: A node to add is not in the cluster, or a node to remove is not in the baseline.
            InvalidRequestError: A node to remove is online, or Ignite adjusts the baseline itself.
            DataLossError: Partitions have no complete copy, and ``force`` is not set.
            PermissionDeniedError: The caller may not do everything.
        """
        added, removed = ([names] if isinstance(names, str) else names for names in (add, remove))
        request = job_pb2.ChangeBaselineRequest(
            add=[checks.text("add", name) for name in added],
            add_online=add_online,
            remove=[checks.text("remove", name) for name in removed],
            force=force,
        )
        response = self._connection.call("ChangeBaseline", lambda: request, timeout=_BASELINE_SECONDS)
        return Baseline.from_proto(response.baseline)

    def accept_data_loss(self, cache: str) -> tuple[int, ...]:
        """Accepts for all callers that partitions of a cache have lost all their copies.

        From now on the remaining rows are the whole cache. If Ignite itself refuses to read them (on disk, or by a loss
        policy), this holds for all caches of its group. To accept it only once, see `Restart.allow_data_loss`, and
        ``accept_data_loss`` of `tensorflow_ignite.dataset` and `tensorflow_ignite.read_table`.

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

    def __exit__(self, *_: object) -> None:
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
