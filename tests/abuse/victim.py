"""victim.py FOLDER CACHE: reads its rows again and again, until the file FOLDER/go is there. No TensorFlow.

Each pass adds a line to FOLDER/ticks-INDEX: the number of its rows, and the sum of their ids; and it is a step, since a
task without one, that mostly sleeps, stalls after five minutes. A node that answers late is called again, as long as
the test waits for a pass; any other error ends the task.
"""

import itertools
import sys
import time
from pathlib import Path

import tensorflow_ignite as tfi
from tensorflow_ignite import errors
from tensorflow_ignite.train import context, report

PAUSE_SECONDS = 0.2
LIMIT_SECONDS = 3600
# As `arena.SECONDS`. A connection on which one ping is not answered within 4 s is given up, and its stream ends.
LATE_SECONDS = 60
LATE = ("ping timeout", "watchdog", "stopped answering")

folder, cache = Path(sys.argv[1]), sys.argv[2]
partitions = context(cache=cache).own_assignment.partitions
deadline = time.monotonic() + LIMIT_SECONDS


def read() -> list[int]:
    """The ids of the rows of this task."""
    late = time.monotonic() + LATE_SECONDS
    while True:
        try:
            return tfi.read_table(cache, columns=["id"], partitions=partitions).column("id").to_pylist()
        except (errors.ConnectionFailedError, errors.RequestTimeoutError) as error:
            is_late = isinstance(error, errors.RequestTimeoutError) or any(sign in str(error) for sign in LATE)
            if not is_late or time.monotonic() > late:
                raise
            print(f"read again: {error}", flush=True)
            time.sleep(PAUSE_SECONDS)


with (folder / f"ticks-{context().index}").open("a", buffering=1) as ticks:
    for step in itertools.count(1):
        if (folder / "go").exists():
            break
        if time.monotonic() > deadline:
            sys.exit("it was not released")
        ids = read()
        print(len(ids), sum(ids), file=ticks)
        report(step)
        time.sleep(PAUSE_SECONDS)
