"""A Python process of a test, whose lines are read until one comes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tensorflow_ignite.testing.patience import patiently

# A process imports TensorFlow first, on a machine that may be busy.
START_SECONDS = patiently(180.0)


@contextmanager
def running(*command: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """A process of Python that is gone afterwards."""
    process = subprocess.Popen(
        [sys.executable, *command],
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def lines_of(process: subprocess.Popen[str], expected: str) -> list[str]:
    """What it prints until a line with these words; kills it when that does not come in time."""
    lines: list[str] = []
    late = threading.Timer(START_SECONDS, process.kill)
    late.start()
    try:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            if expected in line:
                return lines
    finally:
        late.cancel()
    pytest.fail(f"{expected!r} did not come: {''.join(lines)[-4000:]}")
