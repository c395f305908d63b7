"""Threads of TensorFlow in tasks that share a node: they compute with one thread for each processor together.

Only the threads that compute one operation are limited. The threads that run operations side by side, and the threads
of tf.data, mostly wait: with fewer of them a training waits for its rows.
"""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from pathlib import Path

from tensorflow_ignite.agent.control_groups import control_groups

# Threads that compute one operation. `tf.config.threading` overrides it.
VARIABLE = "TF_NUM_INTRAOP_THREADS"
# TensorFlow reads them when it makes its devices.
VARIABLES = (VARIABLE, "TF_NUM_INTEROP_THREADS")


def share(tasks: int, processors: int) -> int | None:
    """Returns the number of threads of a task.

    Args:
        tasks: The tasks that compute on the node. Parameter servers and client processes mostly wait.
        processors: The number of processors of the node.

    Returns:
        None: TensorFlow's own default, since the task does not share the node.
    """
    return None if tasks <= 1 else max(1, processors // tasks)


def limit(variables: MutableMapping[str, str], threads: int | None) -> None:
    """Sets the number of threads in the environment of a task, unless the variable is set there already."""
    if threads is not None:
        variables.setdefault(VARIABLE, str(threads))


def processors() -> int:
    """Returns the number of processors that tasks of this agent can use: by its affinity and its control groups."""
    of_groups = [count for group in control_groups() if (count := _limit_of_group(group)) is not None]
    return min([len(os.sched_getaffinity(0)), *of_groups])


def _limit_of_group(group: Path) -> int | None:
    """The limit of a control group in whole processors, at least one; None: it has no limit."""
    try:
        quota, period = (group / "cpu.max").read_text().split()
        return None if quota == "max" else max(1, int(quota) // int(period))
    except (OSError, ValueError):
        return None
