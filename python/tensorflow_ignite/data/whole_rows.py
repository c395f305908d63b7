"""The rows of all workers in one process: while it learns from datasets, their epochs have all rows of their caches.

A dataset of the job's cache reads the partitions of its worker, and fills or cuts each epoch to the number on which the
workers agree. Here an epoch has every row once, without an agreement. It has a state of its own, so that the numbers
and the snapshots of the dataset's other epochs stay what they are on each worker.
"""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from tensorflow_ignite.data.epochs.rows_per_worker import NOT_COUNTED
from tensorflow_ignite.data.request import ALL, ASSIGNED, Request

#: An attribute of the datasets of `tensorflow_ignite.dataset`: their request.
REQUEST = "_tensorflow_ignite_request"

_lock = threading.Lock()
_names: Counter[str] = Counter()


@contextlib.contextmanager
def reading(requests: Iterable[Request]) -> Iterator[None]:
    """Within the block, epochs that begin have all rows.

    Args:
        requests: Those of the datasets; other datasets of this process stay as they are.
    """
    names = [request.name for request in requests]
    with _lock:
        _names.update(names)
    try:
        yield
    finally:
        with _lock:
            _names.subtract(names)


def name_of(name: str) -> str:
    """The name under which the state of these epochs is kept, for the name of a dataset."""
    return f"{name}-whole"


def source_of(request: Request) -> Request:
    """The request that an epoch reads which begins now: the argument itself, or one of all rows."""
    with _lock:
        if not _names[request.name]:
            return request
    return replace(
        request,
        name=name_of(request.name),
        partitions=ALL if request.partitions == ASSIGNED else request.partitions,
        agreement="",
        length=NOT_COUNTED,
        snapshot="",
    )
