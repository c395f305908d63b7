"""The client of the data endpoint, the only file that calls Arrow Flight: schemas, batches and errors.

Any thread may call its functions; they share the connections to the nodes.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import queue
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import pyarrow as pa
from pyarrow import flight

from tensorflow_ignite import errors
from tensorflow_ignite.base import forks
from tensorflow_ignite.data.transport.batches import Keep
from tensorflow_ignite.data.transport.calls import CancellableCall, prevented
from tensorflow_ignite.data.transport.repeats import Repeats
from tensorflow_ignite.net.addresses import thin_hint
from tensorflow_ignite.net.channels import flight_client, flight_options
from tensorflow_ignite.net.credentials import Credentials
from tensorflow_ignite.net.handshake import diagnose
from tensorflow_ignite.v1 import data_pb2

# Timeout for a node that does not answer any more; counting the rows of a cache takes milliseconds.
SECONDS_TO_DESCRIBE = 60.0
# The nodes compute the condition of every row, and run few of these queries at a time.
SECONDS_TO_COUNT = 600.0
# The next call closes a connection that was not used for this time.
SECONDS_IDLE = 30.0

_T = TypeVar("_T")

# What calls of Flight raise.
_FAILURES = (flight.FlightError, pa.ArrowException, OSError, KeyError, NotImplementedError)


@dataclass(frozen=True)
class Endpoint:
    """Rows that one node sends.

    Attributes:
        address: ``host:port`` of the node.
        command: The command for the node. It must not be changed, because endpoints share commands.
    """

    address: str
    command: data_pb2.ReadCommand

    def modified(self, **fields: Any) -> Endpoint:
        """The same node with a copy of the command, in which these fields have the given values."""
        command = data_pb2.ReadCommand()
        command.CopyFrom(self.command)
        for name in fields:
            command.ClearField(name)
        command.MergeFrom(data_pb2.ReadCommand(**fields))
        return Endpoint(self.address, command)


@dataclass(frozen=True)
class Description:
    """The description of rows that a cluster sends before the rows.

    Attributes:
        schema: Schema of the batches.
        rows: Number of rows; -1: not known.
        endpoints: The nodes that send the rows.
    """

    schema: pa.Schema
    rows: int
    endpoints: tuple[Endpoint, ...]


def describe(
    address: str, command: data_pb2.ReadCommand, credentials: Credentials | None = None, *, is_repeated: bool = True
) -> Description:
    """Requests from the node at ``address`` the schema, the number of rows and the nodes that send them.

    A connection that breaks is opened again, for 60 s: a node whose processors are all busy may be silent longer than
    gRPC waits. A node that refuses the connection is not called again.

    Args:
        address: ``host:port`` of the node.
        command: The rows.
        credentials: Credentials of the caller.
        is_repeated: Whether to open a connection again that breaks.

    Raises:
        TensorFlowIgniteError: An error of the node, such as CacheNotFoundError; if no node answers.
    """
    repeats = Repeats()
    while True:
        try:
            return _describe(address, command, credentials)
        except errors.ConnectionFailedError as error:
            if not is_repeated or not _has_broken(error):
                raise
            repeats.pause(error)


def _has_broken(error: errors.ConnectionFailedError) -> bool:
    """Whether the connection had been open, or is without an answer; a program that closes it at once is no node."""
    reason = str(error.__cause__ or error)
    return _SILENT in reason or (bool(_BROKEN.search(reason)) and "failed to connect" not in reason)


def _describe(address: str, command: data_pb2.ReadCommand, credentials: Credentials | None) -> Description:
    descriptor = flight.FlightDescriptor.for_command(command.SerializeToString())
    failure = f"cache {command.cache!r} was not described"
    counts = bool(command.where or command.sql) and not command.uncounted
    timeout = SECONDS_TO_COUNT if counts else SECONDS_TO_DESCRIBE
    with _connection(address, failure, credentials, timeout) as (client, options):
        info = _interruptible(lambda: client.get_flight_info(descriptor, options))
        endpoints = tuple(
            Endpoint(_address(endpoint.locations, address), data_pb2.ReadCommand.FromString(endpoint.ticket.ticket))
            for endpoint in info.endpoints
        )
        return Description(info.schema, info.total_records, endpoints)


def _interruptible(call: Callable[[], _T]) -> _T:
    """Calls Flight in another thread, so that Ctrl-C ends the wait. The call itself ends by its time limit."""
    outcome: queue.SimpleQueue[tuple[_T | None, Exception | None]] = queue.SimpleQueue()

    def run() -> None:
        try:
            outcome.put((call(), None))
        except Exception as error:
            outcome.put((None, error))

    threading.Thread(target=run, name="tensorflow-ignite-describe", daemon=True).start()
    result, error = outcome.get()
    if error is not None:
        raise error
    return cast(_T, result)


def _address(locations: list[flight.Location], default: str) -> str:
    """The address of the first location, or the default for an endpoint without one."""
    for location in locations:
        match = re.fullmatch(r"grpc(?:\+(?:tcp|tls))?://(?P<address>[^/?]+:\d+)/?", location.uri.decode())
        if match:
            return match["address"]
    return default


class BatchStream:
    """The record batches behind one endpoint, in order. One thread iterates; any thread may cancel.

    Attributes:
        result: The result of the node after the last row; None before.
    """

    def __init__(
        self, endpoint: Endpoint, subject: str, keep: Keep | None = None, *, credentials: Credentials | None = None
    ) -> None:
        """Opens nothing before iteration.

        Args:
            endpoint: The node and the command.
            subject: Names the rows in error texts, such as "cache 'x'".
            keep: As of :func:`choice.open_stream`; after False memory is used in turns.
            credentials: Credentials of the caller.
        """
        self._credentials = credentials
        self._endpoint = endpoint
        self._subject = subject
        self._keep = keep
        self._call = CancellableCall()
        self.result: data_pb2.ReadResult | None = None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Opens the stream and yields its batches; ends early, without an error, when cancelled.

        Raises:
            TensorFlowIgniteError: If the node refuses or the stream breaks.
        """
        try:
            failure = f"{self._subject} was not read to its end"
            with _connection(self._endpoint.address, failure, self._credentials) as (client, options):
                reader = client.do_get(flight.Ticket(self._endpoint.command.SerializeToString()), options)
                self._call.begin(reader)
                yield from self._batches(reader)
        except errors.TensorFlowIgniteError:
            if not self._call.cancelled:
                raise
        finally:
            self._call.end()

    def _batches(self, reader: flight.FlightStreamReader) -> Iterator[pa.RecordBatch]:
        rows = 0
        for chunk in reader:
            if chunk.data is not None and chunk.data.num_rows:
                rows += chunk.data.num_rows
                yield chunk.data
            if chunk.app_metadata is not None:
                self.result = data_pb2.ReadResult.FromString(chunk.app_metadata.to_pybytes())
        if not self._call.cancelled:
            if self.result is None and rows == 0:
                # A result of zeros has no bytes, and Flight does not deliver metadata without bytes.
                self.result = data_pb2.ReadResult()
            check_result(self.result, rows, self._subject)

    def cancel(self) -> None:
        """Ends the stream; returns at once."""
        self._call.cancel()


