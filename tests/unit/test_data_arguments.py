"""What a script gives to a dataset is checked before anybody is asked."""

from __future__ import annotations

from typing import Any

import numpy as np
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


@pytest.mark.parametrize("wrong", [0, -1, 1.0, True, "x"])
def test_batches_and_iterations_have_something_in_them(wrong: Any) -> None:
    assert arguments.batch_size(np.int32(3)) == 3
    assert arguments.epochs(1) == 1
    assert arguments.epochs(None) is None
    with pytest.raises(errors.InvalidRequestError, match=r"batch_size=.* at least one row\. Use a whole number"):
        arguments.batch_size(wrong)
    with pytest.raises(errors.InvalidRequestError, match=r"epochs=.* at least one epoch\. Use a whole number"):
        arguments.epochs(wrong)
    with pytest.raises(errors.InvalidRequestError, match="batch_size="):
        arguments.batch_size(None)


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


@pytest.mark.parametrize(
    ("split", "subset", "keys"),
    [
        (None, None, None),
        (0.25, "validation", (0, 2**30)),
        (0.25, "training", (2**30, 2**32)),
        (1e-12, "validation", (0, 1)),
        (1 - 1e-12, "training", (2**32 - 1, 2**32)),
    ],
)
def test_a_split_is_two_ranges_of_hashes(split: Any, subset: Any, keys: Any) -> None:
    assert arguments.key_range(split, subset) == keys


@pytest.mark.parametrize(
    ("split", "subset", "text"),
    [
        (0.1, None, "subset=None is unknown"),
        (0.1, "test", "subset='test' is unknown"),
        (None, "training", "validation_split=None is no part of the rows"),
        (0, "training", "validation_split=0 is no part"),
        (1.0, "training", "validation_split=1.0 is no part"),
        (float("nan"), "training", "validation_split=nan is no part"),
    ],
)
def test_other_splits_are_refused(split: Any, subset: Any, text: str) -> None:
    with pytest.raises(errors.InvalidRequestError, match=text):
        arguments.key_range(split, subset)


@pytest.mark.parametrize("wrong", [-0.1, 1, 1.5, True, "half", float("nan")])
def test_a_share_of_old_rows_is_below_one(wrong: Any) -> None:
    assert arguments.replay(0.5) == 0.5
    assert arguments.replay(0) == 0
    with pytest.raises(errors.InvalidRequestError, match="replay="):
        arguments.replay(wrong)


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"replay": 0.5}, "has no position"),
        ({"split": True, "query": True}, "validation_split= and where= or sql="),
        ({"replay": 0.5, "since": True, "thin": True}, 'replay= and transport="thin"'),
        ({"split": True, "exact": True}, "validation_split= and exact=True"),
    ],
)
def test_rows_cannot_be_chosen_by_their_keys_everywhere(wrong: dict[str, Any], text: str) -> None:
    possible = {"replay": 0.0, "split": False, "since": False, "query": False, "thin": False, "exact": False}
    arguments.check_selection("c", **possible)
    arguments.check_selection("c", **{**possible, "split": True, "replay": 0.5, "since": True})
    with pytest.raises(errors.InvalidRequestError, match=text):
        arguments.check_selection("c", **{**possible, **wrong})
