"""Many nodes, partitions, jobs and attempts on one machine: `make scale`.

The tests are the stages of one run: each has the nodes and the jobs of those before it.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import commands
import numpy as np
import psutil
import pytest
import sizes
from figures import Figures
from thin_client import thin_client
from waiting import await_true

import tensorflow_ignite as tfi
from tensorflow_ignite.jobs.archive import pack
from tensorflow_ignite.jobs.handle import JobHandle
from tensorflow_ignite.spec import Attempt
from tensorflow_ignite.testing import LocalCluster, leaks

SCRIPTS = Path(__file__).with_name("scripts")
# No worker can be placed, and nobody waits: such a job fails without a process.
UNPLACEABLE: dict[str, Any] = {
    "workers": tfi.Workers(minimum=1_000),
    "timeouts": tfi.Timeouts(wait=0.001),
}
# Tables of the service.
JOBS, FINISHED, HISTORY = (f"tensorflow-ignite-{name}" for name in ("jobs", "finished", "history"))
SUBMISSIONS_AT_ONCE = 16
WINDOW_SECONDS = 20.0
# Nodes call one another some rounds longer than there is a job.
SETTLE_SECONDS = 10.0
#: Of a command, from the start of its process to its end; on a busy machine as many times the start of Python.
COMMAND_SECONDS = 0.5
COMMAND_STARTS = 6.0
# A row names the members and the tasks with their partitions, and has the events of one attempt: ScaleTest has the
# same bound.
ROW_BYTES = 4_000 + 4 * sizes.PARTITIONS + (220 + 170) * sizes.NODES
ROW_GROWTH_BYTES = 500

pytestmark = pytest.mark.timeout(int(2 * sizes.STAGE_SECONDS))


@dataclass(frozen=True)
class Crashing:
    """The job whose attempts crash one after the other, beside all other jobs."""

    job_id: str
    go: Path
    row_bytes: int


@pytest.fixture(scope="module")
def crashing(nodes: LocalCluster, tmp_path_factory: pytest.TempPathFactory) -> Crashing:
    """Submits the job; its second attempt runs."""
    go = tmp_path_factory.mktemp("crashing") / "go"
    with connected(nodes) as client:
        handle = client.submit(
            SCRIPTS / "crash.py",
            cache=sizes.NARROW,
            args=[str(sizes.ATTEMPTS), str(go)],
            name="crashing",
            restart=tfi.Restart(max_crashes=2 * sizes.ATTEMPTS),
        )
        await_attempt(handle, 2)
    return Crashing(handle.id, go, row_bytes(nodes, JOBS)[handle.id])


def test_two_thousand_jobs_end_and_leave_the_table_of_jobs(
    nodes: LocalCluster, crashing: Crashing, figures: Figures, tmp_path: Path
) -> None:
    script = tmp_path / "nothing.py"
    script.write_text("")
    archive = pack(script)
    begin = time.monotonic()
    with connected(nodes) as client, ThreadPoolExecutor(SUBMISSIONS_AT_ONCE) as pool:

        def submit(number: int) -> str:
            return client.submit(archive, cache=sizes.WIDE, name=f"over-{number}", **UNPLACEABLE).id

        ids = set(pool.map(submit, range(sizes.JOBS_OVER)))
        figures.add("submissions_per_second", sizes.JOBS_OVER / (time.monotonic() - begin))
        await_true(lambda: ids <= row_bytes(nodes, FINISHED).keys(), "jobs are not over", sizes.STAGE_SECONDS)
        figures.add("jobs_over_seconds", time.monotonic() - begin, most=sizes.STAGE_SECONDS)
        over = [job for job in client.jobs(limit=2 * sizes.JOBS_OVER) if job.id in ids]
    assert len(over) == sizes.JOBS_OVER
    assert {job.state for job in over} == {"failed"}
    summaries, records = row_bytes(nodes, FINISHED), row_bytes(nodes, HISTORY)
    figures.add("job_over_summary_bytes", max(summaries[job_id] for job_id in ids), most=1_000)
    figures.add("job_over_record_bytes", max(records[job_id] for job_id in ids), most=2_000 + 170 * sizes.NODES)
    assert row_bytes(nodes, JOBS).keys() == {crashing.job_id}


def test_the_list_of_jobs_is_fast_beside_twenty_jobs_and_two_thousand_that_are_over(
    nodes: LocalCluster, figures: Figures, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    with connected(nodes) as client:
        begin = time.monotonic()
        jobs = [
            client.submit(SCRIPTS / "stay.py", cache=sizes.WIDE, args=[str(go)], name=f"stays-{number}")
            for number in range(sizes.JOBS_RUNNING)
        ]
        try:
            await_running(jobs)
            figures.add("jobs_start_seconds", time.monotonic() - begin, most=sizes.STAGE_SECONDS)
            # Keepers and scripts.
            tasks = [each.pid for each in leaks.marked_processes(nodes.directory) if each.task is not None]
            figures.add("task_processes", len(tasks))
            own = sum(psutil.Process(pid).memory_full_info().uss for pid in tasks)
            figures.add("task_processes_mbytes", own / 1e6, most=8_000)
            rows = row_bytes(nodes, JOBS)
            figures.add("job_row_bytes", max(rows[job.id] for job in jobs), most=ROW_BYTES)
            figures.add("node_cpu_percent_with_jobs_running", cpu_percent(nodes))
            measure_list(nodes, client, figures)
        finally:
            go.touch()
        for job in jobs:
            assert job.wait(sizes.STAGE_SECONDS).state == "succeeded"


def measure_list(nodes: LocalCluster, client: tfi.Client, figures: Figures) -> None:
    """The calls and the commands that list the jobs."""
    everything, least = 2 * sizes.JOBS_OVER, sizes.JOBS_OVER + sizes.JOBS_RUNNING
    assert len(client.jobs(limit=everything)) >= least
    # What `ps` requests: one more than it shows.
    figures.add("ps_call_seconds", commands.median_seconds(lambda: client.jobs(limit=101)), most=1.0)
    figures.add("ps_call_of_all_seconds", commands.median_seconds(lambda: client.jobs(limit=everything)), most=5.0)
    python, ps, ps_of_all = commands.timings(
        commands.PYTHON_WITH_GRPC,
        commands.command_line(nodes.address, "ps"),
        commands.command_line(nodes.address, "ps", "--limit", str(everything)),
    )
    assert ps.printed.count("stays-") == sizes.JOBS_RUNNING, ps.printed
    assert len(ps_of_all.printed.splitlines()) > least
    add_command(figures, "python_with_grpc", python)
    add_command(figures, "ps", ps, python)
    add_command(figures, "ps_of_all", ps_of_all)


def test_a_job_of_two_hundred_attempts_has_a_row_of_one_and_answers_as_fast(
    nodes: LocalCluster, crashing: Crashing, figures: Figures
) -> None:
    job_id = crashing.job_id
    with connected(nodes) as client:
        handle = client.job(job_id)
        before, begin = handle.status.attempts[-1].number, time.monotonic()
        await_attempt(handle, sizes.ATTEMPTS)
        if before < sizes.ATTEMPTS:
            figures.add("attempt_seconds", (time.monotonic() - begin) / (sizes.ATTEMPTS - before))
        most = min(ROW_BYTES, crashing.row_bytes + ROW_GROWTH_BYTES)
        figures.add("attempts_row_bytes", row_bytes(nodes, JOBS)[job_id], most=most)
        ended = [size for key, size in row_bytes(nodes, HISTORY).items() if key.startswith(f"{job_id}/")]
        assert len(ended) == sizes.ATTEMPTS - 1
        figures.add("attempt_record_bytes", max(ended), most=ROW_BYTES)
        figures.add("describe_call_seconds", commands.median_seconds(lambda: client.job(job_id)), most=1.0)
        python, describe, ps, logs = commands.timings(
            commands.PYTHON_WITH_GRPC,
            commands.command_line(nodes.address, "describe", job_id),
            commands.command_line(nodes.address, "ps", "--state", "running"),
            commands.command_line(nodes.address, "logs", job_id),
        )
        assert f"attempt {sizes.ATTEMPTS}" in describe.printed, describe.printed
        assert "crashing" in ps.printed
        lines = logs.printed.splitlines()
        assert len(lines) == sizes.ATTEMPTS
        assert lines[-1].endswith(f"attempt {sizes.ATTEMPTS} of {sizes.ATTEMPTS}")
        add_command(figures, "attempts_describe", describe, python)
        add_command(figures, "attempts_ps", ps, python)
        add_command(figures, "attempts_logs", logs)
        crashing.go.touch()
        assert handle.wait(sizes.STAGE_SECONDS).state == "succeeded"
        job = client.job(job_id).status
        assert [job.earlier_attempts, len(job.attempts)] == [0, sizes.ATTEMPTS]
        # A node that did not answer in time on a busy machine has ended the others.
        figures.add("attempts_crashed", sum(attempt.cause_kind == "crash" for attempt in job.attempts))
    begin = time.monotonic()
    await_true(lambda: not row_bytes(nodes, JOBS), "the output of the attempts is not stored", sizes.STAGE_SECONDS)
    figures.add("attempts_output_stored_seconds", time.monotonic() - begin)
    time.sleep(SETTLE_SECONDS)
    figures.add("node_cpu_percent_idle", cpu_percent(nodes))


def test_a_job_goes_on_while_each_node_is_stopped_and_started_again(
    nodes: LocalCluster, figures: Figures, tmp_path: Path
) -> None:
    with connected(nodes) as client:
        job_id = client.submit(
            SCRIPTS / "steps.py",
            cache=sizes.WIDE,
            args=[str(tmp_path)],
            name="goes-on",
            restart=tfi.Restart(max_crashes=0),
        ).id
    await_whole(nodes, job_id, tmp_path)
    seconds = []
    for node in nodes.nodes:
        begin = time.monotonic()
        nodes.stop_node(node)
        nodes.restart_nodes(node)
        await_whole(nodes, job_id, tmp_path)
        seconds.append(time.monotonic() - begin)
    figures.add("rolling_restart_seconds", sum(seconds), most=sizes.STAGE_SECONDS)
    figures.add("rolling_restart_longest_seconds_of_a_node", max(seconds))
    (tmp_path / "go").touch()
    with connected(nodes) as client:
        job = client.job(job_id).wait(sizes.STAGE_SECONDS)
        assert job.state == "succeeded"
        assert {attempt.cause_kind for attempt in job.attempts} <= {"node-left", "planned", "data-moved", "done"}
        assert not job.lost_partitions
        assert not client.nodes()[0].losses
        figures.add("rolling_restart_attempts", len(job.attempts), most=3 * sizes.NODES)
        figures.add("rolling_restart_longest_pause_seconds", max(pauses(job.attempts)), most=120)
        # Nothing of the nodes that were there before is left, but what they have passed on.
        assert len(client.jobs(limit=2 * sizes.JOBS_OVER)) == sizes.JOBS_OVER + sizes.JOBS_RUNNING + 2
    ids = (
        tfi.read_table(sizes.WIDE, columns=["id"], options=tfi.ReadOptions(address=nodes.address))
        .column("id")
        .to_numpy()
    )
    assert np.array_equal(np.sort(ids), np.arange(sizes.ROWS))


def row_bytes(nodes: LocalCluster, table: str) -> dict[str, int]:
    """The size of each row of a table, by its key, as Ignite's own client reads it."""
    with thin_client(nodes.nodes[0].pid) as client, client.get_cache(table).scan() as rows:
        return {key: len(value) for key, value in rows}