def check_result(result: data_pb2.ReadResult | None, rows: int, subject: str) -> None:
    """Checks that a stream has brought every row that the node sent.

    Raises:
        InternalError: If rows are missing, or the node did not send their number.
    """
    if result is None:
        raise errors.InternalError(
            f"{subject} was not read to its end: the stream ended after {rows} rows without the number of the rows "
            "that were sent. Every stream ends with this number. Read again; if it happens twice, read the node's log"
        )
    if result.rows != rows:
        raise errors.InternalError(
            f"{subject}: {rows} rows arrived of {result.rows} that were sent. A stream brings all rows. Read again; "
            f"if it happens twice, read the node's log"
        )


class _Sender:
    """The caller's part of a load: its batches, its callback, and their error, which is not an error of Flight."""

    def __init__(self, batches: Iterable[pa.RecordBatch], report: Callable[[int], None] | None) -> None:
        self.error: Exception | None = None
        self.rows = 0
        self._batches = batches
        self._report = report

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            for batch in self._batches:
                self.rows += batch.num_rows
                yield batch
        except Exception as error:
            self.error = error
            raise

    def report(self, stored: Iterable[int]) -> None:
        """Calls the callback with each of these numbers."""
        for rows in stored:
            try:
                if self._report is not None:
                    self._report(rows)
            except Exception as error:
                self.error = error
                raise


