"""Disks that are full."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from arena import CACHE, SECONDS, Arena
from disk import full

import tensorflow_ignite as tfi
from tensorflow_ignite import errors
from tensorflow_ignite.storage.files import Files


@pytest.fixture
def disk(arena: Arena) -> Path:
    """What the nodes and their tasks write to."""
    folder = arena.cluster.directory
    if not os.path.ismount(folder):
        pytest.skip("this machine lets nobody mount a small disk")
    return folder


def test_nodes_and_data_outlive_a_full_disk(arena: Arena, disk: Path) -> None:
    files = Files.at(arena.addresses)
    with arena.cache("diskless"), full(disk):
        # A type of rows that no node has met.
        tfi.load("diskless", {"never_met": np.arange(10)}, partitions=8, address=arena.address)
        assert tfi.read_table("diskless", options=tfi.ReadOptions(address=arena.address)).num_rows == 10
        with files.open_writer("/diskless") as writer:
            writer.write(b"x")
        files.remove("/diskless")
        arena.victim.check()


def test_a_job_on_a_full_disk_says_so_and_the_next_one_runs(arena: Arena, disk: Path, tmp_path: Path) -> None:
    script = tmp_path / "writes.py"
    script.write_text("open('written', 'wb').write(bytes(1 << 20)); print('done')")
    with tfi.connect(arena.address) as client:
        with full(disk):
            failed = client.submit(script, cache=CACHE, restart=tfi.Restart(max_crashes=0))
            with pytest.raises(errors.JobFailedError, match="No space left on device"):
                failed.wait(SECONDS)
        handle = client.submit(script, cache=CACHE, restart=tfi.Restart(max_crashes=0))
        assert handle.wait(SECONDS).state.lower() == "succeeded", handle.status.to_dict()
        handle.remove()
        failed.remove()
