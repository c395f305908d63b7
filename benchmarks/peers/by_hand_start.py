"""The floor of a start: worker processes with TF_CONFIG, started by hand, until all have done their first step.

Prints one JSON object: ``seconds``, and the ``marks`` of the workers, whose times count from the start.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import first_step


def free_addresses(count: int) -> list[str]:
    """Addresses on loopback that were free just now."""
    with ExitStack() as ends:
        sockets = [ends.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]


def main() -> None:
    """Starts the workers once, and ends them."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--workers", type=int, required=True)
    options.add_argument("--marks", type=Path, required=True, help="a file that does not exist")
    given = options.parse_args()
    addresses = free_addresses(given.workers)
    begin = time.monotonic()
    workers = []
    # TensorFlow's own temporary files, which a killed process leaves.
    temporary = tempfile.mkdtemp()
    try:
        for index in range(given.workers):
            config = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
            workers.append(
                subprocess.Popen(
                    [sys.executable, first_step.__file__, str(given.marks)],
                    env={**os.environ, "TF_CONFIG": json.dumps(config), "TMPDIR": temporary},
                    stdout=subprocess.DEVNULL,
                )
            )

        def check() -> None:
            for index, worker in enumerate(workers):
                if worker.poll() is not None:
                    raise RuntimeError(f"worker {index} ended with exit code {worker.returncode} before its first step")

        seconds, marks = first_step.await_first_steps(given.marks, given.workers, begin, check)
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
        shutil.rmtree(temporary, ignore_errors=True)
    print(json.dumps({"seconds": seconds, "marks": [[mark.at - begin, mark.name, mark.rank] for mark in marks]}))


if __name__ == "__main__":
    main()
