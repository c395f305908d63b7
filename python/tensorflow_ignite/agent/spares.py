"""The spares of this node: their number, their key, and when the next one is started.

A spare has the key of the task that was started last. Before the first task, it has the key of a task without variables
of its own. No spare is started while a task starts: its import would compete with the start of the training.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from tensorflow_ignite.agent import memory, names
from tensorflow_ignite.agent.spare import HANG_SECONDS, LOW_PRIORITY, Spare, SpareState, may_raise_priority
from tensorflow_ignite.agent.spare_key import SpareKey
from tensorflow_ignite.agent.stall import processor_time

# A task that reports no step counts as started after this time.
START_SECONDS = 30.0
# The pause after a spare that failed; it doubles with each failure, up to the longest.
FIRST_BACK_OFF_SECONDS = 10.0
LONGEST_BACK_OFF_SECONDS = 600.0
# No spare is kept with less available memory than this, or than _AVAILABLE_SPARES times the memory of a spare.
LEAST_AVAILABLE_BYTES = 1 << 30
_AVAILABLE_SPARES = 3
_USUAL_BYTES = 300 << 20
_MEMORY_SECONDS = 10.0
# Job ids do not begin with a dot.
_FOLDER = ".spares"

_log = logging.getLogger(__name__)


class TaskStart:
    """The start of one task, during which no spare is started; ends with `end`, or after a time."""

    def __init__(self, ended: Callable[[TaskStart], None]) -> None:
        """Begins the start of a task."""
        self._ended = ended
        self._timer = asyncio.get_running_loop().call_later(START_SECONDS, self.end)

    def end(self) -> None:
        """The task has made its first step, or has ended. May be repeated."""
        self._timer.cancel()
        self._ended(self)


class Spares:
    """Keeps a number of spares. All methods run on the agent's event loop."""

    def __init__(self, work: Path, count: int, key: SpareKey | None) -> None:
        """Starts nothing yet.

        Args:
            work: The agent's work directory.
            count: The number of spares; 0: none.
            key: The key before the first task; None: no spare before it.
        """
        self._work = work
        self._count = count
        self._key = key
        self._spares: list[Spare] = []
        self._starts: set[TaskStart] = set()
        self._endings: set[asyncio.Task[None]] = set()
        self._numbers = itertools.count()
        self._failures = 0
        self._not_before = 0.0
        self._low_memory = False
        self._memory_checked_at = 0.0
        self._bytes = 0
        self._may_raise_priority = count > 0 and may_raise_priority()
        self._nice = LOW_PRIORITY if self._may_raise_priority else 0
        self._ended = False

    @property
    def are_kept(self) -> bool:
        """Whether this node keeps spares."""
        return self._count > 0

    @property
    def ready(self) -> tuple[int, int]:
        """Number of the spares that are ready, and their resident bytes together."""
        ready = [spare for spare in self._spares if spare.state is SpareState.READY]
        return len(ready), sum(spare.bytes for spare in ready)

    def begin_start(self, key: SpareKey, nice: int) -> TaskStart:
        """A task starts: the next spares have its key, and are started after its start.

        Args:
            key: The key of the task.
            nice: The nice value of the task. If the agent cannot raise the priority of a spare again, spares do not
                import with a lower priority than the task's.
        """
        if not self._may_raise_priority:
            self._nice = min(nice, LOW_PRIORITY)
        if key != self._key:
            self._failures, self._not_before = 0, 0.0
        self._key = key
        start = TaskStart(self._end_start)
        self._starts.add(start)
        return start

    def take(self, key: SpareKey) -> Spare | None:
        """Removes and returns a spare for a task, if possible a ready one."""
        fitting = [spare for spare in self._spares if spare.key == key and spare.state is not SpareState.ENDED]
        if not fitting:
            return None
        best = min(fitting, key=lambda spare: (spare.state is not SpareState.READY, spare.started_at))
        self._spares.remove(best)
        return best

    def discard(self, spare: Spare, reason: str) -> None:
        """A spare that a task had taken was not used, and has been ended.

        Args:
            spare: The spare.
            reason: Why it could not be used; empty: the task has ended meanwhile.
        """
        event = f"a spare (process {spare.keeper.script}) was not used, its task is started without: {reason}"
        if spare.is_unfit:
            # The next task may be of another job, or the next spare imports what has changed.
            _log.warning("%s", event)
        elif reason:
            self._fail(event)
        self._run(spare.remove_directory())

    def use(self, spare: Spare) -> None:
        """A task runs in a spare."""
        self._failures = 0
        self._run(spare.remove_directory())

    def refill(self) -> None:
        """Starts the next spare if one is missing, and ends those that no task could take. Called at each heartbeat."""
        if self._ended or not self.are_kept:
            return
        self._check_memory()
        for spare in self._spares:
            if spare.state is SpareState.IMPORTING:
                self._end_hanging(spare)
        if self._starts:
            return
        for spare in [spare for spare in self._spares if spare.key != self._key or self._low_memory]:
            self._drop(spare)
        importing = any(spare.state is SpareState.IMPORTING for spare in self._spares)
        if importing or self._key is None or self._low_memory or len(self._spares) >= self._count:
            return
        if time.monotonic() >= self._not_before:
            self._start(self._key)

    async def end(self) -> None:
        """Ends all spares; none is started afterwards."""
        self._ended = True
        for start in list(self._starts):
            start.end()
        for spare in list(self._spares):
            self._drop(spare)
        await asyncio.gather(*self._endings)

    def _start(self, key: SpareKey) -> None:
        name = f"{_FOLDER}/{next(self._numbers)}"
        try:
            spare = Spare(key, self._work / name, names.mark(self._work, name), self._nice, self._spare_changed)
        except OSError as error:
            self._fail(f"a spare could not be started: {error}")
            return
        self._spares.append(spare)

    def _spare_changed(self, spare: Spare) -> None:
        if spare.state is SpareState.READY:
            self._failures = 0
            self._bytes = spare.bytes
        elif spare in self._spares:
            self._fail(f"a spare (process {spare.keeper.script}, {spare.key.python}) has ended: {spare.last_line}")
            self._drop(spare)
        self.refill()

    def _end_hanging(self, spare: Spare) -> None:
        now = time.monotonic()
        used = processor_time(spare.keeper.script or 0)
        if used > spare.processor_time:
            spare.processor_time, spare.worked_at = used, now
        # With a low priority it may wait long for a processor.
        elif now - spare.worked_at >= (12 * HANG_SECONDS if self._nice else HANG_SECONDS):
            self._fail(f"a spare (process {spare.keeper.script}, {spare.key.python}) hangs in its imports")
            self._drop(spare)

    def _fail(self, event: str) -> None:
        pause = min(FIRST_BACK_OFF_SECONDS * 2**self._failures, LONGEST_BACK_OFF_SECONDS)
        self._failures += 1
        self._not_before = time.monotonic() + pause
        _log.warning("%s; the next spare is started after %g s", event, pause)

    def _check_memory(self) -> None:
        now = time.monotonic()
        if now - self._memory_checked_at < _MEMORY_SECONDS:
            return
        self._memory_checked_at = now
        size = self._bytes or _USUAL_BYTES
        least = max(LEAST_AVAILABLE_BYTES, _AVAILABLE_SPARES * size)
        available = memory.available_bytes()
        # A spare that is started again uses its memory again.
        was_low, self._low_memory = (
            self._low_memory,
            available < least + (size * self._count if self._low_memory else 0),
        )
        if self._low_memory and not was_low:
            _log.warning(
                "no spares are kept: %d MiB of memory are available, less than %d", available >> 20, least >> 20
            )

    def _drop(self, spare: Spare) -> None:
        if spare in self._spares:
            self._spares.remove(spare)
        self._run(spare.end())

    def _run(self, ending: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(ending)
        self._endings.add(task)
        task.add_done_callback(self._endings.discard)

    def _end_start(self, start: TaskStart) -> None:
        if start in self._starts:
            self._starts.discard(start)
            self.refill()
