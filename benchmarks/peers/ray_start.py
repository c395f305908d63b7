"""Starts Ray for a contender, with its files and those of its workers in a folder that is removed."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import ray

# As numbers for Ray's scheduler: what it starts takes turns on the processors of the machine.
PROCESSORS = 4


@contextmanager
def started(store_bytes: int) -> Iterator[Path]:
    """Ray on this machine, with an object store of this size, and its folder."""
    # Short: the paths of Ray's sockets have at most 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="ray-"))
    (folder / "tmp").mkdir()
    # Temporary files of TensorFlow, which a killed process leaves; the workers inherit this.
    os.environ["TMPDIR"] = str(folder / "tmp")
    try:
        ray.init(
            num_cpus=PROCESSORS,
            include_dashboard=False,
            log_to_driver=False,
            object_store_memory=store_bytes,
            _temp_dir=str(folder),
        )
        yield folder
        ray.shutdown()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
