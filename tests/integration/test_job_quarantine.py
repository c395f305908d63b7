"""A node whose agent cannot prove the end of an attempt: jobs end all the same, and the node gets no task meanwhile.

Promise (jobs): A node with processes that may still run gets no task.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import psutil
import pytest
from jobs import LIMIT, SCRIPTS, await_files, await_job, cli
from waiting import await_true

import tensorflow_ignite as tfi
from agent_harness import is_alive
from tensorflow_ignite.testing import LocalCluster
from tensorflow_ignite.testing.configuration import node_configuration

pytestmark = pytest.mark.full

LEASE, GRACE = 5, 1
# JobTimeouts.proof: the stop grace, two leases and 10 s.
PROOF = GRACE + 2 * LEASE + 10

# An interpreter that stops working on this machine.
INTERPRETER = """#!/bin/sh
[ ! -e "{broken}" ] || {{ echo "no interpreter" >&2; exit 1; }}
exec "{python}" "$@"
"""


def test_stop_by_force_ends_a_job_whose_node_proves_nothing_and_the_node_is_in_quarantine(tmp_path: Path) -> None:
    config, python, broken = tmp_path / "node.xml", tmp_path / "python", tmp_path / "broken"
    config.write_text(node_configuration(timeouts={"leaseSeconds": LEASE}))
    python.write_text(INTERPRETER.format(broken=broken, python=sys.executable))
    python.chmod(0o700)
    with LocalCluster(nodes=1, config=config, python=str(python)) as cluster, tfi.connect(cluster.address) as client:
        tfi.load("rows", {"id": np.arange(10)}, partitions=1, address=cluster.address)
        handle = client.submit(
            SCRIPTS / "stay.py", cache="rows", args=[str(tmp_path), "0"], timeouts=tfi.Timeouts(stop_grace=GRACE)
        )
        pid = int(await_files(handle, tmp_path / "worker-0.pid")[0])
        await_job(handle, lambda job: job.state == "running")
        (node,) = client.nodes()
        broken.touch()
        psutil.Process(node.agent.pid).kill()

        late = await_job(handle, lambda job: "stop --force" in job.waiting_for)
        assert late.state == "restarting"
        assert f"node {node.id[:8]} (pids {pid}). A node proves it within {PROOF} s" in late.waiting_for
        # The keeper has ended it; without an agent nothing proves that.
        assert not is_alive(pid)
        stopped = cli("stop", "--force", handle.id, address=cluster.address)
        assert stopped.returncode == 0, stopped.stderr
        over = handle.refresh()
        assert (over.state, over.exit_code, over.attempts[0].unproven_node_ids) == ("stopped", 130, (node.id,))
        assert f"processes of attempt 1 may still run on node {node.id[:8]} (pids {pid})" in over.cause
        assert " ".join(over.cause.split()) in " ".join(stopped.stdout.split())

        def quarantine() -> list[dict[str, object]]:
            return json.loads(cli("nodes", "--json", address=cluster.address).stdout)[0]["quarantine"]

        await_true(lambda: quarantine() == [{"job_id": handle.id, "attempt": 1, "pids": [pid]}], "quarantine begins")
        doctor = cli("doctor", "--only", "cluster", address=cluster.address)
        assert doctor.returncode == 1
        assert f"the end of attempt 1 of job {handle.id} is not proven (pids {pid})" in " ".join(doctor.stdout.split())

        broken.unlink()
        await_true(lambda: not quarantine(), "the next agent proves the end", seconds=LIMIT)
        (tmp_path / "go").touch()
        assert (
            client.submit(SCRIPTS / "stay.py", cache="rows", args=[str(tmp_path), "0"]).wait(LIMIT).state == "succeeded"
        )
