"""Prevents that an earlier attempt, which still runs, writes into the checkpoints of a later attempt.

The directory of the checkpoints has a file ``attempt`` with the identity of the process that may write there. A
process writes its identity at its start, and compares the file with it before each save, and again before it replaces
the file that names the newest checkpoint. So a process that was cut off from its cluster and replaced gets an error.

A process may stand still between this comparison and its next write. Therefore two processes never use the same name
for a file of a checkpoint: each process has its own series of numbers, and a later process has a later series. So a
late write of an earlier process never has a higher number than the files of a later process.

Directories inside the cluster have a stronger fence, in the node: the transaction that publishes a file compares the
task with the job. The file ``attempt`` is used there too, since it also detects two calls in one job with the same
directory.
"""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, dataclass

from tensorflow_ignite.errors import AttemptSupersededError, DataLossError, TensorFlowIgniteError
from tensorflow_ignite.train.directory import NAME, DirectoryFiles, numbers

MARKER = "attempt"

#: Numbers in a series, for the checkpoints of one process.
SERIES = 10**8
#: Series of one attempt: the first process of a task and those that replace it.
_ATTEMPT = 10**4

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Writer:
    """Identity of a process that writes checkpoints.

    Attributes:
        job: Id of the job; empty outside a job.
        attempt: Number of the attempt.
        incarnation: Number of the process within the attempt.
        run: A text that is unique for each process.
    """

    job: str
    attempt: int
    incarnation: int
    run: str

    def __str__(self) -> str:
        """Returns the identity for messages."""
        if not self.job:
            return f"a process outside any job ({self.run})"
        return f"attempt {self.attempt} (process {self.incarnation}) of job {self.job}"

    def supersedes(self, other: Writer) -> bool:
        """Whether this is a later process of the same job."""
        return self.is_of_job(other) and self.order > other.order

    def is_of_job(self, other: Writer) -> bool:
        """Whether both belong to one job."""
        return bool(self.job) and self.job == other.job

    @property
    def order(self) -> int:
        """Counts the processes of a job, in the order of their starts."""
        return max(0, self.attempt - 1) * _ATTEMPT + self.incarnation


@dataclass(frozen=True)
class _Owner:
    """The content of the file ``attempt``; without a series if an earlier version of this package has written it."""

    writer: Writer
    series: int | None


class Fence:
    """The right of one process to write into a directory of checkpoints.

    Attributes:
        series: Number of the process's series; it begins behind the number ``series * SERIES``.
    """

    def __init__(self, directory: str, writer: Writer, files: DirectoryFiles) -> None:
        """Writes nothing yet; see :meth:`claim`."""
        self._directory = directory.rstrip("/")
        self._path = f"{self._directory}/{MARKER}"
        self._writer = writer
        self._files = files
        self.series = 0

    def claim(self) -> None:
        """Takes the directory, which must exist, over from its present owner.

        Raises:
            AttemptSupersededError: A later attempt of the same job owns it, or has written into it.
        """
        owner = self._owner()
        if owner is not None and owner.writer.supersedes(self._writer):
            raise self._superseded(owner.writer)
        highest = max(numbers(self._files.names(self._directory)), default=-1)
        self.series = self._next_series(owner, highest)
        self.require_newest(highest)
        self._write()

    def check(self) -> None:
        """Checks that no other process has taken the directory over.

        Raises:
            AttemptSupersededError: A later attempt of the same job has.
            TensorFlowIgniteError: Another call in this job, another job, or a process outside any job has.
        """
        owner = self._owner()
        if owner is not None and owner.writer == self._writer:
            return
        if owner is not None and not self._is_earlier(owner):
            raise self._superseded(owner.writer)
        if owner is not None:
            _log.warning(
                "tensorflow_ignite: %s has written %s late, and has been replaced; the file is written anew",
                owner.writer,
                self._path,
            )
        self._write()

    def require_newest(self, number: int) -> None:
        """Checks that a checkpoint in the directory is not of a later process.

        Raises:
            AttemptSupersededError: It is.
        """
        if number // SERIES > self.series:
            raise AttemptSupersededError(
                f"{self._writer} saves no checkpoint in {self._directory}: a later process has written {NAME}-{number} "
                "there. Only the process that started there last may write. This process has been replaced: end it"
            )

    def _next_series(self, owner: _Owner | None, highest: int) -> int:
        """All processes of a job count from the same series, also if they have not read each other's files."""
        if owner is not None and owner.series is not None and owner.writer.is_of_job(self._writer):
            return owner.series - owner.writer.order + self._writer.order
        used = highest // SERIES
        if owner is not None:
            used = max(used, owner.writer.order if owner.series is None else owner.series)
        return (used // _ATTEMPT + 1) * _ATTEMPT + self._writer.order

    def _is_earlier(self, owner: _Owner) -> bool:
        """Whether the owner has begun before this process, and has written its identity late."""
        if self._writer.is_of_job(owner.writer):
            return self._writer.supersedes(owner.writer)
        return owner.series is not None and owner.series < self.series

    def _write(self) -> None:
        record = {**asdict(self._writer), "series": self.series}
        self._files.replace(self._path, json.dumps(record), self.series)

    def _owner(self) -> _Owner | None:
        try:
            text = self._files.read(self._path)
        except DataLossError as error:
            # The process that owned the directory finds the next owner's identity at its next save.
            _log.warning("tensorflow_ignite: %s is written anew, since it cannot be read: %s", self._path, error)
            return None
        if not text:
            return None
        try:
            record = json.loads(text)
            writer = Writer(str(record["job"]), int(record["attempt"]), int(record["incarnation"]), str(record["run"]))
            return _Owner(writer, int(record["series"]) if "series" in record else None)
        except (ValueError, KeyError, TypeError) as error:
            raise TensorFlowIgniteError(
                f"{self._path} does not name the process that writes checkpoints into this directory: {error!r}. This "
                "package keeps a file of that name there, so that no two attempts write at once. Remove the file if "
                "another program has written it, or choose another --checkpoint-directory"
            ) from error

    def _superseded(self, owner: Writer) -> TensorFlowIgniteError:
        event = (
            f"{self._writer} saves no checkpoint in {self._directory}: {owner} has taken the directory over. "
            "Only the process that started there last may write."
        )
        if owner.supersedes(self._writer):
            return AttemptSupersededError(f"{event} This process has been replaced: end it")
        if owner.job == self._writer.job:
            return TensorFlowIgniteError(f"{event} Give each call a directory of its own: directory=...")
        return TensorFlowIgniteError(
            f"{event} Without --checkpoint-directory each job has one of its own. Leave it out, or name another "
            "directory"
        )
