"""Promises to a user who makes a mistake: a clear error at once, never a hang, and the right exit code.

What the client refuses by itself is a matter of tests/unit.
"""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from jobs import LIMIT, SCRIPTS, cli

import tensorflow_ignite as tfi
from tensorflow_ignite import errors
from tensorflow_ignite.testing import LocalCluster


def test_a_script_that_fails_fails_the_job_and_describe_shows_its_traceback(
    cluster: LocalCluster, client: tfi.Client, numbered: str
) -> None:
    handle = client.submit(SCRIPTS / "fail.py", cache=numbered, args=["1"], restart=tfi.Restart(max_crashes=0))
    with pytest.raises(errors.JobFailedError, match="this is the script's own fault") as raised:
        handle.wait(LIMIT)
    job = raised.value.job
    assert job is not None
    assert (job.state, job.exit_code, len(job.attempts)) == ("failed", 1, 1)
    # What happened, the rule with its numbers, what to do next.
    assert "worker 1" in job.cause
    assert "ValueError: this is the script's own fault" in job.cause
    assert "max_crashes=0" in job.cause
    assert f"tensorflow-ignite logs {job.id}" in job.cause
    assert job.traceback.startswith("Traceback (most recent call last):\n")
    assert "KeyError: 'missing'\n\nThe above exception was the direct cause" in job.traceback
    assert next(line.text for line in handle.logs(index=1)) == "about to fail"
    described = cli("describe", job.id, address=cluster.addresses[1])
    assert described.returncode == 0
    assert all(f"  {line}" in described.stdout.splitlines() for line in job.traceback.splitlines())
    assert json.loads(cli("describe", "--json", job.id, address=cluster.address).stdout)["exit_code"] == 1


def test_submit_exits_with_the_code_of_the_script(cluster: LocalCluster, numbered: str) -> None:
    submit = cli(
        "submit",
        "--cache",
        numbered,
        "--set=restart.max_crashes=0",
        str(SCRIPTS / "fail.py"),
        "7",
        address=cluster.address,
    )
    assert submit.returncode == 7
    assert "[worker 1] a secret of the script" in submit.stdout.splitlines()
    assert "worker 1" in submit.stderr
    assert "exited with code 7" in submit.stderr


@pytest.mark.full
def test_a_worker_that_leaves_while_the_others_wait_ends_the_attempt_as_a_stall(
    client: tfi.Client, numbered: str, tmp_path: Path
) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import time\nimport tensorflow_ignite as tfi\n\n"
        "def all_reduce():\n    time.sleep(600)\n\n"
        "if tfi.train.context().index > 0:\n    all_reduce()\n"
    )
    handle = client.submit(
        script, cache=numbered, restart=tfi.Restart(max_crashes=0), timeouts=tfi.Timeouts(first_step=8)
    )
    job = handle.wait(LIMIT, raise_on_failure=False)
    assert (job.state, job.attempts[0].cause_kind, job.crashes) == ("failed", "stall", 1)
    stall = re.search(r"no first step, no output and no work for (\d+\.\d) s \(first-step timeout 8 s\)", job.cause)
    assert stall, job.cause
    assert float(stall[1]) >= 8
    assert "it may have waited for worker 0, which had ended with exit code 0" in job.cause
    assert "in all_reduce" in job.traceback
    for index in (1, 2):
        assert any("in all_reduce" in line.text for line in handle.logs(role="worker", index=index))


@pytest.mark.full
def test_rows_on_one_node_only_are_an_answer_and_no_crash(
    cluster: LocalCluster, client: tfi.Client, tmp_path: Path
) -> None:
    tfi.load("single", {"id": np.arange(1)}, address=cluster.address)
    script = tmp_path / "train.py"
    script.write_text("import tensorflow_ignite as tfi\n\nprint(tfi.train.context().steps_per_epoch(32), 'steps')\n")
    job = client.submit(script, cache="single").wait(LIMIT, raise_on_failure=False)
    # The next attempt would find the same rows: there is none, though three crashes are allowed.
    assert (job.state, job.crashes, [attempt.cause_kind for attempt in job.attempts]) == ("failed", 0, ["no-rows"])
    assert "no rows: worker" in job.cause
    assert "has no row of cache 'single' to repeat: rows a worker are [" in job.cause
    assert 'Use uneven="pad"' in job.cause


@pytest.mark.full
def test_what_the_cluster_does_not_have_is_refused_at_once_with_its_name(
    cluster: LocalCluster, client: tfi.Client
) -> None:
    tfi.load("empty", {"id": np.arange(0)}, address=cluster.address)
    read = SCRIPTS / "read_ids.py"
    for cache in ("nowhere", "tensorflow-ignite-jobs"):
        with pytest.raises(errors.CacheNotFoundError, match=f"There is no cache '{cache}'"):
            client.submit(read, cache=cache)
    with pytest.raises(errors.CacheEmptyError, match="The cache 'empty' is empty"):
        client.submit(read, cache="empty")
    for job in ("0123456789", "0"):
        with pytest.raises(errors.JobNotFoundError, match=f"There is no job '{job}'"):
            client.job(job)
    run = cli("submit", "--cache", "nowhere", str(read), address=cluster.address)
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr.startswith("error: There is no cache 'nowhere'")
    assert "Traceback" not in run.stderr


@pytest.mark.full
def test_packages_of_a_job_are_installed_or_the_job_fails_at_once_with_the_lines_of_pip(
    cluster: LocalCluster, client: tfi.Client, tmp_path: Path
) -> None:
    # One worker.
    tfi.load("packages", {"id": np.arange(4)}, partitions=1, address=cluster.address)
    (tmp_path / "train.py").write_text("import lemon\nprint(lemon.taste)\n")
    (tmp_path / "needed.txt").write_text("lemon==1.0\nnowhere-to-be-found==3\n")
    wheel = tmp_path / "lemon-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("lemon.py", "taste = 'sour'\n")
        archive.writestr("lemon-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: lemon\nVersion: 1.0\n")
        archive.writestr("lemon-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("lemon-1.0.dist-info/RECORD", "")
    handle = client.submit(
        tmp_path / "train.py",
        cache="packages",
        environment=tfi.Environment(
            requirements=tmp_path / "needed.txt", wheels=[wheel], variables={"PIP_NO_INDEX": "1"}
        ),
    )
    with pytest.raises(
        errors.JobFailedError, match="No matching distribution found for nowhere-to-be-found==3"
    ) as raised:
        handle.wait(LIMIT)
    assert raised.value.job is not None
    assert (len(raised.value.job.attempts), raised.value.job.spec.timeouts.start) == (1, 900)
    submitted = cli(
        "submit",
        "--cache",
        "packages",
        "--set",
        f"environment.wheels={wheel}",
        str(tmp_path / "train.py"),
        address=cluster.address,
    )
    assert submitted.returncode == 0, submitted.stderr
    assert "[worker 0] sour" in submitted.stdout.splitlines()
