"""What the agent tells of its interpreter; TensorFlow is looked up, not imported."""

import importlib.metadata
import importlib.util
import os
import platform
import sys

from tensorflow_ignite.v1.job_pb2 import AgentInfo

# Distributions that bring the module `tensorflow`.
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
    """This process and the versions that its tasks will find."""
    return AgentInfo(
        pid=os.getpid(),
        python=sys.executable,
        python_version=platform.python_version(),
        package_version=_version("tensorflow-ignite") or "unknown",
        tensorflow_version=_tensorflow_version(),
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
