"""The endpoints of a cache's rows, and connections for streams that nobody reads."""

from __future__ import annotations

import pyarrow.flight as flight

from tensorflow_ignite.v1 import data_pb2

#: Options of a channel. Else gRPC shares connections of one process to one address, and receives megabytes in advance.
OWN_CONNECTION = (("grpc.use_local_subchannel_pool", 1), ("grpc.http2.bdp_probe", 0))


def endpoints(address: str, cache: str) -> list[tuple[str, data_pb2.ReadCommand]]:
    """The nodes that own rows of a cache, each with the command for all of its rows."""
    command = data_pb2.ReadCommand(cache=cache)
    with flight.FlightClient(f"grpc://{address}") as client:
        info = client.get_flight_info(flight.FlightDescriptor.for_command(command.SerializeToString()))
    return [
        (
            endpoint.locations[0].uri.decode().partition("://")[2],
            data_pb2.ReadCommand.FromString(endpoint.ticket.ticket),
        )
        for endpoint in info.endpoints
    ]
