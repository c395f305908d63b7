"""Whether the cluster's files work: one small file is written, read and removed again."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Sequence
from typing import Any

from tensorflow_ignite.doctor.finding import Finding, Step
from tensorflow_ignite.errors import FileCorruptError, PermissionDeniedError, TensorFlowIgniteError
from tensorflow_ignite.storage.files import Files

_STORAGE = Step("cluster", "storage")
_BYTES = 4096


def examine(addresses: Sequence[str], *, timeout: float, credentials: Any = None) -> Finding:
    """Writes, reads and removes a file.

    Args:
        addresses: ``"host:port"`` of nodes that answer.
        timeout: Seconds for each call.
        credentials: Of the caller.
    """
    files = Files.at(tuple(addresses), timeout=timeout, credentials=credentials)
    path = f"/.doctor-{uuid.uuid4().hex}"
    data = os.urandom(_BYTES)
    begin = time.monotonic()
    try:
        with files.open_writer(path, "x") as writer:
            writer.write(data)
        try:
            with files.open_reader(path) as reader:
                found = reader.read(0, reader.bytes)
        finally:
            files.remove(path)
        if found != data:
            raise FileCorruptError(f"{path} was read with other bytes than those written")
    except PermissionDeniedError as error:
        return _STORAGE.warning(
            f"whether files work is not known: {error}",
            "Run the doctor as a caller who may write files, with a rule such as: NAME files /*",
        )
    except TensorFlowIgniteError as error:
        return _STORAGE.failed(
            f"a file of {_BYTES:,} bytes could not be written, read and removed: {error}. Jobs keep their checkpoints "
            "in the cluster unless they name a directory",
            "Read the logs of the nodes. When data region 'tensorflow-ignite' is full, remove files or give it more "
            "memory; when the default one is full, remove caches too, or start a new cluster with both regions on each "
            "node; when blocks are lost: tensorflow-ignite fs check. Meanwhile submit with "
            "--checkpoint-directory on storage that every node shares",
        )
    took = 1000 * (time.monotonic() - begin)
    return _STORAGE.ok(f"a file of {_BYTES:,} bytes was written, read and removed in {took:.0f} ms")
