"""A node is killed, and its agent is not: the next attempt need not wait until the lease of the last one has ended."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from jobs import LIMIT, SCRIPTS, alive, await_files, await_job

import tensorflow_ignite as tfi
from certificates import make_authority
from local_nodes import GIVES_UP_AFTER_A_MINUTE
from tensorflow_ignite import Credentials
from tensorflow_ignite.testing import LocalCluster, node_configuration

pytestmark = pytest.mark.full

LEASE = 90


@pytest.fixture(params=[pytest.param("open", marks=pytest.mark.full), "mutual TLS and tokens"])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[LocalCluster, Credentials | None]]:
    config = tmp_path / "node.xml"
    if request.param == "open":
        config.write_text(node_configuration(node=GIVES_UP_AFTER_A_MINUTE, leaseTimeoutSeconds=LEASE))
        with LocalCluster(3, config=config) as started:
            yield started, None
        return
    authority = make_authority(tmp_path / "authority")
    node, mine = authority.issue("node", ["127.0.0.1"]), authority.issue("client")
    config.write_text(
        node_configuration(
            node=GIVES_UP_AFTER_A_MINUTE,
            leaseTimeoutSeconds=LEASE,
            tokens={"alice": hashlib.sha256(b"alices-token").hexdigest()},
            access=["alice all"],
            clientCertificates="required",
            tls="required",
        )
    )
    pems = {"CERTIFICATE": node.certificate, "KEY": node.key, "CA": authority.certificate}
    alice = Credentials(
        token="alices-token",
        cafile=str(authority.certificate),
        certfile=str(mine.certificate),
        keyfile=str(mine.key),
    )
    environment = {f"TENSORFLOW_IGNITE_TLS_{name}": str(path) for name, path in pems.items()}
    with LocalCluster(3, config=config, environment=environment, credentials=alice) as started:
        yield started, alice


@pytest.mark.parametrize("serves", [True, pytest.param(False, marks=pytest.mark.full)])
def test_the_agent_of_a_killed_node_proves_the_end_of_its_tasks(
    cluster: tuple[LocalCluster, Credentials | None], tmp_path: Path, serves: bool
) -> None:
    started, credentials = cluster
    tfi.load("rows", {"id": np.arange(99)}, backups=1, address=started.address, credentials=credentials)
    with tfi.connect(",".join(started.addresses), credentials=credentials) as client:
        options = {} if credentials is None else {"allow_plaintext": True}
        handle = client.submit(SCRIPTS / "stay.py", cache="rows", args=[str(tmp_path), "0"], stop_grace=1, **options)
        await_files(handle, *(tmp_path / f"worker-{index}.pid" for index in range(3)))
        job = await_job(handle, lambda job: job.state == "running")
        assert job.attempt is not None
        killed = next(node for node in client.nodes() if (node.id == job.service_node_id) == serves)
        task = next(task for task in job.attempt.tasks if task.node_id == killed.id)
        started.kill_node(started.nodes[started.addresses.index(killed.address)])
        first, second = await_job(handle, lambda job: len(job.attempts) == 2).attempts
        assert first.ending_at is not None
        assert second.started_at is not None
        assert second.started_at - first.ending_at < timedelta(seconds=LEASE)
        assert task.status.pid is not None
        assert not alive(task.status.pid)
        (tmp_path / "go").touch()
        done = handle.wait(LIMIT)
        assert (done.state, [attempt.cause_kind for attempt in done.attempts]) == ("succeeded", ["node-left", "done"])
