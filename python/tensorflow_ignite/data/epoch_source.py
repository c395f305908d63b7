"""The rows of one epoch as this process reads them: from which nodes, in which order, and how many."""

from __future__ import annotations

import base64
import functools
import logging
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from tensorflow_ignite import errors, task
from tensorflow_ignite.data import agreement, cache_position, epoch_report
from tensorflow_ignite.data.epoch_report import EpochReport
from tensorflow_ignite.data.epochs import snapshots
from tensorflow_ignite.data.epochs.changes import Position, as_positions
from tensorflow_ignite.data.epochs.emission import Emission
from tensorflow_ignite.data.epochs.epoch import Epoch, Keep, Resumption, RowOrder, SnapshotTarget
from tensorflow_ignite.data.epochs.prefetch import Stream
from tensorflow_ignite.data.epochs.rows_per_worker import MILLION, EpochLength, EpochStart, agreed_length
from tensorflow_ignite.data.epochs.used_rows import UsedRows
from tensorflow_ignite.data.identified import FixedStream, IdentifiedStream, identified, since
from tensorflow_ignite.data.input_position import InputPosition
from tensorflow_ignite.data.plan import Plan, make_plan
from tensorflow_ignite.data.request import Request, counted
from tensorflow_ignite.data.transport import choice
from tensorflow_ignite.data.transport.flight import Endpoint
from tensorflow_ignite.data.transport.service import REFRESH, ServiceReader
from tensorflow_ignite.net import credentials

_log = logging.getLogger(__name__)


# The number of epochs whose given rows are known: the present one, and earlier ones whose last rows wait for use.
_BEGUN_EPOCHS = 4


# Where an epoch continues: the position of this process, and those of all workers.
Resumed = tuple[InputPosition, tuple[InputPosition, ...]]


@dataclass
class BegunEpoch:
    """An epoch that an iterator reads.

    Attributes:
        position: Where it began in this process.
        resumption: What earlier processes have used of it; None: nothing.
        emission: What has been given of it; None: its rows are not identified.
        own: Number of rows of this worker, without those that fill the epoch; -1: not known yet.
        resumed: Where it continues; None: it has begun in this process.
        name: That of its handle.
        is_identified: Whether its rows are identified.
    """

    position: InputPosition
    resumption: Resumption | None = None
    emission: Emission | None = None
    own: int = -1
    resumed: Resumed | None = None
    name: tuple[int, int] = (0, 0)
    is_identified: bool = False

    def standing(self, rows: int) -> InputPosition | None:
        """The position of a consumer that has had this number of rows of the epoch; None: it is not known."""
        if not rows:
            # Of a worker that has had none, too, others may have used rows of the epoch.
            return replace(self.position, used=self.resumption.used) if self.resumption else self.position
        total = self.position.rows + rows
        filled = max(0, total - self.own) if self.own >= 0 else 0
        used: tuple[UsedRows, ...] = ()
        if self.is_identified:
            lead = self.resumption.lead if self.resumption else 0
            found = self.emission.used(max(0, rows - lead)) if self.emission is not None else None
            if found is None or (found.is_empty and self.resumption is None):
                # A node of an earlier version has sent rows without identities.
                return None
            used = (*(self.resumption.used if self.resumption else ()), found)
        return replace(self.position, rows=total, filled=filled, used=used)


