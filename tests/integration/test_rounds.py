"""Continuous jobs: rounds on what is put into a cache, and published versions; real nodes, real TensorFlow.

Promise (training): The rounds of a continuous job leave out no new row.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from jobs import LIMIT, SCRIPTS, await_files, await_job, cli, read
from waiting import await_true

import tensorflow_ignite as tfi
from tensorflow_ignite.jobs.handle import JobHandle
from tensorflow_ignite.spec import Job
from tensorflow_ignite.testing import LocalCluster

pytestmark = pytest.mark.full

pytest.importorskip("keras")

PARTITIONS = 32
SPLIT = 0.2


def put(nodes: LocalCluster, cache: str, ids: range, **options: object) -> set[int]:
    """Puts rows of the line y = 2 x + 1, and returns their ids."""
    x = (np.array(ids) % 100 / 100).astype("float32")
    columns = {"key": np.array(ids), "id": np.array(ids), "x": x, "y": 2 * x + 1}
    tfi.load(cache, columns, key="key", address=nodes.addresses[0], **options)  # type: ignore[arg-type]
    return set(ids)


def held_out(nodes: LocalCluster, cache: str) -> set[int]:
    """The ids of the rows that no round may train on."""
    rows = tfi.dataset(
        cache,
        columns=["id"],
        options=tfi.ReadOptions(address=nodes.addresses[0]),
        hold_out=tfi.HoldOut(validation_split=SPLIT, subset="validation"),
    )
    return {int(row["id"]) for row in rows}


def waits_for(text: str) -> Callable[[Job], bool]:
    """The next round waits for something."""

    def holds(job: Job) -> bool:
        tasks = job.attempt.tasks if job.attempt else ()
        return any(task.status.progress and text in task.status.progress.waiting_for for task in tasks)

    return holds


def has_done(number: int) -> Callable[[Job], bool]:
    """The last round is over, and the next one waits for changes."""
    return lambda job: bool(job.rounds) and job.rounds[-1].number == number and waits_for("there are ")(job)


def trained(folder: Path, handle: JobHandle, round: int, attempt: int = 1) -> set[int]:
    """The ids that the workers of an attempt, or of a later one, have read in a round; each of them once."""
    ids: list[int] = []

    def has_come() -> bool:
        # A busy machine may start an attempt anew.
        newest = handle.refresh().attempt
        if newest is None or newest.number < attempt:
            return False
        names = [f"{round}-{newest.number}-{task.index}.json" for task in newest.tasks]
        if not all((folder / name).exists() for name in names):
            return False
        ids.extend(number for name in names for number in read(folder, name))
        return True

    await_true(has_come, f"round {round} did not come", LIMIT)
    assert len(ids) == len(set(ids))
    return set(ids)


def test_rounds_leave_out_no_row_although_a_node_is_killed_and_publish_no_worse_model(
    tmp_path: Path, tolerant: Path
) -> None:
    with LocalCluster(nodes=1, config=tolerant) as nodes, tfi.connect(nodes.addresses[0]) as client:
        # Of two nodes the job goes on with the older one.
        nodes.start_node()
        cache = "line"
        first = put(nodes, cache, range(400), backups=1, partitions=PARTITIONS)
        handle = client.submit(
            SCRIPTS / "train_rounds.py",
            cache=cache,
            args=[str(tmp_path)],
            restart=tfi.Restart(quorum="none"),
            timeouts=tfi.Timeouts(start=300),
            rounds=tfi.Rounds(when_rows=100, replay=0.5),
        )
        try:
            not_for_training = held_out(nodes, cache)
            assert len(not_for_training) == pytest.approx(400 * SPLIT, rel=0.4)
            assert trained(tmp_path, handle, 1) == first - not_for_training
            await_job(handle, waits_for("100 changes (when_rows): there are 0"))

            # Too few for a round, which begins with the last one of as many as it needs.
            some = put(nodes, cache, range(400, 430), if_exists="append")
            await_job(handle, waits_for("there are 30"))
            some |= put(nodes, cache, range(430, 500), if_exists="append")
            not_for_training = held_out(nodes, cache)
            found = trained(tmp_path, handle, 2)
            assert found >= some - not_for_training
            assert not found & not_for_training
            # About as many old rows as new ones.
            assert 0.5 * len(some) <= len(found & first) <= 1.6 * len(some)
            await_job(handle, waits_for("there are 0"))
            assert read(tmp_path, "published-1-0.json") == [1, None]
            assert read(tmp_path, "published-2-0.json") == read(tmp_path, "published-2-1.json")

            # A node is killed in the middle of a round, whose model is a worse one.
            for name in ("hold-3", "spoil-3"):
                (tmp_path / name).touch()
            more = put(nodes, cache, range(500, 600), if_exists="append")
            not_for_training = held_out(nodes, cache)
            assert trained(tmp_path, handle, 3) >= more - not_for_training
            attempt = len(handle.status.attempts) + 1
            nodes.kill_node(nodes.nodes[1])
            meanwhile = put(nodes, cache, range(600, 620), if_exists="append")
            assert trained(tmp_path, handle, 3, attempt) >= more - not_for_training
            (tmp_path / "hold-3").unlink()
            await_files(handle, tmp_path / "published-3-0.json")
            version, earlier = read(tmp_path, "published-3-0.json")
            assert version is None
            assert earlier is not None

            # The changes of partitions that have moved are not known: a round begins at once, and reads them whole.
            await_job(handle, has_done(4))
            not_for_training = held_out(nodes, cache)
            assert trained(tmp_path, handle, 4, attempt) >= meanwhile - not_for_training
            last = put(nodes, cache, range(620, 720), if_exists="append")
            not_for_training = held_out(nodes, cache)
            assert trained(tmp_path, handle, 5, attempt) >= last - not_for_training
            job = await_job(handle, has_done(5))
            history = job.rounds
            assert [each.number for each in history] == [1, 2, 3, 4, 5]
            assert [each.changes for each in history] == [400, 100, 100, None, 100]
            assert all(each.finished_at is not None for each in history)
            kept = history[2].publications[0]
            assert (kept.version, kept.earlier_version) == (None, earlier)
            assert kept.measure > kept.earlier_measure
            assert len(job.attempts) >= attempt
            assert job.crashes == 0
            described = " ".join(cli("describe", job.id, address=nodes.addresses[0]).stdout.split())
            assert f"round 3: 100 changes; {kept}" in described
            assert "the next one waits for 100 changes (when_rows): there are 0" in described
            output = [line.text for line in handle.logs(role="worker", index=0)]
            assert f"tensorflow_ignite: round 3: {kept}" in output
            assert "tensorflow_ignite: the next round waits for 100 changes (when_rows): there are 0" in output
            # The newest version is the published one.
            versions = client_versions(nodes)
            assert max(versions) == max(
                publication.version or 0 for each in history for publication in each.publications
            )
        finally:
            stopped = handle.stop(timeout=LIMIT)
        assert stopped.state == "stopped"


def client_versions(nodes: LocalCluster) -> set[int]:
    """The versions of the model that are there."""
    import fsspec

    files = fsspec.filesystem("ignite", address=nodes.addresses[0])
    return {int(Path(name).stem) for name in files.ls("/models/line", detail=False)}


def test_a_planned_end_ends_a_wait_at_once_and_the_next_attempt_goes_on(
    cluster: LocalCluster, client: tfi.Client, tmp_path: Path
) -> None:
    ids = np.arange(50)
    tfi.load("waits", {"id": ids}, backups=1, partitions=PARTITIONS, address=cluster.address)
    script = tmp_path / "waits.py"
    script.write_text(
        "import tensorflow_ignite as tfi\n"
        "for round in tfi.train.rounds():\n"
        "    print('round', round.number, 'of attempt', tfi.train.context().attempt, flush=True)\n"
    )
    # Both times are longer than LIMIT: an end that waited for one of them would fail the test.
    handle = client.submit(
        script,
        cache="waits",
        restart=tfi.Restart(max_crashes=0),
        timeouts=tfi.Timeouts(stop_grace=2 * LIMIT),
        rounds=tfi.Rounds(every=3600),
    )
    job = await_job(handle, waits_for("its time, in"))
    pid = job.attempts[0].tasks[-1].status.pid
    assert pid is not None
    os.kill(pid, signal.SIGTERM)
    job = await_job(handle, lambda job: len(job.attempts) == 2)
    assert job.attempts[0].cause_kind == "planned"
    await_job(handle, lambda job: len(job.attempts) == 2 and waits_for("its time, in")(job))
    job = handle.stop(save=True, timeout=LIMIT)
    assert job.state == "stopped"
    assert [each.number for each in job.rounds] == [1]
    # The round was over: it is not trained again.
    rounds = [line.text for line in handle.logs(role="worker", index=0) if line.text.startswith("round ")]
    assert rounds == ["round 1 of attempt 1"]


def test_a_continuous_job_whose_script_knows_no_rounds_ends_with_it_and_says_so(
    cluster: LocalCluster, client: tfi.Client, numbered: str, tmp_path: Path
) -> None:
    script = tmp_path / "once.py"
    script.write_text("print('done')\n")
    handle = client.submit(script, cache=numbered, rounds=tfi.Rounds())
    assert handle.wait(LIMIT).state == "succeeded"
    described = cli("describe", handle.id, address=cluster.address).stdout
    assert "rounds: none; they begin when the script calls tfi.train.rounds()" in described


def test_models_of_tf_keras_are_published_by_several_workers(
    cluster: LocalCluster, client: tfi.Client, tmp_path: Path
) -> None:
    pytest.importorskip("tf_keras")
    put(cluster, "line_of_tf_keras", range(200), backups=1, partitions=PARTITIONS)
    script = tmp_path / "publishes.py"
    script.write_text(
        "import tensorflow_ignite as tfi\n"
        "strategy = tfi.train.strategy()\n"
        "import tf_keras as keras\n"
        "with strategy.scope():\n"
        "    layers = [keras.Input([1]), keras.layers.BatchNormalization(), keras.layers.Dense(1)]\n"
        "    model = keras.Sequential(layers)\n"
        "    model.compile('sgd', 'mse', metrics=['mae'])\n"
        "def batches(rows):\n"
        "    return rows.batch(32).map(lambda row, label, *weights: (row['x'][:, None], label, *weights))\n"
        "for round in tfi.train.rounds(validation_split=0.2):\n"
        "    model.fit(batches(round.training(columns=['x', 'y'], label='y')), verbose=0)\n"
        "    def loss(candidate):\n"
        "        return candidate.evaluate(batches(round.validation(columns=['x', 'y'], label='y')), verbose=0)[0]\n"
        "    print('published', round.publish(model, 'tf_keras', measure=loss).version, flush=True)\n"
        "    break\n"
    )
    handle = client.submit(script, cache="line_of_tf_keras", restart=tfi.Restart(max_crashes=0), rounds=tfi.Rounds())
    assert handle.wait(LIMIT).state == "succeeded"
    assert len(handle.status.attempts[-1].tasks) == 3
    for index in range(3):
        assert "published 1" in [line.text for line in handle.logs(role="worker", index=index)]
