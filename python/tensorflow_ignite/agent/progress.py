"""What a task last told of its work, read from the file that it replaces."""

import os
from pathlib import Path

from google.protobuf import json_format

from tensorflow_ignite.v1.job_pb2 import Progress

MAX_BYTES = 64 * 1024


class ProgressFile:
    """The file named in TENSORFLOW_IGNITE_PROGRESS; the task replaces it atomically with JSON of Progress."""

    def __init__(self, path: Path) -> None:
        """Names the file, which need not exist."""
        self.path = path
        self._seen: tuple[int, int, int] | None = None

    def read_new(self) -> Progress | None:
        """What the file says, when it has changed since the last call and can be understood."""
        try:
            with self.path.open("rb") as opened:
                now = os.fstat(opened.fileno())
                seen = (now.st_ino, now.st_mtime_ns, now.st_size)
                if seen == self._seen:
                    return None
                self._seen = seen
                if now.st_size > MAX_BYTES:
                    return None
                return json_format.Parse(opened.read(), Progress(), ignore_unknown_fields=True)
        except (OSError, UnicodeDecodeError, json_format.ParseError):
            # The task's own file: what it writes there must not disturb the agent.
            return None
