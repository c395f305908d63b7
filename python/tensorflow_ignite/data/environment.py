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
    """

    cache: str | None
    local: bool
    partitions: tuple[int, ...] | None


def overrides(env: Mapping[str, str] = os.environ) -> EnvironmentOverrides:
    """Reads IGNITE_DATASET_CACHE_NAME, _LOCAL and _PART.

    Raises:
        InvalidRequestError: If _PART is not a number or a list of numbers separated by commas.
    """
    return EnvironmentOverrides(
        cache=env.get("IGNITE_DATASET_CACHE_NAME") or None,
        local=env.get("IGNITE_DATASET_LOCAL", "").strip().lower() in ("1", "true", "yes", "on"),
        partitions=_partitions(env.get("IGNITE_DATASET_PART", "")),
    )


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
