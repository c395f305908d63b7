"""Environment variables for a dataset outside a job: IGNITE_DATASET_CACHE_NAME and others."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from tensorflow_ignite.errors import InvalidRequestError


@dataclass(frozen=True)
class EnvironmentOverrides:
    """Settings of a dataset outside a job that override its arguments; None: not set.

    Attributes:
        cache: IGNITE_DATASET_CACHE_NAME, replaces the cache that the script names.
        local: IGNITE_DATASET_LOCAL, reads only the rows of the node at the address.
        partitions: IGNITE_DATASET_PART, reads only these partitions.
        page_rows: IGNITE_DATASET_PAGE_SIZE, number of rows in one message of a node (thin client protocol).
    """

    cache: str | None
    local: bool
    partitions: tuple[int, ...] | None
    page_rows: int | None


def overrides(env: Mapping[str, str] = os.environ) -> EnvironmentOverrides:
    """Reads IGNITE_DATASET_CACHE_NAME, _LOCAL, _PART and _PAGE_SIZE.

    Raises:
        InvalidRequestError: If _PART is not a number or a list of numbers separated by commas, or _PAGE_SIZE is not
            a number of rows.
    """
    return EnvironmentOverrides(
        cache=env.get("IGNITE_DATASET_CACHE_NAME") or None,
        local=env.get("IGNITE_DATASET_LOCAL", "").strip().lower() in ("1", "true", "yes", "on"),
        partitions=_partitions(env.get("IGNITE_DATASET_PART", "")),
        page_rows=_page_rows(env.get("IGNITE_DATASET_PAGE_SIZE", "").strip()),
    )


def _page_rows(text: str) -> int | None:
    if not text:
        return None
    if not text.isascii() or not text.isdecimal() or not 0 < int(text) < 2**31:
        raise InvalidRequestError(
            f"IGNITE_DATASET_PAGE_SIZE={text!r} is not a number of rows, from 1 to {2**31 - 1}. It is the "
            f"number of rows in one message. Unset it, and the size of the rows determines the number"
        )
    return int(text)


def _partitions(text: str) -> tuple[int, ...] | None:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    # -1 means all partitions in the environment of the earlier IgniteDataset.
    if not parts or parts == ["-1"]:
        return None
    if not all(part.isdecimal() for part in parts):
        raise InvalidRequestError(
            f"IGNITE_DATASET_PART={text!r} is not a number of a partition or a list of numbers, such as 0,1,2"
        )
    return tuple(int(part) for part in parts)
