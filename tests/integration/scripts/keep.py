"""keep.py FOLDER: keeps a file among the job's checkpoints, prints where, and stays until the file FOLDER/go is there.

The first worker writes a file ckpt-ATTEMPT, then its context to FOLDER/context-ATTEMPT.json. No TensorFlow.
"""

import os
import sys
import time
from pathlib import Path

from tensorflow_ignite.storage.files import Files
from tensorflow_ignite.storage.paths import parse
from tensorflow_ignite.task import CONTEXT_VARIABLE
from tensorflow_ignite.train.context import context

LIMIT_SECONDS = 300

folder = Path(sys.argv[1])
here = context()
if here.index == 0:
    place = parse(here.checkpoint_directory)
    with Files.at(place.addresses).open_writer(f"{place.path}/ckpt-{here.attempt}", parents=True) as writer:
        writer.write(f"of attempt {here.attempt}".encode())
    report = folder / f"context-{here.attempt}.json"
    report.with_suffix(".part").write_text(Path(os.environ[CONTEXT_VARIABLE]).read_text())
    report.with_suffix(".part").rename(report)
print(f"{here.task} keeps its checkpoints in {here.checkpoint_directory}", flush=True)
deadline = time.monotonic() + LIMIT_SECONDS
while not (folder / "go").exists():
    if time.monotonic() > deadline:
        sys.exit("it was not released")
    time.sleep(0.05)
