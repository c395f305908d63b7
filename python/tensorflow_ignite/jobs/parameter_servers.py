"""Workers and parameter servers beside the rows, for a client process that runs outside the cluster."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tensorflow_ignite import task
from tensorflow_ignite.errors import InvalidRequestError, TensorFlowIgniteError
from tensorflow_ignite.groups import Environment, Restart
from tensorflow_ignite.net import resolve
from tensorflow_ignite.net.credentials import Credentials
from tensorflow_ignite.net.sockets import connect
from tensorflow_ignite.spec import Job
from tensorflow_ignite.task import Task, WorkerAssignment

# Options of a job that only a script in the cluster uses.
_OF_SCRIPT = ("args", "evaluator", "rounds")
_SCRIPT = Path(__file__).with_name("hold.py")
_PING_SECONDS = 2.0
_UNACKNOWLEDGED_MILLIS = 10_000
_CONNECT_SECONDS = 30.0
_POLL_SECONDS = 0.1
_END_SECONDS = 60.0
# For a script that gets an error of TensorFlow, and leaves the context.
_LEAVE_SECONDS = 10.0


def check_options(options: Mapping[str, Any]) -> None:
    """Checks that no option is one of a script in the cluster, where only `hold.py` runs.

    Raises:
        InvalidRequestError: One is.
    """
    useless = [name for name in _OF_SCRIPT if options.get(name)]
    environment = options.get("environment")
    if isinstance(environment, Environment):
        of_client = sorted(name for name in environment.variables if name.startswith("client:"))
        useless += [f"environment.variables.{name}" for name in of_client]
    if useless:
        raise InvalidRequestError(
            f"{', '.join(useless)} {'was' if len(useless) == 1 else 'were'} given to parameter_servers(). The script "
            f"of this job is this process; {', '.join(_OF_SCRIPT)} and variables of the role client are for a script "
            "that the nodes run. Leave them out, or submit a script with strategy=tfi.ParameterServer()"
        )


@contextlib.contextmanager
def held(client: Any, credentials: Credentials | None, cache: str, **options: Any) -> Iterator[Any]:
    """Submits the job, and lets this process be its client process until the context ends.

    Args:
        client: A `tensorflow_ignite.Client`.
        credentials: Its credentials; as long as the context lasts, this process also reads rows and files with them.
        cache: The cache whose partitions are split over the workers.
        **options: Arguments of its ``submit``.

    Yields:
        The job.
    """
    here = task.current()
    if here.in_job and not os.environ.get(task.CONTEXT_VARIABLE):
        raise TensorFlowIgniteError(
            f"this process already has the parameter servers of job {here.job_id}. TensorFlow has one cluster in a "
            "process. Use these servers, or start another process"
        )
    if here.in_job:
        raise TensorFlowIgniteError(
            f"{here.task} requests parameter servers of its own. A task of a job uses the servers of its job. "
            "Submit with strategy=tfi.ParameterServer() in place of this call"
        )
    handle = client.submit(
        _SCRIPT,
        cache=cache,
        **{
            "name": "outside client",
            "restart": Restart(max_crashes=0, max_restarts=0, on_join="ignore"),
            **options,
        },
    )
    attempt = 0
    has_failed = False
    try:
        job = _running(handle)
        resolve.adopt(credentials, client.address)
        with _connected(job) as own_host, _configured(job, own_host, client.address):
            assert job.attempt is not None
            attempt = job.attempt.number
            try:
                yield handle
            except Exception:
                has_failed = True
                raise
    finally:
        resolve.adopt(None, "")
        # The script of the job ends by itself, also if this process is killed; it waits longer for a first connection.
        with contextlib.suppress(TensorFlowIgniteError):
            job = handle.refresh()
            # After the failure of a node the job starts servers again, but no client uses them.
            if not job.is_over and (not attempt or attempt != job.attempt.number):
                handle.stop(wait=False)
            if not job.is_over:
                handle.wait(_END_SECONDS, raise_on_failure=False)
            # The error of TensorFlow says no more than that a connection was refused.
            if has_failed and (cause := _end_of_servers(handle.status, attempt)):
                _print_ended(handle.id, cause)


def _end_of_servers(job: Job, attempt: int) -> str:
    """Why the servers of an attempt ended before their client; empty: they did not."""
    lost = [each for each in job.attempts[:-1] if each.number == attempt]
    if lost:
        return lost[0].cause
    if job.state in ("failed", "stopped"):
        return job.cause
    return "stopped on request" if job.stop_requested else ""


def _running(handle: Any) -> Job:
    job: Job
    shown = ""
    for job in handle.watch():
        if job.state == "running":
            return job
        if job.waiting_for and job.waiting_for != shown:
            shown = job.waiting_for
            print(f"tensorflow_ignite: the servers of job {handle.id} wait for {shown}", file=sys.stderr, flush=True)
    raise TensorFlowIgniteError(
        f"the servers of job {handle.id} did not start: {handle.status.cause}. They start as the tasks of any job do. "
        f"See: tensorflow-ignite describe {handle.id}"
    )


def _addresses(job: Job, role: str) -> list[str]:
    assert job.attempt is not None
    return [each.status.address for each in job.attempt.tasks if each.role == role]


@contextlib.contextmanager
def _connected(job: Job) -> Iterator[str]:
    """Keeps the job while the context lasts; returns the address of this host as its nodes see it."""
    (address,) = _addresses(job, "client")
    connection = _connect(address)
    # A network that drops packets would be noticed after a quarter of an hour.
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNACKNOWLEDGED_MILLIS)
    ended = threading.Event()

    def ping() -> None:
        try:
            connection.sendall(b".")
            while not ended.wait(_PING_SECONDS):
                connection.sendall(b".")
        except OSError as error:
            _end_without_servers(job, error, ended)

    thread = threading.Thread(target=ping, name="tensorflow-ignite-hold", daemon=True)
    thread.start()
    try:
        yield str(connection.getsockname()[0])
    finally:
        ended.set()
        thread.join()
        connection.close()


def _end_without_servers(job: Job, error: OSError, ended: threading.Event) -> None:
    """Ends this process, unless the context ends soon.

    TensorFlow waits for its servers in C++ without an end, where Python handles neither an exception nor Ctrl-C.
    """
    if ended.wait(_LEAVE_SECONDS):
        return
    _print_ended(job.id, f"{error}. TensorFlow waits for them all the same, so this process ends")
    os._exit(1)


def _print_ended(job_id: str, cause: str) -> None:
    print(
        f"tensorflow_ignite: the servers of job {job_id} have ended: {cause}. Servers end when their nodes do, when "
        "their job is stopped, or when their client pauses for more than 15 s. Start the script again; it goes on from "
        f"its last checkpoint. See: tensorflow-ignite describe {job_id}",
        file=sys.stderr,
        flush=True,
    )


def _connect(address: str) -> socket.socket:
    """Connects to the script of the client process, which may not listen yet."""
    deadline = time.monotonic() + _CONNECT_SECONDS
    while True:
        try:
            return connect(address, _CONNECT_SECONDS)
        except OSError as error:
            if time.monotonic() > deadline:
                raise TensorFlowIgniteError(
                    f"the client process at {address} cannot be reached: {error}. This process and the nodes must "
                    "reach each other's ports. Call it from a host in the network of the nodes"
                ) from error
            time.sleep(_POLL_SECONDS)


@contextlib.contextmanager
def _configured(job: Job, own_host: str, node_address: str) -> Iterator[None]:
    """Makes this process the client process of the job for this package, and for TensorFlow by TF_CONFIG."""
    assert job.attempt is not None
    workers = [each for each in job.attempt.tasks if each.role == "worker"]
    client = next(each for each in job.attempt.tasks if each.role == "client")
    task.adopt(
        Task(
            in_job=True,
            job_id=job.id,
            job_name=job.spec.name,
            attempt=job.attempt.number,
            role="client",
            incarnation=client.incarnation,
            kind=job.spec.strategy.kind,
            cache=job.spec.cache,
            node_address=node_address,
            assignment=tuple(
                WorkerAssignment(each.index, each.node_id, each.partitions, each.status.rows) for each in workers
            ),
            assignment_digest=job.attempt.assignment_digest,
            checkpoint_directory=job.spec.checkpoint_directory,
            num_workers=len(workers),
            allow_data_loss=job.spec.restart.allow_data_loss,
            read_rate=job.spec.read_rate,
        )
    )
    cluster = {role: _addresses(job, role) for role in ("worker", "ps")}
    holder, port = _reserved_port(own_host)
    cluster["chief"] = [f"{f'[{own_host}]' if ':' in own_host else own_host}:{port}"]
    config = {"cluster": cluster, "task": {"type": "chief", "index": 0}, "rpc_layer": "grpc"}
    variables = {"TF_CONFIG": json.dumps(config), "TF_GRPC_REUSE_PORT": "true"}
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        holder.close()
        task.adopt(None)
        for name, value in before.items():
            del os.environ[name]
            if value is not None:
                os.environ[name] = value


def _reserved_port(host: str) -> tuple[socket.socket, int]:
    """A port for the server of TensorFlow, which starts later, and the socket that keeps others from taking it.

    The server sets SO_REUSEPORT too, by TF_GRPC_REUSE_PORT. The socket does not listen, so it gets no connections.
    """
    holder = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    holder.bind((host, 0))
    return holder, int(holder.getsockname()[1])
