"""Counts steps and logs them to a tracker; a later attempt goes on after step 4.

usage: tracked.py LIBRARY DIRECTORY

Writes its process id to DIRECTORY/process-ATTEMPT. The first attempt does six steps, and waits then. A second one does
the rest, waits for DIRECTORY/go, and raises an error if the file has one.
"""

import os
import sys
import time
from pathlib import Path

import tensorflow_ignite as tfi
from tensorflow_ignite.train.progress import report_checkpoint

library, folder = sys.argv[1], Path(sys.argv[2])
context = tfi.train.context()
tracker = tfi.train.tracker(library, experiment="steps")
if not context.is_chief:
    assert library not in sys.modules
    tracker.log(1, loss=-1.0)
again = context.attempt > 1
report_checkpoint(resumed_from_step=4 if again else 0)
for step in range(5, 11) if again else range(1, 7):
    # A value says which attempt has recorded it.
    tracker.log(step, loss=100 * context.attempt + step)
    tfi.train.report(step, 10)
if context.is_chief:
    (folder / f"process-{context.attempt}").write_text(str(os.getpid()))
while not (again and (folder / "go").exists()):
    time.sleep(0.05)
if (folder / "go").read_text():
    raise RuntimeError("as asked")
