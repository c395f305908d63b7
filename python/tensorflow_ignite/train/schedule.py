"""The steps at which checkpoints are saved, the same on every worker."""

from __future__ import annotations

import time
from collections.abc import Callable

from tensorflow_ignite.errors import InvalidRequestError

#: Default of :func:`tensorflow_ignite.train.checkpoint`, if neither steps nor seconds are given.
DEFAULT_SECONDS = 60.0

#: Largest ratio of the steps to the next exchange to the steps since the last one: a speed measured over few steps is
#: inaccurate.
_GROWTH = 8


class CheckpointSchedule:
    """Decides at which steps to save.

    By steps, a save is due if a multiple of ``every_steps`` was reached or passed since the last save. By seconds, the
    chief's clock decides. All workers save together, so they must learn the decision at the same step, and an exchange
    at every step would be expensive. So the workers exchange values only at agreed steps: the chief sends either 0
    (save now) or the number of steps to the next exchange, about half the steps that its measured speed predicts for
    the remaining seconds. That is a handful of exchanges for each checkpoint.
    """

    def __init__(
        self,
        every_steps: int | None = None,
        every_seconds: float | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Checks the arguments.

        Args:
            every_steps: Steps from one checkpoint to the next; None: no saves by steps.
            every_seconds: Seconds from the end of one save to the next; None: no saves by time.
            clock: A monotonic clock, in seconds.

        Raises:
            InvalidRequestError: An argument is not above 0.
        """
        if every_steps is not None and (every_steps != int(every_steps) or every_steps < 1):
            raise InvalidRequestError(
                f"every_steps={every_steps!r} is not a number of steps. Steps are counted from 1. Give a whole number "
                "above 0"
            )
        if every_seconds is not None and not 0 < every_seconds < float("inf"):
            raise InvalidRequestError(
                f"every_seconds={every_seconds!r} is not a duration. A duration is finite. Give a number above 0"
            )
        self._every_steps = None if every_steps is None else int(every_steps)
        self._every_seconds = every_seconds
        self._clock = clock
        # None: there is a single worker.
        self._broadcast: Callable[[int], int] | None = None
        self.start(0)

    @classmethod
    def of(cls, every_steps: int | None, every_seconds: float | None) -> CheckpointSchedule:
        """A schedule by these arguments, or by `DEFAULT_SECONDS` if both are None."""
        if every_steps is None and every_seconds is None:
            every_seconds = DEFAULT_SECONDS
        return cls(every_steps, every_seconds)

    def agree_through(self, broadcast: Callable[[int], int]) -> None:
        """Makes this one of several workers: ``broadcast`` returns, on all workers, the argument of the chief."""
        self._broadcast = broadcast

    def start(self, step: int) -> None:
        """Counts steps and seconds from this step on, at which the training begins or a checkpoint was saved."""
        self._saved_step = step
        self._saved_at = self._clock()
        self._exchange_step, self._exchanged_at = step, self._saved_at
        self._next_exchange = step + 1
        self._stride = 1

    def check(self, step: int) -> bool:
        """Whether to save after this step; every worker must call it for the same steps, and gets the same result."""
        if self._every_steps is not None and step // self._every_steps > self._saved_step // self._every_steps:
            return True
        if self._every_seconds is None:
            return False
        if self._broadcast is None:
            return self._clock() - self._saved_at >= self._every_seconds
        if step < self._next_exchange:
            return False
        stride = self._broadcast(self._steps_to_next_exchange(step))
        self._next_exchange = step + stride
        self._stride = max(1, stride)
        self._exchange_step, self._exchanged_at = step, self._clock()
        return stride == 0

    def _steps_to_next_exchange(self, step: int) -> int:
        """Steps to the next exchange, 0 if a save is due; only the chief's value is used."""
        assert self._every_seconds is not None
        now = self._clock()
        left = self._every_seconds - (now - self._saved_at)
        if left <= 0:
            return 0
        speed = (step - self._exchange_step) / max(now - self._exchanged_at, 1e-6)
        return max(1, min(int(speed * left / 2), self._stride * _GROWTH))
