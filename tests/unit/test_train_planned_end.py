"""The agreement of workers on the step after which they save and end, and who sends SIGTERM; without TensorFlow.

Promise (jobs): At a planned end all workers save after the same step, however late messages are.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from google.protobuf import json_format
from hypothesis import given
from hypothesis import strategies as st

from tensorflow_ignite.agent.command import CommandFile
from tensorflow_ignite.train.agreement import Agreement, Decision
from tensorflow_ignite.v1 import job_pb2

LAST_STEP = 200


class Worker:
    """A worker whose commands arrive late."""

    def __init__(self, index: int, count: int) -> None:
        self.agreement = Agreement(leads=index == 0, alone=count == 1)
        self.index = index
        self.finished = 0
        self.in_step = False
        self.saved_at: int | None = None
        self.agreement.finish(0)

    def advance(self, workers: list[Worker], reach: int) -> None:
        """One move of the main thread: it begins a step, or finishes one that no other worker holds up."""
        if self.saved_at is not None or self.finished == LAST_STEP:
            return
        if not self.in_step:
            decision = self.agreement.finish(self.finished)
            if decision is Decision.SAVE:
                self.saved_at = self.finished
            self.in_step = decision is Decision.GO_ON
            return
        # A collective ends only if every worker has begun it; every `reach` steps has one.
        step = self.finished + 1
        if step % reach == 0 and any(other.finished < step and not other.in_step for other in workers):
            return
        if step % reach == 0 and any(other.finished < step - 1 for other in workers):
            return
        self.in_step = False
        self.finished = step


class Row:
    """The job's row: the latest proposal, and whether all have made it."""

    def __init__(self) -> None:
        self.step = 0
        self.agreed = False

    def merge(self, proposals: list[int]) -> None:
        if not self.agreed:
            self.step = max([self.step, *proposals])
            self.agreed = self.step > 0 and set(proposals) == {self.step}


@given(seed=st.integers(0, 10**6), count=st.integers(2, 4), reach=st.sampled_from([1, 1, 4]), begin=st.integers(0, 40))
def test_workers_save_after_the_same_step_however_late_their_messages_are(
    seed: int, count: int, reach: int, begin: int
) -> None:
    chance = random.Random(seed)
    workers = [Worker(index, count) for index in range(count)]
    row, reports, rows = Row(), [0] * count, [(0, False)] * count
    highest = 0
    for move in range(20_000):
        worker = chance.choice(workers)
        worker.advance(workers, reach)
        if move < begin * count:
            highest = max(each.finished for each in workers)
            continue
        # A report reaches the row, or the row reaches a worker, some time or other.
        if chance.random() < 0.3:
            reports[worker.index] = worker.agreement.proposal
        if chance.random() < 0.3:
            row.merge(reports)
            rows[worker.index] = row.step, row.agreed
        if chance.random() < 0.3:
            worker.agreement.receive(*rows[worker.index])
        if all(each.saved_at is not None for each in workers):
            break
    saved = {worker.saved_at for worker in workers}
    finished = {worker.finished for worker in workers}
    if LAST_STEP not in finished:
        assert len(saved) == 1, (saved, finished)
        assert saved == finished
        assert highest <= max(finished)


def test_the_first_worker_proposes_the_next_step_and_waits_until_all_agree() -> None:
    first, second = (Agreement(leads=index == 0, alone=False) for index in range(2))
    for worker in (first, second):
        assert worker.finish(7) is Decision.GO_ON
        worker.receive(0, False)
    assert second.finish(7) is Decision.GO_ON
    assert first.finish(8) is Decision.WAIT
    assert first.proposal == 9
    second.receive(9, False)
    assert second.proposal == 9
    assert second.finish(8) is Decision.GO_ON
    first.receive(9, True)
    assert first.finish(8) is Decision.GO_ON
    # It does not know yet that all have agreed.
    assert second.finish(9) is Decision.WAIT
    second.receive(9, True)
    assert [worker.finish(9) for worker in (first, second)] == [Decision.SAVE] * 2


def test_steps_that_are_executed_together_end_at_their_last_one() -> None:
    first = Agreement(leads=True, alone=False)
    first.receive(0, False)
    assert first.finish(20) is Decision.WAIT
    first.receive(21, True)
    assert first.finish(20) is Decision.GO_ON
    assert first.finish(30) is Decision.SAVE


LOOP = """
import os, signal, sys, time
{before}
from tensorflow_ignite.train.planned_end import PlannedEnd
end = PlannedEnd(leads=True, alone=True)
end.begin(0)
step = 0
print("begun", flush=True)
while True:
    step += 1
    time.sleep(0.01)
    if end.is_due(step):
        print("saved", step, flush=True)
        end.wait()
"""


