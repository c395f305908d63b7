"""Profiles of this task on request: a thread waits for the agent's command, records, and stores the files.

A profile is recorded by the profiler of TensorFlow, or of JAX in a process without TensorFlow. Both write the same
files, which TensorBoard's profiler shows. Beside them the task stores a summary, see :mod:`profile_summary`.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Container
from pathlib import Path
from typing import Any

from tensorflow_ignite.train.command import COMMAND_VARIABLE, CommandReader
from tensorflow_ignite.v1 import agent_pb2

_POLL_SECONDS = 0.5
#: How the names of the files of a profile end.
TRACE, SUMMARY = ".xplane.pb", ".json"


def watch() -> None:
    """Starts the thread; the package calls this once, in the process of a task's script."""
    threading.Thread(target=_watch, name="tensorflow-ignite-profile", daemon=True).start()


def _watch() -> None:
    commands = CommandReader(os.environ[COMMAND_VARIABLE])
    done: set[str] = set()
    while True:
        time.sleep(_POLL_SECONDS)
        for request in requested(commands.read(), done):
            done.add(request.profile_id)
            try:
                _profile(request)
            except Exception as error:  # a profile must not end a training
                name = request.profile_id
                print(f"tensorflow_ignite: profile {name} could not be stored: {error!r}", file=sys.stderr, flush=True)


def requested(command: agent_pb2.TaskCommand, done: Container[str]) -> list[agent_pb2.TaskProfile]:
    """The profiles that are to be recorded, in the order of their requests.

    Args:
        command: Of the agent; one of an earlier version names the newest request only.
        done: The ids of those that were recorded.
    """
    profiles = list(command.profiles) or [command.profile]
    return [each for each in profiles if each.profile_id and each.profile_id not in done]


def _profile(request: agent_pb2.TaskProfile) -> None:
    """Records a profile and stores it; the summary is stored last, so a reader that finds it finds the trace too."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            begun = time.monotonic()
            _record(folder, request.seconds)
            trace = next(Path(folder).rglob(f"*{TRACE}")).read_bytes()
            summary = {"seconds": time.monotonic() - begun, **_summary(trace)}
        except Exception as error:
            # For example: the script profiles itself.
            trace, summary = b"", {"error": f"{type(error).__name__}: {error}"}
    if trace:
        _store(f"{request.directory}/{request.name}{TRACE}", trace)
    _store(f"{request.directory}/{request.name}{SUMMARY}", json.dumps(summary).encode())


def _record(folder: str, seconds: float) -> None:
    start, stop = _profiler()
    start(folder)
    try:
        time.sleep(seconds)
    finally:
        stop()


def _profiler() -> tuple[Callable[[str], Any], Callable[[], Any]]:
    tensorflow, jax = sys.modules.get("tensorflow"), sys.modules.get("jax")
    if tensorflow is not None and (jax is None or _uses_tensorflow()):
        profiler = tensorflow.profiler.experimental
        return profiler.start, profiler.stop
    if jax is not None:
        return jax.profiler.start_trace, jax.profiler.stop_trace
    raise RuntimeError("the script has imported neither TensorFlow nor JAX, whose profilers record")


def _uses_tensorflow() -> bool:
    """Whether TensorFlow has done anything: a task that has become of a spare has it imported."""
    context = getattr(sys.modules.get("tensorflow.python.eager.context"), "_context", None)
    return bool(getattr(context, "_initialized", context is not None))


def _summary(trace: bytes) -> dict[str, Any]:
    if "tensorflow" not in sys.modules:
        # The messages of the file are part of TensorFlow's package.
        return {}
    from tensorflow_ignite.train.profile_summary import summary

    return summary(trace)


def _store(address: str, data: bytes) -> None:
    from tensorflow_ignite.storage import paths
    from tensorflow_ignite.storage.files import Files

    Files.at(None).write_file(paths.parse(address).path, data)
