"""Distributed TensorFlow training inside an Apache Ignite cluster.

    import tensorflow_ignite as tfi

    tfi.load("images", {"pixels": pixels, "label": labels}, backups=1)
    ds = tfi.dataset("images", columns=["pixels", "label"])     # inside a job: this worker's partitions
    rows = tfi.batches("images", batch_size=64)                 # the same as arrays of numpy, without TensorFlow
    with tfi.connect("localhost:10820") as client:
        job = client.submit("train.py", cache="images")
        job.wait()

Importing this package imports neither TensorFlow nor a JVM: its names are loaded when they are first used. Once
TensorFlow is imported as well, before or afterwards, it knows ``ignite://``. The first use of ``tfi.train`` or
``tfi.dataset``, and in a task of a job this import, installs corrections of TensorFlow and Keras: docs/corrections.md.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

from tensorflow_ignite import corrections
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
# The modules of names that are not in `groups`.
_NAMES = {
    "CachePosition": "tensorflow_ignite.data.cache_position",
    "Client": "tensorflow_ignite.jobs.client",
    "Credentials": "tensorflow_ignite.net.credentials",
    "JobHandle": "tensorflow_ignite.jobs.handle",
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
    if name == "__version__":
        from importlib.metadata import version

        return version("tensorflow-ignite")
    if name in __all__:
        if name == "dataset":
            corrections.install()
        try:
            return getattr(importlib.import_module(_NAMES.get(name, "tensorflow_ignite.groups")), name)
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
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__


def _serve_agent() -> None:
    # In the process of a task's script; its children have its variables too.
    if "TENSORFLOW_IGNITE_COMMAND" in os.environ and os.getsid(0) == os.getpid():
        importlib.import_module("tensorflow_ignite.train.profile").watch()
        importlib.import_module("tensorflow_ignite.train.exception_record").install()


hook.install()
if os.environ.get("TENSORFLOW_IGNITE_CONTEXT"):
    # A task of a job: its script may make a strategy or a model before it uses a name of this package.
    corrections.install()
_serve_agent()
del hook
