"""The commands of the agent to a task while it runs: a planned end, the end itself, and profiles."""

import logging
import os
from pathlib import Path

from tensorflow_ignite.base.messages import to_json
from tensorflow_ignite.v1.agent_pb2 import TaskCommand, TaskProfile

# Requests for profiles that are kept: the agent does not know which of them the task has read.
_PROFILES = 32

_log = logging.getLogger(__name__)


class CommandFile:
    """The file named in TENSORFLOW_IGNITE_COMMAND, replaced atomically with JSON of TaskCommand."""

    def __init__(self, path: Path) -> None:
        """Sets the path of the file, which does not exist before the first command."""
        self.path = path
        self._command = TaskCommand()

    @property
    def has_plan(self) -> bool:
        """Whether an end of the task is planned."""
        return self._command.save

    def plan(self, step: int, agreed: bool) -> None:
        """Writes that an end is planned, and the proposed or agreed step; 0: none yet."""
        self._command.save = True
        self._command.step = step
        self._command.agreed = agreed
        self._write()

    def profile(self, request: TaskProfile) -> None:
        """Adds a request for a profile; the task records the requested profiles one after the other."""
        self._command.profile.CopyFrom(request)
        self._command.profiles.append(request)
        del self._command.profiles[:-_PROFILES]
        self._write()

    def stop(self) -> None:
        """Writes that the agent ends the task."""
        if not self._command.stop:
            self._command.stop = True
            self._write()

    def _write(self) -> None:
        temporary = self.path.with_name(f".{self.path.name}")
        try:
            temporary.write_text(to_json(self._command), encoding="utf-8")
            os.replace(temporary, self.path)
        except OSError as error:
            # A full disk: the task then ends by SIGTERM and SIGKILL, without a save.
            _log.warning("%s could not be written: %s", self.path, error)