class DatasetState:
    """The state of a dataset in this process, over its epochs. Any thread may call.

    Attributes:
        epochs: Number of epochs that have begun.
        seed: The seed of the order of rows, if the script gives none.
        start: Where the next epoch begins, if rows are not shuffled.
        plan: The nodes that had the partitions when a snapshot was refreshed last; None: to be found.
        window: Number of rows that are shuffled together, determined by their size; 0: not yet.
        begun: What has been given of the last epochs that have begun, by number.
        ended: Number of rows that this process has read of each epoch that has ended.
        resumed: Where the next epoch continues; None: it begins.
        needs_identities: Whether the position within later epochs will be asked for.
        overlapping: The last epoch that began before the one before it had ended: several iterators read; -1: none.
    """

    def __init__(self) -> None:
        """No epoch has begun."""
        self.epochs = 0
        self.seed = secrets.randbits(62)
        self.start = EpochStart()
        self.plan: Plan | None = None
        self.window = 0
        self.begun: dict[int, BegunEpoch] = {}
        self.ended: dict[int, int] = {}
        self.resumed: Resumed | None = None
        self.needs_identities = False
        self.overlapping = -1
        self._lock = threading.Lock()
        self._warned = False
        self._agreed: tuple[int, EpochLength] | None = None
        # Of that epoch: whether other workers did not begin it in time, and by how many rows it was extended.
        self._is_alone = False
        self._extensions: list[int] = []
        # How often the dataset was put at a position: on the rows that are left then, the workers agree anew.
        self._resumptions = 0
        # Rows of all workers in the last epoch; empty: the assignment has them.
        self._counts: list[int] = []

    def begin(self, begun: BegunEpoch) -> None:
        """An epoch begins, or its reader is opened again."""
        number = begun.position.epoch
        if number - 1 in self.begun and number - 1 not in self.ended:
            self.overlapping = number
        self.begun[number] = begun
        for number in sorted(self.begun)[:-_BEGUN_EPOCHS]:
            del self.begun[number]

    def end(self, epoch: int, name: tuple[int, int], rows: int) -> None:
        """An epoch ends, of the handle of this name, which may be one of another state."""
        begun = self.begun.get(epoch)
        if begun is not None and begun.name == name:
            self.ended[epoch] = rows

    def resume(self, own: InputPosition, others: tuple[InputPosition, ...]) -> None:
        """The next epoch continues at a position; what this process has read of it and of later ones is of the past."""
        self.resumed, self.seed = (own, others), own.seed
        self._agreed, self._resumptions = None, self._resumptions + 1
        for of_epochs in (self.begun, self.ended):
            for number in [number for number in of_epochs if number >= own.epoch]:
                of_epochs.pop(number)

    def set_window(self, rows: int) -> None:
        """Sets the number of rows that are shuffled together from now on, so that later epochs have equal windows."""
        self.window = self.window or rows

    def warn(self, text: str) -> None:
        """Logs a text, but only the first one."""
        with self._lock:
            warned, self._warned = self._warned, True
        if not warned:
            _log.warning("%s", text)

    def agree(
        self, request: Request, epoch: int, continues: bool, own: int, sleep: Callable[[float], None]
    ) -> EpochLength:
        """The length of an epoch on which all workers of the job agree; asks once for each epoch.

        Args:
            request: The dataset.
            epoch: The number of the epoch.
            continues: Whether earlier processes have used rows of it.
            own: Rows of this worker; -1: they are counted now.
            sleep: Waits some seconds.
        """
        if self._agreed is None or self._agreed[0] != epoch:
            here = task.current()
            assignment = here.own_assignment
            assert assignment is not None
            if own < 0:
                own = counted(request, here, assignment.partitions)
            # Of a part of the rows, another worker has about as many as this one.
            is_part = request.filtered or continues
            last = self._counts or [own if is_part else worker.rows for worker in here.assignment]
            self._counts, self._is_alone = agreement.agree(self._name(request), epoch, own, last, sleep)
            index = here.assignment.index(assignment)
            length = agreed_length(request.uneven, self._counts, index, request.cache, continues=continues)
            self._agreed, self._extensions = (epoch, replace(length, own=own)), []
        return self._agreed[1]

    def extend(
        self,
        request: Request,
        epoch: int,
        number: int,
        rows: int,
        sleep: Callable[[float], None],
        is_awaited: Callable[[], bool],
    ) -> int:
        """By how many rows all workers of the job extend an epoch; asks once for each time.

        Args:
            request: The dataset.
            epoch: The number of the epoch, which has begun by :meth:`agree`.
            number: How often it was extended.
            rows: Further rows of this worker.
            sleep: Waits some seconds.
            is_awaited: Whether the consumer waits for the next batch.
        """
        if number == len(self._extensions):
            name = f"{self._name(request)}-further-{epoch}"
            subject = f"epoch {epoch} of cache {request.cache!r}"
            further = agreement.further(name, number, rows, sleep, is_awaited, is_alone=self._is_alone, subject=subject)
            self._extensions.append(max(further))
        return self._extensions[number]

    def _name(self, request: Request) -> str:
        """The name of the agreements; the nodes keep those that this attempt has made before."""
        return f"{request.agreement}-{self._resumptions}" if self._resumptions else request.agreement


