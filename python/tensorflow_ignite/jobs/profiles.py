"""The profile of a task: requested from the cluster, recorded and stored by the task, read here."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tensorflow_ignite.errors import RequestTimeoutError, TensorFlowIgniteError
from tensorflow_ignite.spec import TaskProfile
from tensorflow_ignite.storage import paths
from tensorflow_ignite.storage.files import Files

# A task needs this much longer than the profile takes: to start the profiler, to write the trace, and to store it.
_WAIT_SECONDS = 60.0
_POLL_SECONDS = 0.3
# Between observations of the state of the job.
_CHECK_SECONDS = 2.0


@dataclass(frozen=True)
class Operation:
    """The calls of one operation.

    Attributes:
        name: ``NAME:TYPE`` of TensorFlow's operation, ``TYPE`` if it is outside a function; or the name of a kernel of
            an accelerator.
        device: ``CPU``, or the accelerator, such as ``GPU:0``.
        calls: Number of calls.
        seconds: Seconds of all calls together.
        share: Share of these seconds in the seconds of all operations of the device.
    """

    name: str
    device: str
    calls: int
    seconds: float
    share: float


@dataclass(frozen=True)
class Profile:
    """Where the time of a task went.

    Attributes:
        task: Name of the task, such as ``worker-0``.
        seconds: Recorded time.
        input_wait: The share of this time, 0 to 1, in which a step waited for its batch; None: no step fetched one.
        operations: Those with the most seconds, the longest first; none: nothing was computed, or JAX has recorded.
        directory: The directory of the trace, ``ignite://``, for TensorBoard's profiler.
        profile_id: Name of this directory.
    """

    task: str
    seconds: float
    input_wait: float | None
    operations: tuple[Operation, ...]
    directory: str
    profile_id: str

    @property
    def trace(self) -> str:
        """The address of the trace."""
        return f"{self.directory}/{self.task}.xplane.pb"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)


def await_profile(
    files: Files, requested: TaskProfile, job_id: str, seconds: float, goes_on: Callable[[], bool]
) -> Profile:
    """Waits until the task has stored its profile.

    Args:
        files: Of the cluster.
        requested: The answer to the request.
        job_id: The job, for errors.
        seconds: Length of the profile.
        goes_on: Returns whether the task still runs.

    Raises:
        RequestTimeoutError: It did not come within the length of the profile and 60 s.
        TensorFlowIgniteError: The task could not record it, or has ended.
    """
    path = paths.parse(f"{requested.directory}/{requested.name}.json").path
    end = time.monotonic() + seconds + _WAIT_SECONDS
    checked_at, ended = time.monotonic(), False
    while (text := files.read_if_there(path)) is None:
        if ended:
            raise TensorFlowIgniteError(
                f"{requested.name} of job {job_id} has ended before its profile was stored. A task is profiled while "
                f"it runs. See: tensorflow-ignite describe {job_id}"
            )
        if time.monotonic() > end:
            raise RequestTimeoutError(
                f"no profile of {requested.name} of job {job_id} arrived within {seconds + _WAIT_SECONDS:g} s. A task "
                "is profiled if its script has imported tensorflow_ignite, and TensorFlow or JAX; after the profiles "
                "that were requested before. See: "
                f"tensorflow-ignite describe {job_id}"
            )
        time.sleep(_POLL_SECONDS)
        if time.monotonic() - checked_at > _CHECK_SECONDS:
            checked_at, ended = time.monotonic(), not goes_on()
    summary = json.loads(text)
    if "error" in summary:
        raise TensorFlowIgniteError(
            f"{requested.name} of job {job_id} was not profiled: {summary['error']}. A process records one profile at "
            "a time, by the profiler of TensorFlow or of JAX. See the script"
        )
    operations = tuple(Operation(**each) for each in summary.get("operations", ()))
    return Profile(
        requested.name,
        summary["seconds"],
        summary.get("input_wait"),
        operations,
        requested.directory,
        requested.profile_id,
    )


def write_trace(files: Files, profile: Profile, folder: Path) -> Path:
    """Copies the trace into a folder, where ``tensorboard --logdir FOLDER`` finds it; returns the file."""
    target = folder / "plugins" / "profile" / profile.profile_id / f"{profile.task}.xplane.pb"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(files.read_file(paths.parse(profile.trace).path))
    return target
