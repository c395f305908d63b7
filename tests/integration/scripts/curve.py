"""Reports losses; the first attempt does six steps and crashes, the second one resumes after the fourth."""

import sys
import time

import tensorflow_ignite as tfi
from tensorflow_ignite.train.progress import report_checkpoint

context = tfi.train.context()
again = context.attempt > 1
if again:
    report_checkpoint(resumed_from_step=4)
for step in range(5, 9) if again else range(1, 7):
    # Points of a curve are at least 0.2 s apart.
    time.sleep(0.25)
    tfi.train.report(step, 8, loss=step * 10 + context.index if again else step)
sys.exit(0 if again or context.index else 1)
