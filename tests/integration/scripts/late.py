"""late.py: what a process of a job tries that was frozen in the middle of a save, and has been replaced meanwhile.

It writes a checkpoint, says so, and when a line comes, makes it visible, and tries everything else that changes files.
Prints, for each, what came of it.
"""

import contextlib
import sys
from collections.abc import Callable

from tensorflow_ignite.errors import TensorFlowIgniteError
from tensorflow_ignite.storage.files import Files
from tensorflow_ignite.storage.paths import parse
from tensorflow_ignite.train.context import context

BYTES = 3 << 20

here = context()
place = parse(here.checkpoint_directory)
files = Files.at(place.addresses)
newer = f"{place.path}/ckpt-{here.attempt + 1}"
writer = files.open_writer(f"{place.path}/late")
writer.write(bytes(BYTES))
print("written", flush=True)
sys.stdin.readline()


def attempt(what: str, action: Callable[[], object]) -> None:
    try:
        action()
        print(f"{what}: done", flush=True)
    except TensorFlowIgniteError as error:
        print(f"{what}: {type(error).__name__}: {error}", flush=True)


attempt("publish", writer.close)
attempt("overwrite", lambda: files.open_writer(newer).close())
attempt("rename", lambda: files.rename(newer, f"{newer}-gone"))
attempt("remove", lambda: files.remove(newer))
attempt("make", lambda: files.make_directory(f"{place.path}/late-directory"))
with contextlib.suppress(TensorFlowIgniteError):
    writer.abandon()
