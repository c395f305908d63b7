"""Numbers the trainings of this process that use the job's directory, and the layers that learn from rows.

A script does the same ones in each attempt.

In the rounds of :func:`tensorflow_ignite.train.rounds` the numbers begin again in each round: every round continues the
trainings of the round before.
"""

from __future__ import annotations

#: Where the trainings of rounds have their checkpoints, below the directory of the job.
ROUNDS = "rounds"
#: The state that a layer has learned from rows is below the directory of the job, in a file of this name and a number.
ADAPTED = "adapted"
#: Number of the round that this process trains; 0: none.
_round = 0
_count = 0
_adapted = 0


def begin_round(number: int) -> None:
    """A round begins; 0: there are no further rounds."""
    global _round, _count, _adapted
    _round, _count, _adapted = number, 0, 0


def current_round() -> int:
    """Number of the round that this process trains; 0: none."""
    return _round


def next_place() -> str:
    """The directory of the next training below the job's directory; empty: the job's directory itself."""
    global _count
    _count += 1
    return "/".join(filter(None, [ROUNDS if _round else "", name_of(_count)]))


def next_adapted() -> tuple[str, int]:
    """The place of the next layer that learns from rows below the directory of the job, and its number there."""
    global _adapted
    _adapted += 1
    return "/".join(filter(None, [ROUNDS if _round else "", f"{ADAPTED}-{_adapted}"])), _adapted


def name_of(number: int) -> str:
    """The directory of a training below the directory of the first one; empty: it is the first one."""
    return f"fit-{number}" if number > 1 else ""
