"""What the environment says of a dataset outside a job."""

from __future__ import annotations

import pytest

from tensorflow_ignite import errors
from tensorflow_ignite.data.environment import overrides


@pytest.mark.parametrize(
    ("text", "local"), [("true", True), ("1", True), (" True ", True), ("false", False), ("0", False), ("", False)]
)
def test_only_true_values_are_true(text: str, local: bool) -> None:
    assert overrides({"IGNITE_DATASET_LOCAL": text}).local is local


@pytest.mark.parametrize(
    ("text", "partitions"), [("", None), ("-1", None), ("3", (3,)), ("0, 2,5", (0, 2, 5)), ("0", (0,))]
)
def test_partitions_are_one_or_a_list(text: str, partitions: tuple[int, ...] | None) -> None:
    assert overrides({"IGNITE_DATASET_PART": text}).partitions == partitions


@pytest.mark.parametrize("text", ["a", "1,-2", "1.5"])
def test_partitions_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(errors.InvalidRequestError, match="IGNITE_DATASET_PART"):
        overrides({"IGNITE_DATASET_PART": text})


@pytest.mark.parametrize(("text", "rows"), [("", None), ("1", 1), (" 100 ", 100)])
def test_a_page_size_is_a_number_of_rows(text: str, rows: int | None) -> None:
    assert overrides({"IGNITE_DATASET_PAGE_SIZE": text}).page_rows == rows


@pytest.mark.parametrize("text", ["0", "-1", "many", "1.5", "²", "9999999999"])
def test_a_page_size_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(errors.InvalidRequestError, match="IGNITE_DATASET_PAGE_SIZE"):
        overrides({"IGNITE_DATASET_PAGE_SIZE": text})
