"""What a script gives to a dataset is checked before anybody is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tensorflow_ignite import errors
from tensorflow_ignite.data import arguments
from tensorflow_ignite.data.environment import overrides
from tensorflow_ignite.data.transport.thin.reader import ThinReader


@pytest.mark.parametrize(
    ("function", "given", "found"),
    [
        *((arguments.memory, [given], -1 if given is None else given) for given in (None, 0, 5)),
        *((arguments.memory, [text], size) for text, size in (("2GB", 2 * 10**9), ("1.5 MiB", 3 << 19), ("7", 7))),
        (arguments.memory, ["512k"], 512_000),
        *((arguments.snapshot, [given], given) for given in (None, "refresh", "frozen")),
        *((arguments.snapshot, [given], found) for given, found in ((True, "kept"), (False, ""))),
        *((arguments.window, [given], None) for given in (None, False)),
        *((arguments.window, [given], rows) for given, rows in ((True, 0), (1, 1), (500, 500))),
        (arguments.batch_size, [np.int32(3)], 3),
        *((arguments.epochs, [given], given) for given in (1, None)),
        *((arguments.seed, [given], given) for given in (None, 2**63 - 1)),
        (arguments.labels, ["y", ["x", "y"], False], "y"),
        (arguments.labels, [["y", "z"], None, False], ("y", "z")),
        (arguments.labels, ["_key", ["x"], True], "_key"),
        (arguments.one_of, ["nulls", "mask", ("error", "mask")], "mask"),
        (arguments.key_range, [0.25, "validation"], (0, 2**30)),
        (arguments.key_range, [0.25, "training"], (2**30, 2**32)),
        (arguments.key_range, [1e-12, "validation"], (0, 1)),
        (arguments.key_range, [1 - 1e-12, "training"], (2**32 - 1, 2**32)),
        *((arguments.replay, [given], given) for given in (0.5, 0)),
    ],
)
def test_an_argument_is_taken_in_each_of_its_forms(function: Callable[..., Any], given: list[Any], found: Any) -> None:
    assert function(*given) == found


NOTHING = (0, -1, 1.0, True, "x")


@pytest.mark.parametrize(
    ("function", "wrong", "text"),
    [
        *((arguments.memory, [wrong], "memory=") for wrong in (-1, True, 1.5, "much", "2XB", "")),
        *((arguments.window, [wrong], "shuffle=") for wrong in (0, -3, 2.0, "all")),
        *((arguments.batch_size, [wrong], r"batch_size=.* at least one row\. Use a whole number") for wrong in NOTHING),
        (arguments.batch_size, [None], "batch_size="),
        *((arguments.epochs, [wrong], r"epochs=.* at least one epoch\. Use a whole number") for wrong in NOTHING),
        *((arguments.seed, [wrong], "seed=") for wrong in (-1, 2**63, 1.0, True, "x")),
        (arguments.labels, ["z", ["x", "y"], False], "not among the columns"),
        (arguments.labels, [["y", "y"], ["x", "y"], False], "each once"),
        (arguments.labels, ["y", ["y"], False], "leaves no feature"),
        *((arguments.labels, [wrong, None, False], "neither the name") for wrong in (3, [])),
        (arguments.one_of, ["nulls", "drop", ("error", "mask")], "nulls='drop' is unknown; it is 'error' or 'mask'"),
        *((arguments.key_range, [0.1, wrong], f"subset={wrong!r} is unknown") for wrong in (None, "test")),
        *(
            (arguments.key_range, [wrong, "training"], f"validation_split={wrong} is no part")
            for wrong in (None, 0, 1.0, float("nan"))
        ),
        *((arguments.replay, [wrong], "replay=") for wrong in (-0.1, 1, 1.5, True, "half", float("nan"))),
    ],
)
def test_another_argument_is_refused_by_its_name(function: Callable[..., Any], wrong: list[Any], text: str) -> None:
    with pytest.raises(errors.InvalidRequestError, match=text):
        function(*wrong)


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"replay": 0.5}, "has no position"),
        ({"split": True, "query": True}, "validation_split= and where= or sql="),
        ({"replay": 0.5, "since": True, "refusal": ThinReader.no_choice}, 'replay= and transport="thin"'),
        ({"split": True, "exact": True}, "validation_split= and exact=True"),
    ],
)
def test_rows_cannot_be_chosen_by_their_keys_everywhere(wrong: dict[str, Any], text: str) -> None:
    possible = {"replay": 0.0, "split": False, "since": False, "query": False, "refusal": "", "exact": False}
    arguments.check_selection("c", **possible)
    arguments.check_selection("c", **{**possible, "split": True, "replay": 0.5, "since": True})
    with pytest.raises(errors.InvalidRequestError, match=text):
        arguments.check_selection("c", **{**possible, **wrong})


@pytest.mark.parametrize(
    ("variable", "name", "found"),
    [
        ("LOCAL", "local", {"true": True, "1": True, " True ": True, "false": False, "0": False, "": False}),
        ("PART", "partitions", {"": None, "-1": None, "3": (3,), "0, 2,5": (0, 2, 5), "0": (0,)}),
    ],
)
def test_a_variable_is_read_in_each_of_its_forms(variable: str, name: str, found: dict[str, object]) -> None:
    assert {text: getattr(overrides({f"IGNITE_DATASET_{variable}": text}), name) for text in found} == found


@pytest.mark.parametrize("text", ["a", "1,-2", "1.5"])
def test_another_text_is_refused_with_its_variable(text: str) -> None:
    with pytest.raises(errors.InvalidRequestError, match="IGNITE_DATASET_PART"):
        overrides({"IGNITE_DATASET_PART": text})
