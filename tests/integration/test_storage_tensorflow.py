"""What TensorFlow and Keras keep in files, kept in the cluster."""

from __future__ import annotations

import itertools
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorflow_ignite
from tensorflow_ignite.testing import LocalCluster

tf = pytest.importorskip("tensorflow")
gfile = tf.io.gfile
_numbers = itertools.count()


@pytest.fixture
def directory(cluster: LocalCluster) -> str:
    """A path that nothing is at."""
    return f"ignite://{cluster.address}/tensorflow/{next(_numbers)}"


def test_checkpoints_are_kept_restored_and_removed(directory: str) -> None:
    value, step = tf.Variable(tf.random.normal([300, 1000])), tf.Variable(0)
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(value=value, step=step), directory, max_to_keep=2)
    assert manager.latest_checkpoint is None
    for _ in range(4):
        step.assign_add(1)
        value.assign_add(tf.ones_like(value))
        manager.save()
    assert sorted(gfile.listdir(directory)) == [
        "checkpoint",
        "ckpt-3.data-00000-of-00001",
        "ckpt-3.index",
        "ckpt-4.data-00000-of-00001",
        "ckpt-4.index",
    ]
    restored, restored_step = tf.Variable(tf.zeros([300, 1000])), tf.Variable(0)
    latest = tf.train.latest_checkpoint(directory)
    assert latest == f"{directory}/ckpt-4"
    tf.train.Checkpoint(value=restored, step=restored_step).restore(latest).assert_consumed()
    assert restored_step.numpy() == 4
    np.testing.assert_array_equal(restored.numpy(), value.numpy())
    assert ("value/.ATTRIBUTES/VARIABLE_VALUE", [300, 1000]) in tf.train.list_variables(latest)


def _keras(name: str) -> Any:
    return pytest.importorskip(name)


def _model(keras: Any) -> Any:
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="relu"), keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse", run_eagerly=True)
    return model


ROWS = np.arange(64, dtype="float32").reshape(16, 4) / 64


@pytest.mark.parametrize("name", ["keras", pytest.param("tf_keras", marks=pytest.mark.full)])
def test_a_training_that_broke_off_goes_on_and_its_callbacks_keep_models_weights_and_curves(
    directory: str, name: str
) -> None:
    keras = _keras(name)

    class Break(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            if epoch == 2:
                raise RuntimeError("broken off")

    seen: list[int] = []
    backup = keras.callbacks.BackupAndRestore(f"{directory}/backup", delete_checkpoint=True)
    with pytest.raises(RuntimeError, match="broken off"):
        _model(keras).fit(ROWS, ROWS[:, :1], epochs=4, verbose=0, callbacks=[backup, Break()])
    callbacks = [
        keras.callbacks.BackupAndRestore(f"{directory}/backup", delete_checkpoint=True),
        keras.callbacks.LambdaCallback(on_epoch_begin=lambda epoch, logs: seen.append(epoch)),
        keras.callbacks.ModelCheckpoint(f"{directory}/whole-{{epoch:02d}}.keras"),
        keras.callbacks.ModelCheckpoint(f"{directory}/last.weights.h5", save_weights_only=True),
        keras.callbacks.TensorBoard(f"{directory}/logs", write_graph=False),
    ]
    model = _model(keras)
    model.fit(ROWS, ROWS[:, :1], epochs=4, verbose=0, callbacks=callbacks)
    assert seen == [2, 3]
    expected = model.predict(ROWS, verbose=0)
    assert {"whole-03.keras", "whole-04.keras", "last.weights.h5"} <= set(gfile.listdir(directory))
    loaded = keras.models.load_model(f"{directory}/whole-04.keras")
    np.testing.assert_allclose(loaded.predict(ROWS, verbose=0), expected, rtol=1e-6)
    other = _model(keras)
    other.load_weights(f"{directory}/last.weights.h5")
    np.testing.assert_allclose(other.predict(ROWS, verbose=0), expected, rtol=1e-6)
    assert len(gfile.glob(f"{directory}/logs/train/events*")) == 1


def test_a_saved_model_is_loaded_and_served(directory: str) -> None:
    class Doubler(tf.Module):
        def __init__(self) -> None:
            self.factor = tf.Variable(2.0)
            table = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([1, 2], tf.int64))
            self.table = tf.lookup.StaticHashTable(table, -1)

        @tf.function(input_signature=[tf.TensorSpec([None])])
        def double(self, values: Any) -> Any:
            return values * self.factor

    tf.saved_model.save(Doubler(), f"{directory}/model")
    assert {"saved_model.pb", "variables", "fingerprint.pb"} <= set(gfile.listdir(f"{directory}/model"))
    assert tf.saved_model.contains_saved_model(f"{directory}/model")
    loaded = tf.saved_model.load(f"{directory}/model")
    assert loaded.double(tf.constant([1.0, 2.5])).numpy().tolist() == [2.0, 5.0]
    model = _model(_keras("keras"))
    model.export(f"{directory}/exported", verbose=False)
    assert tf.saved_model.load(f"{directory}/exported").serve(ROWS).shape == (16, 1)


