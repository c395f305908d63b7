"""Prevents that an earlier attempt, which still runs, writes into the checkpoints of a later attempt.

The directory of the checkpoints has a file ``attempt`` with the identity of the process that may write there. A
process writes its identity at its start, and compares the file with it before each save. So a process that was cut off
from its cluster and replaced gets an error at its next save.

Directories inside the cluster have a stronger fence, in the node: the transaction that publishes a file compares the
task with the job's row. The file ``attempt`` is used there too, since it also detects two calls in one job with the
same directory.
"""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, dataclass

from tensorflow_ignite.errors import AttemptSupersededError, DataLossError, TensorFlowIgniteError
from tensorflow_ignite.train.directory import DirectoryFiles

MARKER = "attempt"

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
        return bool(self.job) and self.job == other.job and self._order > other._order

    @property
    def _order(self) -> tuple[int, int]:
        return self.attempt, self.incarnation


class Fence:
    """The right of one process to write into a directory of checkpoints."""

    def __init__(self, directory: str, writer: Writer, files: DirectoryFiles) -> None:
        """Writes nothing yet; see :meth:`claim`."""
        self._directory = directory
        self._path = f"{directory.rstrip('/')}/{MARKER}"
        self._writer = writer
        self._files = files

    def claim(self) -> None:
        """Takes the directory over from its present owner.

        Raises:
            AttemptSupersededError: A later attempt of the same job owns it.
        """
        owner = self._owner()
        if owner is not None and owner.supersedes(self._writer):
            raise self._superseded(owner)
        self._files.replace(self._path, json.dumps(asdict(self._writer)))

    def check(self) -> None:
        """Checks, before a save, that no other process has taken the directory over.

        Raises:
            AttemptSupersededError: A later attempt of the same job has.
            TensorFlowIgniteError: Another call in this job, another job, or a process outside any job has.
        """
        owner = self._owner()
        if owner is None:
            self.claim()
        elif owner != self._writer:
            raise self._superseded(owner)

    def _owner(self) -> Writer | None:
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
            return Writer(str(record["job"]), int(record["attempt"]), int(record["incarnation"]), str(record["run"]))
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
