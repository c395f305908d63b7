"""Where the inputs of a training stand on all its workers: a part of each checkpoint."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tensorflow_ignite.data.input_position import InputPosition
    from tensorflow_ignite.train.training_input import TrainingInput

Gather = Callable[[bytes], list[bytes]]


class InputStates:
    """The positions of the inputs of a training, as bytes.

    Attributes:
        inputs: The inputs, in the order in which the script begins to read them.
    """

    def __init__(self) -> None:
        """Knows no inputs yet."""
        self.inputs: list[TrainingInput] = []
        self._saved = b""
        self._restored: list[list[list[InputPosition] | None]] = []

    def take(self, gather: Gather) -> None:
        """Takes the present positions of all workers for the next checkpoint; all workers call it together.

        Args:
            gather: Returns the bytes of all workers; the argument is this worker's bytes.
        """
        own = [
            None if positions is None else [position.to_json() for position in positions]
            for positions in (each.positions() for each in self.inputs)
        ]
        self._saved = b"[" + b",".join(gather(json.dumps(own).encode())) + b"]" if self.inputs else b""

    def restored(self, number: int) -> Sequence[list[InputPosition] | None]:
        """The positions of an input, of each worker that has saved the restored checkpoint; empty: there are none."""
        if not any(number < len(worker) for worker in self._restored):
            return ()
        return [worker[number] if number < len(worker) else None for worker in self._restored]

    def serialize(self) -> bytes:
        """The positions; called when a checkpoint is saved."""
        return self._saved

    def deserialize(self, state: bytes) -> None:
        """Called when a checkpoint is restored."""
        from tensorflow_ignite.data.input_position import InputPosition

        self._saved = bytes(state)
        workers = json.loads(self._saved) if self._saved else []
        self._restored = [
            [positions and [InputPosition.from_json(values) for values in positions] for positions in worker]
            for worker in workers
        ]
