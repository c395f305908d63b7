"""The outputs of a script, which its first batch decides: each later attempt and task of the job has the same."""

from __future__ import annotations

import pyarrow as pa

from tensorflow_ignite.storage.files import Files
from tensorflow_ignite.task import Task


def read(files: Files, here: Task) -> tuple[pa.Field, ...] | None:
    """The columns of the outputs; None: no batch was predicted yet.

    Args:
        files: The files of the cluster.
        here: The task of this process.
    """
    message = files.read_if_there(_path(here))
    return None if message is None else tuple(pa.ipc.read_schema(pa.py_buffer(message)))


def write(files: Files, here: Task, outputs: tuple[pa.Field, ...]) -> None:
    """Records the columns of the outputs.

    Args:
        files: The files of the cluster.
        here: The task of this process.
        outputs: The columns.
    """
    files.write_file(_path(here), pa.schema(outputs).serialize().to_pybytes())


def _path(here: Task) -> str:
    return f"/jobs/{here.job_id}/outputs.schema"
