"""The rows that every program reads, and the arguments that say how many."""

from __future__ import annotations

import argparse

import numpy as np
import numpy.typing as npt

LARGE_BYTES = 1 << 20
SMALL_BYTES = 784
LABELS = 10
LARGE_BATCH = 20
SMALL_BATCH = 256

Bytes = npt.NDArray[np.uint8]


def large_row() -> Bytes:
    """The value of each large row."""
    numbers = np.arange(LARGE_BYTES, dtype=np.uint32)
    return ((numbers * np.uint32(2_654_435_761)) >> np.uint32(13)).astype(np.uint8)


def small_rows(count: int) -> tuple[Bytes, npt.NDArray[np.int32]]:
    """Pixels and labels of the small rows."""
    numbers = np.arange(count)
    pixels = (numbers[:, None] * 31 + np.arange(SMALL_BYTES) * 7).astype(np.uint8)
    return pixels, (numbers % LABELS).astype(np.int32)


def table_rows(count: int) -> dict[str, np.ndarray]:
    """Columns of rows as an application has them."""
    numbers = np.arange(count)
    return {
        "customer": np.char.add("customer ", (numbers % 5_000).astype(str)),
        "amount": numbers / 8,
        "items": (numbers % 100).astype(np.int32),
        "paid": numbers % 3 == 0,
        "time": np.datetime64("2026-01-01T00:00:00.000") + numbers.astype("timedelta64[ms]"),
    }


def total(data: Bytes) -> int:
    """The sum of all bytes, eight at a time."""
    return int(data.reshape(-1).view(np.int64).sum())


def parser(description: str | None) -> argparse.ArgumentParser:
    """Of the options that every program has."""
    options = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    options.add_argument("--large", type=int, default=2_000, metavar="ROWS", help="rows of 1 MiB")
    options.add_argument("--small", type=int, default=60_000, metavar="ROWS", help="rows of 784 bytes and a label")
    return options
