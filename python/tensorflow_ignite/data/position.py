"""The present position of a cache, from the owners of its partitions."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from tensorflow_ignite import errors
from tensorflow_ignite.data import identified, service_or_thin
from tensorflow_ignite.data.cache_position import CachePosition
from tensorflow_ignite.data.epochs.changes import NO_POSITION, Position
from tensorflow_ignite.data.options import ReadOptions, group
from tensorflow_ignite.data.request import ALL, Request, accepts_data_loss, address_of, describe
from tensorflow_ignite.data.transport import choice
from tensorflow_ignite.data.transport.flight import Endpoint
from tensorflow_ignite.net import credentials as net_credentials

# A node that begins to record the changes of a cache knows positions two seconds later.
WAIT_MILLIS = 10_000
# Number of nodes that are asked at a time.
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
    given = net_credentials.from_argument(options.credentials)
    request = Request(
        cache,
        (),
        False,
        ALL,
        options.address,
        0,
        credentials=net_credentials.store(given),
        accept_data_loss=accepts_data_loss(None),
    )
    via = address_of(request)
    command = request.command(uncounted=True)
    command.positions_only = True
    endpoints = describe(request, via, command).endpoints
    if not endpoints:
        raise errors.DataLossError(f"cache {cache!r} has no partition that can be read. Load it again")

    def positions_of(endpoint: Endpoint) -> Mapping[int, Position]:
        (stream,) = service_or_thin.moved_streams(
            choice.FLIGHT,
            endpoint.modified(positions=True, wait_millis=WAIT_MILLIS),
            f"the position of cache {cache!r}",
            given,
            via=via,
            keep=lambda size: False,
            most=1,
        )
        for _ in stream:
            pass
        return identified.changes(stream.results).positions

    with ThreadPoolExecutor(min(_NODES, len(endpoints))) as threads:
        found = {number: one for part in threads.map(positions_of, endpoints) for number, one in part.items()}
    name = endpoints[0].command.cache
    return CachePosition(name, tuple(found.get(number, NO_POSITION) for number in range(max(found) + 1)))
