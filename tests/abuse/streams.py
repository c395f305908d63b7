"""The endpoints of a cache's rows, and connections for streams that nobody reads."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import grpc

from tensorflow_ignite.data.transport import flight
from tensorflow_ignite.v1 import data_pb2

#: Options of a channel. Else gRPC shares connections of one process to one address, and receives megabytes in advance.
OWN_CONNECTION = (("grpc.use_local_subchannel_pool", 1), ("grpc.http2.bdp_probe", 0))

#: Of streams that nobody reads.
PER_CONNECTION = 250


@contextlib.contextmanager
def unread(address: str, call: Callable[[grpc.Channel], Any], streams: int) -> Iterator[list[Any]]:
    """Calls whose answers nobody reads, until the end of the context."""
    calls = []
    with contextlib.ExitStack() as stack:
        for _ in range(streams // PER_CONNECTION):
            channel = stack.enter_context(grpc.insecure_channel(address, OWN_CONNECTION))
            for _ in range(PER_CONNECTION):
                calls.append(call(channel))
                stack.callback(calls[-1].cancel)
        yield calls


def endpoints(address: str, cache: str) -> list[tuple[str, data_pb2.ReadCommand]]:
    """The nodes that own rows of a cache, each with the command for all of its rows."""
    found = flight.describe(address, data_pb2.ReadCommand(cache=cache)).endpoints
    return [(endpoint.address, endpoint.command) for endpoint in found]
