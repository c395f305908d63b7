"""Writes what a JVM makes of the jars' classes into a file that the next nodes map instead of reading the jars.

A node runs here, does a little of everything, and has its JVM write the file when it ends. It costs some 10 s; it saves
every node that `make` starts about a second of processor time.
"""

from __future__ import annotations

import numpy as np

import tensorflow_ignite as tfi
from tensorflow_ignite.node.runtime import JARS, SHARED_CLASSES
from tensorflow_ignite.testing import LocalCluster


def main() -> None:
    """Replaces the file."""
    path = JARS / SHARED_CLASSES
    path.unlink(missing_ok=True)
    with LocalCluster(nodes=1, jvm_args=[f"-XX:ArchiveClassesAtExit={path}"]) as cluster:
        tfi.load("numbers", {"id": np.arange(100)}, address=cluster.address)
        tfi.read_table("numbers", address=cluster.address)
        with tfi.connect(cluster.address) as client:
            client.jobs()


if __name__ == "__main__":
    main()
