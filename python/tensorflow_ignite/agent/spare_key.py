"""Which task may take which spare: everything that Python or TensorFlow reads when they are imported must be the same.

Variables that are read later are set when a task takes a spare. All others are part of the spare's key.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from tensorflow_ignite.agent import threads
from tensorflow_ignite.agent.inherited import is_harmless

# Read by scripts, TensorFlow's servers, strategies and devices, this package, and `tempfile`, when they are used.
_LATE = (
    *("TF_CONFIG", "TF_CLUSTER", "TF_WORKERS", "TF_CHIEF_SERVER", "IGNITE_*", "TENSORFLOW_IGNITE_*"),
    *("TMPDIR", "CUDA_VISIBLE_DEVICES", *threads.VARIABLES),
)
_PYTHON_PATH = "PYTHONPATH"
# If a script sets one of these variables before it imports TensorFlow, it does so too late in a spare.
_EARLY_IN_SCRIPT = re.compile(
    r"\b(?:TF|TF2|KERAS|OMP|KMP|GOMP|MKL|OPENBLAS|BLIS|NUMEXPR|NPY|NUMPY|ONEDNN|DNNL|XLA|CUDA|NVIDIA|NCCL|GRPC|GLOG|ABSL"
    r"|MALLOC|TCMALLOC|LD|ARROW|JE_ARROW|HDF5|PROTOCOL_BUFFERS|SCIPY|SKLEARN|PANDAS)_[A-Z0-9_]+\b|\bPYTHON[A-Z0-9]+\b"
    r"|\bdotenv\b"
)
# TensorFlow reads these variables when it makes its devices. Only scripts read the variables of the earlier system.
# TF_PREDICT is a function of SQL.
_LATE_IN_SCRIPT = {
    *("TF_PREDICT", "TF_PREDICT_ARRAY", "TF_PREDICT_TEXT"),
    *("TF_CLUSTER", "TF_WORKERS", "TF_CHIEF_SERVER"),
    *("TF_CONFIG", "TF_FORCE_GPU_ALLOW_GROWTH", "TF_GPU_ALLOCATOR", "TF_GPU_THREAD_MODE", "TF_GPU_THREAD_COUNT"),
    *("TF_DETERMINISTIC_OPS", "TF_CUDNN_DETERMINISTIC", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"),
    *threads.VARIABLES,
}
# Tasks print at level 3 unless their user sets another; a script that sets 2 or 3 needs no spare of its own.
_QUIET_IN_SCRIPT = re.compile(r"""TF_CPP_MIN_LOG_LEVEL["']\]?\s*[=,]\s*["'][23]["']""")
_SETS_VARIABLES = re.compile(r"environ|putenv|dotenv")
_MAX_CODE_BYTES = 16 << 20
# The file of a job that is a function: a pickle with the names and texts of all functions that it calls.
_FUNCTION = "function.pickle"


@dataclass(frozen=True)
class SpareKey:
    """What a spare and its task have in common."""

    #: The interpreter; tasks with an environment of packages have its own interpreter.
    python: str
    #: The variables that may have been read by the imports, sorted.
    variables: tuple[tuple[str, str], ...]

    @staticmethod
    def of(python: str, environment: Mapping[str, str], code: Path) -> SpareKey:
        """Returns the key for a task.

        Args:
            python: The task's interpreter.
            environment: The task's whole environment.
            code: The directory of its code, which is the first entry of its PYTHONPATH.
        """
        early = {name: value for name, value in environment.items() if not _is_late(name, value)}
        entries = early.pop(_PYTHON_PATH, "").split(os.pathsep)
        others = [entry for entry in entries if entry and entry != str(code)]
        if others:
            early[_PYTHON_PATH] = os.pathsep.join(others)
        return SpareKey(python, tuple(sorted(early.items())))


def late_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the variables that a spare sets when a task takes it."""
    return {name: value for name, value in environment.items() if name == _PYTHON_PATH or _is_late(name, value)}


def sets_early_variables(code: Path) -> str:
    """Returns a variable that the code may set before it imports TensorFlow, which reads it then; empty: none."""
    left = _MAX_CODE_BYTES
    for path in sorted([*code.rglob("*.py"), code / _FUNCTION]):
        if not path.is_file():
            continue
        left -= path.stat().st_size
        if left < 0:
            return "any variable, since the code is large"
        text = path.read_text(encoding="utf-8", errors="replace")
        if _SETS_VARIABLES.search(text):
            for found in _EARLY_IN_SCRIPT.findall(_QUIET_IN_SCRIPT.sub("", text)):
                if found not in _LATE_IN_SCRIPT:
                    return str(found)
    return ""


def _is_late(name: str, value: str) -> bool:
    # No secret is in a spare before its task is known. TensorFlow reads none when it is imported.
    return any(fnmatchcase(name, pattern) for pattern in _LATE) or not is_harmless(name, value)
