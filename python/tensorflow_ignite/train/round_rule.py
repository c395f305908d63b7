"""When a round of a continuous job begins; knows no cluster and no clock."""

from __future__ import annotations

from typing import NamedTuple

from tensorflow_ignite.groups import Rounds

# Without a rule of the job.
LEAST_SECONDS = 5.0


class Wait(NamedTuple):
    """What a round waits for.

    Attributes:
        seconds: When it is known more; 0: when the rows have changed.
        text: The same for people.
    """

    seconds: float
    text: str


def wait(rule: Rounds, seconds: float, changes: int | None) -> Wait | None:
    """What the next round waits for; None: it begins.

    Args:
        rule: The rule of the job.
        seconds: The time since the begin of the last round.
        changes: The changes since then; None: they are not known, so that some rows will be read again.
    """
    least = LEAST_SECONDS if rule.every is None else rule.every
    if rule.when_rows:
        if changes is None or changes >= rule.when_rows:
            return None
        return Wait(0, f"{rule.when_rows:,} changes (when_rows): there are {changes:,}")
    if seconds < least:
        return Wait(least - seconds, f"its time, in {least - seconds:.0f} s: a round begins every {least:g} s at most")
    return Wait(0, "a row that changes") if changes == 0 else None
