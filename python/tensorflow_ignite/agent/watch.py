"""The one stream that tells of all tasks: states, progress, and output in order."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from tensorflow_ignite.agent.refusal import ABORTED, Refusal
from tensorflow_ignite.agent.task import Task
from tensorflow_ignite.agent.tasks import Tasks
from tensorflow_ignite.v1.agent_pb2 import LogChunk, WatchResponse

# Of one task, before the others have their turn.
_CHUNKS_PER_TURN = 16


@dataclass
class _Told:
    version: int = 0
    chunks: int = 0


class Watchers:
    """Sees to it that one watcher is served at a time."""

    def __init__(self, tasks: Tasks) -> None:
        """Nobody watches."""
        self._tasks = tasks
        self._current = 0

    async def watch(self) -> AsyncIterator[WatchResponse]:
        """Everything known, then each change, until the next watcher comes.

        A state that lasts for a moment only may be told as the one that follows it. What is told is looked up when the
        watcher is ready for it: a slow one costs no memory.

        Raises:
            Refusal: ABORTED, another watcher has taken over.
        """
        self._current += 1
        mine = self._current
        self._tasks.changes.tell()
        told: dict[str, _Told] = {}
        while True:
            ring = self._tasks.changes.next()
            waiting = False
            for task in self._tasks.known:
                so_far = told.setdefault(task.mark, _Told())
                async for response in self._news(task, so_far):
                    yield response
                    self._refuse_former(mine)
                waiting = waiting or (task.known and so_far.chunks < task.output.count)
            if not waiting:
                told = {task.mark: told[task.mark] for task in self._tasks.known if task.mark in told}
                await ring.wait()
                self._refuse_former(mine)

    def _refuse_former(self, number: int) -> None:
        if number != self._current:
            raise Refusal(
                ABORTED,
                "another watcher has taken over; an agent tells one at a time; end one of them, or watch again",
            )

    async def _news(self, task: Task, told: _Told) -> AsyncIterator[WatchResponse]:
        if not task.over and task.version > told.version:
            told.version = task.version
            yield WatchResponse(key=task.key, status=task.status)
        last = told.chunks + _CHUNKS_PER_TURN
        while task.known and told.chunks < min(task.output.count, last):
            chunk = task.output.chunk(told.chunks)
            log = LogChunk(sequence=told.chunks, data=chunk.data, dropped_bytes=chunk.dropped_bytes)
            told.chunks += 1
            yield WatchResponse(key=task.key, log=log)
        if task.known and task.over and told.chunks == task.output.count and task.version > told.version:
            told.version = task.version
            yield WatchResponse(key=task.key, status=task.status)
            # Reached when the watcher asks for more: this has been written to it.
            task.told_end = True
            self._tasks.changes.tell()