@pytest.mark.parametrize("compression", ["", "GZIP"])
def test_records_are_read_as_they_were_written(directory: str, compression: str) -> None:
    gfile.makedirs(directory)
    names = [f"{directory}/part {number}%.tfrecord" for number in range(4)]
    for number, name in enumerate(names):
        with tf.io.TFRecordWriter(name, tf.io.TFRecordOptions(compression)) as writer:
            for row in range(500):
                writer.write(f"{number}-{row}".encode() * (row % 50 + 1))
    files = tf.data.Dataset.list_files(f"{directory}/part*", shuffle=False)
    records = files.interleave(
        lambda name: tf.data.TFRecordDataset(name, compression_type=compression),
        cycle_length=4,
        num_parallel_calls=4,
        deterministic=True,
    )
    expected = [f"{number}-{row}".encode() * (row % 50 + 1) for row in range(500) for number in range(4)]
    assert list(records.as_numpy_iterator()) == expected


@pytest.mark.full
def test_datasets_are_saved_cached_and_read_from_snapshots(directory: str) -> None:
    dataset = tf.data.Dataset.range(200).map(lambda number: (number, tf.strings.as_string(number)))
    dataset.save(f"{directory}/saved")
    assert len(list(tf.data.Dataset.load(f"{directory}/saved"))) == 200
    made = tf.Variable(0)

    def count(number: Any, text: Any) -> Any:
        made.assign_add(1)
        return number, text

    snapshot = dataset.map(count).snapshot(f"{directory}/snapshot")
    for _ in range(2):
        assert [int(number) for number, _ in snapshot] == list(range(200))
    assert made.numpy() == 200
    gfile.makedirs(f"{directory}/cached")
    cached = dataset.cache(f"{directory}/cached/rows")
    for _ in range(2):
        assert sum(int(number) for number, _ in cached) == 199 * 100
    # The position of an iterator is kept in a checkpoint.
    iterator = iter(dataset)
    for _ in range(7):
        next(iterator)
    path = tf.train.Checkpoint(iterator=iterator).save(f"{directory}/position")
    again = iter(dataset)
    tf.train.Checkpoint(iterator=again).restore(path)
    assert int(next(again)[0]) == 7


@pytest.mark.full
def test_a_file_is_mapped_into_memory_whole(directory: str, tmp_path: Path) -> None:
    # Nothing in Python asks for a region of memory but immutable constants.
    gfile.makedirs(directory)
    content = np.arange(100_000, dtype="float32")
    with gfile.GFile(f"{directory}/region", "wb") as file:
        file.write(content.tobytes())
    constant = tf.raw_ops.ImmutableConst(dtype=tf.float32, shape=[100_000], memory_region_name=f"{directory}/region")
    np.testing.assert_array_equal(constant.numpy(), content)
    with gfile.GFile(f"{directory}/empty", "wb") as file:
        file.write(b"")
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.raw_ops.ImmutableConst(dtype=tf.float32, shape=[1], memory_region_name=f"{directory}/empty")


