"""Where the input of a training stands within an epoch: a part of its checkpoint, which another process continues."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from tensorflow_ignite.data.epochs.epoch import Resumption
from tensorflow_ignite.data.epochs.used_rows import UsedRows


@dataclass(frozen=True)
class InputPosition:
    """The position of one worker in the rows of one dataset.

    Attributes:
        cache: Name of the cache.
        selection: A digest of what decides which rows the dataset has.
        epoch: Number of the epoch.
        seed: Determines the order of its rows.
        base: As of :class:`RowOrder`; -1 also before the epoch has begun.
        start: Where the epoch begins, as of :class:`EpochStart`.
        digest: Of the plan by which the worker reads.
        window: Number of rows that are shuffled together; 0: not known yet.
        rows: Number of rows of the epoch that the worker has used, those that fill it among them.
        filled: Number of those that fill it.
        used: The rows of the epoch that were used; empty: rows are not identified, or none was used.
        elements: Number of elements that the training's iterator has given after this position.
        batch: Number of rows that ``batch`` joins in an element; 0: not known.
        given: Where ``elements`` are left out: a number of rows with which the epoch begins, and their checksum;
            (0, 0): not known.
        aligned: An earlier position, with elements after it, from which the same worker goes on with the same batches:
            TensorFlow divides a batch into parts, and begins with a whole one. None: this is one.
        lead: Number of used rows after this position; see :class:`Resumption`. The iterator gives rows in their place.
    """

    cache: str
    selection: str
    epoch: int
    seed: int
    base: int
    start: int
    digest: tuple[int, int] = (0, 0)
    window: int = 0
    rows: int = 0
    filled: int = 0
    used: tuple[UsedRows, ...] = field(default=(), repr=False)
    elements: int = 0
    batch: int = 0
    given: tuple[int, int] = (0, 0)
    aligned: InputPosition | None = None
    lead: int = 0

    def to_json(self) -> dict[str, Any]:
        """The position as values of JSON."""
        used = [base64.b64encode(part.to_bytes()).decode() for part in self.used]
        aligned = self.aligned and self.aligned.to_json()
        return {**asdict(replace(self, used=(), aligned=None)), "used": used, "aligned": aligned}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> InputPosition:
        """The position of :meth:`to_json`."""
        used = tuple(UsedRows.from_bytes(base64.b64decode(part)) for part in values["used"])
        aligned = values["aligned"] and cls.from_json(values["aligned"])
        pairs = {name: tuple(values[name]) for name in ("digest", "given")}
        return cls(**{**values, **pairs, "used": used, "aligned": aligned})

    def of_other_worker(self) -> InputPosition:
        """The beginning of the same epoch, for a process that has had none of its rows."""
        return replace(self.begun(), digest=(0, 0), rows=0, filled=0, used=())

    def begun(self) -> InputPosition:
        """This position, as that of an iterator which has just begun there."""
        return replace(self, elements=0, given=(0, 0), aligned=None, lead=0)

    def with_whole_batch(self) -> InputPosition:
        """This position, or the earlier one of the whole batch, without the rows that were used since."""
        if self.aligned is None or not self.used or self.epoch != self.aligned.epoch:
            # Of a batch with rows of two epochs, the used rows are those of the second one.
            return self.aligned or self
        return replace(self.aligned, used=self.used, filled=self.filled, lead=self.rows - self.aligned.rows)

    def resumption(self, others: Sequence[InputPosition]) -> Resumption | None:
        """What is left out of the epoch: what this worker and others have used; None: nothing."""
        used: list[UsedRows] = []
        for part in (part for each in (self, *others) for part in each.used):
            same = next((number for number, other in enumerate(used) if other.numbers == part.numbers), None)
            if same is None:
                used.append(part)
            else:
                used[same] = used[same].union(part)
        if not self.rows and not used:
            return None
        return Resumption(self.rows, self.filled, tuple(used), self.lead)
