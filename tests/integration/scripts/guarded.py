"""What a task may do where callers are asked who they are: its token opens what its job names, and nothing else.

usage: guarded.py DIRECTORY [fail]
"""

import json
import sys
import time
from pathlib import Path

import tensorflow_ignite as tfi
from tensorflow_ignite import errors
from tensorflow_ignite.storage.files import Files
from tensorflow_ignite.storage.paths import parse
from tensorflow_ignite.task import task_token

context = tfi.train.context()
place = parse(f"{context.checkpoint_directory}/of-{context.index}")
files = Files.at((context.node_address,))


def refused(call) -> str:
    """The class of the error that a call raises."""
    try:
        call()
    except errors.TensorFlowIgniteError as error:
        return type(error).__name__
    return "nothing"


def write(path: str) -> None:
    with files.open_writer(path, parents=True) as writer:
        writer.write(b"kept")


def count(cache: str) -> int:
    return tfi.read_table(cache, options=tfi.ReadOptions(address=context.node_address)).num_rows


def joined(cache: str) -> int:
    """Rows of the job's cache, each with those of another cache that have its key."""
    sql = f"SELECT o.x AS x, n.x AS other FROM Own o LEFT JOIN {cache} n ON n._key = o._key"
    return tfi.read_table("own", sql=sql, options=tfi.ReadOptions(address=context.node_address)).num_rows


write(place.path)
with tfi.connect(context.node_address) as client:
    found = {
        "rows": [count(context.cache), count("named")],
        "joined": joined("Named"),
        "jobs": [job.id for job in client.jobs()],
        "salaries": refused(lambda: count("salaries")),
        "salaries joined": refused(lambda: joined("Salaries")),
        "named directory": refused(lambda: write(f"/models/trips/{context.index}")),
        "another model": refused(lambda: write("/models/other")),
        "elsewhere": refused(lambda: write("/elsewhere")),
        "stop": refused(lambda: client.job(context.job_id).stop(timeout=1)),
        "submit": refused(
            lambda: client.submit(__file__, cache=context.cache, access=tfi.Access(allow_plaintext=True))
        ),
        "token": task_token()[0],
    }
(Path(sys.argv[1]) / f"guarded-{context.index}.json").write_text(json.dumps(found))
print(f"task {context.index} has looked around", flush=True)
if sys.argv[2:] == ["fail"]:
    # The first failure ends the other tasks.
    while len([*Path(sys.argv[1]).glob("guarded-*.json")]) < context.num_workers:
        time.sleep(0.05)
    raise RuntimeError("broken on purpose")
