"""A training without TensorFlow: steps.py FOLDER HIDDEN. It reads its rows each second, and saves in the cluster."""

import sys
import time
from pathlib import Path

from ledger import Ledger

import tensorflow_ignite as tfi
from tensorflow_ignite.storage.files import Files
from tensorflow_ignite.storage.paths import parse
from tensorflow_ignite.train.progress import report_checkpoint

STEP_SECONDS = 0.1
STEPS_OF_AN_EPOCH = 10

ledger = Ledger(sys.argv[1])
ledger.start_child(sys.argv[2])
context = tfi.train.context()
partitions = context.own_assignment.partitions
location = parse(f"{context.checkpoint_directory}/step")
files = Files.at(location.addresses)


def saved_step() -> int:
    try:
        with files.open_reader(location.path) as reader:
            return int(reader.read(0, reader.bytes))
    except FileNotFoundError:
        return 0


def save(step: int) -> None:
    with files.open_writer(location.path, parents=True) as writer:
        writer.write(str(step).encode())
    report_checkpoint(checkpoint_step=step)


step = resumed = saved_step()
report_checkpoint(resumed_from_step=resumed)
while step == resumed or not ledger.must_end():
    if step == resumed or step % STEPS_OF_AN_EPOCH == 0:
        rows = tfi.read_table(context.cache, columns=["x"], partitions=partitions)
        ledger.rows(str(step // STEPS_OF_AN_EPOCH), rows.column("x").to_pylist())
    time.sleep(STEP_SECONDS)
    ledger.use(Path("scratch"))
    step += 1
    if context.index == 0:
        save(step)
    tfi.train.report(step)
    ledger.say()
ledger.result(step=step, resumed=resumed, weight=step)
