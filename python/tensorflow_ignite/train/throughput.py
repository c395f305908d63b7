"""How fast this process trains: steps and rows a second, and the share of time in which it waits for rows."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from tensorflow_ignite.data.epochs import input_totals
from tensorflow_ignite.v1 import job_pb2

# A rate is a mean over at most this number of the last seconds.
WINDOW_SECONDS = 10.0
# Between samples. No rate is known before the second one.
SAMPLE_SECONDS = 1.0


class _Sample(NamedTuple):
    time: float
    step: int
    rows: int
    waited: float


class ThroughputMeter:
    """Measures over a sliding window. Not thread-safe.

    A dataset reads some thousand rows at a time, which may suffice for minutes of slow steps. So the rate of the rows
    has a window of its own, which begins and ends with samples that have new rows.
    """

    def __init__(
        self,
        totals: Callable[[], input_totals.InputTotals] = input_totals.totals,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Has no sample.

        Args:
            totals: Returns what the datasets of this process have read.
            clock: Seconds.
        """
        self._totals = totals
        self._clock = clock
        self._samples: deque[_Sample] = deque()
        # The first sample, then those with more rows than before.
        self._reads: deque[_Sample] = deque()

    def restart(self) -> None:
        """Forgets all samples: this process does not do the steps from the last one to the next."""
        self._samples.clear()
        self._reads.clear()

    def measure(self, step: int) -> job_pb2.Throughput | None:
        """The throughput of the last seconds; None: it was measured less than a second ago, or cannot be yet.

        Args:
            step: Number of finished steps. A number lower than before begins another training.
        """
        samples, now = self._samples, self._clock()
        if samples and step < samples[-1].step:
            self.restart()
        if samples and now - samples[-1].time < SAMPLE_SECONDS:
            return None
        samples.append(_Sample(now, step, *self._totals()))
        if not self._reads or samples[-1].rows > self._reads[-1].rows:
            self._reads.append(samples[-1])
        for window in (samples, self._reads):
            while len(window) > 2 and now - window[1].time >= WINDOW_SECONDS:
                window.popleft()
        first, last = samples[0], samples[-1]
        seconds = last.time - first.time
        if seconds <= 0:
            return None
        return job_pb2.Throughput(
            steps_per_second=(last.step - first.step) / seconds,
            examples_per_second=self._examples_per_second(now),
            input_wait=min(1.0, (last.waited - first.waited) / seconds),
        )

    def _examples_per_second(self, now: float) -> float:
        """The rate between reads; that since the last one, if that is longer ago than the reads are apart."""
        first, last = self._reads[0], self._reads[-1]
        seconds = max(last.time - first.time, now - last.time)
        return (last.rows - first.rows) / seconds if seconds > 0 else 0.0