@pytest.mark.full
def test_the_layouts_that_were_compiled_are_those_of_this_tensorflow(tmp_path: Path) -> None:
    own = Path(tensorflow_ignite.__file__).parent / "storage" / "tf"
    tables = {
        "abi_reading": "TF_RandomAccessFileOps",
        "abi_writing": "TF_WritableFileOps",
        "abi_region": "TF_ReadOnlyMemoryRegionOps",
        "abi_filesystem": "TF_FilesystemOps",
        "abi_scheme": "TF_FilesystemPluginOps",
        "abi_plugin": "TF_FilesystemPluginInfo",
        "abi_statistics": "TF_FileStatistics",
    }
    header = (own / "tensorflow_abi.h").read_text()
    lines = [
        # TensorFlow's header is C++, but for this word it is C as well.
        "#include <stdbool.h>",
        "#define constexpr static const",
        '#include "tensorflow/c/experimental/filesystem/filesystem_interface.h"',
        "#undef constexpr",
        '#include "tensorflow_abi.h"',
    ]
    for ours, theirs in tables.items():
        body = header.partition(f"typedef struct {ours} {{")[2].partition(f"}} {ours};")[0]
        members = _members(body)
        assert len(members) >= 2, ours
        lines.append(f'_Static_assert(sizeof({ours}) == sizeof({theirs}), "{theirs}");')
        lines += [
            f'_Static_assert(offsetof({ours}, {name}) == offsetof({theirs}, {name}), "{theirs}.{name}");'
            for name in members
        ]
    for kind in ("TF_RandomAccessFile", "TF_WritableFile", "TF_ReadOnlyMemoryRegion", "TF_Filesystem"):
        lines.append(f'_Static_assert(sizeof(abi_handle) == sizeof({kind}), "{kind}");')
    for name in ("OK", "CANCELLED", "NOT_FOUND", "OUT_OF_RANGE", "UNAVAILABLE", "DATA_LOSS", "FAILED_PRECONDITION"):
        lines.append(f'_Static_assert((int)ABI_{name} == (int)TF_{name}, "{name}");')
    for name in ("FILESYSTEM", "RANDOM_ACCESS_FILE", "WRITABLE_FILE", "READ_ONLY_MEMORY_REGION"):
        # Values of variables, not of constants: C wants a function for them.
        lines.append(f"int abi_of_{name.lower()}(void) {{ return 1 / (TF_{name}_OPS_ABI == ABI_VERSION); }}")
    source = tmp_path / "layouts.c"
    source.write_text("\n".join(lines))
    command = ["gcc", "-std=gnu11", "-fsyntax-only", f"-I{own}", f"-I{tf.sysconfig.get_include()}", str(source)]
    compiled = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert compiled.returncode == 0, compiled.stderr[:4000]
    assert len(lines) > 80


def _members(body: str) -> list[str]:
    """Names of the members that a struct declares."""
    names = []
    for declaration in body.split(";"):
        text = " ".join(line for line in declaration.split("\n") if not line.strip().startswith(("/*", "*"))).strip()
        if not text:
            continue
        names.append(text.split("(*")[1].split(")")[0] if "(*" in text else text.split()[-1].lstrip("*"))
    return names


@pytest.mark.full
def test_a_cluster_that_goes_away_in_the_middle_is_an_error() -> None:
    with LocalCluster(nodes=1) as cluster:
        root = f"ignite://{cluster.address}"
        record = os.urandom(1_000_000)
        with tf.io.TFRecordWriter(f"{root}/records") as records:
            for _ in range(60):
                records.write(record)
        rows = iter(tf.data.TFRecordDataset(f"{root}/records"))
        assert next(rows).numpy() == record
        file = gfile.GFile(f"{root}/file", "wb")
        file.write(bytes(3_000_000))
        checkpoint: Any = tf.train.Checkpoint(value=tf.Variable(tf.zeros([1_000_000])))
        checkpoint.save(f"{root}/ckpt")
        cluster.kill_node(cluster.nodes[0])
        for act in (
            lambda: list(rows),
            lambda: file.write(bytes(50_000_000)),
            file.close,
            lambda: checkpoint.save(f"{root}/ckpt"),
        ):
            with pytest.raises(tf.errors.UnavailableError, match="no node answers"):
                act()
