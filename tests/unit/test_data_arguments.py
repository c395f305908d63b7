"""What a script gives to a dataset is checked before anybody is asked."""

from __future__ import annotations

from typing import Any

import pytest

from tensorflow_ignite import errors
from tensorflow_ignite.data import arguments


@pytest.mark.parametrize(
    ("given", "size"),
    [(None, -1), (0, 0), (5, 5), ("2GB", 2 * 10**9), ("1.5 MiB", 3 << 19), ("512k", 512_000), ("7", 7)],
)
def test_memory_is_a_number_of_bytes_or_a_text(given: Any, size: int) -> None:
    assert arguments.memory(given) == size


@pytest.mark.parametrize("wrong", [-1, True, 1.5, "much", "2XB", ""])
def test_other_memory_is_refused(wrong: Any) -> None:
    with pytest.raises(errors.InvalidRequestError, match="memory="):
        arguments.memory(wrong)


@pytest.mark.parametrize(
    ("given", "found"),
    [(None, None), (True, "kept"), (False, ""), ("refresh", "refresh"), ("frozen", "frozen")],
)
def test_a_snapshot_is_refreshed_or_frozen(given: Any, found: str | None) -> None:
    assert arguments.snapshot(given) == found


@pytest.mark.parametrize(("given", "window"), [(None, None), (False, None), (True, 0), (1, 1), (500, 500)])
def test_a_window_is_a_number_of_rows_or_a_wish(given: Any, window: int | None) -> None:
    assert arguments.window(given) == window


@pytest.mark.parametrize("wrong", [0, -3, 2.0, "all"])
def test_other_windows_are_refused(wrong: Any) -> None:
    with pytest.raises(errors.InvalidRequestError, match="shuffle="):
        arguments.window(wrong)


@pytest.mark.parametrize("wrong", [-1, 2**63, 1.0, True, "x"])
def test_seeds_are_whole_numbers(wrong: Any) -> None:
    assert arguments.seed(None) is None
    assert arguments.seed(2**63 - 1) == 2**63 - 1
    with pytest.raises(errors.InvalidRequestError, match="seed="):
        arguments.seed(wrong)


def test_labels_are_columns_that_leave_features() -> None:
    assert arguments.labels("y", ["x", "y"], False) == "y"
    assert arguments.labels(["y", "z"], None, False) == ("y", "z")
    assert arguments.labels("_key", ["x"], True) == "_key"
    for label, columns, text in [
        ("z", ["x", "y"], "not among the columns"),
        (["y", "y"], ["x", "y"], "each once"),
        ("y", ["y"], "leaves no feature"),
        (3, None, "neither the name"),
        ([], None, "neither the name"),
    ]:
        with pytest.raises(errors.InvalidRequestError, match=text):
            arguments.labels(label, columns, False)


def test_a_choice_is_one_of_its_texts() -> None:
    assert arguments.one_of("nulls", "mask", ("error", "mask")) == "mask"
    with pytest.raises(errors.InvalidRequestError, match="nulls='drop' is unknown; it is 'error' or 'mask'"):
        arguments.one_of("nulls", "drop", ("error", "mask"))
