"""Whether any row of a cache has changed since a position, found without reading the others."""

from __future__ import annotations

from tensorflow_ignite.data import cache_position
from tensorflow_ignite.data.cache_position import CachePosition
from tensorflow_ignite.data.identified import since
from tensorflow_ignite.data.request import ALL, Request, accepts_data_loss
from tensorflow_ignite.data.transport import choice
from tensorflow_ignite.data.transport.service import ServiceReader


def any_row(cache: str, position: CachePosition, keys: tuple[int, int] | None) -> bool:
    """Whether there is a row that was put since a position, or whose partition is read whole.

    Args:
        cache: Name of the cache.
        position: The position.
        keys: The range of hashes of keys; None: all keys.

    Raises:
        TensorFlowIgniteError: Any error of a node; if no node answers.
    """
    request = Request(
        cache,
        (),
        False,
        ALL,
        None,
        0,
        nulls="default",
        on_mismatch="skip",
        accept_data_loss=accepts_data_loss(None),
        keys=keys or (),
        batch_rows=1,
    )
    reader = ServiceReader(choice.FLIGHT, None)
    via = reader.address(None)
    known = cache_position.known(position.partitions)
    for endpoint in reader.describe(via, request.command(uncounted=True)).endpoints:
        # One column is enough.
        narrow = endpoint.modified(columns=endpoint.command.columns[:1])
        (stream,) = reader.moved_streams(since(narrow, known), f"cache {cache!r}", via, keep=lambda size: False, most=1)
        try:
            if any(batch.num_rows for batch in stream):
                return True
        finally:
            stream.cancel()
    return False
