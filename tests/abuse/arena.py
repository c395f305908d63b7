"""What is beside the abuse, and must not notice it: nodes, a job that ticks, a cache with a ledger of its rows."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from thin_client import thin_client
from usage import Usage, usage
from waiting import await_true

import tensorflow_ignite as tfi
from tensorflow_ignite.jobs.handle import JobHandle
from tensorflow_ignite.testing import LocalCluster
from tensorflow_ignite.testing.leaks import marked_processes

MIB = 1 << 20
SECONDS = 60.0
# For a job that uses much.
JOB_SECONDS = 3 * SECONDS
# Threads that have nothing to do end after 10 seconds, those of a connection that is gone after half a minute.
RETURN_SECONDS = 45.0
CACHE = "victim"
ROWS = 20_000
PARTITIONS = 64

# What a node may keep of a test: types and columns that it has met, threads of Ignite's pools, connections to peers.
_KEPT = Usage(heap=32 * MIB, region=4 * MIB, threads=40, descriptors=24, memfds=0)


class Victim:
    """A job and a cache that no test touches."""

    def __init__(self, cluster: LocalCluster, folder: Path, handle: JobHandle, client: tfi.Client) -> None:
        self._cluster = cluster
        self._folder = folder
        self._handle = handle
        self._client = client
        job = handle.refresh()
        assert job.attempt is not None
        self._tasks = len(job.attempt.tasks)
        self._digest = ledger(cluster.address)

    @property
    def job_id(self) -> str:
        return self._handle.id

    def ticks(self) -> list[list[str]]:
        """What each task has read so far."""
        paths = [self._folder / f"ticks-{index}" for index in range(self._tasks)]
        return [path.read_text().splitlines() if path.exists() else [] for path in paths]

    def check(self) -> None:
        """The job runs, in its first attempt, and reads all of its rows again; the cache is whole."""
        before = [len(lines) for lines in self.ticks()]

        def has_read_again() -> bool:
            job = self._handle.refresh()
            assert not job.is_over, job.to_dict()
            assert [len(job.attempts), job.state.lower()] == [1, "running"], job.to_dict()
            # The line that was being written when the test ended may be of rows that were read before.
            return all(len(lines) >= count + 2 for lines, count in zip(self.ticks(), before, strict=True))

        await_true(has_read_again, "the victim does not read", SECONDS)
        self._check_rows()

    def _check_rows(self) -> None:
        passes = [{tuple(map(int, line.split())) for line in lines if line.count(" ") == 1} for lines in self.ticks()]
        # The same rows in each pass, and all of them together.
        assert all(len(of_task) == 1 for of_task in passes), passes
        assert tuple(map(sum, zip(*(next(iter(of_task)) for of_task in passes), strict=True))) == (
            ROWS,
            ROWS * (ROWS - 1) // 2,
        )
        assert ledger(self._cluster.address) == self._digest

    def finish(self) -> None:
        """Ends the job, which has succeeded in its first attempt."""
        (self._folder / "go").touch()
        job = self._handle.wait(SECONDS)
        assert [job.state.lower(), len(job.attempts)] == ["succeeded", 1], job.to_dict()
        self._check_rows()
        self._client.close()


def start_victim(cluster: LocalCluster, folder: Path) -> Victim:
    """Loads the cache, and starts the job; its tasks have read their rows once."""
    ids = np.arange(ROWS)
    tfi.load(
        CACHE,
        {"id": ids, "text": [f"row {number}" for number in ids]},
        key=None,
        backups=1,
        partitions=PARTITIONS,
        address=cluster.address,
    )
    client = tfi.connect(",".join(cluster.addresses))
    handle = client.submit(
        Path(__file__).with_name("victim.py"),
        cache=CACHE,
        args=[str(folder), CACHE],
        name="victim",
        restart=tfi.Restart(max_crashes=0),
    )
    for job in handle.watch(SECONDS):
        if job.state.lower() == "running":
            break
    victim = Victim(cluster, folder, handle, client)
    await_true(lambda: all(victim.ticks()) or handle.refresh().is_over, "the victim does not begin", SECONDS)
    assert not handle.status.is_over, handle.status.to_dict()
    return victim


def ledger(address: str) -> str:
    """A digest of all rows of the victim's cache, whatever their order."""
    rows = tfi.read_table(CACHE, options=tfi.ReadOptions(address=address)).sort_by("id").combine_chunks()
    assert rows.num_rows == ROWS
    return hashlib.sha256("".join(map(str, rows.to_pylist())).encode()).hexdigest()


class Arena:
    """The nodes and the victim, for a test to abuse the former."""

    def __init__(self, cluster: LocalCluster, victim: Victim) -> None:
        self.cluster = cluster
        self.victim = victim
        self._processes = self._living()
        self._first = self.usage()

    @property
    def address(self) -> str:
        return self.cluster.address

    @property
    def addresses(self) -> tuple[str, ...]:
        return tuple(self.cluster.addresses)

    def caches(self) -> list[str]:
        with thin_client(self.cluster.nodes[0].pid) as client:
            return [str(name) for name in client.get_cache_names()]

    @contextlib.contextmanager
    def cache(self, name: str) -> Iterator[None]:
        """Removes a cache at the end, if it is there."""
        try:
            yield
        finally:
            if name in self.caches():
                with thin_client(self.cluster.nodes[0].pid) as client:
                    client.get_cache(name).destroy()

    def usage(self) -> list[Usage]:
        return [usage(node) for node in self.cluster.nodes]

    def check(self, before: Sequence[Usage]) -> None:
        """Every node and agent and task is the same process, the victim is at work and whole, memory is back."""
        assert self._living() == self._processes
        self.victim.check()
        self._await_back(before, "heap", "region", "descriptors", "memfds")
        assert self._living() == self._processes

    def finish(self) -> None:
        """The victim has succeeded, and everything is back, idle threads too."""
        self.victim.finish()
        self._await_back(self._first, *(field.name for field in dataclasses.fields(Usage)))

    def _await_back(self, before: Sequence[Usage], *fields: str) -> None:
        deadline = time.monotonic() + RETURN_SECONDS
        while over := _over(before, self.usage(), fields):
            assert time.monotonic() < deadline, f"not released: {over}"
            time.sleep(0.5)

    def _living(self) -> dict[int, str]:
        """Nodes and their agents; and all tasks, which are the victim's. Models are those of a test."""
        return {
            process.pid: process.command[-80:]
            for process in marked_processes(self.cluster.directory)
            if ":models/" not in (process.task or "")
        }


def _over(before: Sequence[Usage], now: Sequence[Usage], fields: Sequence[str]) -> list[str]:
    """What nodes use more than they may keep."""
    return [
        f"{field} of node {number}: {getattr(then, field):,} before, {getattr(later, field):,} now"
        for number, (then, later) in enumerate(zip(before, now, strict=True))
        for field in fields
        if getattr(later, field) > getattr(then, field) + getattr(_KEPT, field)
    ]
