"""Rounds of a continuous job: when they begin, what they read, and what is published; without nodes and TensorFlow.

Promise (training): A round that is not over is repeated from the same position.
Promise (training): No worse version of a model is published.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from copy import deepcopy
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from file_server import FileServer

from tensorflow_ignite import train
from tensorflow_ignite.data.cache_position import CachePosition
from tensorflow_ignite.data.epochs.changes import Position
from tensorflow_ignite.data.options import Changes, HoldOut
from tensorflow_ignite.errors import InvalidRequestError
from tensorflow_ignite.groups import Rounds
from tensorflow_ignite.models.deployments import Deployments
from tensorflow_ignite.models.registry import Models
from tensorflow_ignite.spec import Publication
from tensorflow_ignite.storage.files import Files
from tensorflow_ignite.task import WorkerAssignment
from tensorflow_ignite.train import fits, publishing, round_loop, round_rule
from tensorflow_ignite.train.context import Context
from tensorflow_ignite.train.publishing import is_worse
from tensorflow_ignite.train.round_loop import RoundLoop
from tensorflow_ignite.train.training_round import Round
from tensorflow_ignite.v1 import job_pb2

RULE = Rounds(when_rows=5, replay=0.5)


class Stopped(BaseException):
    """Ends a worker that waits."""


class Cluster:
    """A cache whose changes are counted, and the file of the rounds; waits run a plan of what happens meanwhile."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.changes = 10
        self.new_rows: list[bool] = []
        self.file = job_pb2.RoundState()
        self.waits: Iterator[Callable[[], None]] = iter(())
        self.waiting: list[str] = []
        self.met: list[int] = []

        def report(rounds: Any, waiting_for: str = "") -> None:
            self.waiting += [waiting_for] if waiting_for else []

        for name, value in {
            "RoundFile": lambda job_id: SimpleNamespace(read=lambda: deepcopy(self.file), write=self.file.CopyFrom),
            "Pause": lambda: nullcontext(self.pause),
            "report_rounds": report,
            "position": lambda cache: self.position(),
            "count_rows": lambda cache: 1_000,
            "any_row": lambda cache, since, keys: self.new_rows.pop(0) if self.new_rows else True,
        }.items():
            monkeypatch.setattr(round_loop, name, value)
        monkeypatch.setattr(
            round_loop.agreement, "exchange", lambda name, number, value, pause: self.met.append(number)
        )

    def pause(self, seconds: float) -> None:
        event = next(self.waits, None)
        if event is None:
            raise Stopped
        event()

    def position(self) -> CachePosition:
        return CachePosition("trips", (Position(7, self.changes),))

    def change(self, number: int) -> Callable[[], None]:
        def happens() -> None:
            self.changes += number

        return happens

    def worker(self, index: int = 0, rule: Rounds | None = RULE) -> Iterator[Round]:
        here = Context(
            in_job=True,
            job_id="7f3a",
            cache="trips",
            index=index,
            kind="multi-worker-mirrored",
            rounds=rule,
            assignment=(WorkerAssignment(0, "a", (0,), 600), WorkerAssignment(1, "b", (1,), 400)),
        )
        return RoundLoop(here, 0.1).run()


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    return Cluster(monkeypatch)


@pytest.mark.parametrize(
    ("rule", "seconds", "changes", "waits"),
    [
        (Rounds(), 60, 1, None),
        (Rounds(), 60, None, None),
        (Rounds(), 60, 0, "a row that changes"),
        (Rounds(), 2, 9, "its time, in 3 s: a round begins every 5 s at most"),
        (Rounds(every=600), 2, 9, "its time, in 598 s: a round begins every 600 s at most"),
        (Rounds(every=600), 700, 9, None),
        (Rounds(every=600), 700, 0, "a row that changes"),
        (Rounds(when_rows=1000), 0, 999, "1,000 changes (when_rows): there are 999"),
        (Rounds(when_rows=1000), 0, 1000, None),
        (Rounds(when_rows=1000), 0, None, None),
    ],
)
def test_a_round_begins_by_time_or_by_the_number_of_changes(rule, seconds, changes, waits) -> None:
    found = round_rule.wait(rule, seconds, changes)
    assert (found.text if found else None) == waits


