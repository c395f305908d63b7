"""Promises of what tells a leak of memory, threads, descriptors and segments."""

from __future__ import annotations

import mmap
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tensorflow_ignite.testing import LeakError
from tensorflow_ignite.testing.footprint import Footprint

NOTHING = Footprint(resident_bytes=0, threads=0, descriptors=0, segments=0)
ANY_MEMORY = Footprint(resident_bytes=1 << 40, threads=0, descriptors=0, segments=0)


@contextmanager
def _descriptor() -> Iterator[None]:
    first, second = os.pipe()
    yield
    os.close(first)
    os.close(second)


@contextmanager
def _segment() -> Iterator[None]:
    number = os.memfd_create("test")
    os.truncate(number, 4096)
    mapped = mmap.mmap(number, 4096)
    os.close(number)
    yield
    mapped.close()


@contextmanager
def _thread() -> Iterator[None]:
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    yield
    end.set()
    thread.join()
    # `join` returns when Python has finished with the thread; the kernel ends it a moment later.
    task = Path(f"/proc/self/task/{thread.native_id}")
    while task.exists():
        time.sleep(0.001)


@pytest.mark.parametrize(("hold", "what"), [(_descriptor, "descriptors"), (_segment, "segments"), (_thread, "threads")])
def test_growth_beyond_the_tolerance_is_reported_by_name(hold, what: str) -> None:
    before = Footprint.of(os.getpid())
    with hold():
        after = Footprint.of(os.getpid())
        with pytest.raises(LeakError, match=f"(?s)this test left behind:.* {what} grew from"):
            before.require_flat(after, ANY_MEMORY, "this test")
    before.require_flat(Footprint.of(os.getpid()), ANY_MEMORY, "this test")


def test_growth_of_memory_is_reported() -> None:
    before = Footprint.of(os.getpid())
    kept = bytearray(b"x") * (32 << 20)
    with pytest.raises(LeakError, match="resident_bytes grew from"):
        before.require_flat(
            Footprint.of(os.getpid()), Footprint(resident_bytes=16 << 20, threads=9, descriptors=9, segments=9), "it"
        )
    assert kept


def test_less_than_before_is_no_leak() -> None:
    Footprint(9, 9, 9, 9).require_flat(NOTHING, NOTHING, "owner")
