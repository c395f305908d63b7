"""A node is killed, and its agent is not: the next attempt need not wait until the lease of the last one has ended.

Promise (jobs): No attempt waits for the lease of a killed node whose agent survives.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from jobs import LIMIT, SCRIPTS, alive, await_files, await_gone, await_job

import tensorflow_ignite as tfi
from certificates import make_authority
from local_nodes import GIVES_UP_AFTER_A_MINUTE, agent_of
from tensorflow_ignite import Credentials
from tensorflow_ignite.testing import LocalCluster, node_configuration
from tensorflow_ignite.testing.leaks import files_below

pytestmark = pytest.mark.full

LEASE = 90
CHILDREN = 5


@pytest.fixture
def cluster(secured: bool, tmp_path: Path) -> Iterator[tuple[LocalCluster, Credentials | None]]:
    config = tmp_path / "node.xml"
    if not secured:
        config.write_text(node_configuration(node=GIVES_UP_AFTER_A_MINUTE, timeouts={"leaseSeconds": LEASE}))
        with LocalCluster(3, config=config) as started:
            yield started, None
        return
    authority = make_authority(tmp_path / "authority")
    node, mine = authority.issue("node", ["127.0.0.1"]), authority.issue("client")
    config.write_text(
        node_configuration(
            node=GIVES_UP_AFTER_A_MINUTE,
            timeouts={"leaseSeconds": LEASE},
            security={
                "tokens": {"alice": hashlib.sha256(b"alices-token").hexdigest()},
                "access": ["alice all"],
                "clientCertificates": "required",
                "tls": "required",
            },
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


@pytest.mark.parametrize(
    ("serves", "secured"),
    [
        pytest.param(True, True, id="node of the service, mutual TLS and tokens"),
        pytest.param(False, False, id="another node"),
    ],
)
def test_the_agent_of_a_killed_node_ends_all_its_processes_and_proves_it_before_the_lease_ends(
    cluster: tuple[LocalCluster, Credentials | None], tmp_path: Path, serves: bool
) -> None:
    started, credentials = cluster
    tfi.load("rows", {"id": np.arange(99)}, backups=1, address=started.address, credentials=credentials)
    with tfi.connect(",".join(started.addresses), credentials=credentials) as client:
        options = {} if credentials is None else {"access": tfi.Access(allow_plaintext=True)}
        handle = client.submit(
            SCRIPTS / "stay.py",
            cache="rows",
            args=[str(tmp_path), "0", str(CHILDREN)],
            timeouts=tfi.Timeouts(stop_grace=1),
            **options,
        )
        await_files(handle, *(tmp_path / f"worker-{index}.pid" for index in range(3)))
        job = await_job(handle, lambda job: job.state == "running")
        assert job.attempt is not None
        killed = next(node for node in client.nodes() if (node.id == job.service_node_id) == serves)
        victim = started.nodes[started.addresses.index(killed.address)]
        agent = agent_of(victim)
        processes = {process.pid for process in agent.children(recursive=True)}
        assert next(task for task in job.attempt.tasks if task.node_id == killed.id).status.pid in processes
        started.kill_node(victim)
        first, second = await_job(handle, lambda job: len(job.attempts) == 2).attempts
        assert first.ending_at is not None
        assert second.started_at is not None
        # A minute and more in which it need not have waited.
        assert second.started_at - first.ending_at < timedelta(seconds=LEASE)
        assert not [pid for pid in processes if alive(pid)]
        # The agent reports this to the other nodes, and repeats calls that get no answer.
        await_gone({agent.pid}, LIMIT)
        # What its node has written stays.
        assert [path for path in files_below(victim.task_directory) if path.name != "authorities.pem"] == []
        (tmp_path / "go").touch()
        done = handle.wait(LIMIT)
        assert (done.state, [attempt.cause_kind for attempt in done.attempts]) == ("succeeded", ["node-left", "done"])