def put(
    address: str,
    command: data_pb2.LoadCommand,
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    credentials: Credentials | None = None,
    report: Callable[[int], None] | None = None,
) -> data_pb2.LoadResult:
    """Sends batches to be written; returns the number of rows that the cluster has written.

    If the iterator of the batches raises an error, the cluster removes the new cache before the error is raised here.
    The callback is called with the number of rows that are stored so far, each time that it has grown.

    Raises:
        TensorFlowIgniteError: An error of the node, such as CacheExistsError; if no node answers.
    """
    command.sealed = True
    command.progress = report is not None
    descriptor = flight.FlightDescriptor.for_command(command.SerializeToString())
    sender = _Sender(batches, report)
    try:
        with _connection(address, f"cache {command.cache!r} was not loaded", credentials) as (client, options):
            result = _send(client, options, descriptor, schema, sender)
    except errors.TensorFlowIgniteError:
        if sender.error is not None:
            raise sender.error from None
        raise
    if result is None:
        if not sender.rows:
            # A result of zeros has no bytes, so it does not arrive.
            return data_pb2.LoadResult()
        raise errors.InternalError(
            f"cache {command.cache!r} was not loaded: the node at {address} ended the call without the number of "
            f"rows. Every load ends with this number. Read the log of that node"
        )
    return result


def _send(
    client: flight.FlightClient,
    options: flight.FlightCallOptions,
    descriptor: flight.FlightDescriptor,
    schema: pa.Schema,
    sender: _Sender,
) -> data_pb2.LoadResult | None:
    writer, reader = client.do_put(descriptor, schema, options)
    answers = _Answers(reader)
    try:
        for batch in sender:
            writer.write_batch(batch)
            sender.report(answers.arrived())
        # Flight does not deliver a message without bytes, and protobuf omits a zero: they are field 1, value 0.
        writer.write_metadata(data_pb2.LoadResult(rows=sender.rows).SerializeToString() or b"\x08\x00")
        writer.done_writing()
        sender.report(answers.remaining())
    except BaseException as error:
        # Without the final message the node removes the new cache, and then ends the call.
        with suppress(*_FAILURES):
            writer.done_writing()
        answers.close()
        try:
            writer.close()
        except _FAILURES:
            # This error has the node's reason; the error of the failed write has none.
            if sender.error is None and isinstance(error, Exception):
                raise
        raise
    answers.close()
    writer.close()
    return answers.result


class _Answers:
    """What a node returns while rows are sent. A thread reads it, since a write waits until the node takes a batch."""

    def __init__(self, reader: flight.FlightMetadataReader) -> None:
        #: The node's last answer; None: there is none.
        self.result: data_pb2.LoadResult | None = None
        self._reader = reader
        # Numbers of stored rows; an error or None at the end.
        self._received: queue.SimpleQueue[int | Exception | None] = queue.SimpleQueue()
        self._ended = False
        self._thread = threading.Thread(target=self._read, name="tensorflow-ignite-load", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            while (metadata := self._reader.read()) is not None:
                answer = data_pb2.LoadResult.FromString(metadata.to_pybytes())
                if answer.partial:
                    self._received.put(answer.rows)
                else:
                    self.result = answer
            self._received.put(None)
        except Exception as error:
            self._received.put(error)

    def arrived(self) -> Iterator[int]:
        """The numbers of stored rows that have arrived meanwhile; does not wait."""
        while not self._received.empty() and (stored := self._next()) is not None:
            yield stored

    def remaining(self) -> Iterator[int]:
        """The numbers of stored rows until the node ends the call."""
        while (stored := self._next()) is not None:
            yield stored

    def _next(self) -> int | None:
        """Waits for a number; None: the node has ended the call. Raises its error."""
        stored = None if self._ended else self._received.get()
        if isinstance(stored, int):
            return stored
        self._ended = True
        if stored is not None:
            raise stored
        return None

    def close(self) -> None:
        """Returns when the node has ended the call. The stream cannot be closed before."""
        self._thread.join()


class _Clients:
    """The clients of this process: a connection costs more than a small call. Any thread may call."""

    def __init__(self) -> None:
        # Re-entrant: the interpreter may end a stream, and return its client, wherever it collects garbage.
        self._lock = threading.RLock()
        self._known: dict[_ClientKey, _Client] = {}
        self._has_called = self._is_forked = False
        forks.register(self)

    def after_fork(self) -> None:
        """Keeps the parent's clients forever: a forked process that uses or closes them would abort."""
        self._lock = threading.RLock()
        self._is_forked = self._has_called
        for known in self._known.values():
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(known.client))
        self._known.clear()

    @contextmanager
    def client(self, address: str, credentials: Credentials | None) -> Iterator[flight.FlightClient]:
        """A client, which several threads may use at a time. After a failed call, a client is not used again.

        Raises:
            InvalidRequestError: This process was forked after a call of its parent: a call would never end here.
        """
        if self._is_forked:
            raise errors.InvalidRequestError(
                f"process {os.getpid()} cannot call the node at {address}: it was forked from a process that had "
                f"called a node. gRPC works in one of the two only. Start processes with "
                f"multiprocessing.get_context('spawn'), or fork before the first call"
            )
        self._has_called = True
        key = (address, credentials)
        with self._lock:
            self._close_idle()
            known = self._known.get(key)
            if known is None:
                known = self._known[key] = _Client(flight_client(address, credentials))
            known.users += 1
        failed = True
        try:
            yield known.client
            failed = False
        finally:
            with self._lock:
                known.users -= 1
                known.used_at = time.monotonic()
                if failed and self._known.get(key) is known:
                    del self._known[key]
                if not known.users and self._known.get(key) is not known:
                    known.client.close()

    def _close_idle(self) -> None:
        now = time.monotonic()
        for key, known in list(self._known.items()):
            if not known.users and now - known.used_at > SECONDS_IDLE:
                del self._known[key]
                known.client.close()

    def close(self) -> None:
        """Closes unused clients."""
        with self._lock:
            for key, known in list(self._known.items()):
                if not known.users:
                    del self._known[key]
                    known.client.close()