class EpochSource:
    """Opens the streams of one epoch."""

    def __init__(
        self, request: Request, plan: Plan, state: DatasetState, order: RowOrder, begun: BegunEpoch | None = None
    ) -> None:
        """Opens nothing.

        Args:
            request: The dataset.
            plan: The nodes that send its rows.
            state: Its state in this process.
            order: The order of rows.
            begun: Where what is given is noted; None: nowhere.
        """
        self._begun = begun
        self._request = request
        self._plan = plan
        self._state = state
        self._order = order
        self._credentials = credentials.stored(request.credentials)
        self._has_said_whole = False
        self._since = cache_position.known(as_positions(cache_position.decode(request.since)))

    def epoch(self, cached: snapshots.Snapshots) -> Epoch:
        """The epoch; its batches are cached if the request says so."""
        request, order = self._request, self._order
        resumption = self._begun.resumption if self._begun else None
        limit = functools.partial(_limit, request.memory)
        return Epoch(
            self._streams,
            request.layout,
            request.length,
            order,
            self._plan.subject,
            SnapshotTarget(cached, request.name, limit) if request.snapshot else None,
            cached.get(request.name),
            self._plan,
            pa.ipc.read_schema(pa.py_buffer(base64.b64decode(request.zeros))) if request.zeros else None,
            _be_silent if request.counts_by_reading and request.weighted else self._state.warn,
            self._changes if request.snapshot == REFRESH else None,
            functools.partial(self._state.agree, request, order.epoch, resumption is not None)
            if request.agreement
            else None,
            functools.partial(self._state.extend, request, order.epoch)
            if request.agreement and request.uneven != "drop"
            else None,
            self._set_own,
            self._end,
            counts_by_reading=request.counts_by_reading,
            resumption=resumption,
            begin=self._begin,
            set_window=self._state.set_window,
        )

    def _begin(self, emission: Emission) -> None:
        begun = self._begun
        if begun is None or not begun.is_identified:
            return
        begun.emission = emission
        if begun.resumed is not None:
            emission.expect(begun.resumed[0].given, self._say_others)

    def _say_others(self) -> None:
        _log.warning(
            "%s: epoch %d is read again without the batches that were used, but its rows have changed since: some rows "
            "of this epoch come twice or never. Later epochs have each row once. Batches can be left out only of the "
            "same rows; where batch(n) follows tfi.dataset(...), and then map, rows themselves are known",
            self._plan.subject,
            self._order.epoch,
        )

    def _streams(self, epoch: int, start: EpochStart, keep: Keep | None, follow: bool) -> Sequence[Stream]:
        request, plan, order = self._request, self._plan, self._order
        shuffled = request.window is not None
        endpoints = plan.shuffled(order.seed, epoch) if shuffled else plan.beginning_at(start.share / MILLION)
        if request.since or (keep is not None and request.snapshot == REFRESH):
            keep, end = keep or (lambda size: False), self._say_whole if request.since else (lambda _: None)
            return self._identified(plan, endpoints, self._since, request.transport, choice.STREAMS, keep, end)
        if request.identified:
            return self._with_identities(endpoints, keep, follow)
        reader = request.reader
        opened = reader.moved_streams if follow else reader.streams
        return [stream for endpoint in endpoints for stream in opened(endpoint, plan.subject, plan.via, keep=keep)]

    def _with_identities(
        self, endpoints: Sequence[Endpoint], keep: Keep | None, follow: bool
    ) -> Sequence[IdentifiedStream | FixedStream]:
        plan, is_mixed = self._plan, bool(self._request.where)
        reader = ServiceReader(self._request.transport, self._credentials)
        endpoints = [identified(endpoint) for endpoint in endpoints]
        if follow:
            return [
                IdentifiedStream(stream, is_mixed)
                for endpoint in endpoints
                for stream in reader.moved_streams(endpoint, plan.subject, plan.via, keep=keep)
            ]
        return [
            FixedStream(stream, part.command.partitions, is_mixed)
            for endpoint in endpoints
            for part in choice.parallel(endpoint, choice.STREAMS)
            for stream in reader.streams(part, plan.subject, plan.via, keep=keep, most=1)
        ]

    def _changes(self, positions: Mapping[int, Position]) -> Sequence[IdentifiedStream]:
        state = self._state
        # Owners may have changed since the first epoch. A node that says so, or does not answer, makes them unknown.
        known, state.plan = state.plan, None
        plan = known or make_plan(self._request)
        left = len(plan.endpoints)
        require = functools.cache(functools.partial(self._require_partitions, plan))

        def end(stream: IdentifiedStream) -> None:
            nonlocal left
            if known and stream.outcome().whole:
                require()
            left -= not stream.has_moved
            if not left:
                state.plan = plan

        # They are few: memory to share, and more connections, would take longer than the rows.
        transport = choice.FLIGHT if self._request.transport == choice.AUTO else self._request.transport
        return self._identified(plan, plan.endpoints, positions, transport, 1, lambda size: True, end)

    def _identified(
        self,
        plan: Plan,
        endpoints: Sequence[Endpoint],
        positions: Mapping[int, Position],
        transport: str,
        most: int,
        keep: Keep,
        end: Callable[[IdentifiedStream], None],
    ) -> list[IdentifiedStream]:
        reader, is_mixed = ServiceReader(transport, self._credentials), bool(self._request.where)
        return [
            IdentifiedStream(stream, is_mixed, end)
            for endpoint in endpoints
            for stream in reader.moved_streams(since(endpoint, positions), plan.subject, plan.via, keep=keep, most=most)
        ]

    def _require_partitions(self, plan: Plan) -> None:
        """Raises an error if a plan is not one of all partitions: the cache may be another one of the same name."""
        present = make_plan(self._request)
        if _partitions(present) != _partitions(plan):
            raise errors.PartitionNotLocalError(
                f"{present.subject} has {len(_partitions(present))} partitions now, and had {len(_partitions(plan))}. "
                f"A plan of other partitions is not used again. Read again"
            )

    def _say_whole(self, stream: IdentifiedStream) -> None:
        whole = stream.outcome().whole
        if whole and not self._has_said_whole:
            self._has_said_whole = True
            _log.warning(
                "%s: partitions, such as %d, are read whole, because their changes since the position are not known "
                "any more. They have moved, their node was restarted, or more rows have changed than a node remembers",
                self._plan.subject,
                min(whole),
            )

    def _set_own(self, rows: int) -> None:
        if self._begun is not None:
            self._begun.own = rows

    def _end(self, length: EpochLength, arrived: int) -> None:
        self._state.start = self._order.start.next(length, arrived)
        difference = 0 if length.rows < 0 else arrived - length.rows
        epoch_report.add(
            EpochReport(self._request.cache, self._order.epoch, arrived, max(0, difference), max(0, -difference))
        )


def _partitions(plan: Plan) -> set[int]:
    return {number for endpoint in plan.endpoints for number in endpoint.command.partitions}


def _be_silent(text: str) -> None:
    """Of changed rows, workers have different numbers; with rows of weight 0 each row comes once."""


def _limit(memory: int) -> int:
    return memory if memory >= 0 else _default_limit()


@functools.lru_cache(maxsize=1)
def _default_limit() -> int:
    """Computed once for the process, because cached batches reduce the available memory."""
    here = task.current()
    assignment = here.own_assignment
    return snapshots.default_limit(
        sum(assignment is not None and other.node_id == assignment.node_id for other in here.assignment)
    )
