"""Which rows a layer learns from, where its state is kept, and what is refused; without TensorFlow and nodes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tensorflow_ignite.data import whole_rows
from tensorflow_ignite.data.epochs.rows_per_worker import NOT_COUNTED, EpochLength
from tensorflow_ignite.data.request import Request
from tensorflow_ignite.errors import InvalidRequestError
from tensorflow_ignite.task import Task
from tensorflow_ignite.train import adapt, adaptation, fits, layer_state
from tensorflow_ignite.train.marks import keeps_rows, marks_of
from tensorflow_ignite.train.packed import packed, unpacked

REQUEST = Request(
    "trips", ("x",), False, "assigned", None, 0, agreement="a-1", snapshot="refresh", length=EpochLength(3, 5, "wrap")
)


def test_while_a_layer_learns_epochs_of_its_rows_alone_have_the_rows_of_all_workers() -> None:
    other = replace(REQUEST, name="other")
    assert whole_rows.source_of(REQUEST) is REQUEST
    with whole_rows.reading([REQUEST]):
        with whole_rows.reading([REQUEST]):
            pass
        found = whole_rows.source_of(REQUEST)
        assert (found.partitions, found.agreement, found.snapshot, found.length) == ("all", "", "", NOT_COUNTED)
        # Its epochs do not count among those on which the workers agree.
        assert found.name == whole_rows.name_of(REQUEST.name) != REQUEST.name
        assert (found.cache, found.columns, found.layout) == (REQUEST.cache, REQUEST.columns, REQUEST.layout)
        assert whole_rows.source_of(other) is other
        named = replace(REQUEST, partitions=(3,))
        assert whole_rows.source_of(named).partitions == (3,)
    assert whole_rows.source_of(REQUEST) is REQUEST


def test_a_state_is_the_same_after_it_was_a_file() -> None:
    state = {
        "text": "ü",
        "list": [1, None, True, 0.1],
        "array": np.arange(3.0),
        "bytes": np.frombuffer(b"a\0", np.uint8),
    }
    found = unpacked(packed(state))
    assert found["text"] == "ü"
    assert found["list"] == [1, None, True, 0.1]
    np.testing.assert_array_equal(found["array"], state["array"])
    assert found["bytes"].tobytes() == b"a\0"
    with pytest.raises(TypeError, match="a function"):
        packed({"later": lambda: None})


class _File:
    """A file of a layer in a directory that several jobs use."""

    path = "adapted-1.npz"

    def __init__(self, content: Any) -> None:
        self.content = content

    def kept(self) -> Any:
        return self.content

    shared = kept

    def write(self, value: Any) -> None:
        self.content = value

    def share(self, value: Any) -> None:
        assert value == self.content


def test_an_evaluator_waits_until_the_first_worker_of_its_job_has_a_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file of an earlier job may have what the layer has learned from other rows."""
    learner, evaluator = Task(in_job=True, job_id="two"), Task(in_job=True, job_id="two", role="evaluator")
    identity: Any = SimpleNamespace(layer="normal", of_layer="layer", whole="rows")
    earlier = {"identity": "other rows", "layer": "layer", "job": "one", "attempt": 1, "used_by": "one", "state": 1}
    monkeypatch.setattr(adaptation, "training_has_ended", lambda _: False)
    for found, learned in ((earlier, 2), ({**earlier, "identity": "rows"}, 1)):
        file: Any = _File(found)

        def learn(file: Any = file, learned: int = learned) -> None:
            assert adaptation._learn_once(learner, file, identity, lambda: 2) == learned

        pauses = [learn]
        monkeypatch.setattr(adaptation.time, "sleep", lambda _, pauses=pauses: pauses.pop()())
        assert adaptation._await_training(evaluator, file, identity) == learned
        assert not pauses


def test_layers_have_places_in_the_order_of_the_script_in_each_round() -> None:
    fits.begin_round(0)
    assert [fits.next_adapted() for _ in range(2)] == [("adapted-1", 1), ("adapted-2", 2)]
    for number in (1, 2):
        fits.begin_round(number)
        assert fits.next_adapted() == ("rounds/adapted-1", 1)
    fits.begin_round(0)


class Counts:
    """A layer of a script, with a state that it says itself."""

    def __init__(self, factor: int = 1) -> None:
        self.name = "counts"
        self.factor, self.total = factor, 0

    def get_config(self) -> dict[str, Any]:
        return {"name": self.name, "factor": self.factor, "function": len}

    def adapt(self, rows: Any) -> None:
        self.total = self.factor * sum(rows)

    def state_dict(self) -> Any:
        return {"total": self.total}

    def load_state_dict(self, state: Any) -> None:
        self.total = state["total"]


class Silent:
    """A layer of a script that says nothing of its state."""

    name = "silent"

    def adapt(self, rows: Any) -> None:
        """Learns nothing."""


def test_outside_a_job_a_layer_learns_by_itself(tmp_path: Path) -> None:
    layer = Counts(2)
    adapt(layer, [1, 2])
    assert layer.total == 6
    adapt(Silent(), [1])


def test_what_cannot_learn_is_refused() -> None:
    with pytest.raises(
        InvalidRequestError, match=r"object cannot learn from rows\. .*needs a layer with a method adapt"
    ):
        adapt(object(), [1])


def test_the_options_of_a_layer_and_its_name_identify_it_but_one_that_keras_has_made() -> None:
    one, other = Counts(), Counts()
    other.name = "counts_1"
    other.total = 7
    assert layer_state.identity(one) == layer_state.identity(other)
    assert layer_state.identity(one) != layer_state.identity(Counts(2))
    other.name = "counts_of_words"
    assert layer_state.identity(one) != layer_state.identity(other)
    assert layer_state.is_known(one)
    assert not layer_state.is_known(Silent())


def test_the_requests_are_found_below_a_dataset() -> None:
    def dataset(*inputs: Any, **attributes: Any) -> Any:
        return SimpleNamespace(element_spec=None, _inputs=lambda: list(inputs), **attributes)

    source = dataset(**{whole_rows.REQUEST: REQUEST})
    assert list(marks_of(dataset(dataset(source), dataset()), whole_rows.REQUEST)) == [REQUEST]
    assert list(marks_of([1, 2], whole_rows.REQUEST)) == []


def test_rows_that_tensorflow_keeps_after_the_dataset_are_found() -> None:
    class _CacheDataset:
        element_spec = None

        def __init__(self, *inputs: Any) -> None:
            self._inputs = lambda: list(inputs)

    class Map(_CacheDataset):
        """Keeps nothing."""

    source = Map()
    setattr(source, whole_rows.REQUEST, REQUEST)
    assert keeps_rows(Map(_CacheDataset(Map(source))), whole_rows.REQUEST)
    assert not keeps_rows(Map(Map(source), _CacheDataset(Map())), whole_rows.REQUEST)
