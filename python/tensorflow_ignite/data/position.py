"""The present position of a cache, from the owners of its partitions, and whether a row has changed since one."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from tensorflow_ignite import errors
from tensorflow_ignite.data import cache_position, identified
from tensorflow_ignite.data.cache_position import CachePosition
from tensorflow_ignite.data.epochs.changes import NO_POSITION, Position
from tensorflow_ignite.data.options import ReadOptions, group
from tensorflow_ignite.data.request import ALL, Request, accepts_data_loss
from tensorflow_ignite.data.transport import choice
from tensorflow_ignite.data.transport.flight import Endpoint
from tensorflow_ignite.data.transport.moved_partitions import MovedPartitionStream
from tensorflow_ignite.data.transport.service import ServiceReader
from tensorflow_ignite.net import credentials as net_credentials

# A node that begins to record the changes of a cache knows positions two seconds later.
WAIT_MILLIS = 10_000
# Number of nodes that are called at a time.
_NODES = 32


def position(cache: str, *, options: ReadOptions | None = None) -> CachePosition:
    """The position of a cache now: ``dataset(cache, changes=Changes(since=position))`` reads what is put later.

    The first call for a cache takes about two seconds: its nodes notice changes from then on, until ten minutes after
    the last reader or call.

    Args:
        cache: Name of the cache.
        options: As for :func:`tensorflow_ignite.dataset`; its address and credentials are used.

    Raises:
        TensorFlowIgniteError: CacheNotFoundError and other errors of a node; if no node answers.
    """
    if not isinstance(cache, str) or not cache:
        raise errors.InvalidRequestError(f"cache={cache!r} is no name of a cache. Give its name, such as 'trips'")
    options = group("options", options, ReadOptions) or ReadOptions()
    reader = ServiceReader(choice.FLIGHT, net_credentials.from_argument(options.credentials))
    via = reader.address(options.address)
    request = Request(cache, (), False, ALL, None, 0, accept_data_loss=accepts_data_loss(None))
    command = request.command(uncounted=True)
    command.positions_only = True
    endpoints = reader.describe(via, command).endpoints
    if not endpoints:
        raise errors.DataLossError(f"cache {cache!r} has no partition that can be read. Load it again")

    def positions_of(endpoint: Endpoint) -> Mapping[int, Position]:
        waiting = endpoint.modified(positions=True, wait_millis=WAIT_MILLIS)
        stream = _stream(reader, waiting, f"the position of cache {cache!r}", via)
        for _ in stream:
            pass
        return identified.changes(stream.results).positions

    with ThreadPoolExecutor(min(_NODES, len(endpoints))) as threads:
        found = {number: one for part in threads.map(positions_of, endpoints) for number, one in part.items()}
    name = endpoints[0].command.cache
    return CachePosition(name, tuple(found.get(number, NO_POSITION) for number in range(max(found) + 1)))


def any_row(cache: str, since: CachePosition, keys: tuple[int, int] | None) -> bool:
    """Whether there is a row that was put since a position, or whose partition is read whole; reads no other row.

    Args:
        cache: Name of the cache.
        since: The position.
        keys: The range of hashes of keys; None: all keys.

    Raises:
        TensorFlowIgniteError: Any error of a node; if no node answers.
    """
    request = Request(cache, (), False, ALL, None, 0, nulls="default", on_mismatch="skip", keys=keys or ())
    command = request.command(uncounted=True)
    command.accept_data_loss, command.batch_rows = accepts_data_loss(None), 1
    reader = ServiceReader(choice.FLIGHT, None)
    via = reader.address(None)
    known = cache_position.known(since.partitions)
    for endpoint in reader.describe(via, command).endpoints:
        # One column is enough.
        narrow = endpoint.modified(columns=endpoint.command.columns[:1])
        stream = _stream(reader, identified.since(narrow, known), f"cache {cache!r}", via)
        try:
            if any(batch.num_rows for batch in stream):
                return True
        finally:
            stream.cancel()
    return False


def _stream(reader: ServiceReader, endpoint: Endpoint, subject: str, via: str) -> MovedPartitionStream:
    return reader.moved_streams(endpoint, subject, via, keep=lambda size: False, most=1)[0]
