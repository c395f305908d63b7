"""The model processes of this node."""

import asyncio
import re
from pathlib import Path

from tensorflow_ignite.agent.model import Model
from tensorflow_ignite.agent.notifier import Notifier
from tensorflow_ignite.agent.rejection import ABORTED, INVALID_ARGUMENT, RequestRejected
from tensorflow_ignite.v1.agent_pb2 import StartModelRequest
from tensorflow_ignite.v1.predict_pb2 import ModelKey

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")


class Models:
    """All model processes. All methods run on one event loop."""

    def __init__(self, work: Path, notifier: Notifier) -> None:
        """Starts without processes.

        Args:
            work: The agent's work directory.
            notifier: Notified of each change.
        """
        self._work = work
        self._notifier = notifier
        self._models: dict[tuple[str, int], Model] = {}
        # Each process has a directory of its own; a short name, since the path of its socket is limited.
        self._directories = 0
        self._ending = False

    @property
    def all_models(self) -> list[Model]:
        """Every model that was started and has not been stopped."""
        return list(self._models.values())

    def start(self, request: StartModelRequest) -> None:
        """Starts the process of a version, unless there is one.

        Raises:
            RequestRejected: INVALID_ARGUMENT: the key is invalid. ABORTED: the agent is ending.
        """
        identity = self._identity(request.key)
        if self._ending:
            raise RequestRejected(
                ABORTED, "this agent is ending. It starts no processes any more. Call the next agent of the node"
            )
        if identity not in self._models:
            self._directories += 1
            directory = self._work / "models" / str(self._directories)
            model = Model(request, work=self._work, directory=directory, notifier=self._notifier)
            self._models[identity] = model
            model.begin()

    def restart(self, key: ModelKey, reason: str) -> None:
        """Ends the process of a version, which is started again after a pause."""
        model = self._models.get(self._identity(key))
        if model is not None:
            model.restart(reason)

    async def stop(self, key: ModelKey) -> None:
        """Ends the process of a version; returns when nothing of it is left."""
        model = self._models.get(self._identity(key))
        if model is not None:
            await model.stop()
            self._models.pop(self._identity(key), None)

    async def end(self) -> None:
        """Ends all processes; none starts afterwards."""
        self._ending = True
        await asyncio.gather(*(model.stop() for model in self.all_models))

    def _identity(self, key: ModelKey) -> tuple[str, int]:
        if not _NAME.fullmatch(key.name) or key.number < 1:
            raise RequestRejected(
                INVALID_ARGUMENT,
                f"{key.name!r}:{key.number} is no version of a model. A name has 1 to 200 letters, digits, '_', '.' "
                "and '-' and begins with none of the last two, and versions are counted from 1. Send a valid key",
            )
        return key.name, key.number
