"""Reads that go on although a node is busy or lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pytest
from pyarrow import flight as arrow_flight

from tensorflow_ignite import errors
from tensorflow_ignite.data.transport import flight, repeats
from tensorflow_ignite.data.transport.flight import Description, Endpoint
from tensorflow_ignite.data.transport.moved_partitions import MovedPartitionStream
from tensorflow_ignite.v1 import data_pb2


class Clock:
    """Time passes only while somebody waits."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(repeats.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(repeats.time, "sleep", self.wait)

    def wait(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


class Nodes:
    """Nodes that send a row for each of their partitions, and are lost after some batches."""

    def __init__(self, clock: Clock, *, lost_after: int, noticed_at: float) -> None:
        """Node a has the partitions, until the cluster notices its loss: then b has them."""
        self.opened: list[str] = []
        self._clock = clock
        self._lost_after = lost_after
        self._noticed_at = noticed_at

    def owners(self, command: data_pb2.ReadCommand) -> Sequence[Endpoint]:
        """The owners that the cluster knows; the node that is asked is lost at first."""
        if self._clock.now < 1:
            raise errors.ConnectionFailedError("nobody answers")
        return [Endpoint("b" if self._clock.now >= self._noticed_at else "a", command)]

    def stream(self, endpoint: Endpoint) -> _Stream:
        self.opened.append(endpoint.address)
        return _Stream(endpoint, self._lost_after if endpoint.address == "a" else None)

    def read(self, clock: Clock, *, keeps_back: bool) -> list[int]:
        endpoint = Endpoint("a", data_pb2.ReadCommand(cache="c", partitions=[0, 1, 2]))
        stream = MovedPartitionStream(endpoint, "cache 'c'", self.stream, self.owners, keeps_back=keeps_back)
        stream._cancelled.wait = clock.wait  # type: ignore[assignment]
        return [number for batch in stream for number in batch["p"].to_pylist()]


class _Stream:
    def __init__(self, endpoint: Endpoint, lost_after: int | None) -> None:
        self._partitions = list(endpoint.command.partitions)
        self._lost_after = lost_after
        self.result: data_pb2.ReadResult | None = None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for number, partition in enumerate(self._partitions):
            if number == self._lost_after:
                raise errors.ConnectionFailedError("connection refused")
            yield pa.RecordBatch.from_pydict({"p": [partition]})
        self.result = data_pb2.ReadResult()

    def cancel(self) -> None:
        pass


@pytest.mark.parametrize(("lost_after", "keeps_back"), [(0, False), (0, True), (2, True)])
def test_the_new_owners_of_a_lost_node_send_each_row_once(clock: Clock, lost_after: int, keeps_back: bool) -> None:
    nodes = Nodes(clock, lost_after=lost_after, noticed_at=30)
    assert nodes.read(clock, keeps_back=keeps_back) == [0, 1, 2]
    assert nodes.opened[-1] == "b"
    # Asked again and again, but with pauses.
    assert 5 < len(nodes.opened) < 40


def test_rows_that_have_been_passed_on_do_not_come_again(clock: Clock) -> None:
    nodes = Nodes(clock, lost_after=1, noticed_at=30)
    with pytest.raises(errors.ConnectionFailedError, match="connection refused"):
        nodes.read(clock, keeps_back=False)
    assert nodes.opened == ["a"]


def test_a_node_that_stays_lost_is_an_error_that_says_how_long_it_was_tried(clock: Clock) -> None:
    nodes = Nodes(clock, lost_after=0, noticed_at=1e9)
    with pytest.raises(errors.ConnectionFailedError, match=r"refused. The read was repeated for 6[0-2] s"):
        nodes.read(clock, keeps_back=True)


# As gRPC says it.
BROKEN = arrow_flight.FlightUnavailableError(
    "Flight returned unavailable error, with message: Stream removed (ping timeout)"
)
UNKNOWN = arrow_flight.FlightServerError("Stream removed")
REFUSED = arrow_flight.FlightUnavailableError("failed to connect to all addresses; last error: Connection refused")


@pytest.mark.parametrize(("error", "calls"), [(BROKEN, 3), (UNKNOWN, 3), (REFUSED, 1)])
def test_a_node_is_asked_again_if_a_connection_breaks_and_not_if_it_is_refused(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, error: Exception, calls: int
) -> None:
    asked = []

    def describe(address: str, *_: object) -> Description:
        asked.append(address)
        if len(asked) < 3:
            raise flight.translate(error, address, "cache 'c' was not described")
        return Description(pa.schema([]), 0, ())

    monkeypatch.setattr(flight, "_describe", describe)
    if calls == 1:
        with pytest.raises(errors.ConnectionFailedError, match="refused"):
            flight.describe("127.0.0.1:1", data_pb2.ReadCommand())
    else:
        assert flight.describe("127.0.0.1:1", data_pb2.ReadCommand()).rows == 0
    assert len(asked) == calls


def test_a_connection_that_tls_prevents_is_not_tried_again(clock: Clock) -> None:
    error = errors.ConnectionFailedError("the certificate has expired")
    error.is_lasting = True
    with pytest.raises(errors.ConnectionFailedError, match=r"expired$"):
        repeats.Repeats().pause(error)
    assert clock.now == 0
