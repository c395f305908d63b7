"""The files with the state of layers that have learned from rows: the first worker writes them, and all read them.

They lie in the directory of the checkpoints, because a training must keep the preprocessing of its first attempt. Other
workers may not be able to read a directory outside of the cluster; they get a copy in the job's own files.
"""

from __future__ import annotations

import uuid
from typing import Any

from tensorflow_ignite.storage import paths
from tensorflow_ignite.storage.files import Files
from tensorflow_ignite.task import Task
from tensorflow_ignite.train.packed import packed, unpacked


class AdaptedFile:
    """The file of one layer.

    Attributes:
        path: Its path or URL, for messages.
    """

    def __init__(self, here: Task, directory: str, place: str) -> None:
        """Makes no call yet.

        Args:
            here: The task that reads or writes.
            directory: The directory of the job's checkpoints; empty: there is none.
            place: Name of the file below it, without its suffix.
        """
        own = f"{paths.SCHEME}/jobs/{here.job_id}"
        self.path = f"{(directory or own).rstrip('/')}/{place}.npz"
        self._shared = self.path if paths.is_url(self.path) else f"{own}/{place}.npz"

    def kept(self) -> Any:
        """What the first worker of this or an earlier attempt has written; None: nothing.

        Raises:
            FileLostError: The file is lost with the nodes that had it.
        """
        content = _read(self._shared) if self._shared == self.path else _read_outside(self.path)
        return None if content is None else unpacked(content)

    def write(self, value: Any) -> None:
        """Replaces the content in one step; only the first worker calls it.

        Raises:
            AttemptSupersededError: A later attempt of the job runs.
        """
        content = packed(value)
        if self._shared != self.path:
            _write_outside(self.path, content)
        self._share(content)

    def share(self, value: Any) -> None:
        """Lets the other workers read what `kept` has returned."""
        if self._shared != self.path:
            self._share(packed(value))

    def _share(self, content: bytes) -> None:
        location = paths.parse(self._shared)
        Files.at(location.addresses).write_file(location.path, content)

    def shared(self) -> Any:
        """What the first worker has written; None: nothing.

        Raises:
            FileLostError: The file is lost with the nodes that had it.
        """
        content = _read(self._shared)
        return None if content is None else unpacked(content)


def _read(url: str) -> bytes | None:
    location = paths.parse(url)
    return Files.at(location.addresses).read_if_there(location.path)


def _read_outside(path: str) -> bytes | None:
    import tensorflow as tf

    try:
        with tf.io.gfile.GFile(path, "rb") as file:
            return bytes(file.read())
    except tf.errors.NotFoundError:
        return None


def _write_outside(path: str, content: bytes) -> None:
    import tensorflow as tf
    from tensorflow.python.lib.io import file_io

    tf.io.gfile.makedirs(path.rpartition("/")[0])
    # A store of objects writes each object in one step, and renames it in two.
    written = f"{path}.{uuid.uuid4().hex}.new" if file_io.has_atomic_move(path) else path
    with tf.io.gfile.GFile(written, "wb") as file:
        file.write(content)
    if written != path:
        tf.io.gfile.rename(written, path, overwrite=True)
