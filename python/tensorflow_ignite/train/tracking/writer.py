"""Figures on their way to a tracker: a thread records them in their order, so a slow tracker delays no step."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping

from tensorflow_ignite.train.tracking.run import TrackedRun

# Seconds whose figures are one request.
_GATHER_SECONDS = 0.5
_RETRY_SECONDS = 5.0
# Figures in memory while the tracker does not take them; the oldest are dropped.
_MOST = 20_000

_log = logging.getLogger(__name__)


class FigureWriter:
    """Records the figures of one run. An error of the tracker is logged once, and never reaches the script."""

    def __init__(self, run: TrackedRun) -> None:
        """Starts the thread."""
        self._run = run
        self._changed = threading.Condition()
        self._figures: list[tuple[int, float, Mapping[str, float]]] = []
        self._ended = self._logged = False
        self._thread = threading.Thread(target=self._write, name="tensorflow-ignite tracker", daemon=True)
        self._thread.start()

    def add(self, step: int, values: Mapping[str, float]) -> None:
        """Records values soon."""
        with self._changed:
            self._figures.append((step, time.time(), values))
            del self._figures[: max(0, len(self._figures) - _MOST)]
            self._changed.notify()

    def close(self, seconds: float) -> None:
        """Records all that is left; waits at most this many seconds."""
        with self._changed:
            self._ended = True
            self._changed.notify()
        self._thread.join(seconds)

    def _write(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._figures or self._ended)
                self._changed.wait_for(lambda: self._ended, _GATHER_SECONDS)
                figures, self._figures = self._figures, []
                ended = self._ended
            try:
                if figures:
                    self._run.write(figures)
            except Exception as error:  # a tracker must not end a training
                if not self._logged:
                    self._logged = True
                    _log.warning("tensorflow_ignite: the tracker records nothing at present: %s", error)
                with self._changed:
                    self._figures = [*figures, *self._figures][-_MOST:]
                    self._changed.wait_for(lambda: self._ended, _RETRY_SECONDS)
            if ended:
                return
