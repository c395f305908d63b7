"""Cleans up when a cluster's owner was killed: ``python -m tensorflow_ignite.testing.cleanup PID DIRECTORY REMOVE``.

The nodes stop by themselves when their owner ends; this process removes what they leave, and kills a suspended node,
which cannot stop. An owner that closes its cluster kills this process at the end.
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
    """Waits for the end of the owner, then for the end of the cluster's processes, and removes the directory."""
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
