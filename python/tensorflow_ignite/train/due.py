"""When the next checkpoint is due, decided the same way by every worker."""

from __future__ import annotations

import time
from collections.abc import Callable

from tensorflow_ignite.errors import InvalidRequestError

#: What :func:`tensorflow_ignite.train.checkpoint` does when it is told neither steps nor seconds.
DEFAULT_SECONDS = 60.0

#: The next meeting is at most so many times as far away as the last one was: speed measured over few steps lies.
_GROWTH = 8


class Due:
    """Says at which steps to save.

    By steps, a save is due whenever a multiple of ``every_steps`` was reached or passed since the last one. By
    seconds, the first worker's clock decides. As saving is a joint act of all workers, the others must hear of it at
    the same step; asking at every step would cost an exchange each. So the workers meet at agreed steps only: the
    first worker tells there either that now is the time, or in how many steps to meet again, which is about half of
    what its measured speed makes of the seconds left. That is a handful of exchanges for each checkpoint.
    """

    def __init__(
        self,
        every_steps: int | None = None,
        every_seconds: float | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Checks what the user asked for.

        Args:
            every_steps: Steps from one checkpoint to the next; None: steps do not matter.
            every_seconds: Seconds from the end of one save to the next; None: time does not matter.
            clock: Seconds that never run backwards.

        Raises:
            InvalidRequestError: One of them is not above 0.
        """
        if every_steps is not None and (every_steps != int(every_steps) or every_steps < 1):
            raise InvalidRequestError(f"every_steps={every_steps!r} is no number of steps; give a whole number above 0")
        if every_seconds is not None and not 0 < every_seconds < float("inf"):
            raise InvalidRequestError(f"every_seconds={every_seconds!r} is no time; give a number above 0")
        self._every_steps = None if every_steps is None else int(every_steps)
        self._every_seconds = every_seconds
        self._clock = clock
        # Alone, the own word is what is agreed on, and costs nothing.
        self._agree: Callable[[int], int] | None = None
        self.start(0)

    @classmethod
    def of(cls, every_steps: int | None, every_seconds: float | None) -> Due:
        """As the user asked, or by default."""
        if every_steps is None and every_seconds is None:
            every_seconds = DEFAULT_SECONDS
        return cls(every_steps, every_seconds)

    def meet_through(self, agree: Callable[[int], int]) -> None:
        """Makes this one of several workers: ``agree`` returns, on all, what the first worker was called with."""
        self._agree = agree

    def start(self, step: int) -> None:
        """The work begins, or a checkpoint was saved, at this step: steps and seconds count from here."""
        self._saved_step = step
        self._saved_at = self._clock()
        self._met_step, self._met_at = step, self._saved_at
        self._next_meeting = step + 1
        self._stride = 1

    def check(self, step: int) -> bool:
        """Whether to save after this step; every worker must ask for the same steps, and gets the same answer."""
        if self._every_steps is not None and step // self._every_steps > self._saved_step // self._every_steps:
            return True
        if self._every_seconds is None:
            return False
        if self._agree is None:
            return self._clock() - self._saved_at >= self._every_seconds
        if step < self._next_meeting:
            return False
        stride = self._agree(self._until_next_meeting(step))
        self._next_meeting = step + stride
        self._stride = max(1, stride)
        self._met_step, self._met_at = step, self._clock()
        return stride == 0

    def _until_next_meeting(self, step: int) -> int:
        """Steps to the next meeting, 0 when a save is due; only the first worker's answer counts."""
        assert self._every_seconds is not None
        now = self._clock()
        left = self._every_seconds - (now - self._saved_at)
        if left <= 0:
            return 0
        speed = (step - self._met_step) / max(now - self._met_at, 1e-6)
        return max(1, min(int(speed * left / 2), self._stride * _GROWTH))
