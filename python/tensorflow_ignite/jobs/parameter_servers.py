"""Workers and parameter servers beside the rows, for a client process that runs outside the cluster."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tensorflow_ignite import task
from tensorflow_ignite.errors import TensorFlowIgniteError
from tensorflow_ignite.net.sockets import connect
from tensorflow_ignite.spec import Job
from tensorflow_ignite.task import Task, WorkerAssignment

_SCRIPT = Path(__file__).with_name("hold.py")
_PING_SECONDS = 2.0
_CONNECT_SECONDS = 30.0
_POLL_SECONDS = 0.1
_END_SECONDS = 60.0


@contextlib.contextmanager
def held(client: Any, cache: str, **options: Any) -> Iterator[Any]:
    """Submits the job, and lets this process be its client process until the context ends.

    Args:
        client: A `tensorflow_ignite.Client`.
        cache: The cache whose partitions are split over the workers.
        **options: Arguments of its ``submit``.

    Yields:
        The job.
    """
    if task.current().in_job:
        raise TensorFlowIgniteError(
            f"{task.current().task} requests parameter servers of its own. A task of a job uses those of its job. "
            "Submit with kind parameter-server in place of this call"
        )
    handle = client.submit(
        _SCRIPT,
        cache=cache,
        kind="parameter-server",
        **{"name": "outside client", "max_crashes": 0, "max_restarts": 0, "on_join": "ignore", **options},
    )
    try:
        job = _running(handle)
        with _connected(job) as own_host, _configured(job, own_host, client.address):
            yield handle
    finally:
        # The script of the job ends by itself if this process is killed.
        with contextlib.suppress(TensorFlowIgniteError):
            if not handle.refresh().is_over:
                handle.wait(_END_SECONDS)


def _running(handle: Any) -> Job:
    job: Job
    for job in handle.watch():
        if job.state == "running":
            return job
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
    ended = threading.Event()

    def ping() -> None:
        with contextlib.suppress(OSError):
            while not ended.wait(_PING_SECONDS):
                connection.sendall(b".")

    thread = threading.Thread(target=ping, name="tensorflow-ignite-hold", daemon=True)
    thread.start()
    try:
        yield str(connection.getsockname()[0])
    finally:
        ended.set()
        thread.join()
        connection.close()


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
            kind=job.spec.kind,
            cache=job.spec.cache,
            node_address=node_address,
            assignment=tuple(
                WorkerAssignment(each.index, each.node_id, each.partitions, each.status.rows) for each in workers
            ),
            assignment_digest=job.attempt.assignment_digest,
            checkpoint_directory=job.spec.checkpoint_directory,
            num_workers=len(workers),
            allow_data_loss=job.spec.allow_data_loss,
            read_rate=job.spec.read_rate,
        )
    )
    cluster = {role: _addresses(job, role) for role in ("worker", "ps")}
    cluster["chief"] = [f"{f'[{own_host}]' if ':' in own_host else own_host}:{_free_port(own_host)}"]
    before = os.environ.get("TF_CONFIG")
    config = {"cluster": cluster, "task": {"type": "chief", "index": 0}, "rpc_layer": "grpc"}
    os.environ["TF_CONFIG"] = json.dumps(config)
    try:
        yield
    finally:
        task.adopt(None)
        if before is None:
            del os.environ["TF_CONFIG"]
        else:
            os.environ["TF_CONFIG"] = before


def _free_port(host: str) -> int:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])
