"""A position in the changes of a cache, which a script can store; knows no cluster."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tensorflow_ignite import errors
from tensorflow_ignite.data.epochs.changes import NO_POSITION, Position, as_array, as_positions
from tensorflow_ignite.data.epochs.tensors import Array


@dataclass(frozen=True)
class CachePosition:
    """What had been put into a cache, and removed from it, at a moment; made by :func:`tensorflow_ignite.position`.

    The owner of each partition numbers the changes that it notices. A position is valid as long as it knows these
    changes; a partition that has moved, or whose owner was restarted, is read whole by ``since=``.

    Attributes:
        cache: Name of the cache.
        partitions: The position of each partition, by its number.
    """

    cache: str
    partitions: tuple[Position, ...]

    def changes_since(self, earlier: CachePosition) -> int | None:
        """Number of puts and removals after an earlier position; None: the nodes do not know them all any more.

        Raises:
            InvalidRequestError: The positions are of different caches.
        """
        if earlier.cache != self.cache:
            raise errors.InvalidRequestError(
                f"a position of cache {earlier.cache!r} cannot be compared with one of cache {self.cache!r}. Each "
                f"cache numbers its own changes. Compare two positions of one cache"
            )
        if len(earlier.partitions) != len(self.partitions):
            return None
        pairs = list(zip(earlier.partitions, self.partitions, strict=True))
        if any(not before.feed or before.feed != after.feed for before, after in pairs):
            return None
        return sum(after.sequence - before.sequence for before, after in pairs)

    def to_json(self) -> str:
        """The position as text."""
        return json.dumps({"cache": self.cache, "partitions": encode(self.partitions)})

    @classmethod
    def from_json(cls, text: str | bytes) -> CachePosition:
        """The position of :meth:`to_json`.

        Raises:
            InvalidRequestError: The text is no position.
        """
        try:
            fields = json.loads(text)
            partitions = decode(fields["partitions"])
            if (partitions[:, 1] < 0).any():
                raise ValueError("changes have numbers from 0 on")
            return cls(str(fields["cache"]), as_positions(partitions))
        except (ValueError, KeyError, TypeError, RecursionError, binascii.Error) as error:
            raise errors.InvalidRequestError(
                f"{str(text)[:80]!r} is no position of a cache ({error}). Such a text comes from "
                f"tfi.position(cache).to_json(). Use one of these"
            ) from None


def encode(positions: Sequence[Position]) -> str:
    """Positions as text."""
    return base64.b64encode(as_array(positions).tobytes()).decode()


def decode(text: str) -> Array:
    """The positions of :func:`encode`, as of :func:`as_array`; ValueError if the text has none."""
    return np.frombuffer(base64.b64decode(text, validate=True), np.int64).reshape(-1, 2)


def known(positions: Sequence[Position]) -> Mapping[int, Position]:
    """The positions by partition, without those of which nothing is known."""
    return {number: position for number, position in enumerate(positions) if position != NO_POSITION}
