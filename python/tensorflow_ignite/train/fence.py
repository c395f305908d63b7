"""Keeps an earlier attempt that still runs from writing into the checkpoints of a later one.

The directory of the checkpoints holds a file ``attempt`` with the name of the process that may write there. Who
starts writes its own name into it; who saves looks first whether it still stands there. A process that was cut off
from its cluster, and has been replaced without knowing it, learns so at its next save.

The files of the cluster itself have a stronger fence, in the node: it compares the process with the job's row in the
very transaction that would make a file visible. The file stands there all the same, as it also tells apart two calls
in one job that were given the same directory.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Protocol

from tensorflow_ignite.errors import AttemptSupersededError, TensorFlowIgniteError

MARKER = "attempt"


class Files(Protocol):
    """What a fence needs of a file system."""

    def read(self, path: str) -> str | None:
        """The text of a file; None when there is none."""

    def replace(self, path: str, text: str) -> None:
        """Puts a file in the place of another, in one step, and makes its directory when that is missing."""


@dataclass(frozen=True)
class Writer:
    """Who writes checkpoints.

    Attributes:
        job: Id of the job; empty outside.
        attempt: Number of the attempt.
        incarnation: Number of the process within the attempt.
        run: Anything that tells this process from any other.
    """

    job: str
    attempt: int
    incarnation: int
    run: str

    def __str__(self) -> str:
        """For messages."""
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

    def __init__(self, directory: str, writer: Writer, files: Files) -> None:
        """Nothing is written yet; see :meth:`claim`."""
        self._directory = directory
        self._path = f"{directory.rstrip('/')}/{MARKER}"
        self._writer = writer
        self._files = files

    def claim(self) -> None:
        """Takes the directory over from whoever had it.

        Raises:
            AttemptSupersededError: A later attempt of the same job has it.
        """
        holder = self._holder()
        if holder is not None and holder.supersedes(self._writer):
            raise self._superseded(holder)
        self._files.replace(self._path, json.dumps(asdict(self._writer)))

    def check(self) -> None:
        """Makes sure, before a save, that the directory has not been taken over.

        Raises:
            AttemptSupersededError: By a later attempt of the same job.
            TensorFlowIgniteError: By another call in this job, another job, or a process outside any.
        """
        holder = self._holder()
        if holder is None:
            self.claim()
        elif holder != self._writer:
            raise self._superseded(holder)

    def _holder(self) -> Writer | None:
        text = self._files.read(self._path)
        if not text:
            return None
        try:
            told = json.loads(text)
            return Writer(str(told["job"]), int(told["attempt"]), int(told["incarnation"]), str(told["run"]))
        except (ValueError, KeyError, TypeError) as error:
            raise TensorFlowIgniteError(
                f"{self._path} does not tell who writes checkpoints into this directory: {error!r}. This package "
                "keeps a file of that name there, so that no two attempts write at once. Remove the file when it is "
                "not of this package, or choose another --checkpoint-directory"
            ) from error

    def _superseded(self, holder: Writer) -> TensorFlowIgniteError:
        what = (
            f"{self._writer} saves no checkpoint in {self._directory}: {holder} has taken the directory over. "
            "Only the last one to start there may write."
        )
        if holder.supersedes(self._writer):
            return AttemptSupersededError(f"{what} This process has been replaced, and can end")
        if holder.job == self._writer.job:
            return TensorFlowIgniteError(f"{what} Give each call a directory of its own: directory=...")
        return TensorFlowIgniteError(
            f"{what} Without --checkpoint-directory each job has one of its own; or name another one"
        )
