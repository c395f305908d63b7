"""What must hold after every fault, checked from what the tasks wrote down and from what runs on this machine."""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_SAMPLE_SECONDS = 0.1
_TICKING_SECONDS = 0.5
# Samples in which a new process gets its mark at the latest: when it executes its command.
_UNMARKED_SAMPLES = 20
_MARK = "TENSORFLOW_IGNITE_TASK="
_NUMBERED = re.compile(r"line (\d+)$")

Interval = tuple[float, float]
#: Attempt, role, index, incarnation.
Process = tuple[int, str, int, int]


def overlaps(attempts: Mapping[int, Interval]) -> list[str]:
    """The attempts that ran before all earlier ones had ended, from the first and last time at which each ran."""
    found = []
    for later, (begin, _) in sorted(attempts.items()):
        for earlier, (_, end) in attempts.items():
            if earlier < later and end >= begin:
                found.append(f"attempt {earlier} ran until {end - begin:.2f} s after attempt {later} had begun")
    return found


def ticks(folder: Path) -> dict[int, Interval]:
    """The first and last time at which each attempt wrote a tick."""
    attempts: dict[int, Interval] = {}
    for path in (folder / "ticks").iterdir():
        # The last line may be cut.
        times = [float(line) for line in path.read_text().split("\n")[:-1]]
        if times:
            number = int(path.name.partition("-")[0])
            first, last = attempts.get(number, (times[0], times[-1]))
            attempts[number] = min(first, times[0]), max(last, times[-1])
    return attempts


def twice(folder: Path) -> list[str]:
    """The tasks of which an attempt had two processes, as when both sides of a cut start an attempt of one number."""
    names = Counter(path.name.rpartition("-")[0] for path in (folder / "ticks").iterdir() if "child" not in path.name)
    return [f"{name} ran as {count} processes" for name, count in sorted(names.items()) if count > 1]


def running(folder: Path) -> list[str]:
    """The processes whose ticks go on."""
    return [path.name for path in (folder / "ticks").iterdir() if time.time() - path.stat().st_mtime < _TICKING_SECONDS]


@dataclass(frozen=True)
class Read:
    """The keys that a task has read in an epoch."""

    attempt: int
    epoch: str
    task: str
    keys: Sequence[int]


def reads(folder: Path) -> list[Read]:
    return [Read(**json.loads(path.read_text())) for path in (folder / "rows").glob("*.json")]


def wrong_rows(entries: Iterable[Read], rows: int, workers: Mapping[int, int]) -> list[str]:
    """Epochs with rows that were read twice, or that are missing though all workers have read theirs."""
    epochs: dict[tuple[int, str], dict[str, Sequence[int]]] = defaultdict(dict)
    for entry in entries:
        epochs[entry.attempt, entry.epoch][entry.task] = entry.keys
    found = []
    complete = {attempt for (attempt, _), tasks in epochs.items() if len(tasks) == workers[attempt]}
    if max(workers) not in complete:
        found.append(f"no epoch of attempt {max(workers)} was read by all its {workers[max(workers)]} readers")
    for (attempt, epoch), tasks in sorted(epochs.items()):
        keys = [key for each in tasks.values() for key in each]
        name = f"epoch {epoch} of attempt {attempt}"
        if len(keys) > len(set(keys)):
            found.append(f"{name}: {len(keys) - len(set(keys))} rows were read twice")
        if len(tasks) == workers[attempt] and set(keys) != set(range(rows)):
            found.append(f"{name}: {len(set(range(rows)) ^ set(keys))} rows are missing or not of the cache")
    return found


def wrong_epochs(folder: Path, rows: int) -> list[str]:
    """Rows that a training has used once more or once less than others, over all attempts and epochs.

    A step that was done again counts once, as the last attempt has done it. Workers begin an epoch together, so after
    each step all rows have been used equally often, but those of the present epoch once more.
    """
    steps: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for path in (folder / "steps").iterdir():
        # The last line may be cut.
        for line in path.read_text().split("\n")[:-1]:
            entry = json.loads(line)
            steps[entry["step"]][entry["attempt"]] += entry["keys"]
    counts: Counter[int] = Counter(dict.fromkeys(range(rows), 0))
    for step, attempts in sorted(steps.items()):
        last = max(attempts)
        counts.update(attempts[last])
        least, most = min(counts.values()), max(counts.values())
        if most > least + 1:
            often = [key for key, count in counts.items() if count == most]
            return [f"step {step} of attempt {last}: {len(often)} rows, such as {often[0]}, came again too early"]
    return [] if steps and max(counts) < rows else ["no step was written down, or a row that does not exist"]


