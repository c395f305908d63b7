"""What happens in another thread while a test does something else."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor


@contextlib.contextmanager
def repeating(*actions: Callable[[], object], pause: float = 0.0) -> Iterator[None]:
    """Calls each function again and again, in a thread of its own, until the end; raises what one of them raised."""
    ending = threading.Event()

    def repeat(action: Callable[[], object]) -> None:
        while not ending.wait(pause):
            action()

    with ThreadPoolExecutor(len(actions)) as threads:
        running = [threads.submit(repeat, action) for action in actions]
        try:
            yield
        finally:
            ending.set()
        for each in running:
            each.result()