class Script:
    """A process with the files that an agent gives it."""

    def __init__(self, folder: Path, before: str = "", loop: str = LOOP) -> None:
        self.command = CommandFile(folder / "command.json")
        self._progress = folder / "progress.json"
        self.process = subprocess.Popen(
            [sys.executable, "-c", loop.format(before=before)],
            env={
                **os.environ,
                "TENSORFLOW_IGNITE_COMMAND": str(self.command.path),
                "TENSORFLOW_IGNITE_PROGRESS": str(self._progress),
            },
            stdout=subprocess.PIPE,
            text=True,
        )
        self._watchdog = threading.Timer(60, self.process.kill)
        self._watchdog.start()
        assert self.line() == "begun"

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def end_progress(self) -> job_pb2.EndProgress:
        return json_format.Parse(self._progress.read_text(), job_pb2.Progress()).end

    def until(self, name: str) -> None:
        while not getattr(self.end_progress(), name):
            assert self.process.poll() is None

    def close(self) -> None:
        self._watchdog.cancel()
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def new_script(tmp_path: Path):
    scripts: list[Script] = []

    def new(before: str = "", loop: str = LOOP) -> Script:
        scripts.append(Script(tmp_path, before, loop))
        return scripts[-1]

    yield new
    for script in scripts:
        script.close()


def test_sigterm_from_outside_requests_an_end_of_the_job_which_the_agent_plans_and_carries_out(new_script) -> None:
    script = new_script()
    script.until("ready")
    for _ in range(2):
        script.process.send_signal(signal.SIGTERM)
        script.until("terminated")
    script.command.plan(0, False)
    assert script.line().startswith("saved")
    script.until("saved")
    script.command.stop()
    script.process.send_signal(signal.SIGTERM)
    assert script.process.wait() == -signal.SIGTERM


def test_a_handler_of_the_script_runs_when_the_agent_ends_it_and_not_before(new_script) -> None:
    script = new_script('signal.signal(signal.SIGTERM, lambda *_: (print("handled", flush=True), sys.exit(7)))')
    script.process.send_signal(signal.SIGTERM)
    script.until("terminated")
    script.command.plan(0, False)
    assert script.line().startswith("saved")
    script.command.stop()
    script.process.send_signal(signal.SIGTERM)
    assert script.line() == "handled"
    assert script.process.wait() == 7


TWO_LOOPS = """
import logging, sys, time
logging.basicConfig(stream=sys.stdout, format="%(message)s")
from tensorflow_ignite.train.planned_end import PlannedEnd
first, second = (PlannedEnd(leads=True, alone=True) for _ in range(2))
print("begun", flush=True)
{before}
step = 0
while True:
    step += 1
    time.sleep(0.01)
    for name, end in loops.items():
        end.begin(step)
        if end.is_due(step):
            print(name, "saved", flush=True)
            end.wait()
"""


def test_of_two_loops_that_save_by_turns_the_first_takes_part_and_the_log_warns_of_the_second(new_script) -> None:
    script = new_script("loops = dict(first=first, second=second)", TWO_LOOPS)
    assert "two loops of this process save checkpoints" in script.line()
    script.command.plan(0, False)
    assert script.line() == "first saved"


def test_a_loop_takes_part_after_one_that_an_exception_has_ended(new_script) -> None:
    script = new_script("first.begin(0); first.is_due(1); loops = dict(second=second)", TWO_LOOPS)
    script.command.plan(0, False)
    assert script.line() == "second saved"


BLOCKED = """
import ctypes
from tensorflow_ignite.train.planned_end import PlannedEnd
end = PlannedEnd(leads=False, alone=False)
end.begin(0)
print("begun", flush=True)
libc, mutex = ctypes.CDLL(None), ctypes.create_string_buffer(64)
libc.pthread_mutex_lock(mutex)
print(hex(ctypes.addressof(mutex)), flush=True)
# No signal ends this call, and Python would run its handlers after it.
libc.pthread_mutex_lock(mutex)
"""


def test_a_process_whose_main_thread_is_in_a_long_call_ends_at_once_when_its_agent_ends_it(new_script) -> None:
    script = new_script(loop=BLOCKED)
    mutex = script.line()
    system_call = Path(f"/proc/{script.process.pid}/syscall")
    while mutex not in system_call.read_text():
        assert script.process.poll() is None
    script.command.stop()
    script.process.send_signal(signal.SIGTERM)
    assert script.process.wait() == -signal.SIGKILL


CHILD = """
import os, signal, time
from tensorflow_ignite.train.planned_end import PlannedEnd
end = PlannedEnd(leads=True, alone=True)
end.begin(0)
print("begun", flush=True)
reading, writing = os.pipe()
child = os.fork()
if child == 0:
    os.write(writing, b".")
    while True:
        time.sleep(1)
os.read(reading, 1)
os.kill(child, signal.SIGTERM)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def test_a_child_of_the_script_ends_by_sigterm_as_ever(new_script) -> None:
    assert new_script(loop=CHILD).line() == str(-signal.SIGTERM)


def test_after_the_loop_sigterm_ends_the_process_again(new_script) -> None:
    script = new_script(loop=LOOP.split("step = 0")[0] + 'end.end()\nprint("begun", flush=True)\ntime.sleep(60)')
    assert not script.end_progress().ready
    script.process.send_signal(signal.SIGTERM)
    assert script.process.wait() == -signal.SIGTERM
