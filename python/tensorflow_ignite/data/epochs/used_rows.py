"""Which rows of an epoch have been used, so that other processes read the others; whole arrays, knows no cluster.

A row is known by its identity (:mod:`changes`), so it does not matter who owns its partition now, in which order rows
arrive, and which others have been put or removed. The stored state is small: a number for each partition whose rows are
all used, a limit of priorities for the window that is being used, and identities of rows only for partly used
partitions: at most one partition for each stream that reads, and the partitions at the ends of a window.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tensorflow_ignite.data.epochs.changes import PARTITION_MASK
from tensorflow_ignite.data.epochs.shuffling import buckets, priorities
from tensorflow_ignite.data.epochs.tensors import Array

_NO_ROWS = np.empty(0, np.int64)


@dataclass(frozen=True)
class Unit:
    """The rows of a partition that are shuffled together: all of them, or a part that their hashes choose.

    Attributes:
        partition: The number of the partition.
        part: The number of the part.
        parts: Number of parts, a power of two.
    """

    partition: int
    part: int = 0
    parts: int = 1


@dataclass(frozen=True)
class UsedWindow:
    """The rows of some units whose priority is not above a limit.

    Attributes:
        numbers: The numbers that determine priorities: seed and epoch.
        limit: The highest priority of a used row.
        units: The units of the window.
    """

    numbers: tuple[int, ...]
    limit: int
    units: frozenset[Unit]

    def without(self, units: frozenset[Unit]) -> UsedWindow:
        """The window without some of its units."""
        return replace(self, units=self.units - units)


@dataclass(frozen=True)
class UsedRows:
    """The rows of an epoch that have been used.

    Attributes:
        units: The units whose rows are all used.
        windows: Windows of which some rows are used.
        listed: The first numbers of the identities of further rows, int64, by partition.
        numbers: The numbers that determine the parts of units: seed and epoch.
    """

    units: frozenset[Unit] = frozenset()
    windows: tuple[UsedWindow, ...] = ()
    listed: Mapping[int, Array] = field(default_factory=dict)
    numbers: tuple[int, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there are none."""
        return not (self.units or self.windows or self.listed)

    def find(self, identities: Array) -> Array:
        """Which rows are used: bool, for identities of shape [rows, 2]."""
        used = _in(self.units, identities, self.numbers)
        for window in self.windows:
            inside = np.flatnonzero(_in(window.units, identities, window.numbers))
            rows = identities[inside]
            used[inside[priorities(rows[:, 0], *window.numbers) <= np.uint64(window.limit)]] = True
        partitions = identities[:, 1] & PARTITION_MASK
        for partition, listed in self.listed.items():
            rows = np.flatnonzero(partitions == partition)
            used[rows[np.isin(identities[rows, 0], listed)]] = True
        return used

    def union(self, other: UsedRows) -> UsedRows:
        """These rows, and the rows of another part of the same epoch with the same numbers."""
        units = self.units | other.units
        windows = tuple(window.without(units) for window in (*self.windows, *other.windows))
        listed = {
            number: np.union1d(self.listed.get(number, _NO_ROWS), other.listed.get(number, _NO_ROWS))
            for number in {*self.listed, *other.listed}
            if Unit(number) not in units
        }
        return UsedRows(units, tuple(window for window in windows if window.units), listed, self.numbers)

    def to_bytes(self) -> bytes:
        """The rows as bytes, without code that a reader would run."""
        text = {
            "numbers": self.numbers,
            "units": _packed(self.units),
            "windows": [[window.numbers, window.limit, _packed(window.units)] for window in self.windows],
        }
        file = io.BytesIO()
        arrays: dict[str, Any] = {f"listed_{partition}": rows for partition, rows in self.listed.items()}
        np.savez_compressed(file, text=np.array(json.dumps(text)), **arrays)
        return file.getvalue()

    @classmethod
    def from_bytes(cls, packed: bytes) -> UsedRows:
        """The rows of :meth:`to_bytes`."""
        with np.load(io.BytesIO(packed), allow_pickle=False) as archive:
            text = json.loads(str(archive["text"]))
            listed = {int(name.split("_")[1]): archive[name] for name in archive.files if name.startswith("listed_")}
        windows = tuple(
            UsedWindow(tuple(numbers), int(limit), _unpacked(units)) for numbers, limit, units in text["windows"]
        )
        return cls(_unpacked(text["units"]), windows, listed, tuple(text["numbers"]))


def _in(units: frozenset[Unit], identities: Array, numbers: tuple[int, ...]) -> Array:
    """Whether rows belong to one of the units."""
    partitions = identities[:, 1] & PARTITION_MASK
    whole = np.zeros(PARTITION_MASK + 1, bool)
    whole[[unit.partition for unit in units if unit.parts == 1]] = True
    found: Array = whole[partitions]
    divided: dict[tuple[int, int], list[int]] = {}
    for unit in units:
        if unit.parts > 1:
            divided.setdefault((unit.partition, unit.parts), []).append(unit.part)
    for (partition, parts), own in divided.items():
        rows = np.flatnonzero(partitions == partition)
        found[rows[np.isin(buckets(identities[rows, 0], parts, *numbers), own)]] = True
    return found


def _packed(units: frozenset[Unit]) -> dict[str, Any]:
    """Units as JSON: whole partitions as one number with a bit for each."""
    whole = sum(1 << unit.partition for unit in units if unit.parts == 1)
    parts = sorted([unit.partition, unit.part, unit.parts] for unit in units if unit.parts > 1)
    return {"partitions": f"{whole:x}", "parts": parts}


def _unpacked(packed: Mapping[str, Any]) -> frozenset[Unit]:
    whole = int(packed["partitions"], 16)
    partitions = {Unit(number) for number in range(whole.bit_length()) if whole >> number & 1}
    return frozenset(partitions | {Unit(*each) for each in packed["parts"]})
