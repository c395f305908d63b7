"""When checkpoints are due, who may write them, and what is reported to the job; without TensorFlow.

Promise (training): A training never begins anew in a directory that has checkpoints.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import random
import threading
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorflow_ignite import train
from tensorflow_ignite.errors import (
    AttemptSupersededError,
    ConnectionFailedError,
    FileLostError,
    InvalidRequestError,
    TensorFlowIgniteError,
)
from tensorflow_ignite.task import CONTEXT_VARIABLE, Task
from tensorflow_ignite.train import directory
from tensorflow_ignite.train.checkpoint import find_directory
from tensorflow_ignite.train.directory import CheckpointDirectory
from tensorflow_ignite.train.fence import SERIES, Fence, Writer
from tensorflow_ignite.train.saver import CheckpointSaver
from tensorflow_ignite.train.schedule import CheckpointSchedule


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("begin", "steps", "saved"),
    [(0, range(1, 35), [10, 20, 30]), (0, range(7, 50, 7), [14, 21, 35, 42]), (20, range(21, 45), [30, 40])],
    ids=["each step", "leaps", "after a resume"],
)
def test_a_save_is_due_when_a_multiple_of_the_steps_was_passed(begin: int, steps: range, saved: list[int]) -> None:
    due = CheckpointSchedule(every_steps=10)
    due.start(begin)
    found = []
    for step in steps:
        if due.check(step):
            found.append(step)
            due.start(step)
    assert found == saved


def test_a_save_is_due_when_the_seconds_have_passed_since_the_last_one_ended() -> None:
    assert CheckpointSchedule.of(7, None)._every_seconds is None
    # The default is a minute.
    for due, seconds in ((CheckpointSchedule(every_seconds=5), 5), (CheckpointSchedule.of(None, None), 60)):
        due._clock = clock = Clock()
        due.start(0)
        clock.now += seconds - 0.1
        assert not due.check(1)
        clock.now += 0.2
        assert due.check(2)
        clock.now += 3  # the save itself takes long
        due.start(2)
        clock.now += seconds - 0.1
        assert not due.check(3)


@given(
    seed=st.integers(0, 10**6),
    workers=st.integers(2, 4),
    seconds_a_step=st.floats(0.0001, 30),
    every_seconds=st.floats(0.5, 60),
    every_steps=st.one_of(st.none(), st.integers(1, 500)),
)
def test_workers_with_different_clocks_exchange_and_save_at_the_same_steps(
    seed: int, workers: int, seconds_a_step: float, every_seconds: float, every_steps: int | None
) -> None:
    random_of = random.Random(seed)
    clocks = [Clock() for _ in range(workers)]
    dues = [CheckpointSchedule(every_steps, every_seconds, clock=clock) for clock in clocks]
    words: dict[int, int] = {}
    met: list[set[int]] = [set() for _ in dues]
    step = 0

    def meet(worker: int) -> None:
        def agree(word: int) -> int:
            met[worker].add(step)
            return words.setdefault(step, word)

        dues[worker].agree_through(agree)

    for worker in range(workers):
        meet(worker)
    for step in range(1, 300):
        for clock in clocks:
            clock.now += seconds_a_step * random_of.uniform(0.2, 3)
        decisions = [due.check(step) for due in dues]
        assert len(set(decisions)) == 1
        # A worker that waits where another does not would wait forever.
        assert len({step in steps for steps in met}) == 1
        if decisions[0]:
            for due in dues:
                due.start(step)


def test_workers_exchange_rarely_and_save_on_time() -> None:
    clock = Clock()
    due = CheckpointSchedule(every_seconds=60, clock=clock)
    met: list[int] = []

    def agree(word: int) -> int:
        met.append(word)
        return word

    due.agree_through(agree)
    clock.now += 5  # the first step is traced
    saves = []
    for step in range(1, 100_000):
        clock.now += 0.01
        if due.check(step):
            saves.append(clock.now)
            due.start(step)
    between = [later - earlier for earlier, later in itertools.pairwise(saves)]
    assert len(between) >= 15
    assert all(60 <= seconds < 60.2 for seconds in between)
    assert len(met) / len(saves) < 25


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        *(("every_steps", steps) for steps in (0, -1, 1.5)),
        *(("every_seconds", seconds) for seconds in (0, -1.0, float("inf"), float("nan"))),
    ],
)
def test_an_interval_of_no_steps_or_no_time_is_refused(name: str, wrong: float) -> None:
    with pytest.raises(InvalidRequestError, match=rf"{name}=.* Give a (whole )?number above 0"):
        CheckpointSchedule(**{name: wrong})  # type: ignore[arg-type]


class Files(dict[str, str]):
    """A file system."""

    def __init__(self, *args: dict[str, str]) -> None:
        super().__init__(*args)
        #: Files that exist and cannot be read, with the reason.
        self.lost: dict[str, str] = {}

    def names(self, directory: str) -> list[str]:
        return [path.removeprefix(f"{directory}/") for path in list(self)]

    def read(self, path: str) -> str | None:
        if path in self.lost:
            raise FileLostError(self.lost[path])
        return self.get(path)

    def fault(self, path: str) -> str:
        return self.lost.get(path, "")

    def replace(self, path: str, text: str, series: int) -> None:
        self[path] = text

    def remove(self, path: str) -> None:
        self.pop(path, None)


def fence(files: Files, attempt: int, *, incarnation: int = 0, job: str = "7f3a", run: str = "") -> Fence:
    return Fence("/ckpt/", Writer(job, attempt, incarnation, run or f"{job}-{attempt}-{incarnation}"), files)


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        ({"attempt": 1}, {"attempt": 2}, r"attempt 1 .* of job 7f3a saves no .* has been replaced"),
        ({"attempt": 1}, {"attempt": 1, "incarnation": 1}, r"attempt 1 .* of job 7f3a saves no .* has been replaced"),
        ({"attempt": 5}, {"attempt": 1, "job": "beef"}, "Without --checkpoint-directory each job has one of its own"),
        ({"attempt": 0, "job": "", "run": "a"}, {"attempt": 0, "job": "", "run": "b"}, r"outside any job \(b\)"),
    ],
    ids=["attempt", "incarnation", "job", "outside jobs"],
)
def test_a_process_cannot_save_once_a_later_one_has_begun(first: Any, second: Any, text: str) -> None:
    files = Files()
    old, new = fence(files, **first), fence(files, **second)
    old.claim()
    old.check()
    new.claim()
    with pytest.raises(TensorFlowIgniteError, match=text):
        old.check()
    new.check()


def test_an_earlier_process_that_comes_late_does_not_take_the_directory_back() -> None:
    files = Files()
    fence(files, 3).claim()
    with pytest.raises(AttemptSupersededError, match=r"attempt 3 \(process 0\) of job 7f3a has taken"):
        fence(files, 2).claim()
    assert json.loads(files["/ckpt/attempt"])["attempt"] == 3


def test_a_marker_that_is_gone_is_written_again_and_its_owner_may_be_replaced() -> None:
    files = Files()
    old, new = fence(files, 1), fence(files, 2)
    old.claim()
    files.clear()
    old.check()
    assert "/ckpt/attempt" in files
    files.lost["/ckpt/attempt"] = "block 0 is lost"
    new.claim()
    files.lost.clear()
    with pytest.raises(AttemptSupersededError):
        old.check()
    new.check()


@pytest.mark.parametrize("text", ["hello", "[]", '{"job": "x"}'])
def test_a_foreign_file_of_the_markers_name_is_not_overwritten(text: str) -> None:
    files = Files({"/ckpt/attempt": text})
    with pytest.raises(TensorFlowIgniteError, match="/ckpt/attempt does not name the process"):
        fence(files, 1).claim()
    assert files["/ckpt/attempt"] == text


def saved(*numbers: int, shards: int = 1, pointer_to: int | None = None) -> Files:
    files = Files()
    for number in numbers:
        files[f"/ckpt/ckpt-{number}.index"] = "index"
        for shard in range(shards):
            files[f"/ckpt/ckpt-{number}.data-{shard:05}-of-{shards:05}"] = "data"
    if numbers:
        files["/ckpt/checkpoint"] = directory.pointer(pointer_to or max(numbers), numbers)
    return files


@pytest.mark.parametrize("loss", ["none", "removed", "lost", "empty", "foreign"])
def test_checkpoints_are_found_newest_first_also_without_the_file_that_names_them(loss: str) -> None:
    files = saved(9, 10, 8)
    if loss == "removed":
        del files["/ckpt/checkpoint"]
    elif loss == "lost":
        files.lost["/ckpt/checkpoint"] = "block 0 is lost"
    elif loss != "none":
        files["/ckpt/checkpoint"] = "" if loss == "empty" else "not a list"
    assert list(CheckpointDirectory("/ckpt/", files).whole()) == [10, 9, 8]


@pytest.mark.parametrize("name", ["ckpt-3.index", "ckpt-3.data-00000-of-00002", "ckpt-3.data-00001-of-00002"])
@pytest.mark.parametrize("removed", [True, False])
def test_a_checkpoint_without_all_its_files_is_passed_over_and_named(
    name: str, removed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    files = saved(1, 2, 3, shards=2)
    if removed:
        del files[f"/ckpt/{name}"]
    else:
        files.lost[f"/ckpt/{name}"] = "Block 0 of extent ab is lost"
    found = CheckpointDirectory("/ckpt", files)
    assert list(found.whole()) == [2, 1]
    assert list(found.faults) == [3]
    assert "/ckpt/ckpt-3 is passed over" in caplog.text
    if not removed:
        assert f"{name} cannot be read: Block 0 of extent ab is lost" in caplog.text


def test_the_files_of_an_unfinished_save_are_no_checkpoint() -> None:
    unfinished = {"/ckpt/ckpt-1.data-00000-of-00001": "", "/ckpt/ckpt-2_temp/": "", "/ckpt/attempt": "{}"}
    for files in (Files(), Files(unfinished)):
        found = CheckpointDirectory("/ckpt", files)
        assert (found.numbers, list(found.whole())) == ([], [])


def test_checkpoints_that_are_named_and_missing_do_not_make_a_directory_empty() -> None:
    files = Files({"/ckpt/checkpoint": directory.pointer(2, [1, 2])})
    found = CheckpointDirectory("/ckpt", files)
    assert list(found.whole()) == []
    assert found.numbers == [2, 1]
    assert found.faults[2] == "ckpt-2.index does not exist"


def test_a_directory_that_cannot_be_listed_is_an_error() -> None:
    class Unreachable(Files):
        def names(self, directory: str) -> list[str]:
            raise ConnectionFailedError("no node answers")

    with pytest.raises(ConnectionFailedError):
        CheckpointDirectory("/ckpt", Unreachable())


def saver(files: Files, attempt: int = 2, *, incarnation: int = 0, job: str = "7f3a", keep: int = 3) -> CheckpointSaver:
    return CheckpointSaver("/ckpt/", files, fence(files, attempt, incarnation=incarnation, job=job), keep)


def write_into(files: Files) -> Callable[[str], object]:
    """Writes a checkpoint as TensorFlow does: the data, then the index."""

    def write(path: str) -> None:
        files[f"{path}_temp/part-00000-of-00001"] = "data"
        files[f"{path}.data-00000-of-00001"] = files.pop(f"{path}_temp/part-00000-of-00001")
        files[f"{path}.index"] = "index"

    return write


def test_the_file_of_tensorflow_names_the_restored_one_and_rejected_ones_are_removed() -> None:
    files = saved(1, 2, 3, 4, 5)
    files.lost |= {"/ckpt/ckpt-5.index": "lost", "/ckpt/ckpt-4.data-00000-of-00001": "lost"}
    new = saver(files)
    assert next(new.found.whole()) == 3
    new.begin_behind(3)
    assert directory.newest(files["/ckpt/checkpoint"]) == 3
    assert directory.listed(files["/ckpt/checkpoint"]) == [1, 2, 3]
    first = new.last_number + 1
    new.save(first, write_into(files))
    assert CheckpointDirectory("/ckpt", files).numbers == [first, 3, 2]
    assert directory.listed(files["/ckpt/checkpoint"]) == [2, 3, first]


def test_the_list_of_tensorflow_stays_if_it_is_right() -> None:
    files = saved(1, 2)
    before = files["/ckpt/checkpoint"] = files["/ckpt/checkpoint"] + "last_preserved_timestamp: 1.5\n"
    new = saver(files)
    assert next(new.found.whole()) == 2
    new.begin_behind(2)
    assert files["/ckpt/checkpoint"] == before


def test_a_later_checkpoint_of_another_program_is_named_when_it_is_not_restored(caplog) -> None:
    own = 1 * SERIES + 4
    files = saved(1, own, pointer_to=1)
    new = saver(files)
    new.begin_behind(next(new.found.whole()))
    assert f"names ckpt-1 as the newest checkpoint, but ckpt-{own} is restored" in caplog.text
    assert directory.newest(files["/ckpt/checkpoint"]) == own
    caplog.clear()
    saver(files).begin_behind(own)
    assert "is restored" not in caplog.text


def test_the_first_process_counts_from_one_and_each_later_one_has_later_numbers_of_its_own() -> None:
    files = Files()
    last = [
        saver(files, attempt, incarnation=incarnation).last_number
        for attempt, incarnation in ((1, 0), (1, 1), (2, 0), (2, 1), (7, 0))
    ]
    assert last[0] == saver(Files(), 0, job="").last_number == 0
    last += [saver(files, 1, job="beef").last_number, saver(files, 0, job="").last_number]
    last += [saver(files, 0, job="").last_number]
    assert all(later - earlier >= SERIES for earlier, later in itertools.pairwise(last))


@pytest.mark.parametrize("marker", ["", '{"job": "7f3a", "attempt": 4, "incarnation": 0, "run": "x"}'])
@pytest.mark.parametrize("attempt", [1, 5])
def test_a_directory_of_an_earlier_version_is_continued_with_later_numbers(marker: str, attempt: int) -> None:
    files = saved(55, 56, 57)
    if marker:
        files["/ckpt/attempt"] = marker if attempt == 5 else marker.replace("7f3a", "beef")
    new = saver(files, attempt)
    assert next(new.found.whole()) == 57
    assert new.last_number >= SERIES


def test_processes_that_have_not_seen_each_other_have_different_numbers() -> None:
    """The first one stands still while it takes the directory over."""
    for content in (Files(), saved(1, 2), Files({"/ckpt/attempt": '{"job":"b","attempt":9,"incarnation":0,"run":""}'})):
        series = []
        for attempt, incarnation in ((1, 0), (1, 1), (2, 0)):
            files = Files(content)
            series.append(saver(files, attempt, incarnation=incarnation).last_number // SERIES)
        assert series == sorted(set(series))


def test_the_numbers_of_a_process_go_on_in_its_second_call() -> None:
    files = Files()
    first = saver(files)
    first.save(first.last_number + 1, write_into(files))
    assert saver(files).last_number == first.last_number + 1


def test_an_earlier_process_is_refused_by_the_files_of_a_later_one() -> None:
    files = Files()
    new = saver(files, 3)
    new.save(new.last_number + 1, write_into(files))
    # The first attempt has written its identity late.
    record = json.loads(files["/ckpt/attempt"])
    files["/ckpt/attempt"] = json.dumps({**record, "attempt": 1, "series": record["series"] - 20000, "run": "old"})
    with pytest.raises(AttemptSupersededError, match="a later process has written ckpt-"):
        saver(files, 2)


def test_what_a_killed_process_left_is_removed() -> None:
    files = saved(1, 2)
    files |= {
        "/ckpt/ckpt-3_temp/": "",
        "/ckpt/ckpt-4.part-00000-of-00001.data": "",
        "/ckpt/ckpt-5.data-00000-of-00001": "",
        "/ckpt/attempt.0.new": "",
        "/ckpt/checkpoint.0.new": "",
        "/ckpt/notes.txt": "",
    }
    new = saver(files)
    left = {"attempt", "checkpoint", "notes.txt"}
    assert {name for name in files.names("/ckpt") if not name.startswith("ckpt-")} == left
    assert directory.numbers(files.names("/ckpt")) == {1, 2, 5}
    new.save(new.last_number + 1, write_into(files))
    assert directory.numbers(files.names("/ckpt")) == {1, 2, new.last_number + 1}


class SteppedFiles:
    """Files of a process that stands still before one of its operations, until it is continued."""

    def __init__(self, shared: Files) -> None:
        self.shared = shared
        self.left = -1
        self.stands = threading.Event()
        self.goes_on = threading.Event()

    def _operation(self) -> Files:
        if self.left == 0:
            self.stands.set()
            assert self.goes_on.wait(30)
        self.left -= 1
        return self.shared

    def __getattr__(self, name: str) -> Any:
        return getattr(self._operation(), name)

    def __setitem__(self, path: str, text: str) -> None:
        self._operation()[path] = text


class OldAttempt(threading.Thread):
    """An attempt that stands still before one operation of its start or its saves; then it saves until it may not."""

    def __init__(self, files: Files, stop_before: int, *, in_start: bool) -> None:
        super().__init__()
        self._files = SteppedFiles(files)
        self._stop_before = stop_before
        self._in_start = in_start
        self.stood_still = True
        self.start()
        assert self._files.stands.wait(30)

    def run(self) -> None:
        if self._in_start:
            self._files.left = self._stop_before
        with contextlib.suppress(AttemptSupersededError):
            own = saver(self._files, 2, keep=2)
            if not self._in_start:
                self._files.left = self._stop_before
            for number in range(1, 4):
                own.save(own.last_number + number, write_into(self._files))
        self.stood_still = self._files.stands.is_set()
        self._files.stands.set()

    def go_on(self) -> None:
        self._files.goes_on.set()
        self.join()


@pytest.mark.parametrize("in_start", [False, True], ids=["while it saves", "while it starts"])
@pytest.mark.parametrize("saves", [0, 1, 2, 5])
def test_wherever_an_earlier_process_stands_still_nothing_of_a_later_one_is_lost(in_start: bool, saves: int) -> None:
    for stop_before in itertools.count():
        files = Files()
        first = saver(files, 1, keep=2)
        for number in range(1, 4):
            first.save(number, write_into(files))
        old = OldAttempt(files, stop_before, in_start=in_start)
        new = saver(files, 3, keep=2)
        restored = next(new.found.whole())
        new.begin_behind(restored)
        saved_by_new = [new.last_number + each for each in range(1, saves + 1)]
        for number in saved_by_new:
            new.save(number, write_into(files))
        kept = {path: text for path, text in files.items() if directory.number_of(path[6:]) in saved_by_new}
        assert len(kept) == 2 * min(saves, 2)
        old.go_on()
        if not old.stood_still:
            break
        assert kept.items() <= files.items()
        newest = next(CheckpointDirectory("/ckpt", files).whole())
        assert newest == saved_by_new[-1] if saves else newest >= restored
        named = directory.newest(files["/ckpt/checkpoint"])
        assert named == newest if saves else named in (restored, newest)
        new.save(new.last_number + saves + 1, write_into(files))
        assert directory.newest(files["/ckpt/checkpoint"]) == new.last_number + saves + 1
        assert next(saver(files, 4, keep=2).found.whole()) == new.last_number + saves + 1
    # Each kind of operation was reached: the marker, the list of files, the data, the index, the pointer, a removal.
    assert stop_before > 20


def test_the_directory_is_the_jobs_unless_the_script_names_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Outside a job there is no default.
    assert find_directory(None) == ""
    path = tmp_path / "context.json"
    path.write_text('{"jobId": "7f3a", "attempt": 1, "checkpointDirectory": "ignite:///jobs/7f3a/checkpoints"}')
    monkeypatch.setenv(CONTEXT_VARIABLE, str(path))
    assert find_directory(None) == "ignite:///jobs/7f3a/checkpoints"
    assert find_directory("/other") == "/other"
    assert find_directory("IGNITE:////other//x/") == "ignite:///other/x"
    assert find_directory("") == ""


def test_a_callback_that_would_never_save_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="never saves"):
        train.CheckpointCallback(every_epoch=False)


def test_an_evaluator_that_runs_the_training_is_refused_before_it_takes_the_directory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The package has a function of this name.
    module = import_module("tensorflow_ignite.train.checkpoint")
    here = Task(in_job=True, job_id="7f3a", role="evaluator", checkpoint_directory="/ckpt")
    monkeypatch.setattr(module, "current", lambda: here)
    with pytest.raises(TensorFlowIgniteError, match=r"An evaluator saves none.*use tfi\.train\.evaluate"):
        module.checkpoint(model=object())


def test_an_evaluation_reports_the_metrics_that_are_numbers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Model:
        def evaluate(self, data: Any, **_: Any) -> dict[str, Any]:
            return {"loss": 0.5, "f1_of_each_class": [0.5, 1.0]}

    monkeypatch.setattr(import_module("tensorflow_ignite.train.evaluation"), "_restored", lambda *_: iter([(7, "")]))
    rows: Any = None
    assert train.evaluate(Model(), rows) == {"loss": 0.5}
    assert capsys.readouterr().out == "step 7: loss=0.5\n"
