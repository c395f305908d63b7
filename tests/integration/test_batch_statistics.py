"""BatchNormalization of Keras 3 on several workers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from jobs import LIMIT, ROWS, SCRIPTS, read

import tensorflow_ignite as tfi

pytestmark = pytest.mark.full

pytest.importorskip("tensorflow")
pytest.importorskip("keras")


def test_workers_without_rows_in_a_step_train_finite_weights_and_their_moving_means_are_equal(
    client: tfi.Client, numbered: str, tmp_path: Path
) -> None:
    job = client.submit(
        SCRIPTS / "batch_statistics.py",
        cache=numbered,
        args=[str(tmp_path), str(ROWS)],
        restart=tfi.Restart(max_crashes=0),
    )
    job.wait(timeout=LIMIT)
    found = [read(tmp_path, f"{index}.json") for index in range(3)]
    # A second model with the same layers is compared, and finds them equal.
    assert all(np.isfinite(found[0][name]).all() for name in ("loss", "loss of the second"))
    assert all(np.isfinite(weight).all() for weight in found[0]["weights"])
    assert all(weight != [0.0] * 4 for weight in found[0]["weights"])
    assert found[1] == found[2] == found[0]
