"""steps.py FOLDER: counts steps, and goes on in each attempt where the last one was, until the file FOLDER/go is there.

Worker 0 keeps its step in FOLDER/step. Each attempt begins there, as with a checkpoint, and reports each step.
"""

import os
import sys
import time
from pathlib import Path

import tensorflow_ignite as tfi

STEP_SECONDS = 0.25

folder = Path(sys.argv[1])
kept, go = folder / "step", folder / "go"
context = tfi.train.context()
step = int(kept.read_text()) if kept.exists() else 0
print(f"attempt {context.attempt} begins after step {step}", flush=True)
while not go.exists():
    time.sleep(STEP_SECONDS)
    step += 1
    if context.index == 0:
        temporary = folder / f"step-{os.getpid()}"
        temporary.write_text(str(step))
        temporary.rename(kept)
    tfi.train.report(step)
