"""The progress of a load."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """The progress of a load.

    Attributes:
        rows: Number of rows that are stored, in whole batches.
        bytes: Size of these rows as Arrow columns, estimated.
        seconds: Time since the start of the load.
        total_rows: Number of rows of the whole load; None: not known.
    """

    rows: int
    bytes: int
    seconds: float
    total_rows: int | None
