"""A node is killed, and its agent is not: the next attempt need not wait until the lease of the last one has ended.

Promise (jobs): No attempt waits for the lease of a killed node whose agent survives.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from jobs import LIMIT, SCRIPTS, await_files, await_gone, await_job
from secured_cluster import secured_cluster, token

import tensorflow_ignite as tfi
from agent_harness import is_alive
from local_nodes import agent_of
from tensorflow_ignite.testing.leaks import files_below

pytestmark = pytest.mark.full

LEASE = 90
CHILDREN = 5


def test_the_agent_of_a_killed_node_ends_all_its_processes_and_proves_it_before_the_lease_ends(tmp_path: Path) -> None:
    with secured_cluster(tmp_path, 3, ["alice"], ["alice all"], lease=LEASE) as secured:
        started, alice = secured.cluster, secured.who(token("alice"))
        tfi.load("rows", {"id": np.arange(99)}, backups=1, address=started.address, credentials=alice)
        with tfi.connect(",".join(started.addresses), credentials=alice) as client:
            handle = client.submit(
                SCRIPTS / "stay.py",
                cache="rows",
                args=[str(tmp_path), "0", str(CHILDREN)],
                timeouts=tfi.Timeouts(stop_grace=1),
                access=tfi.Access(allow_plaintext=True),
            )
            await_files(handle, *(tmp_path / f"worker-{index}.pid" for index in range(3)))
            job = await_job(handle, lambda job: job.state == "running")
            assert job.attempt is not None
            # The job's service has to move, too.
            killed = next(node for node in client.nodes() if node.id == job.service_node_id)
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
            assert not [pid for pid in processes if is_alive(pid)]
            # The agent reports this to the other nodes, and repeats calls that get no answer.
            await_gone({agent.pid}, LIMIT)
            # What its node has written stays.
            assert [path for path in files_below(victim.task_directory) if path.name != "authorities.pem"] == []
            (tmp_path / "go").touch()
            done = handle.wait(LIMIT)
            assert (done.state, [attempt.cause_kind for attempt in done.attempts]) == (
                "succeeded",
                ["node-left", "done"],
            )
