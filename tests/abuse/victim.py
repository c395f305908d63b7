"""victim.py FOLDER CACHE: reads its rows again and again, until the file FOLDER/go is there. No TensorFlow.

Each pass adds a line to FOLDER/ticks-INDEX: the number of its rows, and the sum of their ids; and it is a step, since a
task without one, that mostly sleeps, stalls after five minutes. An error ends the task.
"""

import itertools
import sys
import time
from pathlib import Path

import tensorflow_ignite as tfi
from tensorflow_ignite.train import context, report

PAUSE_SECONDS = 0.2
LIMIT_SECONDS = 3600

folder, cache = Path(sys.argv[1]), sys.argv[2]
partitions = context(cache=cache).own_assignment.partitions
deadline = time.monotonic() + LIMIT_SECONDS
with (folder / f"ticks-{context().index}").open("a", buffering=1) as ticks:
    for step in itertools.count(1):
        if (folder / "go").exists():
            break
        if time.monotonic() > deadline:
            sys.exit("nobody let it go")
        rows = tfi.read_table(cache, columns=["id"], partitions=partitions)
        print(rows.num_rows, sum(rows.column("id").to_pylist()), file=ticks)
        report(step)
        time.sleep(PAUSE_SECONDS)
