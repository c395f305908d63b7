"""The lease: how long tasks may run without a heartbeat from the node's service."""

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
