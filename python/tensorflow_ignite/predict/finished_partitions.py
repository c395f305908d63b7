"""The partitions of a job that are finished, so that no later attempt predicts their rows again.

Each process of a job has one file, which it replaces whenever partitions are finished. The file has the number of rows
that the cache of results then had in each finished partition. A partition that has lost all its copies is empty. So a
partition with fewer rows than in the file is not finished.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping

from tensorflow_ignite.errors import StoredFileNotFoundError
from tensorflow_ignite.storage.files import Files
from tensorflow_ignite.task import Task


class FinishedPartitions:
    """The finished partitions of a job. Safe to use from several threads."""

    def __init__(self, files: Files, here: Task) -> None:
        """Reads nothing.

        Args:
            files: The files of the cluster.
            here: The task of this process.
        """
        self._files = files
        self._directory = f"/jobs/{here.job_id}/finished"
        self._name = f"{here.attempt}.{here.incarnation}.{here.index}.json"
        self._lock = threading.Lock()
        self._own: dict[int, int] = {}

    def before(self, rows: Mapping[int, int]) -> dict[int, int]:
        """The partitions that an earlier process has finished, and whose results are all there, with their number.

        Args:
            rows: Rows that the cache of results has now, by partition.
        """
        return {number: count for number, count in self._recorded().items() if rows.get(number, -1) >= count}

    def add(self, rows: Mapping[int, int]) -> None:
        """Records partitions whose results are stored, with their rows in the cache of results."""
        with self._lock:
            self._own.update(rows)
            content = json.dumps({str(number): count for number, count in sorted(self._own.items())})
            self._files.write_file(f"{self._directory}/{self._name}", content.encode())

    def _recorded(self) -> dict[int, int]:
        try:
            infos = self._files.list(self._directory)
        except StoredFileNotFoundError:
            return {}
        found: dict[int, int] = {}
        # By attempt and incarnation: a later process may have predicted the rows of lost results again.
        for info in sorted(infos, key=lambda info: [int(part) for part in info.name.split(".")[:3]]):
            content = json.loads(self._files.read_file(info.path))
            found.update({int(number): count for number, count in content.items()})
        return found
