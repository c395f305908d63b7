"""A task's last progress report, read from its progress file."""

import os
from pathlib import Path

from google.protobuf import json_format

from tensorflow_ignite.v1.job_pb2 import Progress

MAX_BYTES = 64 * 1024


class ProgressFile:
    """The file named in TENSORFLOW_IGNITE_PROGRESS; the task replaces it atomically with JSON of Progress."""

    def __init__(self, path: Path) -> None:
        """Sets the path of the file, which need not exist yet."""
        self.path = path
        self._previous: tuple[int, int, int] | None = None

    def read_new(self) -> Progress | None:
        """Returns the report if the file has changed since the last call and is well-formed."""
        try:
            with self.path.open("rb") as opened:
                now = os.fstat(opened.fileno())
                current = (now.st_ino, now.st_mtime_ns, now.st_size)
                if current == self._previous:
                    return None
                self._previous = current
                if now.st_size > MAX_BYTES:
                    return None
                return json_format.Parse(opened.read(), Progress(), ignore_unknown_fields=True)
        except (OSError, UnicodeDecodeError, json_format.ParseError):
            # The task may write anything into its file; that must not disturb the agent.
            return None
