"""Submitting and following jobs from Python.

import tensorflow_ignite as tfi

with tfi.connect("localhost:10820") as client:
    job = client.submit("train.py", cache="images", args=["--epochs", "3"])
    for line in job.logs(follow=True):
        print(f"[{line.role} {line.index}] {line.text}")
    job.wait()
"""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, cast

from tensorflow_ignite import checks
from tensorflow_ignite.addresses import parse_addresses
from tensorflow_ignite.archive import Archive, pack
from tensorflow_ignite.credentials import find
from tensorflow_ignite.errors import (
    InvalidRequestError,
    JobFailedError,
    JobNotFoundError,
    JobStoppedError,
    RequestTimeoutError,
)
from tensorflow_ignite.history import EventLog
from tensorflow_ignite.logs import LineAssembler, LogLine
from tensorflow_ignite.messages import enum_text
from tensorflow_ignite.rpc import NodeConnection
from tensorflow_ignite.spec import (
    JOB_KINDS,
    ON_JOIN,
    QUORUMS,
    ROLES,
    Event,
    Job,
    JobKind,
    JobSpec,
    Node,
    OnJoin,
    Quorum,
    Role,
)
from tensorflow_ignite.v1 import job_pb2

__all__ = ["Client", "JobHandle", "LogLine", "connect"]

_CHUNK = 1024 * 1024
# Seconds at least for a submission: the node asks the cluster about the cache and its agents.
_SUBMIT_TIMEOUT = 30.0
# Bytes a second that an upload must reach at the very least.
_UPLOAD_RATE = 2 * 1024 * 1024


def connect(address: str | None = None, *, timeout: float = 10.0, credentials: Any = None) -> Client:
    """Connects to a cluster through one of its nodes.

    Args:
        address: ``"host:port[,host:port]"``; the first that answers is used, the others when it no longer does.
            None: the environment variable TENSORFLOW_IGNITE_ADDRESS, else that of the profile, else
            ``localhost:10820``.
        timeout: Seconds for connecting, and for each later call at one address.
        credentials: Who calls, and whom it trusts: :class:`tensorflow_ignite.Credentials`, ``(user, password)``, or a
            dict with some of username, password, token, certfile, keyfile, key_password, cafile and tls. None: those of
            the task, the environment, or a profile; see docs/security.md.

    Returns:
        A client; close it, or use it in a ``with`` block.

    Raises:
        InvalidRequestError: The address or the credentials cannot be read, or a file of theirs cannot be used.
        ConnectionFailedError: No node answers at any address, or not by TLS as the credentials want it.
        UnauthenticatedError: The node wants to know who calls, and was not told, or not truthfully.
    """
    addresses = parse_addresses(address)
    who = find(credentials, addresses)
    return Client(NodeConnection(addresses, checks.seconds("timeout", timeout), credentials=who), timeout)


