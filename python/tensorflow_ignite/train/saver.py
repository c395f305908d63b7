"""Saving checkpoints into a directory that another process may take over at any moment, and removing old ones.

Each step that another process could notice is harmless for it, however late the step comes:

- The files of a checkpoint have a number of this process's own series.
- TensorFlow's file ``checkpoint`` is replaced only after a check that no newer process has written. If this process
  stands still after the check, it corrects the file when it continues: the file then names the newer process's
  checkpoint. If it is killed before, the next save of the newer process corrects the file. This package never decides
  by this file.
- Only checkpoints with lower numbers than the newest own one are removed.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from tensorflow_ignite.train.directory import (
    NAME,
    POINTER,
    CheckpointDirectory,
    DirectoryFiles,
    complete,
    number_of,
    numbers,
    pointer,
)
from tensorflow_ignite.train.fence import MARKER, SERIES, Fence


class CheckpointSaver:
    """Saves the checkpoints of one process.

    Attributes:
        found: The checkpoints in the directory when this process took it over.
        last_number: The number behind which this process saves.
    """

    def __init__(self, directory: str, files: DirectoryFiles, fence: Fence, keep: int) -> None:
        """Takes the directory, which must exist, over, and removes what killed processes have left unfinished.

        Raises:
            AttemptSupersededError: A later attempt of the same job writes there.
        """
        self._directory = directory.rstrip("/")
        self._files = files
        self._fence = fence
        self._keep = keep
        fence.claim()
        self.found = CheckpointDirectory(directory, files)
        names = files.names(self._directory)
        self.last_number = max([fence.series * SERIES, *self.found.numbers, *numbers(names)])
        fence.require_newest(self.last_number)
        for name in names:
            if _is_unfinished(name, fence.series):
                files.remove(f"{self._directory}/{name}")

    def begin_behind(self, number: int) -> None:
        """Makes TensorFlow's file name a restored checkpoint as the newest one."""
        kept = sorted(each for each in self.found.numbers if each <= number and each not in self.found.faults)
        self.found.warn_of_foreign_pointer(number, SERIES)
        if not self.found.names_as_newest(number, kept):
            self._name_as_newest(number, kept)

    def save(self, number: int, write: Callable[[str], object]) -> None:
        """Saves a checkpoint.

        Args:
            number: Its number, higher than all before.
            write: Writes the files of the checkpoint; its argument is what their names begin with.

        Raises:
            AttemptSupersededError: A later attempt of the job writes there.
            TensorFlowIgniteError: Another call, or another job, writes there.
        """
        self._fence.check()
        try:
            write(f"{self._directory}/{NAME}-{number}")
        except Exception:
            # A later process removes what an earlier one has not finished.
            self._fence.check()
            raise
        names = self._files.names(self._directory)
        self._fence.require_newest(max(numbers(names), default=0))
        whole = sorted(each for each in complete(names) if each <= number and each not in self.found.faults)
        kept = whole[-self._keep :]
        names = self._name_as_newest(number, kept)
        # The index first: without it, the other files are no checkpoint.
        for name in sorted(names, key=lambda name: not name.endswith(".index")):
            each = number_of(name)
            if each is not None and each <= number and each not in kept:
                self._files.remove(f"{self._directory}/{name}")

    def _name_as_newest(self, number: int, kept: list[int]) -> list[str]:
        """Makes TensorFlow's file name a checkpoint, unless a later process has saved one; returns the directory."""
        self._fence.check()
        while True:
            self._files.replace(f"{self._directory}/{POINTER}", pointer(number, kept), self._fence.series)
            names = self._files.names(self._directory)
            later = sorted(each for each in complete(names) if each // SERIES > self._fence.series)
            if not later or later[-1] == number:
                self._fence.require_newest(max(numbers(names), default=0))
                return names
            number, kept = later[-1], later


def _is_unfinished(name: str, series: int) -> bool:
    """Whether a name is of a save, or of a replaced file, that a process with an earlier series has not finished."""
    replaced = re.fullmatch(rf"(?:{MARKER}|{POINTER})\.(\d+)\.new", name)
    if replaced:
        return int(replaced[1]) < series
    number = number_of(name)
    return number is not None and number < series * SERIES and not re.search(r"\.(?:index|data-\d+-of-\d+)$", name)
