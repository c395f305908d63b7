"""Cleans up after a cluster whose owner was killed: ``python -m tensorflow_ignite.testing.guard PID DIRECTORY REMOVE``.

The owner cannot do it then. The nodes stop by themselves when it ends; what they leave, or a node that is suspended
and therefore cannot stop, goes here. The owner kills the guard after it has cleaned up itself.
"""

from __future__ import annotations

import os
import select
import shutil
import sys
from pathlib import Path

from tensorflow_ignite.testing.leaks import await_no_processes, kill_processes

GRACE = 10.0


def main(owner: int, directory: Path, remove: bool) -> None:
    """Waits for the owner's end, then for that of the cluster's processes, and removes the directory."""
    try:
        process = os.pidfd_open(owner)
    except ProcessLookupError:
        pass
    else:
        select.select([process], [], [])
    if await_no_processes(directory, GRACE):
        kill_processes(directory)
    if remove:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] == "remove")
