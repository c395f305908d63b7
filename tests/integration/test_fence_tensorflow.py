"""An attempt that stands still while it saves on shared storage, and goes on when the next attempt has saved.

Promise (training): What an attempt saves late takes nothing from the next attempt.
"""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

import pytest
from forks import TensorFlowForks
from jobs import LIMIT
from train_tasks import Job
from waiting import await_true

from tensorflow_ignite.train.directory import CheckpointDirectory, number_of, numbers
from tensorflow_ignite.train.fence import SERIES
from tensorflow_ignite.train.store import GFiles

pytestmark = pytest.mark.full

tf = pytest.importorskip("tensorflow")

# Stands still at a point of the save of its third step, if it is given one.
SCRIPT = """
import os, signal, sys
import tensorflow as tf
import tensorflow_ignite as tfi
from tensorflow.python.lib.io import file_io
from tensorflow.python.ops import gen_io_ops
from tensorflow_ignite.train import store

folder, last, point, renames = sys.argv[1:]
if renames == "objects":
    file_io.has_atomic_move = lambda path: False

stood_still = False

def stand_still():
    global stood_still
    if checkpoint.steps_done == 3 and not stood_still:
        stood_still = True
        print("stands still", flush=True)
        os.kill(os.getpid(), signal.SIGSTOP)

def before(owner, name, applies=lambda *arguments: True):
    def stopped(*arguments, **options):
        if applies(*arguments):
            stand_still()
        return function(*arguments, **options)
    function = getattr(owner, name)
    setattr(owner, name, stopped)

def without_index(prefixes, destination_prefix, *arguments, **options):
    # TensorFlow renames the data, then writes the index, in one operation.
    result = merge(prefixes, destination_prefix, *arguments, **options)
    index = destination_prefix.numpy().decode() + ".index"
    os.rename(index, index + ".later")
    stand_still()
    os.rename(index + ".later", index)
    return result

weight = tf.Variable(0.0)
checkpoint = tfi.train.checkpoint(every_steps=1, keep=2, directory=folder, weight=weight)
print("resumed from", checkpoint.resumed_from_step, weight.numpy(), flush=True)
merge = gen_io_ops.merge_v2_checkpoints
if point == "the data":
    before(tf.train.Checkpoint, "write")
elif point == "the names of the data":
    before(gen_io_ops, "merge_v2_checkpoints")
elif point == "the index":
    gen_io_ops.merge_v2_checkpoints = without_index
elif point == "the pointer":
    before(store.GFiles, "replace", lambda files, path, *_: path.endswith("/checkpoint"))
elif point == "removals":
    before(store.GFiles, "remove")
for step in checkpoint.steps(int(last)):
    weight.assign(1000.0 * tfi.train.context().attempt + step)
print("done", flush=True)
"""


@pytest.mark.parametrize(
    ("point", "renames"),
    [
        ("the data", "files"),
        ("the names of the data", "files"),
        ("the index", "files"),
        ("the pointer", "files"),
        ("the pointer", "objects"),
        ("removals", "files"),
    ],
)
def test_an_attempt_that_stood_still_while_it_saved_takes_nothing_from_the_next_one(
    point: str, renames: str, forks: TensorFlowForks, tmp_path: Path
) -> None:
    folder = tmp_path / "checkpoints"
    with contextlib.closing(Job(forks, tmp_path, folder)) as job:
        (old,) = job.start_workers(["-c", SCRIPT, str(folder), "100", point, renames], 1, attempt=1)
        old.until("^stands still$")
        stat = Path(f"/proc/{old.process.pid}/stat")
        await_true(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T", "the process runs", LIMIT)
        (new,) = job.start_workers(["-c", SCRIPT, str(folder), "6", "", renames], 1, attempt=2)
        resumed = int(new.until("^resumed from ([0-9]+)")[1])
        # The new attempt uses what was whole when it began, of any writer.
        assert resumed == (3 if point in ("the pointer", "removals") else 2)
        new.finish()
        names = os.listdir(folder)
        (newest, before) = sorted(numbers(names), reverse=True)
        assert newest // SERIES == before // SERIES > 0
        content = {name: (folder / name).read_bytes() for name in names if number_of(name)}
        assert len(content) == 4

        old.process.send_signal(signal.SIGCONT)
        assert old.process.wait() == 1, old.output()
        assert "AttemptSupersededError" in old.output()
        assert {name: (folder / name).read_bytes() for name in content} == content
        assert tf.train.latest_checkpoint(folder) == f"{folder}/ckpt-{newest}"
        assert next(CheckpointDirectory(str(folder), GFiles(tf)).whole()) == newest

        (third,) = job.start_workers(["-c", SCRIPT, str(folder), "7", "", renames], 1, attempt=3)
        third.until("^resumed from 6 2006.0$")
        third.finish()
        # Nothing is left of the first attempt.
        assert min(numbers(os.listdir(folder))) == newest
