"""The GPUs of this node: found once, and each assigned to one task at a time."""

from __future__ import annotations

import logging
import os
import subprocess
from collections.abc import Iterable

from tensorflow_ignite.agent.rejection import RESOURCE_EXHAUSTED, RequestRejected
from tensorflow_ignite.v1.job_pb2 import Gpu

#: Ids of the GPUs that tasks may use, separated by commas; empty: none; not set: all that the driver lists.
GPUS_VARIABLE = "TENSORFLOW_IGNITE_GPUS"
#: What programs of CUDA read. If the node itself is limited to some GPUs, so are its tasks.
VISIBLE_VARIABLE = "CUDA_VISIBLE_DEVICES"
#: How CUDA counts the GPUs that have a number in place of a UUID.
ORDER_VARIABLE = "CUDA_DEVICE_ORDER"
_QUERY = ("nvidia-smi", "--query-gpu=uuid,name,memory.total", "--format=csv,noheader,nounits")
_QUERY_SECONDS = 20
_MEBIBYTE = 1 << 20

_log = logging.getLogger(__name__)


def find_gpus() -> list[Gpu]:
    """Returns the GPUs that tasks of this node may use."""
    for variable in (GPUS_VARIABLE, VISIBLE_VARIABLE):
        ids = os.environ.get(variable)
        if ids is not None:
            return [Gpu(id=id) for id in dict.fromkeys(part.strip() for part in ids.split(",")) if id and id != "-1"]
    return _listed()


def _listed() -> list[Gpu]:
    """The GPUs that the driver lists."""
    try:
        run = subprocess.run(_QUERY, capture_output=True, text=True, timeout=_QUERY_SECONDS, check=True)
    except FileNotFoundError:
        return []
    except (OSError, subprocess.SubprocessError) as error:
        detail = getattr(error, "stdout", "") or getattr(error, "stderr", "") or ""
        _log.warning("no GPU is used, since they cannot be listed: %s %s", error, str(detail).strip())
        return []
    return [_parse(line) for line in run.stdout.splitlines() if line.strip()]


def used_bytes(ids: Iterable[str]) -> int:
    """Returns the used memory of these GPUs together, of all processes; 0: the driver does not say."""
    command = ("nvidia-smi", "-i", ",".join(ids), "--query-gpu=memory.used", "--format=csv,noheader,nounits")
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=_QUERY_SECONDS, check=True)
        return sum(int(line) for line in run.stdout.split()) * _MEBIBYTE
    except (OSError, subprocess.SubprocessError, ValueError):
        return 0


def _parse(line: str) -> Gpu:
    uuid, name, mebibytes = (part.strip() for part in line.split(",", 2))
    return Gpu(id=uuid, name=name, memory_bytes=int(mebibytes) * _MEBIBYTE if mebibytes.isdecimal() else 0)


class Gpus:
    """Assigns GPUs to tasks. All methods run on one event loop."""

    def __init__(self, found: Iterable[Gpu] = ()) -> None:
        """All are free.

        Args:
            found: The GPUs of this node.
        """
        self._free = [gpu.id for gpu in found]
        self._total = len(self._free)
        self._assigned: dict[str, tuple[str, ...]] = {}

    def assign(self, task: str, count: int) -> tuple[str, ...]:
        """Assigns GPUs to a task, until `release`.

        Args:
            task: Its path.
            count: The number of GPUs; 0: none.

        Returns:
            Their ids, as in CUDA_VISIBLE_DEVICES.

        Raises:
            RequestRejected: RESOURCE_EXHAUSTED: fewer are free.
        """
        if count > len(self._free):
            holders = ", ".join(f"{holder} has {len(ids)}" for holder, ids in self._assigned.items() if ids)
            raise RequestRejected(
                RESOURCE_EXHAUSTED,
                f"task {task} was not started: it needs {count} GPUs, and {len(self._free)} of this node's "
                f"{self._total} are free{f' ({holders})' if holders else ''}. A GPU is free again when no process of "
                "its task is left. Start a new attempt",
            )
        ids, self._free = tuple(self._free[:count]), self._free[count:]
        self._assigned[task] = ids
        return ids

    def release(self, task: str) -> None:
        """Makes the GPUs of a task free: no process of it is left."""
        self._free = sorted([*self._free, *self._assigned.pop(task, ())])
