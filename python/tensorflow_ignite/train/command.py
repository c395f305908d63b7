"""The commands that the agent writes for a task while it runs: a planned end, the end itself, a profile."""

from __future__ import annotations

import contextlib
import os

from google.protobuf import json_format

from tensorflow_ignite.v1 import agent_pb2

#: Names the file with the newest commands; not set outside a job.
COMMAND_VARIABLE = "TENSORFLOW_IGNITE_COMMAND"
# How often a task reads them.
POLL_SECONDS = 0.1


class CommandReader:
    """Reads the file in which the agent writes commands; one call of `stat` as long as it does not change."""

    def __init__(self, path: str) -> None:
        """Sets the path; the file does not exist before the first command. Empty: there is none."""
        self._path = path
        self._version: tuple[int, int] | None = None
        self._command = agent_pb2.TaskCommand()

    def read(self) -> agent_pb2.TaskCommand:
        """Returns the newest command; an empty one before the first."""
        with contextlib.suppress(OSError, UnicodeDecodeError, json_format.ParseError):
            status = os.stat(self._path)
            version = status.st_ino, status.st_mtime_ns
            if version != self._version:
                with open(self._path, encoding="utf-8") as file:
                    text = file.read()
                self._command = json_format.Parse(text, agent_pb2.TaskCommand(), ignore_unknown_fields=True)
                self._version = version
        return self._command
