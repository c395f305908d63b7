"""The stream with reports of all tasks and models: states, progress, and output in order."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from tensorflow_ignite.agent.model import Model
from tensorflow_ignite.agent.models import Models
from tensorflow_ignite.agent.rejection import ABORTED, RequestRejected
from tensorflow_ignite.agent.task import Task
from tensorflow_ignite.agent.tasks import Tasks
from tensorflow_ignite.v1.agent_pb2 import LogChunk, WatchResponse

# Chunks of one task before the chunks of the next task.
_CHUNKS_PER_TURN = 16


@dataclass
class _WatchCursor:
    version: int = 0
    chunks: int = 0


class WatchStreams:
    """Serves one stream at a time: a new stream ends the previous one."""

    def __init__(self, tasks: Tasks, models: Models) -> None:
        """Starts without a stream."""
        self._tasks = tasks
        self._models = models
        self._current = 0

    async def watch(self) -> AsyncIterator[WatchResponse]:
        """Yields the states of all tasks and models, the output, and then each change, until another stream starts.

        A short state may be skipped. Messages are made when the receiver is ready, so a slow receiver costs no memory.

        Raises:
            RequestRejected: ABORTED: another stream has started.
        """
        self._current += 1
        mine = self._current
        self._tasks.notifier.notify()
        cursors: dict[str, _WatchCursor] = {}
        versions: dict[Model, int] = {}
        while True:
            change = self._tasks.notifier.next()
            waiting = False
            versions = {model: versions.get(model, 0) for model in self._models.all_models}
            for model, known in versions.items():
                if model.version > known:
                    versions[model] = model.version
                    yield WatchResponse(model=model.status)
                    self._end_previous(mine)
            for task in self._tasks.all_tasks:
                cursor = cursors.setdefault(task.mark, _WatchCursor())
                async for response in self._updates(task, cursor):
                    yield response
                    self._end_previous(mine)
                waiting = waiting or (task.is_listed and cursor.chunks < task.output.count)
            if not waiting:
                cursors = {task.mark: cursors[task.mark] for task in self._tasks.all_tasks if task.mark in cursors}
                await change.wait()
                self._end_previous(mine)

    def _end_previous(self, number: int) -> None:
        if number != self._current:
            raise RequestRejected(
                ABORTED,
                "another Watch call has started. An agent serves one at a time. Use that call, or call Watch again",
            )

    async def _updates(self, task: Task, cursor: _WatchCursor) -> AsyncIterator[WatchResponse]:
        if not task.is_final and task.version > cursor.version:
            cursor.version = task.version
            yield WatchResponse(key=task.key, status=task.status)
        last = cursor.chunks + _CHUNKS_PER_TURN
        while task.is_listed and cursor.chunks < min(task.output.count, last):
            chunk = task.output.chunk(cursor.chunks)
            log = LogChunk(sequence=cursor.chunks, data=chunk.data, dropped_bytes=chunk.dropped_bytes)
            cursor.chunks += 1
            yield WatchResponse(key=task.key, log=log)
        if task.is_listed and task.is_final and cursor.chunks == task.output.count and task.version > cursor.version:
            cursor.version = task.version
            yield WatchResponse(key=task.key, status=task.status)
            # Reached when the receiver requests the next message, so this one has been written.
            task.end_reported = True
            self._tasks.notifier.notify()