def test_each_round_begins_where_the_one_before_has_begun(cluster: Cluster) -> None:
    rounds = cluster.worker()
    first = next(rounds)
    assert (first.number, first.since) == (1, None)
    assert fits.current_round() == 1
    # While the first round trains.
    cluster.changes = 12
    cluster.waits = iter([cluster.change(2), cluster.change(1)])
    second = next(rounds)
    assert (second.number, second.since) == (2, CachePosition("trips", (Position(7, 10),)))
    assert cluster.waiting == ["5 changes (when_rows): there are 2", "5 changes (when_rows): there are 4"]
    assert cluster.met == [1]
    cluster.changes = 40
    third = next(rounds)
    assert third.since == CachePosition("trips", (Position(7, 15),))
    assert [each.number for each in cluster.file.rounds] == [1, 2, 3]
    assert [each.changes for each in cluster.file.rounds] == [1_000, 5, 25]
    assert [each.HasField("finished_at") for each in cluster.file.rounds] == [True, True, False]
    with pytest.raises(Stopped):
        next(rounds)
    assert fits.current_round() == 0


def test_a_restart_repeats_the_round_that_was_not_over_from_the_same_position(cluster: Cluster) -> None:
    rounds = cluster.worker()
    next(rounds)
    cluster.changes = 20
    second = next(rounds)
    rounds.close()
    cluster.changes = 500
    again = cluster.worker()
    repeated = next(again)
    assert (repeated.number, repeated.since) == (second.number, second.since)
    # What was put while the round was interrupted is in the next one, too.
    third = next(again)
    assert (third.number, third.since) == (3, CachePosition("trips", (Position(7, 20),)))
    again.close()
    # A round that was over is not trained again.
    cluster.file.rounds[-1].finished_at.GetCurrentTime()
    cluster.file.since, cluster.file.until = cluster.position().to_json(), ""
    last = cluster.worker()
    with pytest.raises(Stopped):
        next(last)


def test_changes_that_leave_nothing_to_train_on_make_no_round(cluster: Cluster) -> None:
    rounds = cluster.worker()
    next(rounds)
    cluster.changes, cluster.new_rows = 20, [False, True]
    cluster.waits = iter([cluster.change(7)])
    second = next(rounds)
    assert (second.number, second.since) == (2, CachePosition("trips", (Position(7, 20),)))
    assert cluster.file.rounds[-1].changes == 7


def test_a_first_round_without_a_row_to_train_on_waits_for_one(cluster: Cluster) -> None:
    cluster.new_rows = [False, False, True]
    cluster.waits = iter([cluster.change(1), cluster.change(2)])
    assert next(cluster.worker()).number == 1
    assert cluster.waiting == ["a row to train on: there is none, or all are held out"] * 2
    # Those that have come meanwhile are in this round.
    assert CachePosition.from_json(cluster.file.until) == CachePosition("trips", (Position(7, 13),))


def test_a_repeated_round_whose_rows_are_gone_waits_for_others_on_all_workers(cluster: Cluster) -> None:
    begun = cluster.worker()
    next(begun)
    begun.close()
    for index in range(2):
        cluster.new_rows = [False]
        with pytest.raises(Stopped):
            next(cluster.worker(index))
        cluster.new_rows, cluster.waits = [False, True], iter([lambda: None])
        repeated = cluster.worker(index)
        assert next(repeated).number == 1
        repeated.close()


