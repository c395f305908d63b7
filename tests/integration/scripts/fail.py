"""fail.py CODE: worker 1 fails, by itself; the others stay."""

import signal
import sys

from tensorflow_ignite.train import context

if context().index == 1:
    print("about to fail", flush=True)
    try:
        {}["missing"]
    except KeyError as error:
        print("a secret of the script", file=sys.stderr)
        if sys.argv[1] != "1":
            sys.exit(int(sys.argv[1]))
        raise ValueError("this is the script's own fault") from error
while True:
    signal.pause()
