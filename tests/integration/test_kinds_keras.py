"""What `fit` of Keras offers, in each kind of job: one job for each kind and library, and a test for each feature."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from jobs import LIMIT, SCRIPTS

import tensorflow_ignite as tfi
from tensorflow_ignite.kinds import JobKind
from tensorflow_ignite.spec import Job
from tensorflow_ignite.testing import LocalCluster

pytestmark = pytest.mark.full

tf = pytest.importorskip("tensorflow")
pytest.importorskip("keras")
pytest.importorskip("tf_keras")

ROWS, PARTITIONS = 1500, 64
TRAINING, OTHER = "noisy_line", "noisy_line_of_others"
# As in the script.
BATCH, STEPS, EPOCHS, OTHER_ROWS = 24, 6, 2, 50


# Each kind, and both libraries where they differ: `fit` of Keras 3 does not run under parameter servers.
CELLS: list[tuple[JobKind, str]] = [
    ("multi-worker-mirrored", "keras"),
    ("multi-worker-mirrored", "tf_keras"),
    ("mirrored", "keras"),
    ("one", "keras"),
    ("parameter-server", "tf_keras"),
]
FEATURES = [
    "callbacks_and_evaluation",
    "class_weight",
    "sample_weight",
    "mixed_bfloat16",
    "mixed_float16",
    "steps_per_execution",
    "batch_callback",
    "jit_compile",
]
# Of this package: with several replicas.
REFUSED = "cannot run {} under"
# Of TensorFlow, which names a variable on another device.
OTHER_DEVICE = "known_issues#tfvariable_on_a_different_device"


@dataclass(frozen=True)
class Cell:
    """A job that is over: its tasks, what each has found, and the modules that XLA has compiled in it."""

    kind: JobKind
    library: str
    job: Job
    found: list[dict[str, Any]]
    compiled: list[str]

    def each(self, feature: str) -> list[Any]:
        """What has come of a feature, for each task that runs the script."""
        return [found[feature] for found in self.found]


def rows(seed: int, count: int) -> dict[str, Any]:
    """Points near the line y = 2 x + 1; a quarter of them is rare, whatever x is."""
    random = np.random.default_rng(seed)
    x = random.random(count, np.float32)
    return {
        "x": x,
        "y": 2 * x + 1 + random.normal(0, 0.1, count).astype(np.float32),
        "rare": random.random(count) < 0.25,
    }


@pytest.fixture(scope="module", params=CELLS, ids=" ".join)
def cell(request: pytest.FixtureRequest, cluster: LocalCluster, tmp_path_factory: pytest.TempPathFactory) -> Cell:
    """The job of a kind and a library."""
    kind, library = request.param
    for cache, data in ((TRAINING, rows(0, ROWS)), (OTHER, rows(1, OTHER_ROWS))):
        tfi.load(cache, data, partitions=PARTITIONS, if_exists="replace", address=cluster.address)
    folder = tmp_path_factory.mktemp(f"{kind}-{library}")
    with tfi.connect(cluster.address) as client:
        job = client.submit(
            SCRIPTS / "train_features.py",
            cache=TRAINING,
            strategy=kind,
            restart=tfi.Restart(max_crashes=0),
            environment=tfi.Environment(variables={"XLA_FLAGS": f"--xla_dump_to={folder / 'xla'}"}),
            access=tfi.Access(caches=[OTHER]),
            args=[str(folder), library, OTHER, *FEATURES],
        ).wait(timeout=LIMIT)
    found = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    assert len(found) == (3 if kind == "multi-worker-mirrored" else 1)
    return Cell(kind, library, job, found, sorted(path.name for path in (folder / "xla").glob("*")))


def mean_squares(slope: float, intercept: float, columns: dict[str, Any]) -> float:
    """The mean of the squared errors of a line."""
    return float(np.mean((slope * columns["x"] + intercept - columns["y"]) ** 2))


def test_callbacks_take_part_in_fit_and_other_rows_validate_and_are_evaluated_and_predicted(
    cluster: LocalCluster, cell: Cell
) -> None:
    other = rows(1, OTHER_ROWS)
    options, hold_out = tfi.ReadOptions(address=cluster.address), tfi.HoldOut(0.25, "validation")
    batches = [*tfi.dataset(TRAINING, columns=["x", "y"], hold_out=hold_out, options=options).batch(ROWS)]
    held_out = {name: np.concatenate([batch[name].numpy() for batch in batches]) for name in ("x", "y")}
    assert 0.15 * ROWS < len(held_out["x"]) < 0.35 * ROWS
    for found in cell.each("callbacks_and_evaluation"):
        # EarlyStopping has ended it after two of five epochs.
        assert found["batches"] == [*range(STEPS)] * EPOCHS
        assert found["rates"] == pytest.approx([0.2, 0.1])
        assert found["steps"] == found["saved"] == STEPS * EPOCHS
        assert {"loss", "mae", "error", "val_loss", "val_mae", "val_error"} <= set(found["history"])
        assert found["history"]["loss"][1] < found["history"]["loss"][0] / 2
        slope, intercept = found["weights"]
        expected = mean_squares(slope, intercept, other)
        assert found["evaluated"]["loss"] == pytest.approx(expected, rel=1e-4)
        assert found["evaluated"]["error"] == pytest.approx(expected, rel=1e-4)
        assert found["history"]["val_loss"][-1] == pytest.approx(expected, rel=1e-4)
        # Under Keras 3 each worker reads the whole cache, and gets the predictions of all; tf_keras splits the rows.
        copies = 3 if (cell.kind, cell.library) == ("multi-worker-mirrored", "keras") else 1
        predictions = np.sort(np.tile(slope * other["x"] + intercept, copies))
        np.testing.assert_allclose(np.sort(found["predicted"]), predictions, rtol=1e-4)
        if cell.kind != "parameter-server":
            assert found["held_out"] == pytest.approx(mean_squares(slope, intercept, held_out), rel=1e-4)
    if cell.kind == "parameter-server":
        (refused,) = cell.each("batch_callback")
        assert "Batch-level `Callback`s are not supported with `ParameterServerStrategy`" in refused["error"]


def test_weights_change_what_is_learned(cell: Cell) -> None:
    # One of four rows is rare, and counts nine times: 9 / (9 + 3). Without weights it is 1 / 4.
    for share in cell.each("class_weight") + cell.each("sample_weight"):
        assert 0.55 < share < 0.95


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_policy_of_mixed_precision_decides_the_type_of_computations(cell: Cell, dtype: str) -> None:
    for found in cell.each(f"mixed_{dtype}"):
        if (cell.kind, dtype) == ("parameter-server", "float16"):
            assert "Mixed precision is not supported with the tf.distribute.Strategy: Parameter" in found["error"]
            continue
        assert (found["computes"], found["stores"]) == (dtype, "float32")
        assert found["optimizer"].startswith("LossScaleOptimizer") == (dtype == "float16")
        assert found["losses"][1] < found["losses"][0]


def test_steps_per_execution_groups_the_steps_and_checkpoints_follow(cell: Cell) -> None:
    for found in cell.each("steps_per_execution"):
        if cell.library == "keras" and cell.kind != "one":
            assert REFUSED.format("steps_per_execution=4") in found["error"]
            continue
        assert found == {"batches": [3, 7], "iterations": 8, "steps": 8}


def test_jit_compile_compiles_the_step_of_one_device(cell: Cell) -> None:
    for found in cell.each("jit_compile"):
        if cell.kind == "one":
            assert found[0] > 0
            assert any("step" in name for name in cell.compiled), cell.compiled
        elif cell.kind == "parameter-server":
            assert OTHER_DEVICE in found["error"]
        else:
            assert REFUSED.format("jit_compile=True") in found["error"]


@pytest.mark.parametrize("cell", CELLS[:2], indirect=True, ids=" ".join)
def test_the_losses_of_three_workers_are_those_of_one_process_with_the_union_of_their_batches(
    cluster: LocalCluster, cell: Cell
) -> None:
    assert cell.job.attempt is not None
    shares = []
    for task in cell.job.attempt.tasks:
        own = tfi.dataset(
            TRAINING,
            columns=["x", "y"],
            label="y",
            partitions=list(task.partitions),
            options=tfi.ReadOptions(address=cluster.address),
        )
        batches = [*own.batch(BATCH // 3).take(STEPS * EPOCHS)]
        shares.append((np.stack([x["x"] for x, _ in batches]), np.stack([y for _, y in batches])))
    # Batch i of the process has the rows of batch i of each worker.
    x, y = (np.concatenate(columns, axis=1)[..., None] for columns in zip(*shares, strict=True))
    losses, model = losses_in_one_process(cell.library, tf.data.Dataset.from_tensor_slices((x, y)))
    for found in cell.each("callbacks_and_evaluation"):
        # What tf_keras gives to callbacks after a batch is the sum over the workers.
        workers = 3 if cell.library == "tf_keras" else 1
        np.testing.assert_allclose(np.divide(found["losses"], workers), losses, rtol=1e-4)
        np.testing.assert_allclose(found["weights"], [np.ravel(each)[0] for each in model.get_weights()], rtol=1e-4)


def losses_in_one_process(library: str, batches: Any) -> tuple[list[float], Any]:
    """The loss after each step of the script's training, and the trained model."""
    keras: Any = pytest.importorskip(library)
    losses: list[float] = []

    class Watch(keras.callbacks.Callback):  # type: ignore[misc]
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            losses.append(float(logs["loss"]))

    dense = keras.layers.Dense(1, kernel_initializer="zeros")
    model = keras.Sequential([keras.layers.Input([1]), dense])
    model.compile(keras.optimizers.SGD(0.2), "mse")
    rate = keras.callbacks.LearningRateScheduler(lambda epoch, rate: 0.2 / (epoch + 1))
    model.fit(batches, epochs=EPOCHS, steps_per_epoch=STEPS, verbose=0, callbacks=[rate, Watch()])
    return losses, model
