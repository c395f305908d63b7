"""Numbers the trainings of this process that use the job's directory: a script does the same ones in each attempt.

In the rounds of :func:`tensorflow_ignite.train.rounds` the numbers begin again in each round: every round continues the
trainings of the round before.
"""

from __future__ import annotations

#: Where the trainings of rounds have their checkpoints, below the directory of the job.
ROUNDS = "rounds"
#: Number of the round that this process trains; 0: none.
_round = 0
_count = 0


def begin_round(number: int) -> None:
    """A round begins; 0: there are no further rounds."""
    global _round, _count
    _round, _count = number, 0


def current_round() -> int:
    """Number of the round that this process trains; 0: none."""
    return _round


def next_place() -> str:
    """The directory of the next training below that of the job; empty: the job's own."""
    global _count
    _count += 1
    return "/".join(filter(None, [ROUNDS if _round else "", name_of(_count)]))


def name_of(number: int) -> str:
    """The directory of a training below that of the first one; empty: it is the first one."""
    return f"fit-{number}" if number > 1 else ""
