"""stay.py FOLDER LINES [CHILDREN]: prints, leaves stubborn children, and stays until the file FOLDER/go is there."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tensorflow_ignite.train import context

# They ignore SIGTERM, and their parent waits for none of them. The later ones are ever harder to find: in a session of
# their own, without an environment, both; the last one has lost its parent too.
STUBBORN = "trap '' TERM; echo $$ > \"$0\"; sleep 1000 & while :; do wait; done"
ORPHAN = 'setsid /bin/sh -c "$0" "$1" &'
LIMIT_SECONDS = 300

folder, lines = Path(sys.argv[1]), int(sys.argv[2])
here = context()
print("the first line", flush=True)
hidden: list[dict[str, Any]] = [
    {},
    {"start_new_session": True},
    {"env": {}},
    {"start_new_session": True, "env": {}},
    {},
]
for number, options in enumerate(hidden[: int(sys.argv[3]) if len(sys.argv) > 3 else 1]):
    path = folder / f"{here.role}-{here.index}-child-{number}.pid"
    if number < len(hidden) - 1:
        subprocess.Popen(["/bin/sh", "-c", STUBBORN, str(path)], **options)
    else:
        subprocess.run(["/bin/sh", "-c", ORPHAN, STUBBORN, str(path)], env={}, check=True)
    while not path.exists() or not path.read_text():
        time.sleep(0.01)
for number in range(lines):
    print(f"line {number} of {here.role} {here.index}", flush=True)
(folder / f"{here.role}-{here.index}.pid").write_text(str(os.getpid()))
deadline = time.monotonic() + LIMIT_SECONDS
while not (folder / "go").exists():
    if time.monotonic() > deadline:
        sys.exit("it was not released")
    time.sleep(0.05)
print("the last line", end="", flush=True)