def test_a_clock_that_jumps_delays_no_round(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    rule, begin = Rounds(every=600), time.monotonic()
    rounds = cluster.worker(rule=rule)
    next(rounds)
    cluster.changes += 1
    later = SimpleNamespace(monotonic=lambda: begin + 601)
    with monkeypatch.context() as patch:
        # Clocks of now are behind the begin of the round, of this attempt and then of the one before.
        patch.setattr(round_loop, "datetime", SimpleNamespace(now=lambda zone: datetime(2020, 1, 1, tzinfo=zone)))
        cluster.waits = iter([lambda: patch.setattr(round_loop, "time", later)])
        assert next(rounds).number == 2
    rounds.close()
    cluster.file.rounds[-1].finished_at.GetCurrentTime()
    cluster.file.rounds[-1].begun_at.FromSeconds(2**32)
    cluster.file.since = cluster.position().to_json()
    cluster.changes += 1
    rounds = cluster.worker(rule=rule)
    with monkeypatch.context() as patch:
        cluster.waits = iter([lambda: patch.setattr(round_loop, "time", later)])
        assert next(rounds).number == 3
    rounds.close()


def test_changes_that_nodes_do_not_know_any_more_begin_a_round(cluster: Cluster) -> None:
    rounds = cluster.worker()
    next(rounds)
    cluster.position = lambda: CachePosition("trips", (Position(8, 3),))  # type: ignore[method-assign]
    assert next(rounds).since == CachePosition("trips", (Position(7, 10),))
    assert not cluster.file.rounds[-1].HasField("changes")


def test_other_workers_follow_the_chief(cluster: Cluster) -> None:
    chief, other = cluster.worker(), cluster.worker(1)
    cluster.waits = iter([lambda: next(chief) and None])
    assert next(other).number == 1
    cluster.changes = 30
    cluster.waits = iter([lambda: None, lambda: next(chief) and None])
    second = next(other)
    assert (second.number, second.since) == (2, CachePosition("trips", (Position(7, 10),)))
    with pytest.raises(Stopped):
        next(other)


def test_a_job_that_is_not_continuous_has_one_round_also_after_a_restart(cluster: Cluster) -> None:
    for _ in range(2):
        assert [each.number for each in cluster.worker(rule=None)] == [1]
    assert [each.changes for each in cluster.file.rounds] == [1_000]


def test_the_chief_publishes_once_while_others_take_part_and_all_workers_get_the_result(cluster: Cluster) -> None:
    found = Publication("trips", 0.25, None, 0.0, 1)
    chief, other = next(cluster.worker()), next(cluster.worker(1))
    calls: list[str] = []

    def publish() -> Publication:
        calls.append("publishes")
        return found

    def take_part() -> None:
        calls.append("takes part")

    cluster.waits = iter([lambda: chief._publish_once("trips", publish, take_part) and None])
    assert other._publish_once("trips", publish, take_part) == found
    # The next attempt repeats the round, and its model is published already.
    for index in range(2):
        assert next(cluster.worker(index))._publish_once("trips", publish, take_part) == found
    assert calls == ["takes part", "publishes"]


def test_an_attempt_that_publishes_in_another_order_publishes_each_model_once(cluster: Cluster) -> None:
    names: list[str] = []

    def publish(chief: Round, name: str) -> str:
        def published() -> Publication:
            names.append(name)
            return Publication(name, 0.25, None, 0.0, 1)

        return chief._publish_once(name, published, lambda: None).model

    first = next(cluster.worker())
    assert [publish(first, name) for name in ("a", "b")] == ["a", "b"]
    again = next(cluster.worker())
    assert [publish(again, name) for name in ("c", "b", "a", "a")] == ["c", "b", "a", "a"]
    assert names == ["a", "b", "c", "a"]


class Rows:
    """Stands for `dataset`: what was requested."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.requests: list[dict[str, Any]] = []
        module = SimpleNamespace(dataset=lambda cache, **options: self.requests.append({"cache": cache, **options}))
        monkeypatch.setitem(sys.modules, "tensorflow_ignite.data.dataset", module)


def test_rows_of_a_round_are_new_ones_with_a_sample_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, since = Rows(monkeypatch), CachePosition("trips", (Position(7, 10),))
    Round(1, "trips", None, None, 0.5).training(label="y")
    Round(2, "trips", since, 0.1, 0.5).training(label="y", uneven="drop")
    Round(2, "trips", since, 0.1, 0.5).validation(label="y")
    assert rows.requests == [
        {"cache": "trips", "uneven": "pad", "label": "y", "changes": None, "hold_out": None},
        {
            "cache": "trips",
            "uneven": "drop",
            "label": "y",
            "changes": Changes(since=since, replay=0.5),
            "hold_out": HoldOut(0.1, "training"),
        },
        {"cache": "trips", "uneven": "pad", "label": "y", "hold_out": HoldOut(0.1, "validation")},
    ]
    with pytest.raises(InvalidRequestError, match=r"got changes=.* The round itself decides"):
        Round(1, "trips").training(changes=Changes(since=since))
    with pytest.raises(InvalidRequestError, match=r"rounds\(validation_split=0.1\)"):
        Round(1, "trips").validation()


def test_outside_a_job_there_is_one_round_of_a_named_cache() -> None:
    (only,) = train.rounds(cache="trips", validation_split=0.2)
    assert (only.number, only.since) == (1, None)
    with pytest.raises(InvalidRequestError, match="knows no cache"):
        train.rounds()
    with pytest.raises(InvalidRequestError, match=r"validation_split=1\.5 is no part of the rows"):
        train.rounds(cache="trips", validation_split=1.5)


class Model:
    """A model whose file has its loss."""

    def __init__(self, loss: str) -> None:
        self.loss = loss

    def save(self, path: str) -> None:
        Path(path).write_text(self.loss)


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Models]:
    """The models of a cluster; trips:1 has the loss 0.5."""
    keras = SimpleNamespace(load_model=lambda path: Path(path).read_text())
    monkeypatch.setitem(sys.modules, "tf_keras", SimpleNamespace(models=keras))
    # No node serves a model.
    monkeypatch.setattr(Deployments, "get", lambda deployments, name: None)
    with FileServer() as server:
        models = Models(Files.at((server.address,), timeout=5.0))
        add(models, b"0.5", tmp_path)
        yield models


def add(models: Models, content: bytes, folder: Path, name: str = "trips") -> None:
    (folder / "other.keras").write_bytes(content)
    models.add(name, folder / "other.keras", signatures={})


def content(models: Models, reference: str, folder: Path) -> str:
    models.download(models.get(reference), folder / reference)
    return (folder / reference / "model.keras").read_text()


def publish(models: Models, loss: str, better: Any = "lower", name: str = "trips") -> Publication:
    return publishing.publish(Model(loss), name, models, float, better)


def test_a_model_is_published_unless_it_is_worse_than_the_newest_version(models: Models, tmp_path: Path) -> None:
    kept = publish(models, "0.6")
    assert kept == Publication("trips", 0.6, 1, 0.5, None)
    assert str(kept) == "trips: kept 1 (0.6 is worse than 0.5)"
    assert models.newest("trips") == 1
    assert publish(models, "nan").version is None
    assert publish(models, "0.5") == Publication("trips", 0.5, 1, 0.5, 2)
    assert content(models, "trips:2", tmp_path) == "0.5"
    assert publish(models, "0.6", "higher") == Publication("trips", 0.6, 2, 0.5, 3)
    assert publish(models, "0.9", name="new") == Publication("new", 0.9, None, 0.0, 1)


def test_two_jobs_that_publish_one_model_replace_no_version_and_publish_no_worse_one(
    models: Models, tmp_path: Path
) -> None:
    measured: list[str] = []

    def measure(other: bytes) -> Callable[[Any], float]:
        """While the versions are measured, another job publishes the next one."""

        def measured_meanwhile(loss: str) -> float:
            measured.append(loss)
            if len(measured) == 2:
                add(models, other, tmp_path)
            return float(loss)

        return measured_meanwhile

    found = publishing.publish(Model("0.2"), "trips", models, measure(b"0.1"), "lower")
    assert found == Publication("trips", 0.2, 2, 0.1, None)
    models.remove("trips:2")
    measured.clear()
    found = publishing.publish(Model("0.2"), "trips", models, measure(b"0.3"), "lower")
    assert found == Publication("trips", 0.2, 3, 0.3, 4)
    assert content(models, "trips:3", tmp_path) == "0.3"


def test_a_version_that_is_removed_while_models_are_measured_is_not_compared(
    models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = iter([9, 1])
    monkeypatch.setattr(models, "newest", lambda name: next(newest))
    assert publishing.publish(Model("0.2"), "trips", models, float, "lower") == Publication("trips", 0.2, 1, 0.5, 2)


def test_a_published_version_that_cannot_be_used_is_named(models: Models, tmp_path: Path) -> None:
    add(models, b"no model", tmp_path)
    with pytest.raises(InvalidRequestError, match=r"ignite:///models/trips/2/model\.keras, cannot be measured"):
        publish(models, "0.2")
    (tmp_path / "exported").mkdir()
    (tmp_path / "exported/saved_model.pb").touch()
    models.add("trips", tmp_path / "exported", signatures={})
    with pytest.raises(InvalidRequestError, match=r"ignite:///models/trips/3, is no \.keras file.* under another name"):
        publish(models, "0.2")
    add(models, b"\xff", tmp_path)
    with pytest.raises(InvalidRequestError, match=r"/trips/4/model\.keras, cannot be loaded .*model rm trips:4"):
        publish(models, "0.2")


@pytest.mark.parametrize("better", ["lower", "higher"])
@pytest.mark.parametrize("measured", ["nan", "inf", "-inf"])
def test_a_model_whose_measure_is_not_finite_is_never_published(
    models: Models, measured: str, better: Any, tmp_path: Path
) -> None:
    assert publish(models, measured, better).version is None
    first = publish(models, measured, better, name="new")
    assert str(first) == f"new: published none ({measured} is no finite number)"
    # Of a model that somebody has put there: it keeps no other one out.
    add(models, measured.encode(), tmp_path, "new")
    assert publish(models, measured, better, name="new").version is None
    assert publish(models, "0.2", better, name="new").version == 2
    assert not is_worse(3, 3, better)


@pytest.mark.parametrize("name", ["", "a/b", "..", "x" * 201, "a\n", 7])
def test_a_model_has_the_name_of_a_directory(models: Models, name: Any) -> None:
    with pytest.raises(InvalidRequestError, match="is no name of a model"):
        publish(models, "0.1", name=name)


def test_a_wrong_measure_is_named(models: Models) -> None:
    with pytest.raises(InvalidRequestError, match=r"evaluate\(\.\.\.\)\[1\]"):
        publishing.publish(Model("0.1"), "trips", models, lambda model: [0.1, 0.9], "lower")  # type: ignore[arg-type,return-value]
    with pytest.raises(InvalidRequestError, match="better='less' is unknown"):
        Round(1, "trips").publish(Model("0.1"), "trips", measure=float, better="less")  # type: ignore[arg-type]
