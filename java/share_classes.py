"""Writes what a JVM makes of the jars' classes into a file that the next nodes map instead of reading the jars.

A node runs here, does a little of everything, and has its JVM write the file. It costs some 10 s; it saves every node
that `make` starts about a second of processor time.
"""

from __future__ import annotations

import subprocess

import numpy as np

import tensorflow_ignite as tfi
from tensorflow_ignite.node.runtime import JARS, SHARED_CLASSES, find_libjvm
from tensorflow_ignite.testing import LocalCluster

# For JVMs inside of a Python process to be called by jcmd.
_OPTIONS = ["-XX:+StartAttachListener", "-XX:+RecordDynamicDumpInfo"]


def main() -> None:
    """Replaces the file."""
    path = JARS / SHARED_CLASSES
    path.unlink(missing_ok=True)
    jcmd = find_libjvm().parents[2] / "bin" / "jcmd"
    with LocalCluster(nodes=1, jvm_args=_OPTIONS) as cluster:
        tfi.load("numbers", {"id": np.arange(100)}, address=cluster.address)
        tfi.read_table("numbers", options=tfi.ReadOptions(address=cluster.address))
        with tfi.connect(cluster.address) as client:
            client.jobs()
        # While the node runs: its stop has a time limit, which a busy machine would exceed.
        done = subprocess.run(
            [jcmd, str(cluster.nodes[0].pid), "VM.cds", "dynamic_dump", path],
            capture_output=True,
            text=True,
            check=False,
        )
    if not path.exists():
        raise SystemExit(f"{jcmd} has written no {path}: {done.stdout}{done.stderr}")


if __name__ == "__main__":
    main()