class Client:
    """A connection to a cluster; made by `connect`. Safe to use from several threads.

    Every method raises `ConnectionFailedError` when no node answers any more, and `RequestTimeoutError` when an
    answer does not come in time.
    """

    def __init__(self, connection: NodeConnection, timeout: float) -> None:
        """Takes over a connection."""
        self._connection = connection
        self._timeout = timeout

    @property
    def address(self) -> str:
        """``"host:port"`` of the node that is asked next."""
        return self._connection.address

    def submit(
        self,
        code: str | os.PathLike[str] | Archive,
        *,
        cache: str,
        script: str | None = None,
        kind: JobKind = "multi-worker-mirrored",
        args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        name: str | None = None,
        ps: int | None = None,
        checkpoint_directory: str | None = None,
        start_timeout: float | None = None,
        stop_grace: float | None = None,
        max_crashes: int | None = None,
        min_workers: int | None = None,
        wait_timeout: float | None = None,
        on_join: OnJoin = "restart",
        allow_data_loss: bool = False,
        quorum: Quorum = "majority",
        more_caches: Sequence[str] = (),
        allow_plaintext: bool = False,
    ) -> JobHandle:
        """Packs and uploads code, and submits a job that runs it beside the rows of a cache.

        Args:
            code: A script, a folder or a .zip archive (`tensorflow_ignite.archive.pack`), or what `pack` returned.
            cache: The cache whose partitions are split over the workers.
            script: The script inside a folder or archive; None: its main.py, else its train.py.
            kind: ``"multi-worker-mirrored"``: the script runs on every worker; ``"parameter-server"``: workers and
                parameter servers are plain TensorFlow servers, and the script runs once, as their coordinator.
            args: Passed to the script untouched.
            env: Added to the environment of every task.
            name: Any text, to recognize the job by; None: the script's name without its suffix.
            ps: Parameter servers of a parameter-server job; None: 1.
            checkpoint_directory: Where the script should keep checkpoints, on storage that every node sees: an
                absolute path, or a URL of a file system that TensorFlow knows. None: in the cluster itself, in the
                job's own directory ``ignite:///jobs/ID/checkpoints``.
            start_timeout: Seconds from the placement until every task runs; None: the service's setting.
            stop_grace: Seconds between SIGTERM and SIGKILL when tasks are stopped; None: the service's setting.
            max_crashes: Crashes that are followed by a restart, counted anew after a healthy time; None: 3.
            min_workers: An attempt starts only with at least so many workers; None: 1.
            wait_timeout: Seconds that it waits for an assignment to start with; None: the service's setting.
            on_join: What happens when a node joins or partitions move while the tasks run well: ``"restart"`` after
                a quiet time, ``"ignore"``, or restart ``"at-checkpoint"``, as soon as one has been saved.
            allow_data_loss: Go on with the rows that are left when partitions lost all their copies.
            quorum: ``"majority"``: start another attempt only beside more than half of the nodes last seen together,
                those aside that are proven dead, so that of a cut network one side goes on at most; ``"none"``:
                beside whatever is left.
            more_caches: Further caches that its tasks may read, where callers must say who they are.
            allow_plaintext: Run although the cluster encrypts: TensorFlow's own connections between tasks do not, so
                whoever sees the network sees gradients and weights.

        Returns:
            The job, which goes on when this client is closed.

        Raises:
            CodeNotFoundError: There is no such code, or no such script in it.
            CodeInvalidError: The code breaks a rule of archives, or the script has a syntax error.
            CacheNotFoundError: The cluster has no such cache.
            CacheEmptyError: The cache has no rows.
            NoAgentError: No node can run tasks.
            PermissionDeniedError: The caller may not submit jobs, or its tasks may not read the caches.
            ClusterNotActiveError: The cluster is not activated.
            InvalidRequestError: Another argument breaks a rule.
        """
        archive = code if isinstance(code, Archive) else None
        spec = JobSpec(
            name=checks.text("name", name or ""),
            kind=checks.choice("kind", kind, JOB_KINDS),
            cache=checks.text("cache", cache),
            code_digest="",
            script=script or "",
            args=tuple(checks.text(f"argument {number}", arg) for number, arg in enumerate(args, 1)),
            env={checks.variable(key): checks.text(f"env {key}", value) for key, value in (env or {}).items()},
            ps_count=checks.parameter_servers(ps, kind),
            start_timeout=None if start_timeout is None else checks.seconds("start_timeout", start_timeout),
            stop_grace=None if stop_grace is None else checks.seconds("stop_grace", stop_grace, zero=True),
            checkpoint_directory=checks.directory(checkpoint_directory or ""),
            max_crashes=None if max_crashes is None else checks.count("max_crashes", max_crashes, 0),
            min_workers=0 if min_workers is None else checks.count("min_workers", min_workers, 1),
            wait_timeout=None if wait_timeout is None else checks.seconds("wait_timeout", wait_timeout),
            on_join=checks.choice("on_join", on_join, ON_JOIN),
            quorum=checks.choice("quorum", quorum, QUORUMS),
            allow_data_loss=bool(allow_data_loss),
            more_caches=checks.names("more_caches", more_caches),
            allow_plaintext=bool(allow_plaintext),
        )
        if not cache:
            raise InvalidRequestError("cache '' is not a name. A job reads one cache. Name it: cache=")
        if archive is None:
            archive = pack(code, script)  # type: ignore[arg-type]
        message = spec.to_proto()
        message.code_digest = archive.digest
        message.script = archive.script
        message.name = spec.name or os.path.splitext(os.path.basename(archive.script))[0]
        self._upload(archive)
        request = job_pb2.SubmitJobRequest(request_id=str(uuid.uuid4()), spec=message)
        response = self._connection.call("SubmitJob", lambda: request, timeout=max(self._timeout, _SUBMIT_TIMEOUT))
        return JobHandle(self._connection, Job.from_proto(response.job))

    def jobs(self) -> list[Job]:
        """Returns every job that the cluster remembers, newest first."""
        response = self._connection.call("ListJobs", job_pb2.ListJobsRequest)
        return [Job.from_proto(job) for job in response.jobs]

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

    def close(self) -> None:
        """Closes the connection; jobs go on. May be repeated."""
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
    """One job of a cluster; made by `Client.submit` and `Client.job`.

    Attributes:
        id: The job's full id.
    """

    def __init__(self, connection: NodeConnection, job: Job) -> None:
        """Takes the job as it is known now."""
        self._connection = connection
        self._status = job
        self.id = job.id

    def __repr__(self) -> str:
        """Returns id and state."""
        return f"JobHandle(id={self.id!r}, state={self._status.state!r})"

    @property
    def status(self) -> Job:
        """The job as it was last seen, by any method of this handle; `refresh` asks anew."""
        return self._status

    def refresh(self) -> Job:
        """Asks the cluster for the job as it is now."""
        request = job_pb2.GetJobRequest(job_id=self.id)
        self._status = Job.from_proto(self._connection.call("GetJob", lambda: request).job)
        return self._status

    def watch(self, timeout: float | None = None) -> Iterator[Job]:
        """Yields the job now, and again after each change, until it is over.

        Args:
            timeout: Seconds for all of it; None: no limit.

        Yields:
            The job; the last one is over.

        Raises:
            RequestTimeoutError: The job was not over in time.
        """
        last: Job | None = None
        request = job_pb2.WatchJobRequest(job_id=self.id)
        messages = self._connection.follow(
            "WatchJob", request, timeout=timeout, is_complete=lambda: last is not None and last.is_over
        )
        try:
            for message in messages:
                job = Job.from_proto(message.job)
                if job != last:  # a stream that was opened again begins with what we know
                    self._status = last = job
                    yield job
                if job.is_over:
                    return
        except RequestTimeoutError:
            raise self._not_over(timeout) from None

    def wait(self, timeout: float | None = None, *, raise_on_failure: bool = True) -> Job:
        """Waits until the job is over, its processes proven gone.

        Args:
            timeout: Seconds; None: no limit.
            raise_on_failure: Raise when the job did not succeed.

        Returns:
            The job as it ended.

        Raises:
            JobFailedError: The job failed; the error carries the job, and its text the first traceback.
            JobStoppedError: The job was stopped.
            RequestTimeoutError: The job was not over in time; it goes on.
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
        role: Role | None = None,
        index: int | None = None,
        attempt: int | None = None,
    ) -> Iterator[LogLine]:
        """Yields the output of the job's tasks, line by line, from the first line on, also after the end.

        Args:
            follow: Go on until the job is over and its output complete; otherwise end with what is there.
            role: Only tasks of this role.
            index: Only tasks of this index.
            attempt: Only this attempt, counted from 1.

        Yields:
            The lines; those of one task are in order, those of different tasks as they come.

        Raises:
            InvalidRequestError: There is no such role or index.
        """
        if role is not None:
            checks.choice("role", role, ROLES)
        if index is not None:
            checks.count("index", index, 0)
        if attempt is not None:
            checks.count("attempt", attempt, 1)
        request = job_pb2.StreamLogsRequest(
            job_id=self.id,
            follow=follow,
            role=role.upper() if role else None,
            index=index,
            attempt=attempt or 0,
        )
        return self._lines(request)

    def events(self, *, follow: bool = False) -> Iterator[Event]:
        """Yields the job's history, oldest first; the cluster keeps the newest 500 events of a job.

        Args:
            follow: Go on until the job is over; otherwise end with what is there.

        Yields:
            Each event once.
        """
        log = EventLog()
        for job in self.watch() if follow else (self.refresh(),):
            yield from log.fresh(job.events)

    def stop(self, *, wait: bool = True, timeout: float | None = None) -> Job:
        """Stops the job.

        Args:
            wait: Wait until its processes are proven gone.
            timeout: Seconds to wait; None: no limit.

        Returns:
            The job: as it ended, or without ``wait`` as it is now.

        Raises:
            JobFinishedError: The job is over already.
            RequestTimeoutError: Its processes were not proven gone in time.
        """
        request = job_pb2.StopJobRequest(job_id=self.id)
        self._status = Job.from_proto(self._connection.call("StopJob", lambda: request).job)
        return self.wait(timeout, raise_on_failure=False) if wait else self._status

    def remove(self) -> None:
        """Removes the job, which is over, with all that it has left: its checkpoints in the cluster, output and code.

        The cluster does so itself when the job has been over for as long as jobs are kept. Checkpoints elsewhere stay.
        May be repeated.

        Raises:
            JobNotFinishedError: The job is not over, or another one that is not over keeps its checkpoints among its
                files.
        """
        request = job_pb2.RemoveJobRequest(job_id=self.id)
        # It was there when this handle was made: somebody, or an earlier try of this very call, was faster.
        with contextlib.suppress(JobNotFoundError):
            self._connection.call("RemoveJob", lambda: request)

    def _lines(self, request: job_pb2.StreamLogsRequest) -> Iterator[LogLine]:
        assembler = LineAssembler()
        pieces = self._connection.follow(
            "StreamLogs",
            request,
            # A node that shuts down may end its streams regularly; the output is complete only when the job is over.
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
            f"job {job.id} is not over after {timeout:g} s: it is {job.state}{waiting}. It was waited for so long "
            f"(timeout), and it goes on. Look at it: tensorflow-ignite describe {job.id}"
        )


def _failure(job: Job) -> JobFailedError:
    how, kind = ("was stopped", JobStoppedError) if job.state == "stopped" else ("failed", JobFailedError)
    text = f"job {job.id} {how} (exit code {job.exit_code}): {job.cause or 'no cause was told'}"
    text += f"\nSee: tensorflow-ignite describe {job.id}"
    return kind(f"{text}\n\n{job.traceback.rstrip()}" if job.traceback else text, job=job)
