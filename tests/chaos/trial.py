"""One training under one fault, from its submission to its books."""

from __future__ import annotations

import contextlib
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import books
import inject
from faults import Fault
from network import Machine
from shared_cluster import CACHE, LIMIT, ROWS, UNAVAILABLE, SharedCluster
from waiting import await_true

import tensorflow_ignite as tfi
from tensorflow_ignite import errors
from tensorflow_ignite.jobs.handle import JobHandle
from tensorflow_ignite.spec import Job, Task
from tensorflow_ignite.testing import leaks

SCRIPTS = Path(__file__).with_name("scripts")
STOP_GRACE = 8.0
#: Saved before the fault: what is lost afterwards was worth something.
STEPS_BEFORE = 5
LEAVING_SECONDS = 20.0


class Trial:
    """One job, and the machines that its nodes run on, the oldest first."""

    def __init__(self, shared: SharedCluster, fault: Fault, choice: int, folder: Path) -> None:
        self.shared = shared
        self.network = shared.network
        self.fault = fault
        self.choice = choice
        self.folder = folder
        self.notes: list[str] = []
        self.job: Job | None = None
        self.machines: list[Machine] = []
        self.saved_before = 0
        self.shared_memory: set[Path] = set()
        self._client: tfi.Client | None = None

    def start(self) -> None:
        """Makes the cluster whole, and starts the training."""
        fault, folder = self.fault, self.folder
        self.machines = self.shared.make_whole(fault.nodes)
        for kind in ("ticks", "lines", "rows", "steps", "results"):
            (folder / kind).mkdir(parents=True)
        self.follow(self.machines)
        self.job = self._connected.submit(
            SCRIPTS,
            script=f"{fault.training}.py",
            cache=CACHE,
            strategy="parameter-server" if fault.training == "servers" else "multi-worker-mirrored",
            timeouts=tfi.Timeouts(stop_grace=STOP_GRACE),
            args=[str(folder), "hidden"],
            name=fault.training,
        ).status
        self.note(f"submitted {self.job.id}")
        self.await_progress(1)
        self.shared_memory = leaks.shared_memory(task.status.pid for task in self.tasks() if task.status.pid)

    # What the job does.

    def note(self, text: str) -> None:
        self.notes.append(f"{time.monotonic():.2f} {text}")

    def follow(self, machines: Sequence[Machine]) -> None:
        """From now on these nodes are asked for the job."""
        self.close()
        self._client = self.shared.client(machines)

    def close(self) -> None:
        if self._client is not None:
            self._client.close()

    @property
    def id(self) -> str:
        assert self.job is not None
        return self.job.id

    @property
    def _connected(self) -> tfi.Client:
        assert self._client is not None
        return self._client

    def row(self) -> Job | None:
        """The job as the nodes know it now; None: none answers at the moment."""
        with contextlib.suppress(*UNAVAILABLE):
            job = self._connected.job(self.id).status
            if self.job is None or (job.state, len(job.attempts)) != (self.job.state, len(self.job.attempts)):
                self.note(f"{job.state}, attempt {len(job.attempts)}, {job.waiting_for}")
            self.job = job
            return job
        return None

    def until(self, holds: Callable[[Job], bool], otherwise: str) -> Job:
        """Waits until the job is as expected; an end before that is an error."""

        def reached() -> bool:
            job = self.row()
            if job is None:
                return False
            assert not job.is_over or holds(job), f"{otherwise}: the job is {job.state}: {job.cause}"
            return holds(job)

        await_true(reached, otherwise, seconds=LIMIT)
        assert self.job is not None
        return self.job

    def await_progress(self, attempt: int) -> Job:
        """Waits until an attempt, or a later one, trains: it has done steps and saved one."""

        def trains(job: Job) -> bool:
            if len(job.attempts) < attempt or job.state != "running":
                return False
            reports = [task.status.progress for task in job.attempts[-1].tasks if self.runs_script(task)]
            return all(
                report and report.step >= (report.resumed_from_step or 0) + STEPS_BEFORE for report in reports
            ) and any(report and report.checkpoint_step for report in reports)

        return self.until(trains, f"attempt {attempt} does not train")

    def runs_script(self, task: Task) -> bool:
        return task.role == ("client" if self.fault.training == "servers" else "worker")

    def saved_step(self) -> int:
        reports = [task.status.progress for task in self.tasks()]
        return max((report.checkpoint_step or 0 for report in reports if report), default=0)

    def tasks(self) -> tuple[Task, ...]:
        assert self.job is not None
        return self.job.attempts[-1].tasks

    def summary(self) -> list[str]:
        """When each attempt ran, for the evidence."""
        found = [f"processes of attempts: {self.shared.watch.attempts(self.id)}"] if self.job else []
        return found + ([f"ticks of attempts: {books.ticks(self.folder)}"] if (self.folder / "ticks").exists() else [])

    def give_up(self) -> None:
        """Stops the job, so that it does not disturb the next one."""
        self.network.heal()
        if self.job is not None and not self.job.is_over:
            with contextlib.suppress(errors.TensorFlowIgniteError):
                self._connected.job(self.id).stop(timeout=LIMIT)

    # Parts of the cluster.

    def task(self, role: str) -> Task:
        equal = [task for task in self.tasks() if task.role == role]
        return equal[self.choice % len(equal)]

    def machine_of(self, node_id: str) -> Machine:
        return next(machine for machine in self.machines if machine.node_id == node_id)

    def target(self) -> Machine:
        """The machine that the fault concerns: that of the job's service, or one with tasks and without the service."""
        assert self.job is not None
        service = self.machine_of(self.job.service_node_id)
        if self.fault.target == "service node":
            return service
        others = [machine for machine in self.machines if machine is not service]
        with_tasks = [machine for machine in others if machine.node_id in {task.node_id for task in self.tasks()}]
        return with_tasks[self.choice % len(with_tasks)]

    # The fault.

    def run(self) -> None:
        """Lets the fault happen, and the training end."""
        self.saved_before = self.saved_step()
        self.note(f"fault: {self.fault.name}")
        inject.ACTIONS[self.fault.action](self)
        self.network.heal()
        self.note("the fault is over")
        self.await_progress(self.fault.expected.attempts[0])
        (self.folder / "end").touch()
        self.until(lambda job: job.is_over, "the job does not end")

    def await_replaced(self, task: Task) -> None:
        """Waits until the task runs again, as another process of the same attempt."""
        self.until(
            lambda job: any(
                (each.role, each.index) == (task.role, task.index)
                and each.incarnation > task.incarnation
                and each.status.state == "running"
                for each in job.attempts[-1].tasks
            ),
            f"{task.name} is not replaced",
        )

    def await_waiting(self) -> None:
        """Waits until the job waits for a majority, and says what an operator can do."""
        job = self.until(
            lambda job: job.state == "restarting" and "quorum=majority" in job.waiting_for,
            "the job does not say that it waits for a majority",
        )
        assert f"tensorflow-ignite quorum accept {job.id}" in job.waiting_for, job.waiting_for

    # The books.

    def check(self) -> None:
        """Checks all that must hold when the job is over."""
        job = self.job
        assert job is not None
        wrong = self._wrong_state(job)
        wrong += books.overlaps(books.ticks(self.folder))
        wrong += books.twice(self.folder)
        wrong += [f"processes: {each}" for each in books.overlaps(self.shared.watch.attempts(job.id))]
        wrong += self.shared.watch.twice(job.id)
        workers = {
            number: sum(self.runs_script(task) for task in attempt.tasks)
            for number, attempt in enumerate(job.attempts, 1)
        }
        wrong += books.wrong_rows(books.reads(self.folder), ROWS, workers)
        if self.fault.training == "mirrored":
            wrong += books.wrong_epochs(self.folder, ROWS)
        wrong += self._wrong_results(job)
        wrong += self._wrong_output(job)
        wrong += [f"left behind: {each}" for each in self._left(job)]
        assert not wrong, "\n".join([f"{self.fault.name}:", *wrong])

    def _left(self, job: Job) -> list[str]:
        """What is left of the job for longer than its removal may take."""
        end = time.monotonic() + LEAVING_SECONDS
        while True:
            left = self.shared.left_of(job)
            left += [str(path) for path in self.shared_memory if path.exists()]
            left += [f"ticks of {name}" for name in books.running(self.folder)]
            if not left or time.monotonic() > end:
                return left
            time.sleep(0.2)

    def _wrong_state(self, job: Job) -> list[str]:
        expected = self.fault.expected
        least, most = expected.attempts
        causes = [f"{attempt.cause_kind}: {attempt.cause}" for attempt in job.attempts]
        wrong = [] if job.state == "succeeded" else [f"the job is {job.state}: {job.cause}"]
        if not least <= len(job.attempts) <= most:
            wrong.append(f"{len(job.attempts)} attempts instead of {least} to {most}: {causes}")
        if len(job.attempts) > 1 and job.attempts[0].cause_kind not in expected.causes:
            wrong.append(f"attempt 1 has ended for {causes[0]}; expected: {sorted(expected.causes)}")
        if "crash" not in expected.causes and not expected.replaced and job.crashes:
            wrong.append(f"{job.crashes} crashes are counted")
        return wrong

    def _wrong_results(self, job: Job) -> list[str]:
        wrong = []
        results = [each for each in books.results(self.folder) if each["attempt"] == len(job.attempts)]
        readers = sum(self.runs_script(task) for task in job.attempts[-1].tasks)
        if len(results) != readers:
            wrong.append(f"{len(results)} of {readers} tasks wrote a result")
        wrong += [f"a step was lost or done twice: {each}" for each in results if each["weight"] != each["step"]]
        if len(job.attempts) > 1:
            wrong += [
                f"attempt {len(job.attempts)} resumed from step {each['resumed']}, but {self.saved_before} was saved"
                for each in results
                if each["resumed"] < self.saved_before
            ]
        return wrong

    def _wrong_output(self, job: Job) -> list[str]:
        handle: JobHandle = self._connected.job(job.id)
        shown: dict[books.Process, books.Shown] = defaultdict(books.Shown)
        for line in handle.logs(follow=True):
            shown[line.attempt, line.role, line.index, line.incarnation].add(line.text, line.dropped_bytes)
        incomplete = {
            (number, task.role, task.index, task.incarnation)
            for number, attempt in enumerate(job.attempts, 1)
            for task in attempt.tasks
            if not task.status.log_complete
        }
        return [
            f"output of {process}: {each}"
            for process, last in books.printed(self.folder).items()
            for each in books.wrong_output(last, shown[process], may_lack_its_end=process in incomplete)
        ]


def run(shared: SharedCluster, fault: Fault, choice: int, folder: Path, evidence: Path) -> None:
    """Runs one fault in a training; keeps the evidence of a failure."""
    trial = Trial(shared, fault, choice, folder)
    try:
        trial.start()
        trial.run()
        trial.check()
    except BaseException:
        shared.keep_evidence(evidence, trial.job.id if trial.job else None, [*trial.notes, *trial.summary()])
        print(f"evidence: {evidence}")
        trial.give_up()
        raise
    finally:
        trial.close()
