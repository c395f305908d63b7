"""The context of a task's script: its job and its rows; outside a job, the context of a single worker."""

from __future__ import annotations

import os
from dataclasses import dataclass

from tensorflow_ignite import task
from tensorflow_ignite.data.epochs.rows_per_worker import UNEVEN, Uneven, check_counts
from tensorflow_ignite.errors import InvalidRequestError, TensorFlowIgniteError
from tensorflow_ignite.task import Task


@dataclass(frozen=True)
class Context(Task):
    """The task of this process; outside a job, a single worker.

    Attributes:
        cache: In a job, the cache that is split over the workers; outside, the argument of :func:`context`.
        address: Addresses of nodes, for rows outside a job; None: as for :func:`tensorflow_ignite.dataset`.
    """

    address: str | None = None

    def steps_per_epoch(self, global_batch_size: int, uneven: Uneven = "repeat") -> int:
        """Returns the number of steps in which the workers read the cache once; it is the same for every worker.

        Under ``multi-worker-mirrored`` and ``custom`` each of N workers takes 1/N of ``global_batch_size`` rows a step
        from its rows, and all need the same number of steps, although their numbers of rows differ. Under the other
        kinds a step is one batch of ``global_batch_size`` rows, under ``parameter-server`` on one of the workers.

        Args:
            global_batch_size: Rows of a step, over all workers.
            uneven: As given to :func:`tensorflow_ignite.dataset`. ``"repeat"`` and ``"pad"``: the largest number of
                rows of a worker decides; the others repeat rows, or read zeros of weight 0. ``"drop"``: the smallest
                number decides; the others leave rows unread. Use ``dataset.repeat()``: an epoch may end within a batch.

        Returns:
            The number of steps, at least 1.

        Raises:
            InvalidRequestError: The batch is smaller than the number of workers, or an option is unknown.
            TensorFlowIgniteError: The rows are too few for a step, or, outside a job, they cannot be counted.
        """
        if uneven not in UNEVEN:
            raise InvalidRequestError(
                f'uneven={uneven!r} is unknown. It is "repeat", "drop" or "pad". Use one of these values'
            )
        collective = self.takes_equal_steps
        workers = max(1, self.num_workers) if collective else 1
        if global_batch_size < workers:
            raise InvalidRequestError(
                f"global_batch_size={global_batch_size} gives some of {workers} workers no row. Each worker needs "
                f"a row of every step. The value must be at least {workers}"
            )
        shares = [worker.rows for worker in self.assignment] if collective else [self._rows()]
        if uneven != "drop":
            check_counts(uneven, shares, self.cache)
            return max(1, -(-max(shares) // (global_batch_size // workers)))
        steps = min(shares) // -(-global_batch_size // workers)
        if steps == 0:
            raise TensorFlowIgniteError(
                f'uneven="drop" leaves no step for cache {self.cache!r}: rows a worker are {shares}, and a step of '
                f"{global_batch_size} takes {-(-global_batch_size // workers)} of each. Use a smaller batch, or "
                f'uneven="repeat"'
            )
        return steps

    def _rows(self) -> int:
        """Rows of the whole cache."""
        if self.in_job:
            return sum(worker.rows for worker in self.assignment)
        if not self.cache:
            raise TensorFlowIgniteError(
                "the steps of an epoch are not known: outside a job, no cache was given. Steps are counted from the "
                'rows of a cache. Name it: tfi.train.context(cache="...")'
            )
        from tensorflow_ignite.data.plan import count_rows

        return count_rows(self.cache, address=self.address)


def context(*, cache: str = "", address: str | None = None) -> Context:
    """Returns the context of this process.

    Args:
        cache: The cache to train on outside a job; a job specifies its own cache.
        address: ``host:port[,host:port]`` of nodes, used outside a job only.

    Returns:
        In a job, the task's context; otherwise the context of a single worker with the whole cache.

    Raises:
        TensorFlowIgniteError: The context file of this task cannot be read.
    """
    here = task.current()
    if not here.in_job:
        return Context(cache=cache or os.environ.get("IGNITE_DATASET_CACHE_NAME", ""), address=address)
    return Context(**vars(here))
