"""The checkpoints in a directory: which there are, and which of them are whole.

Their files decide, and among whole checkpoints the highest number. TensorFlow's file ``checkpoint``, which names the
newest one, is only a hint: it may be lost when the checkpoints are not. No file is trusted to be readable because its
name is there.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator
from typing import Protocol

from tensorflow_ignite.errors import DataLossError

NAME = "ckpt"
POINTER = "checkpoint"

_log = logging.getLogger(__name__)


class DirectoryFiles(Protocol):
    """The file operations that checkpoints need. An error that is not named here means that nothing is known."""

    def names(self, directory: str) -> list[str]:
        """Returns the names of a directory's entries."""

    def read(self, path: str) -> str | None:
        """Returns the text of a file; None if it does not exist.

        Raises:
            DataLossError: The file exists, and its content is lost or damaged.
        """

    def replace(self, path: str, text: str, series: int) -> None:
        """Writes or replaces a file in one step; makes its directory if it is missing.

        Args:
            path: Path of the file.
            text: Its new content.
            series: Number of the caller's series, so that two processes never write one temporary file.
        """

    def remove(self, path: str) -> None:
        """Removes a file, or a directory with all that is in it, if it exists."""

    def fault(self, path: str) -> str:
        """Returns why an existing file cannot be read whole; empty if it can be."""


class CheckpointDirectory:
    """The checkpoints ``ckpt-N`` of a directory, as they are when this object is made.

    Attributes:
        numbers: The numbers of the checkpoints, newest first, whole or not.
        faults: For each checkpoint that `whole` has passed over: its number, and what it lacks.
    """

    def __init__(self, directory: str, files: DirectoryFiles) -> None:
        """Lists the directory, which must exist.

        Raises:
            Exception: The directory cannot be listed.
        """
        self._directory = directory.rstrip("/")
        self._files = files
        self._names = {name.rstrip("/") for name in files.names(self._directory)}
        try:
            self._pointer = files.read(f"{self._directory}/{POINTER}") or ""
        except DataLossError as error:
            self._pointer = ""
            _log.warning(
                "tensorflow_ignite: %s/%s, which names the newest checkpoint, cannot be read: %s. The names in the "
                "directory are used instead",
                self._directory,
                POINTER,
                error,
            )
        self.numbers = sorted(complete(self._names).union(listed(self._pointer)), reverse=True)
        self.faults: dict[int, str] = {}

    def path(self, number: int) -> str:
        """The prefix of the files of a checkpoint."""
        return f"{self._directory}/{NAME}-{number}"

    def whole(self) -> Iterator[int]:
        """Yields the numbers of whole checkpoints, newest first; records and logs the others."""
        for number in self.numbers:
            fault = self.fault(number)
            if fault:
                self.reject(number, fault)
            else:
                yield number

    def fault(self, number: int) -> str:
        """Returns what a checkpoint lacks; empty if every byte of it can be read."""
        index = f"{NAME}-{number}.index"
        if index not in self._names:
            return f"{index} does not exist"
        shards = shards_of(number, self._names)
        if not shards:
            return f"not all files {NAME}-{number}.data-* exist"
        for name in (index, *shards):
            fault = self._files.fault(f"{self._directory}/{name}")
            if fault:
                return f"{name} cannot be read: {fault}"
        return ""

    def reject(self, number: int, fault: str) -> None:
        """Records and logs that a checkpoint is not restored."""
        self.faults[number] = fault
        _log.warning("tensorflow_ignite: the checkpoint %s is passed over: %s", self.path(number), fault)

    def warn_of_foreign_pointer(self, restored: int, series: int) -> None:
        """Logs if TensorFlow's file names a checkpoint with a plain number, which another program wrote later.

        Args:
            restored: Number of the restored checkpoint.
            series: Lowest number of a checkpoint that this package writes.
        """
        named = newest(self._pointer)
        if 0 < named < series <= restored:
            _log.warning(
                "tensorflow_ignite: %s/%s names %s-%d as the newest checkpoint, but %s-%d is restored: the highest "
                "number decides. To continue from %s-%d, move the files of the higher numbers out of the directory",
                *(self._directory, POINTER, NAME, named, NAME, restored, NAME, named),
            )

    def names_as_newest(self, number: int, kept: list[int]) -> bool:
        """Whether TensorFlow's file names this checkpoint as the newest one, and lists these."""
        return newest(self._pointer) == number and listed(self._pointer) == kept


def number_of(name: str) -> int | None:
    """Returns the number of the checkpoint to which a file or a directory of a save belongs; None: to none."""
    match = re.fullmatch(rf"{NAME}-(\d+)(?:\.index|\.data-\d+-of-\d+|_temp/?|\.part-.*)", name)
    return int(match[1]) if match else None


def numbers(names: Iterable[str]) -> set[int]:
    """Returns the numbers of all checkpoints, finished or not."""
    return {number for number in map(number_of, names) if number is not None}


def complete(names: Iterable[str]) -> set[int]:
    """Returns the numbers of the checkpoints with an index, which TensorFlow writes last."""
    found = (re.fullmatch(rf"{NAME}-(\d+)\.index", name) for name in names)
    return {int(match[1]) for match in found if match}


def shards_of(number: int, names: Iterable[str]) -> list[str]:
    """Returns the names of a checkpoint's data files; empty if one is missing."""
    shards: dict[int, dict[int, str]] = {}
    for name in names:
        match = re.fullmatch(rf"{NAME}-{number}\.data-(\d+)-of-(\d+)", name)
        if match:
            shards.setdefault(int(match[2]), {})[int(match[1])] = name
    for total, present in sorted(shards.items()):
        if len(present) == total:
            return [present[shard] for shard in sorted(present)]
    return []


def pointer(number: int, kept: Iterable[int]) -> str:
    """Returns the text of TensorFlow's file ``checkpoint``."""
    lines = [f'model_checkpoint_path: "{NAME}-{number}"']
    lines += [f'all_model_checkpoint_paths: "{NAME}-{each}"' for each in kept]
    return "\n".join(lines) + "\n"


def listed(text: str) -> list[int]:
    """Returns the numbers of all checkpoints that a file ``checkpoint`` names, in its order."""
    return [int(match) for match in re.findall(rf'(?m)^all_model_checkpoint_paths: ".*?{NAME}-(\d+)"$', text)]


def newest(text: str) -> int:
    """Returns the number of the newest checkpoint that a file ``checkpoint`` names; 0: none."""
    match = re.search(rf'(?m)^model_checkpoint_path: ".*?{NAME}-(\d+)"$', text)
    return int(match[1]) if match else 0
