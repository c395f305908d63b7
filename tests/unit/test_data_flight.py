"""What Flight raises, as errors of this package; and what travels in a graph."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyarrow import flight

from tensorflow_ignite import errors
from tensorflow_ignite.data.epochs.rows_per_worker import EpochLength
from tensorflow_ignite.data.epochs.tensor_schema import Column
from tensorflow_ignite.data.options import ReadOptions, RowArguments
from tensorflow_ignite.data.request import ALL, ASSIGNED, Request, make_request
from tensorflow_ignite.data.transport.flight import translate

TEXT = "cache 'x' does not exist.\nThe rule. What to do"
CONTEXT = ". gRPC client debug context: UNKNOWN:Error received from peer. Client context: OK"


@pytest.mark.parametrize(
    "error",
    [
        flight.FlightInternalError(
            f"Flight returned internal error, with message: {TEXT} [code=CACHE_NOT_FOUND]{CONTEXT}"
        ),
        flight.FlightServerError(f"{TEXT} [code=CACHE_NOT_FOUND]. Detail: Failed"),
        pa.ArrowKeyError(f"Flight returned not found error, with message: {TEXT} [code=CACHE_NOT_FOUND]{CONTEXT}"),
        pa.ArrowInvalid(f"{TEXT} [code=CACHE_NOT_FOUND]"),
    ],
)
def test_an_error_of_a_node_keeps_its_text_and_finds_its_class(error: Exception) -> None:
    found = translate(error, "h:1", "nothing was read")
    assert type(found) is errors.CacheNotFoundError
    assert str(found) == TEXT


def test_every_error_code_has_its_class() -> None:
    for code, kind in errors.CODES.items():
        assert type(translate(flight.FlightServerError(f"text [code={code}]"), "h:1", "f")) is kind


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (flight.FlightUnavailableError("refused" + CONTEXT), errors.ConnectionFailedError),
        (flight.FlightTimedOutError("late"), errors.RequestTimeoutError),
        (flight.FlightInternalError("boom"), errors.InternalError),
        (OSError("boom"), errors.InternalError),
    ],
)
def test_an_error_of_the_network_names_the_address_and_what_failed(
    error: Exception, kind: type[errors.TensorFlowIgniteError]
) -> None:
    found = translate(error, "h:1", "cache 'x' was not read")
    assert type(found) is kind
    assert str(found).startswith("cache 'x' was not read: ")
    assert "h:1" in str(found)
    assert "gRPC client debug" not in str(found)


@pytest.mark.parametrize("partitions", [ASSIGNED, ALL, (1, 2)])
def test_a_request_survives_its_way_through_a_graph(partitions: str | tuple[int, ...]) -> None:
    asked = Request(
        "c",
        ("a", "ä"),
        True,
        partitions,
        "h:1",
        5,
        where="a > ?",
        parameters=(1, "x", None),
        length=EpochLength(7, 9),
        layout=(Column("a", "int8", (2, 3)), Column("b", "string", (), 1)),
    )
    assert Request.from_json(asked.to_json().encode()) == asked


@pytest.mark.parametrize(
    ("argument", "text"),
    [
        ({"columns": []}, "not a list of names"),
        ({"columns": "pixels"}, "not a list of names"),
        ({"columns": ["a", "a"]}, "names a column twice"),
        ({"partitions": []}, "partition numbers"),
        ({"partitions": "some"}, "partition numbers"),
        ({"partitions": [-1]}, "partition numbers"),
        ({"partitions": [1, 1]}, "names a partition twice"),
        ({"options": ReadOptions(batch_bytes=-1)}, "batch_bytes=-1"),
        ({"options": {"transport": "tcp"}}, r"no tfi\.ReadOptions\. Use options=tfi\.ReadOptions\("),
        ({"changes": True}, r"changes=True is no tfi\.Changes"),
        ({"hold_out": 0.1}, r"Use hold_out=tfi\.HoldOut\(0\.1, \"training\"\)"),
    ],
)
def test_arguments_are_checked_before_any_call(argument: dict[str, object], text: str) -> None:
    with pytest.raises(errors.InvalidRequestError, match=text):
        make_request(RowArguments("c", **argument))  # type: ignore[arg-type]
