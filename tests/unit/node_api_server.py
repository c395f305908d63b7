"""A node API in memory, on a real socket: what the client's tests talk to.

It keeps the contract of job.proto and nothing more; a test changes jobs and output, and the open streams report
it at once.
"""

from __future__ import annotations

import hashlib
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import grpc

from tensorflow_ignite.v1 import job_pb2, job_pb2_grpc

OVER = (job_pb2.JOB_STATE_SUCCEEDED, job_pb2.JOB_STATE_FAILED, job_pb2.JOB_STATE_STOPPED)
CACHES = {"images": 100, "empty": 0}


class NodeApiServer(job_pb2_grpc.NodeApiServiceServicer):
    """One node; a context manager that serves on a free port of loopback."""

    def __init__(self, state: State | None = None, port: int = 0) -> None:
        self.state = state or State()
        self.calls: list[str] = []
        self.streams = 0
        self._streams_changed = threading.Condition()
        self._faults: dict[str, deque[tuple[grpc.StatusCode, str, bool]]] = {}
        self._threads = ThreadPoolExecutor(16)
        self._server = grpc.server(
            self._threads,
            options=[
                ("grpc.http2.min_ping_interval_without_data_ms", 1000),
                ("grpc.http2.max_ping_strikes", 0),
                ("grpc.so_reuseport", 0),
            ],
        )
        job_pb2_grpc.add_NodeApiServiceServicer_to_server(self, self._server)
        self._port = self._server.add_insecure_port(f"127.0.0.1:{port}")
        self.address = f"127.0.0.1:{self._port}"

    def __enter__(self) -> NodeApiServer:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Ends at once, with every stream that is open."""
        stopped = self._server.stop(None)
        self.state.wake(self)
        stopped.wait(10)
        self._threads.shutdown()

    def fail_next(self, method: str, status: grpc.StatusCode, details: str, *, after: bool = False) -> None:
        """The next call of a method fails: before it does anything, or after it has done its work."""
        self._faults.setdefault(method, deque()).append((status, details, after))

    def UploadCode(self, requests: Iterator[Any], context: Any) -> Any:
        with self._call("UploadCode", context):
            chunks = []
            digest = ""
            for request in requests:
                digest = digest or request.digest
                assert len(request.chunk) <= 1024 * 1024
                chunks.append(request.chunk)
            data = b"".join(chunks)
            if hashlib.sha256(data).hexdigest() != digest:
                _refuse(context, grpc.StatusCode.INVALID_ARGUMENT, "CODE_INVALID", f"bytes are not {digest}")
            self.state.code[digest] = data
            self.state.chunks = len(chunks)
            return job_pb2.UploadCodeResponse(size=len(data))

    def SubmitJob(self, request: Any, context: Any) -> Any:
        with self._call("SubmitJob", context):
            spec = request.spec
            if spec.cache not in CACHES:
                text = f"There is no cache '{spec.cache}'. A job reads an existing cache; there are: images. Load it."
                _refuse(context, grpc.StatusCode.NOT_FOUND, "CACHE_NOT_FOUND", text)
            if CACHES[spec.cache] == 0:
                text = f"The cache '{spec.cache}' is empty. A job needs at least one row. Load it first."
                _refuse(context, grpc.StatusCode.FAILED_PRECONDITION, "CACHE_EMPTY", text)
            if spec.code_digest not in self.state.code:
                _refuse(context, grpc.StatusCode.NOT_FOUND, "CODE_NOT_FOUND", f"no archive {spec.code_digest}")
            return job_pb2.SubmitJobResponse(job=self.state.submit(request))

    def GetJob(self, request: Any, context: Any) -> Any:
        with self._call("GetJob", context):
            return job_pb2.GetJobResponse(job=self._find(request.job_id, context))

    def ListJobs(self, request: Any, context: Any) -> Any:
        with self._call("ListJobs", context):
            jobs = [job for job in reversed(self.state.jobs.values()) if job.state in (request.states or [job.state])]
            begin = int(request.page_token or 0)
            end = begin + (request.page_size or 100)
            return job_pb2.ListJobsResponse(jobs=jobs[begin:end], next_page_token=str(end) if jobs[end:] else "")

    def StopJob(self, request: Any, context: Any) -> Any:
        with self._call("StopJob", context):
            job = self._find(request.job_id, context)
            if job.state in OVER:
                text = f"Job {job.id} is over. Only a job that is not over can be stopped. See: describe {job.id}"
                _refuse(context, grpc.StatusCode.FAILED_PRECONDITION, "JOB_FINISHED", text)
            self.state.update(job.id, stop_requested=True, force_stop_requested=request.force)
            if self.state.stops:
                self.state.update(
                    job.id,
                    state=job_pb2.JOB_STATE_STOPPED,
                    outcome=job_pb2.JOB_STATE_STOPPED,
                    exit_code=130,
                    cause="stopped by request",
                )
            return job_pb2.StopJobResponse(job=self.state.jobs[job.id])

    def AcceptQuorum(self, request: Any, context: Any) -> Any:
        with self._call("AcceptQuorum", context):
            job = self._find(request.job_id, context)
            here = {node.consistent_id for node in self.state.nodes}
            missing = [node for node in job.members if node.consistent_id not in here]
            with self.state._news:
                del job.members[:]
                job.members.extend(self.state.nodes)
            return job_pb2.AcceptQuorumResponse(job=self.state.jobs[job.id], missing=missing)

    def DrainNode(self, request: Any, context: Any) -> Any:
        with self._call("DrainNode", context):
            (node,) = (node for node in self.state.nodes if node.consistent_id == request.node)
            node.availability = 0 if request.undo else job_pb2.NODE_AVAILABILITY_DRAINED
            return job_pb2.DrainNodeResponse(node=node)

    def GetBaseline(self, request: Any, context: Any) -> Any:
        with self._call("GetBaseline", context):
            return job_pb2.GetBaselineResponse(baseline=self.state.baseline)

    def ChangeBaseline(self, request: Any, context: Any) -> Any:
        with self._call("ChangeBaseline", context):
            online = {node.consistent_id for node in self.state.baseline.nodes if node.is_online}
            for name in request.remove:
                if name in online:
                    _refuse(context, grpc.StatusCode.INVALID_ARGUMENT, "INVALID_REQUEST", f"Node {name} is online.")
            left = [node for node in self.state.baseline.nodes if node.consistent_id not in request.remove]
            for node in left:
                node.is_member |= node.consistent_id in request.add or (request.add_online and node.is_online)
            return job_pb2.ChangeBaselineResponse(baseline=job_pb2.BaselineState(nodes=left))

    def RemoveJob(self, request: Any, context: Any) -> Any:
        with self._call("RemoveJob", context):
            job = self._find(request.job_id, context)
            if job.state not in OVER:
                text = f"Job {job.id} is not removed: it is running. Only a job that is over can be. Stop it first"
                _refuse(context, grpc.StatusCode.FAILED_PRECONDITION, "JOB_NOT_FINISHED", text)
            return job_pb2.RemoveJobResponse(job=self.state.jobs.pop(job.id))

    def WatchJob(self, request: Any, context: Any) -> Any:
        with self._call("WatchJob", context):
            job_id = self._find(request.job_id, context).id
        last = None
        for _ in self._changes(context):
            job = job_pb2.Job()
            job.CopyFrom(self.state.jobs[job_id])
            if job != last:
                last = job
                yield job_pb2.WatchJobResponse(job=job)
            if job.state in OVER:
                return

    def StreamLogs(self, request: Any, context: Any) -> Any:
        with self._call("StreamLogs", context):
            job_id = self._find(request.job_id, context).id
        sent = 0
        for _ in self._changes(context):
            over = self.state.jobs[job_id].state in OVER
            pieces = list(self.state.logs.get(job_id, []))  # it grows while it is sent
            for piece in pieces[sent:]:
                if (
                    request.role in (job_pb2.ROLE_UNSPECIFIED, piece.role)
                    and (not request.HasField("index") or request.index == piece.index)
                    and request.attempt in (0, piece.attempt)
                ):
                    yield piece
            sent = len(pieces)
            if over or not request.follow:
                return

    def ListNodes(self, request: Any, context: Any) -> Any:
        with self._call("ListNodes", context):
            return job_pb2.ListNodesResponse(nodes=self.state.nodes)

    def ListCaches(self, request: Any, context: Any) -> Any:
        with self._call("ListCaches", context):
            return job_pb2.ListCachesResponse(caches=sorted(CACHES))

    def AcceptDataLoss(self, request: Any, context: Any) -> Any:
        with self._call("AcceptDataLoss", context):
            if request.cache not in CACHES:
                _refuse(context, grpc.StatusCode.NOT_FOUND, "CACHE_NOT_FOUND", f"there is no cache {request.cache}")
            return job_pb2.AcceptDataLossResponse(partitions=self.state.lost.pop(request.cache, ()))

    def end_streams(self) -> None:
        """Ends every stream that is open, regularly."""
        self.state.wake(self)
        self.wait_for_streams(0, 10)

    def wait_for_streams(self, number: int, timeout: float) -> bool:
        """Waits until ``number`` streams are open."""
        with self._streams_changed:
            return self._streams_changed.wait_for(lambda: self.streams == number, timeout)

    def _changes(self, context: Any) -> Iterator[None]:
        with self._streams_changed:
            self.streams += 1
            self._streams_changed.notify_all()
        try:
            yield from self.state.changes(self, context)
        finally:
            with self._streams_changed:
                self.streams -= 1
                self._streams_changed.notify_all()

    @contextmanager
    def _call(self, method: str, context: Any) -> Iterator[None]:
        """Fails a call where a test wants it to."""
        self.calls.append(method)
        if self.state.warning:
            context.send_initial_metadata([("tensorflow-ignite-warning-bin", self.state.warning.encode())])
        faults = self._faults.get(method)
        status, details, after = faults.popleft() if faults else (None, "", False)
        if status is not None and not after:
            context.abort(status, details)
        yield
        if status is not None:
            context.abort(status, details)

    def _find(self, job_id: str, context: Any) -> Any:
        for known in self.state.jobs.values():
            if known.id == job_id or (len(job_id) >= 4 and known.id.startswith(job_id)):
                return known
        text = f"There is no job '{job_id}'. A job is known by its id. See: tensorflow-ignite ps"
        return _refuse(context, grpc.StatusCode.NOT_FOUND, "JOB_NOT_FOUND", text)


class State:
    """What the nodes of one cluster share."""

    def __init__(self) -> None:
        self.jobs: dict[str, Any] = {}
        self.lost: dict[str, tuple[int, ...]] = {}
        self.code: dict[str, bytes] = {}
        self.chunks = 0
        self.logs: dict[str, list[Any]] = {}
        self.nodes: list[Any] = []
        self.baseline = job_pb2.BaselineState()
        #: What every answer warns of.
        self.warning = ""
        #: A job that is asked to stop does so at once.
        self.stops = True
        #: Called with each submitted job.
        self.on_submit: Callable[[Any], None] = lambda job: None
        self._news = threading.Condition()
        self._ended: set[int] = set()
        self._version = 0

    def submit(self, request: Any) -> Any:
        for job in self.jobs.values():
            if job.request_id == request.request_id:
                return job
        job = job_pb2.Job(
            id=f"{len(self.jobs) + 1:04d}abcd",
            request_id=request.request_id,
            spec=request.spec,
            state=job_pb2.JOB_STATE_PENDING,
        )
        job.created_at.GetCurrentTime()
        self.add(job)
        self.on_submit(job)
        return job

    def add(self, job: Any) -> Any:
        with self._news:
            self.jobs[job.id] = job
            self._changed()
        return job

    def update(self, job_id: str, **fields: Any) -> None:
        """Changes a job, and notifies its watchers; a job that ends finishes now."""
        with self._news:
            job = job_pb2.Job()
            job.CopyFrom(self.jobs[job_id])
            for name, value in fields.items():
                setattr(job, name, value)
            if job.state in OVER:
                job.finished_at.GetCurrentTime()
            self.jobs[job_id] = job
            self._changed()

    def log(self, job_id: str, data: bytes, *, role: str = "WORKER", index: int = 0, **fields: Any) -> None:
        """Stores a piece of a task's output."""
        fields.setdefault("attempt", 1)
        with self._news:
            self.logs.setdefault(job_id, []).append(
                job_pb2.StreamLogsResponse(role=f"ROLE_{role}", index=index, data=data, **fields)
            )
            self._changed()

    def changes(self, node: Any, context: Any) -> Iterator[None]:
        """Yields at once, and after each change, until the caller has gone or the node ends."""
        context.add_callback(lambda: self.wake(None))
        while True:
            with self._news:
                seen = self._version
            yield
            with self._news:
                self._news.wait_for(lambda old=seen: self._version != old or self._is_deaf(node, context))
            if self._is_deaf(node, context):
                return

    def _is_deaf(self, node: Any, context: Any) -> bool:
        return not context.is_active() or id(node) in self._ended

    def _changed(self) -> None:
        self._version += 1
        self._news.notify_all()

    def wake(self, ended: Any) -> None:
        with self._news:
            if ended is not None:
                self._ended.add(id(ended))
            self._news.notify_all()


