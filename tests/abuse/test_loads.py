"""Loads that ask for too much, or are left in the middle."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from arena import SECONDS, Arena
from waiting import await_true

import tensorflow_ignite as tfi
from tensorflow_ignite import errors

# Sends batches of 1 MiB without end; says so when the cache is there.
_LOADER = """
import itertools, sys, time
import numpy as np
import tensorflow_ignite as tfi

def batches():
    for number in itertools.count():
        if number > 5:
            time.sleep(0.5)
        if number == 10:
            print("loading", flush=True)
        yield {"value": np.zeros(1 << 10)}

tfi.load("abandoned", batches(), address=sys.argv[1], partitions=8)
"""


def test_a_million_partitions_are_refused(arena: Arena) -> None:
    with pytest.raises(errors.InvalidRequestError, match=r"1000000 partitions.*to 65000.*choose"):
        tfi.load("split", {"value": np.arange(10)}, partitions=1_000_000, address=arena.address)


def test_partitions_that_need_more_memory_than_there_is_are_refused(arena: Arena) -> None:
    with pytest.raises(
        errors.StorageFullError, match=r"65,000 partitions of cache split .* bytes in use.*Set fewer partitions"
    ):
        tfi.load("split", {"value": np.arange(10)}, partitions=65_000, address=arena.address)
    assert "split" not in arena.caches()


def test_caches_without_end_are_refused_before_memory_is_full(arena: Arena) -> None:
    def load_all(made: contextlib.ExitStack) -> None:
        for number in range(100):
            name = f"one-of-many-{number}"
            made.enter_context(arena.cache(name))
            tfi.load(name, {"value": np.arange(10)}, partitions=4_096, address=arena.address)

    with contextlib.ExitStack() as made:
        with pytest.raises(errors.StorageFullError, match=r"no room for the 4,096 partitions .* jobs or caches"):
            load_all(made)
        arena.victim.check()


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGSTOP])
def test_a_loader_that_is_killed_or_frozen_leaves_no_cache(arena: Arena, ending: signal.Signals) -> None:
    loader = subprocess.Popen(
        [sys.executable, "-c", _LOADER, arena.address], stdout=subprocess.PIPE, env=dict(os.environ), text=True
    )
    try:
        assert loader.stdout is not None
        assert loader.stdout.readline() == "loading\n"
        loader.send_signal(ending)
        if ending == signal.SIGSTOP:
            arena.victim.check()
            assert tfi.read_table("abandoned", options=tfi.ReadOptions(address=arena.address)).num_rows > 0
    finally:
        loader.kill()
        loader.wait()
        assert loader.stdout is not None
        loader.stdout.close()
    await_true(lambda: "abandoned" not in arena.caches(), "what was loaded stays", SECONDS)
