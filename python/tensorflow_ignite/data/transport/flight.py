"""The only file that speaks Arrow Flight: batches and schemas of the data endpoint, and its errors.

Each function opens a connection of its own and closes it, so that any thread may call any of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
from pyarrow import flight

from tensorflow_ignite import errors
from tensorflow_ignite.channels import flight_client
from tensorflow_ignite.credentials import Credentials
from tensorflow_ignite.data.transport import place
from tensorflow_ignite.data.transport.calls import Running
from tensorflow_ignite.handshake import diagnose
from tensorflow_ignite.v1 import data_pb2

# Counting the rows of a cache takes milliseconds; this is for a node that no longer answers.
SECONDS_TO_DESCRIBE = 60.0


@dataclass(frozen=True)
class Endpoint:
    """Rows that one node sends.

    Attributes:
        address: ``host:port`` of the node.
        ticket: What to ask it for, a serialized ReadCommand.
    """

    address: str
    ticket: bytes


@dataclass(frozen=True)
class Description:
    """What a cluster says of rows before it sends them.

    Attributes:
        schema: Columns, as the batches will have them.
        rows: Number of rows, -1 when unknown.
        endpoints: Who sends them.
    """

    schema: pa.Schema
    rows: int
    endpoints: tuple[Endpoint, ...]


def describe(address: str, command: data_pb2.ReadCommand, credentials: Credentials | None = None) -> Description:
    """Asks the node at ``address`` for the schema, the number of rows and the nodes that hold them.

    Raises:
        TensorFlowIgniteError: As the node says, such as CacheNotFoundError; or if no node answers.
    """
    descriptor = flight.FlightDescriptor.for_command(command.SerializeToString())
    failure = f"cache {command.cache!r} was not described"
    with _connection(address, failure, credentials, SECONDS_TO_DESCRIBE) as (client, options):
        info = client.get_flight_info(descriptor, options)
        endpoints = tuple(
            Endpoint(_address(endpoint.locations, address), endpoint.ticket.ticket) for endpoint in info.endpoints
        )
        return Description(info.schema, info.total_records, endpoints)


def _address(locations: list[flight.Location], asked: str) -> str:
    """Of the first location; an endpoint without one is served by the node that was asked."""
    for location in locations:
        match = re.fullmatch(r"grpc(?:\+(?:tcp|tls))?://(?P<address>[^/?]+:\d+)/?", location.uri.decode())
        if match:
            return match["address"]
    return asked


class BatchStream:
    """The record batches behind one endpoint, in order. One thread iterates; any thread may cancel.

    Attributes:
        result: What the node said at the end; None before.
    """

    def __init__(self, endpoint: Endpoint, what: str, *, credentials: Credentials | None = None) -> None:
        """Remembers what to read; nothing is opened before iteration.

        Args:
            endpoint: Who sends, and what.
            what: What is read, for messages.
            credentials: Who asks.
        """
        self._credentials = credentials
        self._endpoint = endpoint
        self._what = what
        self._running = Running()
        self.result: data_pb2.ReadResult | None = None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Opens the stream and yields its batches; ends early, without an error, when cancelled.

        Raises:
            TensorFlowIgniteError: If the node refuses or the stream breaks.
        """
        try:
            failure = f"{self._what} was not read to its end"
            with _connection(self._endpoint.address, failure, self._credentials) as (client, options):
                reader = client.do_get(flight.Ticket(self._endpoint.ticket), options)
                self._running.begin(reader)
                yield from self._batches(reader)
        except errors.TensorFlowIgniteError:
            if not self._running.cancelled:
                raise
        finally:
            self._running.end()

    def _batches(self, reader: flight.FlightStreamReader) -> Iterator[pa.RecordBatch]:
        rows = 0
        for chunk in reader:
            if chunk.data is not None and chunk.data.num_rows:
                rows += chunk.data.num_rows
                yield chunk.data
            if chunk.app_metadata is not None:
                self.result = data_pb2.ReadResult.FromString(chunk.app_metadata.to_pybytes())
        if not self._running.cancelled:
            if self.result is None and rows == 0:
                # A result of zeros has no bytes, and metadata of no bytes do not arrive.
                self.result = data_pb2.ReadResult()
            check_result(self.result, rows, self._what)

    def cancel(self) -> None:
        """Ends the stream; returns at once."""
        self._running.cancel()


def check_result(result: data_pb2.ReadResult | None, rows: int, what: str) -> None:
    """Proves that a stream which has ended brought every row that was sent.

    Raises:
        InternalError: If it did not, or the node did not say how many it sent.
    """
    if result is None:
        raise errors.InternalError(
            f"{what} was not read to its end: the stream ended after {rows} rows without the number of those that were "
            f"sent. Every stream ends with it. Read again; look into the node's log if it happens twice"
        )
    if result.rows != rows:
        raise errors.InternalError(
            f"{what}: {rows} rows arrived of {result.rows} that were sent. A stream brings all of them. Read again; "
            f"look into the node's log if it happens twice"
        )


