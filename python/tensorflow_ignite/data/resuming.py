"""A dataset goes on where the workers of an earlier attempt have stood, whichever workers there are now."""

from __future__ import annotations

from collections.abc import Sequence

from tensorflow_ignite.data.epoch_readers import readers
from tensorflow_ignite.data.input_position import InputPosition
from tensorflow_ignite.data.request import ASSIGNED, Request
from tensorflow_ignite.errors import InvalidRequestError
from tensorflow_ignite.task import current


def resume(request: Request, workers: Sequence[InputPosition | None]) -> None:
    """Makes the next epoch of a dataset go on behind positions.

    Args:
        request: The dataset.
        workers: The position of each worker of the attempt that has saved them; None: not known.

    Raises:
        InvalidRequestError: A position within an epoch is one of another cache, or of other rows.
    """
    own = _own(request, workers)
    known = [position for position in workers if position is not None]
    if own is not None and _is_own_choice(request):
        # It reads rows that others read, too, or others do not: what they have used does not matter.
        known = [own]
    for position in known:
        _check(request, position)
    # At the end of an epoch, a worker that has read ahead may already stand at the beginning of the next one. All
    # workers have used the same number of rows, so the others have finished the epoch, too.
    last = max(known, key=lambda position: position.epoch)
    known = [position for position in known if position.epoch == last.epoch]
    readers.resume(request, own if own and own.epoch == last.epoch else last.of_other_worker(), known)


def is_read_as_before(request: Request, workers: Sequence[InputPosition | None]) -> bool:
    """Whether this worker reads the partitions that it has read when its position was saved, from the same nodes."""
    own = _own(request, workers)
    return own is not None and readers.digest(request) == own.digest


def _own(request: Request, workers: Sequence[InputPosition | None]) -> InputPosition | None:
    """The position from which this worker goes on; None: there were more or fewer workers that share the rows."""
    here = current()
    index, count = (here.index, len(here.assignment)) if here.own_assignment is not None else (0, 1)
    if _is_own_choice(request):
        return workers[index % len(workers)]
    return workers[index] if len(workers) == count else None


def _is_own_choice(request: Request) -> bool:
    """Whether each worker of the job reads the partitions that its script names, not its share of the cache."""
    return current().own_assignment is not None and request.partitions != ASSIGNED


def _check(request: Request, position: InputPosition) -> None:
    if not position.rows and not position.elements:
        return
    if position.cache != request.cache:
        what = f"cache {position.cache!r}, and the script reads cache {request.cache!r}"
    elif position.selection != request.selection:
        what = (
            f"other rows of cache {request.cache!r} than the script reads now (where=, sql=, partitions=, "
            "hold_out=, since= or on_mismatch=)"
        )
    else:
        return
    raise InvalidRequestError(
        f"{current().task} cannot resume: the position was saved within epoch {position.epoch} of {what}. Within an "
        "epoch a training goes on with the rows that the epoch has not used yet. Read the same rows as before, or give "
        "another checkpoint directory"
    )
