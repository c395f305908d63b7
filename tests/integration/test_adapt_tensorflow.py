"""Preprocessing layers learn from the rows of all workers, once for a job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jobs import LIMIT, SCRIPTS, read

import tensorflow_ignite as tfi
from tensorflow_ignite.spec import Job
from tensorflow_ignite.testing import LocalCluster

pytest.importorskip("tensorflow")
pytest.importorskip("keras")
pytest.importorskip("tf_keras")

ROWS, WORDS = 900, 451
# Whatever the order of rows is.
X = np.arange(ROWS, dtype=np.float32)


def load(cluster: LocalCluster, cache: str) -> None:
    """Rows whose mean and words differ from worker to worker."""
    columns = {"id": np.arange(ROWS), "x": X, "word": [f"w{i % WORDS}" for i in range(ROWS)], "y": X / ROWS}
    tfi.load(cache, columns, key="id", backups=1, partitions=64, if_exists="replace", address=cluster.address)


def run(
    client: tfi.Client, cluster: LocalCluster, folder: Path, library: str, case: str, **options: Any
) -> tuple[Job, list[str], list[list[dict[str, Any]]]]:
    """A job of the script, its output, and what each of its tasks has found, by attempt."""
    cache = f"adapted_{folder.name}".replace("-", "_")
    load(cluster, cache)
    handle = client.submit(
        SCRIPTS / "adapt_layers.py", cache=cache, args=[str(folder), library, case], max_crashes=1, **options
    )
    job = handle.wait(timeout=LIMIT)
    found = [[read(folder, path.name) for path in sorted(folder.glob(f"*-{attempt}.json"))] for attempt in (1, 2)]
    return job, [line.text for line in handle.logs()], found


def require_all_rows(found: dict[str, Any]) -> None:
    """Layers have learned from each row once."""
    mean, variance = found["normal"]
    np.testing.assert_allclose(mean, X.mean(), rtol=1e-4)
    np.testing.assert_allclose(variance, X.var(), rtol=1e-3)
    # Those that come twice are before those that come once.
    vocabulary = found["words"][0]
    assert len(vocabulary) == 1 + WORDS
    assert set(vocabulary[:-2]) == {"[UNK]", *(f"w{i}" for i in range(ROWS - WORDS))}


def test_layers_learn_from_all_rows_and_are_equal_and_a_restart_does_not_repeat_that(
    client: tfi.Client, cluster: LocalCluster, tmp_path: Path
) -> None:
    job, output, (first, second) = run(client, cluster, tmp_path, "keras", "few")
    assert job.attempt is not None
    assert job.attempt.number == 2
    assert len(first) == len(second) == 3
    require_all_rows(first[0])
    for found in first + second:
        assert found["normal"] == first[0]["normal"]
        assert found["words"] == first[0]["words"]
    assert len({found["answer"] for found in first}) == len({found["answer"] for found in second}) == 1
    # Of two layers, on the first worker alone; a row that was put before the second attempt changes nothing.
    assert [found["read"] for found in first + second] == [2 * ROWS, 0, 0, 0, 0, 0]
    assert sum("has what attempt 1 of job" in line and "reads no row" in line for line in output) == 2
