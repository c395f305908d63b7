"""A training without TensorFlow: reads its rows once, then counts steps, and goes on where an earlier attempt was.

usage: steps.py DIRECTORY STEPS SECONDS_A_STEP

Worker 0 keeps the step in the cluster's files, where the job's checkpoints belong; every worker writes the keys that it
has read to DIRECTORY/keys-ATTEMPT-INDEX.json. Nobody does the last step while there is a file DIRECTORY/hold. Worker 0
removes a file DIRECTORY/save and reports a checkpoint to the job.
"""

import json
import os
import sys
import time
from pathlib import Path

import pyarrow.flight as flight

import tensorflow_ignite as tfi
from tensorflow_ignite.storage.files import Files
from tensorflow_ignite.storage.paths import parse
from tensorflow_ignite.train.progress import report_checkpoint
from tensorflow_ignite.v1.data_pb2 import ReadCommand

directory, steps, seconds = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
context = tfi.train.context()
assignment = context.own_assignment
place = parse(f"{context.checkpoint_directory}/step")
files = Files.at(place.addresses)

command = ReadCommand(
    cache=context.cache,
    key=True,
    partitions=assignment.partitions,
    accept_data_loss=context.allow_data_loss,
)
with flight.connect(f"grpc://{os.environ['TENSORFLOW_IGNITE_ADDRESS']}") as client:
    keys = client.do_get(flight.Ticket(command.SerializeToString())).read_all().column("_key").to_pylist()
assert len(keys) == assignment.rows, f"{len(keys)} rows read, {assignment.rows} assigned"
(directory / f"keys-{context.attempt}-{context.index}.json").write_text(json.dumps(keys))


def save_when_asked(step: int) -> None:
    asked = directory / "save"
    if context.index == 0 and asked.exists():
        asked.unlink()
        report_checkpoint(checkpoint_step=step)


def saved_step() -> int:
    try:
        with files.open_reader(place.path) as reader:
            return int(reader.read(0, reader.bytes))
    except FileNotFoundError:
        return 0


first = saved_step()
print(f"attempt {context.attempt} begins at step {first}", flush=True)
for step in range(first + 1, steps + 1):
    time.sleep(seconds)
    while step == steps and (directory / "hold").exists():
        save_when_asked(step - 1)
        time.sleep(0.05)
    if context.index == 0:
        with files.open_writer(place.path, parents=True) as writer:
            writer.write(str(step).encode())
    # A test that observes the reported step may rely on its file.
    tfi.train.report(step, steps)
    save_when_asked(step)