def connected(nodes: LocalCluster) -> tfi.Client:
    return tfi.connect(",".join(nodes.addresses), timeout=sizes.CALL_SECONDS)


def await_running(jobs: Sequence[JobHandle]) -> None:
    """Waits until all jobs run at once: change this where a queue lets some of them wait."""
    for handle in jobs:
        next(job for job in handle.watch(sizes.STAGE_SECONDS) if job.state == "running")
    assert {handle.refresh().state for handle in jobs} == {"running"}


def await_attempt(handle: JobHandle, number: int) -> Attempt:
    """Waits until an attempt runs; gives it, or a later one."""
    for job in handle.watch(sizes.STAGE_SECONDS):
        if job.state == "running" and job.attempt is not None and job.attempt.number >= number:
            return job.attempt
    raise AssertionError(f"job {handle.id} was over before attempt {number}: {handle.status.to_dict()}")


def await_whole(nodes: LocalCluster, job_id: str, folder: Path) -> None:
    """Waits until a job runs on all nodes, reads all partitions, and has done a further step there."""
    with connected(nodes) as client:
        expected = {node.node_id for node in nodes.nodes}

        def is_whole(attempt: Attempt) -> bool:
            partitions = itertools.chain.from_iterable(task.partitions for task in attempt.tasks)
            return {task.node_id for task in attempt.tasks} == expected and len(set(partitions)) == sizes.PARTITIONS

        for job in client.job(job_id).watch(sizes.STAGE_SECONDS):
            if job.state == "running" and job.attempt is not None and is_whole(job.attempt):
                break
        assert not job.is_over, job.to_dict()
    before = step(folder)
    await_true(lambda: step(folder) > before, "the job does no step", sizes.CALL_SECONDS)


