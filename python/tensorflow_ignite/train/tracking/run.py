"""What each library does for a tracker."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from tensorflow_ignite.errors import TensorFlowIgniteError

#: How a process, or a job, ends; ``"restarting"``: the job has another attempt.
Outcome = Literal["finished", "failed", "stopped", "restarting"]

#: Names of tags begin with it.
PREFIX = "tensorflow_ignite."


@dataclass(frozen=True)
class RunSource:
    """What a run is about: a job with its attempts, or a process outside any job.

    Attributes:
        job: Id of the job; empty outside.
        name: Name of the run.
        attempt: Number of the attempt; 0 outside, and where the job is over.
        note: The attempt in a few words.
        parameters: The options of the job, and versions.
    """

    job: str
    name: str
    attempt: int
    note: str
    parameters: Mapping[str, str]


class TrackedRun(Protocol):
    """A run that is open in this process; its methods are called by one thread at a time."""

    @property
    def native(self) -> Any:
        """The run as its library has it."""

    def last_step(self, name: str) -> int | None:
        """The last step that earlier attempts have recorded for a metric; None: none."""

    def write(self, figures: Sequence[tuple[int, float, Mapping[str, float]]]) -> None:
        """Records metrics: a step, seconds since 1970, and values by name."""

    def note_model(self, name: str, version: str) -> None:
        """Records a model that the job has made."""

    def end(self, outcome: Outcome) -> None:
        """Ends the run in this process."""


@contextlib.contextmanager
def importing(library: str, package: str) -> Iterator[None]:
    """Imports a library within the block.

    Raises:
        TensorFlowIgniteError: It is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != library:
            raise
        raise TensorFlowIgniteError(
            f'tracker("{library}") cannot begin: this Python has no package {library}. The tasks of a job need it on '
            f"each node that may run the first worker. Install it there: pip install {package}; or submit the job with "
            "--requirements"
        ) from None