class _Source:
    """Batches on their way to a node, and the error of whoever makes them, which is none of Flight's."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        self.error: Exception | None = None
        self.rows = 0
        self._batches = batches

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            for batch in self._batches:
                self.rows += batch.num_rows
                yield batch
        except Exception as error:
            self.error = error
            raise


def put(
    address: str,
    command: data_pb2.LoadCommand,
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    credentials: Credentials | None = None,
) -> int:
    """Sends batches to be written; returns the number of rows that the cluster has written.

    When the batches end with an error, the cluster has removed what it made before that error is raised here.

    Raises:
        TensorFlowIgniteError: As the node says, such as CacheExistsError; or if no node answers.
    """
    command.sealed = True
    descriptor = flight.FlightDescriptor.for_command(command.SerializeToString())
    source = _Source(batches)
    try:
        with _connection(address, f"cache {command.cache!r} was not loaded", credentials) as (client, options):
            metadata = _send(client, options, descriptor, schema, source)
    except errors.TensorFlowIgniteError:
        if source.error is not None:
            raise source.error from None
        raise
    if metadata is None:
        if not source.rows:
            # The result of zeros has no byte.
            return 0
        raise errors.InternalError(
            f"cache {command.cache!r} was not loaded: the node at {address} ended the call without its number of "
            f"rows. Every load ends with it. Look into the log of that node"
        )
    return int(data_pb2.LoadResult.FromString(metadata.to_pybytes()).rows)


def _send(
    client: flight.FlightClient,
    options: flight.FlightCallOptions,
    descriptor: flight.FlightDescriptor,
    schema: pa.Schema,
    source: _Source,
) -> pa.Buffer | None:
    writer, results = client.do_put(descriptor, schema, options)
    try:
        for batch in source:
            writer.write_batch(batch)
        # A message without a byte would not arrive, and protobuf leaves a zero out: it is field 1, written out.
        writer.write_metadata(data_pb2.LoadResult(rows=source.rows).SerializeToString() or b"\x08\x00")
        writer.done_writing()
        metadata = results.read()
    except BaseException as error:
        # Without the seal the node gives up and cleans up, and the call ends when it has.
        try:
            writer.close()
        except (flight.FlightError, pa.ArrowException, OSError, KeyError, NotImplementedError):
            # The node's own reason for the end; a write that fails knows none.
            if source.error is None and isinstance(error, Exception):
                raise
        raise
    writer.close()
    return metadata


@contextmanager
def _connection(
    address: str, failure: str, credentials: Credentials | None, timeout: float | None = None
) -> Iterator[tuple[flight.FlightClient, flight.FlightCallOptions]]:
    """A client, closed at the end; everything that Flight raises leaves here as an error of this package."""
    try:
        client, options = flight_client(address, credentials, timeout=timeout)
        with client:
            yield client, options
    except errors.TensorFlowIgniteError:
        raise
    except (flight.FlightError, pa.ArrowException, OSError, KeyError, NotImplementedError) as error:
        raise translate(error, address, failure, credentials) from error


_CODED = re.compile(r"(?:with message: )?(?P<text>(?:(?!with message: ).)*? \[code=[A-Z_]+\])", re.DOTALL)


def translate(
    error: Exception, address: str, failure: str, credentials: Credentials | None = None
) -> errors.TensorFlowIgniteError:
    """The error of this package that says what ``error``, raised by Flight, means.

    Args:
        error: What Flight raised.
        address: ``host:port`` that was called.
        failure: What did not happen because of it.
        credentials: With which it was called.
    """
    text = str(error.args[0]) if error.args else str(error)
    coded = _CODED.search(text)
    if coded:
        return errors.from_description(coded["text"])
    reason = text.split(". gRPC client debug context")[0]
    if isinstance(error, flight.FlightUnauthenticatedError):
        return errors.UnauthenticatedError(f"{failure}: the node at {address} does not know who calls ({reason})")
    if isinstance(error, flight.FlightUnauthorizedError):
        return errors.PermissionDeniedError(f"{failure}: the node at {address} does not permit it ({reason})")
    if isinstance(error, flight.FlightUnavailableError):
        found = None if "Connection refused" in reason else diagnose(address, credentials)
        if found is not None:
            return errors.ConnectionFailedError(
                f"{failure}: no connection to {address} ({found.cause}). {found.rule}. {found.remedy}"
            )
        return errors.ConnectionFailedError(
            f"{failure}: no node answers at {address} ({reason}). A node serves its data on its own port, 10820 to "
            f"10919 unless configured. Check that the node runs and give its address: address=, or "
            f"TENSORFLOW_IGNITE_ADDRESS=HOST:PORT{place.thin_hint(address)}"
        )
    if isinstance(error, flight.FlightTimedOutError):
        return errors.RequestTimeoutError(
            f"{failure}: the node at {address} did not answer in {SECONDS_TO_DESCRIBE:.0f} s. Check that the node "
            f"is not frozen or cut off{place.thin_hint(address)}"
        )
    return errors.InternalError(f"{failure}: {reason}. It was asked of the node at {address}; look into its log")
