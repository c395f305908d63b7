"""How long the tasks may live without a word from the node's service."""

import time
from collections.abc import Callable


class Lease:
    """Renewed by each heartbeat, measured by a clock that nobody sets."""

    def __init__(self, timeout: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Begins the lease now; `timeout` in seconds."""
        self.timeout = timeout
        self._clock = clock
        self._renewed = clock()

    def renew(self) -> None:
        """Begins it anew."""
        self._renewed = self._clock()

    def silence(self) -> float:
        """Seconds since the last heartbeat."""
        return self._clock() - self._renewed

    def remaining(self) -> float:
        """Seconds until it expires; 0 or less once it has."""
        return self.timeout - self.silence()
