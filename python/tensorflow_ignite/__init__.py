"""Distributed TensorFlow training inside an Apache Ignite cluster.

    import tensorflow_ignite as tfi

    tfi.load("images", {"pixels": pixels, "label": labels}, backups=1)
    ds = tfi.dataset("images", columns=["pixels", "label"])     # inside a job: this worker's partitions
    rows = tfi.batches("images", batch_size=64)                 # the same as arrays of numpy, without TensorFlow
    with tfi.connect("localhost:10820") as client:
        job = client.submit("train.py", cache="images")
        job.wait()

Importing this package imports neither TensorFlow nor a JVM: its names are loaded when they are first used. Once
TensorFlow is imported as well, before or afterwards, it knows ``ignite://``, and ``fit`` of Keras 3 works under
MultiWorkerMirroredStrategy.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tensorflow_ignite.base import after_import
from tensorflow_ignite.storage.tf import hook

if TYPE_CHECKING:
    from tensorflow_ignite import errors, spec, testing, train
    from tensorflow_ignite.data.batches import batches
    from tensorflow_ignite.data.cache_position import CachePosition
    from tensorflow_ignite.data.dataset import dataset
    from tensorflow_ignite.data.loading.load import load
    from tensorflow_ignite.data.options import Changes, HoldOut, ReadOptions
    from tensorflow_ignite.data.position import position
    from tensorflow_ignite.data.table import read_table
    from tensorflow_ignite.groups import (
        Access,
        CentralStorage,
        Custom,
        Environment,
        Evaluator,
        Mirrored,
        MultiWorkerMirrored,
        One,
        ParameterServer,
        Restart,
        Rounds,
        Strategy,
        Timeouts,
        Workers,
    )
    from tensorflow_ignite.jobs.client import Client, connect
    from tensorflow_ignite.jobs.handle import JobHandle
    from tensorflow_ignite.net.credentials import Credentials

__all__ = [
    "Access",
    "CachePosition",
    "CentralStorage",
    "Changes",
    "Client",
    "Credentials",
    "Custom",
    "Environment",
    "Evaluator",
    "HoldOut",
    "JobHandle",
    "Mirrored",
    "MultiWorkerMirrored",
    "One",
    "ParameterServer",
    "ReadOptions",
    "Restart",
    "Rounds",
    "Strategy",
    "Timeouts",
    "Workers",
    "__version__",
    "batches",
    "connect",
    "dataset",
    "errors",
    "load",
    "position",
    "read_table",
    "spec",
    "testing",
    "train",
]

_MODULES = {"errors", "spec", "testing", "train"}
_NAMES = {
    "CachePosition": "tensorflow_ignite.data.cache_position",
    "Client": "tensorflow_ignite.jobs.client",
    "Credentials": "tensorflow_ignite.net.credentials",
    "JobHandle": "tensorflow_ignite.jobs.handle",
    **dict.fromkeys(
        (
            "Access",
            "CentralStorage",
            "Custom",
            "Environment",
            "Evaluator",
            "Mirrored",
            "MultiWorkerMirrored",
            "One",
            "ParameterServer",
            "Restart",
            "Rounds",
            "Strategy",
            "Timeouts",
            "Workers",
        ),
        "tensorflow_ignite.groups",
    ),
    **dict.fromkeys(("Changes", "HoldOut", "ReadOptions"), "tensorflow_ignite.data.options"),
    "batches": "tensorflow_ignite.data.batches",
    "connect": "tensorflow_ignite.jobs.client",
    "dataset": "tensorflow_ignite.data.dataset",
    "load": "tensorflow_ignite.data.loading.load",
    "position": "tensorflow_ignite.data.position",
    "read_table": "tensorflow_ignite.data.table",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _NAMES:
        try:
            return getattr(importlib.import_module(_NAMES[name]), name)
        except ModuleNotFoundError as missing:
            if name != "dataset" or missing.name != "tensorflow":
                raise
            raise ModuleNotFoundError(
                "tensorflow_ignite.dataset() needs TensorFlow, which is not installed here: it makes a "
                "tf.data.Dataset. connect(), load(), batches(), which returns rows as arrays, and read_table(), which "
                "returns them as an Arrow table, work without. Install TensorFlow: "
                "pip install 'tensorflow-ignite[cpu]' (or [gpu])",
                name="tensorflow",
            ) from missing
    if name == "__version__":
        from importlib.metadata import version

        return version("tensorflow-ignite")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__


def _correct_keras(trainer: ModuleType) -> None:
    importlib.import_module("tensorflow_ignite.train.keras3").correct(trainer)
    importlib.import_module("tensorflow_ignite.train.whole_steps").correct_keras3(trainer)
    importlib.import_module("tensorflow_ignite.train.padding").watch_keras3(trainer)
    importlib.import_module("tensorflow_ignite.train.fit_input").correct_keras3(trainer)
    # The last change of its steps: it knows the step of a training by the method of the model.
    importlib.import_module("tensorflow_ignite.train.batch_statistics").correct_steps(trainer)


def _correct_epochs(epoch_iterator: ModuleType) -> None:
    importlib.import_module("tensorflow_ignite.train.keras_epochs").correct_keras3(epoch_iterator)


def _correct_variables(core: ModuleType) -> None:
    importlib.import_module("tensorflow_ignite.train.keras_state").correct(core)


def _correct_data_of_tf_keras(data_adapter: ModuleType) -> None:
    importlib.import_module("tensorflow_ignite.train.keras_epochs").correct_tf_keras(data_adapter)
    importlib.import_module("tensorflow_ignite.train.class_weights").correct_tf_keras(data_adapter)
    importlib.import_module("tensorflow_ignite.train.fit_input").correct_data_of_tf_keras(data_adapter)


def _correct_data_of_keras(tf_dataset_adapter: ModuleType) -> None:
    importlib.import_module("tensorflow_ignite.train.class_weights").correct_keras3(tf_dataset_adapter)


def _correct_inputs_of_keras(functional: ModuleType) -> None:
    importlib.import_module("tensorflow_ignite.train.empty_batches").correct(functional)


def _correct_batch_normalization(batch_normalization: ModuleType) -> None:
    importlib.import_module("tensorflow_ignite.train.batch_statistics").correct_layer(batch_normalization)


def _watch_callbacks(callbacks: ModuleType) -> None:
    importlib.import_module("tensorflow_ignite.train.callback_states").watch(callbacks)
    # After a checkpoint is restored.
    importlib.import_module("tensorflow_ignite.train.equal_state").watch(callbacks)


def _adapts(name: str) -> Callable[[ModuleType], None]:
    """What makes `adapt` of a class of Keras learn for the whole job."""
    return lambda module: importlib.import_module("tensorflow_ignite.train.adaptation").correct_layer(module, name)


def _adapt_features(feature_space: ModuleType) -> None:
    importlib.import_module("tensorflow_ignite.train.adaptation").correct_feature_space(feature_space)


def _check_strategies(distribute_lib: ModuleType) -> None:
    importlib.import_module("tensorflow_ignite.train.strategy_check").watch(distribute_lib)


def _correct_fit_of_tf_keras(training: ModuleType) -> None:
    importlib.import_module("tensorflow_ignite.train.strategy_check").watch_tf_keras(training)
    importlib.import_module("tensorflow_ignite.train.whole_steps").correct_tf_keras(training)
    importlib.import_module("tensorflow_ignite.train.padding").watch_tf_keras(training)
    importlib.import_module("tensorflow_ignite.train.fit_input").correct_fit_of_tf_keras(training)


def _correct_device_iterators(multi_device_iterator_ops: ModuleType) -> None:
    importlib.import_module("tensorflow_ignite.train.device_iterators").correct(multi_device_iterator_ops)


def _serve_agent() -> None:
    # In the process of a task's script; its children have its variables too.
    if "TENSORFLOW_IGNITE_COMMAND" in os.environ and os.getsid(0) == os.getpid():
        importlib.import_module("tensorflow_ignite.train.profile").watch()
        importlib.import_module("tensorflow_ignite.train.exception_record").install()


hook.install()
after_import.call("tensorflow.python.distribute.distribute_lib", _check_strategies)
after_import.call("tensorflow.python.data.ops.multi_device_iterator_ops", _correct_device_iterators)
after_import.call("tf_keras.src.engine.training", _correct_fit_of_tf_keras)
after_import.call("keras.src.backend.tensorflow.trainer", _correct_keras)
after_import.call("keras.src.backend.tensorflow.core", _correct_variables)
after_import.call("keras.src.trainers.epoch_iterator", _correct_epochs)
after_import.call("keras.src.models.functional", _correct_inputs_of_keras)
after_import.call("keras.src.layers.normalization.batch_normalization", _correct_batch_normalization)
after_import.call("keras.src.callbacks.callback_list", _watch_callbacks)
after_import.call("tf_keras.src.callbacks", _watch_callbacks)
after_import.call("keras.src.trainers.data_adapters.tf_dataset_adapter", _correct_data_of_keras)
after_import.call("tf_keras.src.engine.data_adapter", _correct_data_of_tf_keras)
after_import.call("keras.src.layers.preprocessing.normalization", _adapts("Normalization"))
after_import.call("keras.src.layers.preprocessing.discretization", _adapts("Discretization"))
after_import.call("keras.src.layers.preprocessing.index_lookup", _adapts("IndexLookup"))
after_import.call("keras.src.layers.preprocessing.text_vectorization", _adapts("TextVectorization"))
after_import.call("tf_keras.src.engine.base_preprocessing_layer", _adapts("PreprocessingLayer"))
after_import.call("keras.src.layers.preprocessing.feature_space", _adapt_features)
after_import.call("tf_keras.src.utils.feature_space", _adapt_features)
_serve_agent()
del after_import, hook