def _refuse(context: Any, status: grpc.StatusCode, code: str, text: str) -> Any:
    context.abort(status, f"{text} [code={code}]")


def running_job(job_id: str = "7f3a0000", **fields: Any) -> Any:
    """A job with one attempt of a chief-less pair of workers."""
    job = job_pb2.Job(
        id=job_id,
        state=fields.pop("state", job_pb2.JOB_STATE_RUNNING),
        spec=job_pb2.JobSpec(
            name="digits",
            strategy=job_pb2.Strategy(kind=job_pb2.JOB_KIND_MULTI_WORKER_MIRRORED),
            cache="images",
            code_digest="ab" * 32,
            script="train.py",
            args=["--epochs", "3"],
            environment=job_pb2.Environment(variables={"SEED": "7"}),
        ),
        **fields,
    )
    job.created_at.GetCurrentTime()
    attempt = job.attempts.add(number=1, phase=job_pb2.ATTEMPT_PHASE_RUN, assignment_digest="cd" * 32)
    attempt.started_at.GetCurrentTime()
    for index in range(2):
        task = attempt.tasks.add(
            role=job_pb2.ROLE_WORKER,
            index=index,
            node_id=f"{index}1b2c3d4-aaaa-bbbb-cccc-0123456789ab",
            partitions=[1, 2, 3],
        )
        task.status.state = job_pb2.TASK_STATE_RUNNING
        task.status.pid = 4000 + index
        task.status.rows = 1234
        task.status.address = f"127.0.0.1:{5000 + index}"
        task.status.progress.step = 10 + index
        task.status.progress.total_steps = 40
        task.status.progress.metrics["loss"] = 0.25
    return job
