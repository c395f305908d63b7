"""The interpreter that runs tasks: its Python, our package in it, TensorFlow.

The interpreter runs a probe in a process of its own: it may be another one, and a TensorFlow that was built for another
processor ends the process that imports it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tensorflow_ignite.doctor.finding import Finding, Step

_PYTHON = Step("machine", "python")
_PACKAGE = Step("machine", "package")
_TENSORFLOW = Step("machine", "tensorflow")
_TENSORFLOW_IMPORT = Step("machine", "tensorflow import")
#: The variable that names the interpreter to a node.
PYTHON_VARIABLE = "TENSORFLOW_IGNITE_PYTHON"
_PROBE_FILE = Path(__file__).with_name("probe.py")
_TIMEOUT = 60.0
_DEEP_TIMEOUT = 180.0
_OLDEST_PYTHON = (3, 10)
# The versions that pyproject.toml allows.
_OLDEST_TENSORFLOW, _NEWER_TENSORFLOW = (2, 20), (2, 22)
#: Requirements for pip, quoted for a shell.
TENSORFLOW, TENSORFLOW_GPU = "'tensorflow-cpu>=2.20,<2.22'", "'tensorflow[and-cuda]>=2.20,<2.22'"


def examine(python: str | None, *, deep: bool) -> Iterator[Finding]:
    """Probes the interpreter that a node started here would use.

    Args:
        python: The interpreter; None: TENSORFLOW_IGNITE_PYTHON, else this interpreter.
        deep: Import TensorFlow.
    """
    source = "--python" if python else PYTHON_VARIABLE if os.environ.get(PYTHON_VARIABLE) else "this interpreter"
    python = python or os.environ.get(PYTHON_VARIABLE) or sys.executable
    found = _probe(python, source, deep)
    if isinstance(found, Finding):
        yield found
        return
    version = tuple(found["version"])
    text = f"Python {_dotted(version)}, {found['executable']} ({source})"
    if version < _OLDEST_PYTHON:
        yield _PYTHON.failed(
            f"{text}. Tasks need Python {_dotted(_OLDEST_PYTHON)} or later",
            f"Make an environment with a newer one, and name it: {PYTHON_VARIABLE}=…/bin/python",
        )
        return
    yield _PYTHON.ok(text)
    yield _package(found)
    yield _tensorflow(found)
    if "imported" in found or "import_error" in found:
        yield _imported(found)


def _probe(python: str, source: str, deep: bool) -> dict[str, Any] | Finding:
    remedy = f"Name an interpreter that has tensorflow-ignite and TensorFlow: {PYTHON_VARIABLE}=…/bin/python"
    if shutil.which(python) is None:
        return _PYTHON.failed(f"there is no interpreter {python} ({source}). Tasks are run by one", remedy)
    timeout = _DEEP_TIMEOUT if deep else _TIMEOUT
    command = [python, "-c", _PROBE_FILE.read_text(encoding="utf-8"), *(["deep"] if deep else [])]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=timeout, check=False)
        found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        text = f"{python} ({source}) did not answer. It is given {timeout:.0f} s"
        return _PYTHON.failed(text, "Run it by hand, and see what it waits for")
    except OSError as error:
        return _PYTHON.failed(f"{python} ({source}) cannot be run: {error}", remedy)
    except (ValueError, IndexError):
        last = (ran.stderr.strip().splitlines() or ["it printed nothing"])[-1]
        text = f"{python} ({source}) ended with exit code {ran.returncode}: {last}"
        if deep and ran.returncode < 0:
            return _PYTHON.failed(
                f"{text}. Importing TensorFlow ended the process: it was built for another processor",
                "Install a build for this processor: pip install --force-reinstall tensorflow-cpu",
            )
        return _PYTHON.failed(text, remedy)
    return found


def _package(found: dict[str, Any]) -> Finding:
    libraries = ", ".join(f"{name} {version or 'missing'}" for name, version in found["libraries"].items())
    if "error" in found:
        return _PACKAGE.failed(
            f"tensorflow_ignite.agent cannot be imported by {found['executable']}: {found['error']} ({libraries})",
            f"Install it there, from this wheel or these sources: {found['executable']} -m pip install --upgrade PATH",
        )
    return _PACKAGE.ok(f"tensorflow-ignite {found['package']} in {found['folder']}, with {libraries}")


def _tensorflow(found: dict[str, Any]) -> Finding:
    install = f"{found['executable']} -m pip install {TENSORFLOW} (with a GPU: {TENSORFLOW_GPU})"
    if not found["tensorflow"]:
        return _TENSORFLOW.failed("TensorFlow is not installed. Tasks import it", f"Install it: {install}")
    name, version = min(found["tensorflow"].items())
    text = f"{name} {version}"
    if len(found["tensorflow"]) > 1:
        names = ", ".join(f"{name} {version}" for name, version in sorted(found["tensorflow"].items()))
        return _TENSORFLOW.warning(
            f"several packages bring the module tensorflow: {names}. The one installed last has overwritten the others",
            f"Uninstall them all, then {install}",
        )
    numbers = tuple(int(part) for part in str(version).split(".")[:2] if part.isdigit())
    if not _OLDEST_TENSORFLOW <= numbers < _NEWER_TENSORFLOW:
        rule = f"from {_dotted(_OLDEST_TENSORFLOW)} to before {_dotted(_NEWER_TENSORFLOW)}"
        return _TENSORFLOW.warning(f"{text}. Tested are versions {rule}", f"Install one: {install}")
    return _TENSORFLOW.ok(text)


def _imported(found: dict[str, Any]) -> Finding:
    if "import_error" in found:
        return _TENSORFLOW_IMPORT.failed(
            f"TensorFlow cannot be imported: {found['import_error']}",
            f"See all of it: {found['executable']} -c 'import tensorflow'",
        )
    gpus = found["gpus"]
    return _TENSORFLOW_IMPORT.ok(f"TensorFlow {found['imported']} was imported and sees {gpus} GPUs")


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
