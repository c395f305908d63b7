"""Versions of the agent's interpreter and packages; TensorFlow is not imported for its version."""

import importlib.metadata
import importlib.util
import os
import platform
import sys

from tensorflow_ignite.agent.gpus import find_gpus
from tensorflow_ignite.v1.job_pb2 import AgentInfo

# Distributions with the module `tensorflow`.
_TENSORFLOW = (
    "tensorflow",
    "tensorflow-cpu",
    "tensorflow-gpu",
    "tensorflow-intel",
    "tensorflow-cpu-aws",
    "tensorflow-rocm",
    "tensorflow-macos",
    "tf-nightly",
    "tf-nightly-cpu",
)


def agent_info() -> AgentInfo:
    """Returns the pid, the interpreter, the versions and the GPUs that tasks use."""
    return AgentInfo(
        pid=os.getpid(),
        python=sys.executable,
        python_version=platform.python_version(),
        package_version=_version("tensorflow-ignite") or "unknown",
        tensorflow_version=_tensorflow_version(),
        gpus=find_gpus(),
    )


def _tensorflow_version() -> str:
    if importlib.util.find_spec("tensorflow") is None:
        return ""
    return next((version for version in map(_version, _TENSORFLOW) if version), "unknown")


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""
