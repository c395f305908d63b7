"""Rates of reading: the same rule as ReadRate of the nodes, and one error for everything else."""

import pytest

from tensorflow_ignite import errors
from tensorflow_ignite.base import rates
from tensorflow_ignite.data import arguments
from tensorflow_ignite.data.plan import Plan
from tensorflow_ignite.data.request import Request
from tensorflow_ignite.data.transport.flight import Endpoint


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("200MB", (200_000_000, 0)),
        (" 1.5 kB ", (1_500, 0)),
        ("3GiB", (3 << 30, 0)),
        ("7B", (7, 0)),
        ("50000 rows", (0, 50_000)),
        ("9999999999999999999TB", (2**63 - 1, 0)),
    ],
)
def test_a_rate_is_bytes_or_rows_in_a_second(text: str, expected: tuple[int, int]) -> None:
    assert rates.parse(text) == expected
    assert arguments.read_rate(text) == text


@pytest.mark.parametrize("text", ["200", "-1MB", "0MB", "0rows", "0.4B", "fast", "MB", "200 PB", "1.5rows", "200MB/s"])
def test_anything_else_is_an_error_that_names_the_rule(text: str) -> None:
    assert rates.parse(text) is None
    with pytest.raises(errors.InvalidRequestError, match=r"read_rate.*rows in a second such as 50000rows, above 0"):
        arguments.read_rate(text)


def test_readers_of_a_group_name_it_and_a_dataset_is_a_group_of_its_own() -> None:
    request = Request("c", (), False, "all", None, 0, read_rate="2kB", read_group="7f3a", name="n")
    limit = request.command().read_rate
    assert (limit.bytes_per_second, limit.rows_per_second, limit.group) == (2_000, 0, "7f3a")
    own = Request("c", (), False, "all", None, 0, read_rate="5rows", name="n").command().read_rate
    assert (own.bytes_per_second, own.rows_per_second, own.group) == (0, 5, "n")
    assert not Request("c", (), False, "all", None, 0).command().HasField("read_rate")


def test_an_iterator_resumes_at_another_rate() -> None:
    requests = [Request("c", (), False, "all", None, 0, read_rate=rate, name="n") for rate in ("", "1MB", "2MB")]
    digests = {Plan((Endpoint("a:1", request.command()),), 1, "c").digest(request) for request in requests}
    assert len(digests) == 1
