"""The agreement of the workers of a job on the rows of an epoch: each adds its number, and all get the same numbers.

The nodes keep the numbers, so no worker calls another one, and TensorFlow takes no part.
"""

from __future__ import annotations

import functools
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence

from tensorflow_ignite import task
from tensorflow_ignite.net import resolve
from tensorflow_ignite.net.rpc import NodeConnection
from tensorflow_ignite.task import Task
from tensorflow_ignite.v1 import job_pb2

# A worker that has not begun the epoch after this time, since it saves or evaluates alone, has its last known rows.
SECONDS_TO_WAIT = 30.0
SECONDS_TO_SAY = 10.0
# Between calls of a worker that waits for others; the longest pause of few workers is short: their calls are few.
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.005, 0.1
_PAUSE_SECONDS_OF_A_WORKER = 0.005
_LONGEST_MEETING_PAUSE_SECONDS = 1.0
_CALL_SECONDS = 10.0

_log = logging.getLogger(__name__)

_names: Counter[str] = Counter()
_lock = threading.Lock()


def name(identity: str) -> str:
    """A name for a new dataset, the same on all workers: these make the same datasets in the same order.

    Args:
        identity: What the dataset reads, in at most 64 characters.
    """
    with _lock:
        _names[identity] += 1
        return f"{identity}-{_names[identity]}"


def agree(
    dataset: str, epoch: int, rows: int, last: Sequence[int], sleep: Callable[[float], None]
) -> tuple[list[int], bool]:
    """The rows of all workers in an epoch, by their indices; the same on every worker.

    The second value is whether some workers did not begin the epoch in time.

    Args:
        dataset: The name of the dataset.
        epoch: The number of the epoch.
        rows: Rows of this worker.
        last: The last known rows of all workers, for those that do not begin the epoch within 30 s.
        sleep: Waits some seconds; an error that it raises ends the wait.

    Raises:
        TensorFlowIgniteError: If this task is not a current one; if no node answers.
    """
    begin = time.monotonic()
    seconds, said = _FIRST_PAUSE_SECONDS, False
    longest = min(_LONGEST_PAUSE_SECONDS, len(last) * _PAUSE_SECONDS_OF_A_WORKER)
    while True:
        waits = time.monotonic() - begin < SECONDS_TO_WAIT
        found = _numbers(dataset, epoch, rows, () if waits else last)
        if found:
            return found, not waits
        if not said and time.monotonic() - begin > SECONDS_TO_SAY:
            said = True
            _log.warning(
                "epoch %d of dataset %s waits for other workers to begin it; those that have not after %.0f s are "
                "counted with their last known rows",
                epoch,
                dataset,
                SECONDS_TO_WAIT,
            )
        sleep(seconds)
        seconds = min(2 * seconds, longest if time.monotonic() - begin < SECONDS_TO_SAY else _LONGEST_PAUSE_SECONDS)


def further(
    name: str,
    number: int,
    rows: int,
    sleep: Callable[[float], None],
    is_awaited: Callable[[], bool],
    *,
    is_alone: bool,
    subject: str,
) -> list[int]:
    """The rows of all workers, by their indices, that are left at the agreed end of an epoch; the same on every worker.

    A worker that does not come to this end, since it leaves its loop before, has none after 30 s.

    Args:
        name: Identifies the epoch, in at most 80 characters.
        number: How often it was extended.
        rows: Rows that this worker has left.
        sleep: Waits some seconds; an error that it raises ends the wait.
        is_awaited: Whether the consumer of this worker waits: else it still computes, as may the others.
        is_alone: Whether this worker does not wait for others.
        subject: Names the epoch in the log.
    """
    seconds, waited = _FIRST_PAUSE_SECONDS, 0.0
    while True:
        waits = waited < SECONDS_TO_WAIT and not is_alone
        found = _numbers(name, number, rows, () if waits else [0] * len(task.current().assignment))
        if found:
            break
        begin = time.monotonic()
        sleep(seconds)
        waited += (time.monotonic() - begin) * is_awaited()
        seconds = min(2 * seconds, _LONGEST_PAUSE_SECONDS)
    if not waits and not is_alone:
        _log.warning(
            "%s ends, although other workers have not read it to its end after %.0f s. Rows that were put into their "
            "partitions during the epoch are left out",
            subject,
            SECONDS_TO_WAIT,
        )
    return found


def exchange(name: str, number: int, value: int, pause: Callable[[float], None]) -> list[int]:
    """The numbers of all workers of the job, by their indices, when all have called it with the same name and number.

    Args:
        name: What the numbers are, in at most 80 characters.
        number: How often.
        value: The number of this worker, from 0 to 2**63 - 1.
        pause: Waits some seconds; an error that it raises ends the wait.
    """
    begin = time.monotonic()
    seconds = _FIRST_PAUSE_SECONDS
    while not (found := _numbers(name, number, value, ())):
        pause(seconds)
        # Others may train for hours.
        is_long = time.monotonic() - begin > SECONDS_TO_SAY
        seconds = min(2 * seconds, _LONGEST_MEETING_PAUSE_SECONDS if is_long else _LONGEST_PAUSE_SECONDS)
    return found


def report(name: str, number: int, value: int) -> None:
    """Gives all workers the number of the first one, which calls this, and does not wait for the others.

    Args:
        name: As for :func:`exchange`, by which the others get the number; it is the first one of theirs.
        number: As for :func:`exchange`.
        value: As for :func:`exchange`.
    """
    _numbers(name, number, value, [value] * len(task.current().assignment))


def _numbers(dataset: str, epoch: int, rows: int, others: Sequence[int]) -> list[int]:
    """The numbers of all workers; empty: some are missing."""
    here = task.current()
    request = job_pb2.AgreeOnRowsRequest(
        job_id=here.job_id,
        attempt=here.attempt,
        worker=here.index,
        incarnation=here.incarnation,
        dataset=dataset,
        epoch=epoch,
        rows=rows,
        others=others,
    )
    return list(_connection(here).call("AgreeOnRows", lambda: request).rows)


@functools.lru_cache(maxsize=1)
def _connection(here: Task) -> NodeConnection:
    addresses = (here.node_address,)
    return NodeConnection(
        addresses, _CALL_SECONDS, connect=False, credentials=resolve.find_credentials(None, addresses)
    )