def results(folder: Path) -> list[dict[str, float]]:
    return [json.loads(path.read_text()) for path in (folder / "results").glob("*.json")]


def printed(folder: Path) -> dict[Process, int]:
    """The number of the last line that each process has printed and then written down."""
    found = {}
    for path in (folder / "lines").iterdir():
        attempt, role, index, incarnation = path.name.split("-")
        numbers = [int(line.split()[0]) for line in path.read_text().split("\n")[:-1]]
        found[int(attempt), role, int(index), int(incarnation)] = numbers[-1] if numbers else 0
    return found


@dataclass
class Shown:
    """The numbered lines of a process in the job's output, and where the output says that bytes are missing."""

    numbers: list[int] = field(default_factory=list)
    gaps: set[int] = field(default_factory=set)

    def add(self, text: str, dropped_bytes: int) -> None:
        match = _NUMBERED.match(text)
        if dropped_bytes:
            self.gaps.add(len(self.numbers))
        if match:
            self.numbers.append(int(match[1]))


def wrong_output(last: int, shown: Shown, *, may_lack_its_end: bool) -> list[str]:
    """Lines that are missing in the output without a word, or that came twice."""
    found = []
    numbers = shown.numbers
    if len(numbers) > 1 and str(numbers[-2] + 1)[:-1].startswith(str(numbers[-1])):
        # A full disk has cut the last line, whose print() failed: "line 42" in place of "line 421".
        numbers = numbers[:-1]
    for position, number in enumerate(numbers):
        before = numbers[position - 1] if position else 0
        if number <= before:
            found.append(f"line {number} comes after line {before}")
        elif number > before + 1 and position not in shown.gaps:
            found.append(f"lines {before + 1} to {number - 1} are missing, and nothing says so")
    end = numbers[-1] if numbers else 0
    if end < last and len(numbers) not in shown.gaps and not may_lack_its_end:
        found.append(f"lines {end + 1} to {last} are missing at the end, and nothing says so")
    return found


class Watch:
    """Samples the processes of all attempts of all jobs in a directory, with the scripts' own ticks or without.

    Servers of TensorFlow write no ticks. A process counts from its start until it is a zombie.

    Attributes:
        samples: Number of samples so far.
    """

    def __init__(self, directory: Path) -> None:
        self.samples = 0
        self._prefix = f"{_MARK}{directory}/"
        self._marks: dict[str, str] = {}
        self._unmarked: dict[str, int] = {}
        self._attempts: dict[str, dict[int, Interval]] = defaultdict(dict)
        self._homes: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="samples of processes", daemon=True)
        self._thread.start()

    def attempts(self, job_id: str) -> dict[int, Interval]:
        """The first and last time at which a process of each attempt was there."""
        with self._lock:
            return dict(self._attempts[job_id])

    def twice(self, job_id: str) -> list[str]:
        """The tasks of the job that were on two nodes, by their paths."""
        with self._lock:
            return [
                f"{path} ran on {len(homes)} nodes" for path, homes in self._homes[job_id].items() if len(homes) > 1
            ]

    def close(self) -> None:
        self._closed.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closed.wait(_SAMPLE_SECONDS):
            pids = {name for name in os.listdir("/proc") if name.isdigit()}
            self._marks = {pid: mark for pid, mark in self._marks.items() if pid in pids}
            self._unmarked = {pid: samples for pid, samples in self._unmarked.items() if pid in pids}
            for pid in pids - self._marks.keys():
                samples = self._unmarked[pid] = self._unmarked.get(pid, 0) + 1
                if samples <= _UNMARKED_SAMPLES and (mark := self._mark(pid)):
                    self._marks[pid] = mark
            for pid, mark in self._marks.items():
                if _lives(pid):
                    self._note(mark)
            self.samples += 1

    def _mark(self, pid: str) -> str | None:
        with contextlib.suppress(OSError):
            for variable in Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0"):
                if variable.startswith(self._prefix):
                    return variable.removeprefix(_MARK)
        return None

    def _note(self, mark: str) -> None:
        home, _, path = mark.rpartition(":")
        job_id, attempt, *_ = path.split("/")
        now = time.monotonic()
        with self._lock:
            self._homes[job_id][path].add(home)
            times = self._attempts[job_id]
            times[int(attempt)] = times.get(int(attempt), (now, now))[0], now


def _lives(pid: str) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZXx"
    return False
