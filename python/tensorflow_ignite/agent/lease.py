"""Leases: how long tasks may run without a message from the node's service."""

import time
from collections.abc import Callable


class Lease:
    """A time limit that each heartbeat renews, measured by a monotonic clock."""

    def __init__(self, timeout: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Starts the lease now; `timeout` in seconds."""
        self.timeout = timeout
        self._clock = clock
        self._renewed = clock()

    def renew(self) -> None:
        """Starts the lease again."""
        self._renewed = self._clock()

    def silence(self) -> float:
        """Seconds since the last heartbeat."""
        return self._clock() - self._renewed

    def remaining(self) -> float:
        """Seconds until the lease expires; 0 or less after that."""
        return self.timeout - self.silence()


class AttemptLease:
    """The time until which the tasks of one attempt may run; the node's service extends it.

    The service has proof that no other node starts another attempt before. Its clock is the same as this process's:
    ``System.nanoTime`` of Java and ``time.monotonic_ns`` are both CLOCK_MONOTONIC.
    """

    def __init__(self, clock: Callable[[], int] = time.monotonic_ns) -> None:
        """A lease without an end, as long as it is not extended."""
        self._clock = clock
        #: The end, on the clock; None: it has none.
        self.until_nanos: int | None = None

    def extend(self, until_nanos: int) -> None:
        """Sets the end; an earlier one than before changes nothing."""
        if until_nanos and (self.until_nanos is None or until_nanos > self.until_nanos):
            self.until_nanos = until_nanos

    def remaining(self) -> float:
        """Seconds until the lease ends; 0 or less after that."""
        return float("inf") if self.until_nanos is None else (self.until_nanos - self._clock()) / 1e9
