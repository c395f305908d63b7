"""The schedule of a run: a pure function of its seed and its number of faults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from faults import FAULTS, Fault, Training

# TensorFlow takes a minute where a script without it takes some seconds: it is in every third fault.
_MIX: tuple[Training, ...] = ("steps", "steps", "steps", "steps", "mirrored", "servers")


@dataclass(frozen=True)
class Step:
    """One fault of a schedule."""

    number: int
    fault: Fault
    choice: int

    def __str__(self) -> str:
        return f"{self.number:02} {self.fault.name} ({self.fault.nodes} nodes, choice {self.choice})"


def schedule(seed: int, count: int) -> list[Step]:
    """Mixes trainings and families of faults evenly; a fault comes again only when its training has had all others."""
    random = Random(seed)
    kinds: list[Training] = []
    unused: dict[Training, list[Fault]] = {training: [] for training in _MIX}
    # The families, the one whose turn was longest ago first.
    families = sorted({fault.family for fault in FAULTS})
    random.shuffle(families)
    steps = []
    for number in range(1, count + 1):
        kinds = kinds or random.sample(_MIX, len(_MIX))
        training = kinds.pop()
        if not unused[training]:
            unused[training] = [fault for fault in FAULTS if fault.training == training]
            random.shuffle(unused[training])
        fault = min(unused[training], key=lambda fault: families.index(fault.family))
        unused[training].remove(fault)
        families.remove(fault.family)
        families.append(fault.family)
        steps.append(Step(number, fault, random.randrange(1000)))
    return steps


def text(seed: int, steps: Sequence[Step]) -> str:
    """The schedule for people, with the command that repeats it."""
    return "\n".join([f"make chaos SEED={seed} FAULTS={len(steps)}", *map(str, steps)])