def step(folder: Path) -> int:
    kept = folder / "step"
    return int(kept.read_text()) if kept.exists() else 0


def pauses(attempts: Sequence[Attempt]) -> list[float]:
    """Seconds from the decision to end an attempt until the next one runs."""
    return [
        (after.running_at - before.ending_at).total_seconds()
        for before, after in itertools.pairwise(attempts)
        if before.ending_at is not None and after.running_at is not None
    ]


def add_command(figures: Figures, name: str, timing: commands.Timing, python: commands.Timing | None = None) -> None:
    """Adds what a command took; with the start of Python beside it, its time has a bound."""
    figures.add(f"{name}_processor_seconds", timing.processor_seconds)
    most = None if python is None else max(COMMAND_SECONDS, COMMAND_STARTS * python.seconds)
    figures.add(f"{name}_seconds", timing.seconds, most=most)


def cpu_percent(nodes: LocalCluster) -> float:
    """Processor time of a node with its agent, without its tasks, in percent of one core."""
    pids = [process.pid for process in leaks.marked_processes(nodes.directory) if process.task is None]

    def used() -> float:
        times = [psutil.Process(pid).cpu_times() for pid in pids]
        return sum(each.user + each.system for each in times)

    begin, before = time.monotonic(), used()
    time.sleep(WINDOW_SECONDS)
    return 100 * (used() - before) / (time.monotonic() - begin) / len(nodes.nodes)
