"""The detection of leaks finds memory, threads, descriptors and segments that are left behind."""

from __future__ import annotations

import mmap
import os
import threading

import pytest

from footprint import Footprint
from tensorflow_ignite.testing import LeakError

pytestmark = pytest.mark.full

TOLERANCE = Footprint(resident_bytes=16 << 20, threads=0, descriptors=0, segments=0)


def test_growth_beyond_the_tolerance_is_reported_by_name_and_less_than_before_is_no_leak() -> None:
    before = Footprint.of(os.getpid())
    memory = bytearray(b"x") * (32 << 20)
    pipe = os.pipe()
    number = os.memfd_create("test")
    os.truncate(number, 4096)
    segment = mmap.mmap(number, 4096)
    os.close(number)
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    try:
        after = Footprint.of(os.getpid())
    finally:
        end.set()
        thread.join()
        segment.close()
        for descriptor in pipe:
            os.close(descriptor)
    assert memory
    with pytest.raises(LeakError, match="this test left behind:") as leak:
        before.require_flat(after, TOLERANCE, "this test")
    for what in ("resident_bytes", "descriptors", "segments", "threads"):
        assert f" {what} grew from" in str(leak.value)
    after.require_flat(before, TOLERANCE, "this test")
