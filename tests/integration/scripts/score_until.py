"""Predicts twice the id. In the environment are FOLDER and ROWS: after ROWS rows a task waits until FOLDER/go is there.

Each task appends the ids that it has predicted to a file of its own in FOLDER.
"""

import os
import sys
import time
from pathlib import Path

LIMIT_SECONDS = 300

folder = Path(os.environ["FOLDER"])
left = int(os.environ["ROWS"])


def predict(batch):
    global left
    left -= len(batch["id"])
    deadline = time.monotonic() + LIMIT_SECONDS
    while left < 0 and not (folder / "go").exists():
        if time.monotonic() > deadline:
            sys.exit("it was not released")
        time.sleep(0.02)
    with (folder / f"{os.getpid()}.ids").open("a") as ids:
        ids.writelines(f"{number}\n" for number in batch["id"])
    return {"twice": 2 * batch["id"]}