_ClientKey = tuple[str, Credentials | None]


@dataclass
class _Client:
    """A client, and who uses it."""

    client: flight.FlightClient
    users: int = 0
    used_at: float = 0.0


_clients = _Clients()
atexit.register(_clients.close)


@contextmanager
def _connection(
    address: str, failure: str, credentials: Credentials | None, timeout: float | None = None
) -> Iterator[tuple[flight.FlightClient, flight.FlightCallOptions]]:
    """A client, which later calls use again; errors of Flight become errors of this package."""
    try:
        with _clients.client(address, credentials) as client:
            yield client, flight_options(credentials, timeout)
    except errors.TensorFlowIgniteError:
        raise
    except _FAILURES as error:
        raise translate(error, address, failure, credentials, timeout) from error


# What gRPC says of a connection that had been open.
_BROKEN = re.compile(
    r"Stream removed|ping timeout|[Kk]eepalive|Connection reset|Socket closed|Broken pipe|End of TCP stream|GOAWAY"
)
# What it says when the system has accepted a connection, and the node has sent nothing.
_SILENT = "timed out before receiving SETTINGS frame"
_CODED = re.compile(r"(?:with message: )?(?P<text>(?:(?!with message: ).)*? \[code=[A-Z_]+\])", re.DOTALL)


def translate(
    error: Exception, address: str, failure: str, credentials: Credentials | None = None, timeout: float | None = None
) -> errors.TensorFlowIgniteError:
    """Translates an error of Flight into an error of this package.

    Args:
        error: The error that Flight raised.
        address: ``host:port`` of the called node.
        failure: First part of the error text, such as "cache 'x' was not described".
        credentials: Credentials of the call.
        timeout: Its time limit, in seconds.
    """
    text = str(error.args[0]) if error.args else str(error)
    coded = _CODED.search(text)
    if coded:
        return errors.from_description(coded["text"])
    reason = text.split(". gRPC client debug context")[0]
    if "message exceeds maximum size" in reason:
        # gRPC refuses a message by its announced size, before any code of a node reads it.
        return errors.LimitExceededError(
            f"{failure}: a record batch is larger than the node at {address} accepts ({reason}). The property "
            "rows.maxBatchMegabytes sets the limit. Load smaller batches, or store a larger value as a file (ignite://)"
        )
    if isinstance(error, flight.FlightUnauthenticatedError):
        return errors.UnauthenticatedError(f"{failure}: the node at {address} does not know the caller ({reason})")
    if isinstance(error, flight.FlightUnauthorizedError):
        return errors.PermissionDeniedError(f"{failure}: the node at {address} does not permit it ({reason})")
    if isinstance(error, flight.FlightUnavailableError) or _BROKEN.search(reason):
        found = None if "Connection refused" in reason else diagnose(address, credentials)
        if found is not None:
            return prevented(failure, address, found)
        return errors.ConnectionFailedError(
            f"{failure}: no node answers at {address} ({reason}). A node serves its data on its own port, 10820 to "
            f"10919 unless configured. Check that the node runs and give its address: address=, or "
            f"TENSORFLOW_IGNITE_ADDRESS=HOST:PORT{thin_hint(address)}"
        )
    if isinstance(error, flight.FlightTimedOutError):
        return errors.RequestTimeoutError(
            f"{failure}: the node at {address} did not answer in {timeout or SECONDS_TO_DESCRIBE:.0f} s. Check that "
            f"the node is not frozen or cut off{thin_hint(address)}"
        )
    return errors.InternalError(
        f"{failure}: {reason}. The error came from the node at {address}. Read the log of that node"
    )
