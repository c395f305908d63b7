"""The functions that a graph calls to read rows, in the process that runs the graph.

A graph has well-known tokens; each process that may run graphs registers these functions under them. So a graph that
the client process of a parameter-server job builds runs on a worker, and reads the partitions of that worker.

The graph calls a function (PyFunc) with request, handle and position, which are the state of an iterator. It returns
the handle, the position of the next batch, weights if requested, and the arrays of the batch. Of epochs,
:mod:`epoch_readers` has the meaning of handle and position. For rows that are followed, the position says what has been
read of each partition, and any reader continues there.
"""

from __future__ import annotations

import functools
import os
from typing import Any

import numpy as np

from tensorflow_ignite.data.epoch_readers import readers
from tensorflow_ignite.data.epochs import input_totals
from tensorflow_ignite.data.epochs.prefetch import ReaderClosedError
from tensorflow_ignite.data.epochs.tensors import Array, empty_arrays, owned
from tensorflow_ignite.data.follow.follower import Follower
from tensorflow_ignite.data.follow_source import FollowSource
from tensorflow_ignite.data.open_readers import Key, OpenReaders, two_numbers
from tensorflow_ignite.data.request import Request

TOKEN = "tensorflow_ignite.read"
FOLLOW_TOKEN = "tensorflow_ignite.follow"


def register() -> None:
    """Registers the functions in this process; call it before the TensorFlow server of the process starts.

    A second call has no effect.
    """
    from tensorflow.python.ops import script_ops

    # The registry holds its functions weakly; this module holds the strong reference.
    script_ops._py_funcs._funcs[TOKEN] = read_batch
    script_ops._py_funcs._funcs[FOLLOW_TOKEN] = read_changes


def read_batch(request: bytes, handle: Array, offset: Any) -> list[Array]:
    """The function that the graph calls for epochs, with values of numpy."""
    parsed = _parse(bytes(request))
    handle, following, *arrays = readers.read(parsed, handle, int(offset))
    return [handle, following, *owned(arrays, kept=parsed.snapshot != "")]


def read_changes(request: bytes, handle: Array, positions: Array) -> list[Array]:
    """The function that the graph calls for rows that are followed: positions are int64, shape [partitions, 2]."""
    with _followers.call():
        return _follow(_parse(bytes(request)), handle, positions)


def _follow(request: Request, handle: Array, positions: Array) -> list[Array]:
    """The handle, the positions with the next batch, whether it goes on, and the arrays of this batch."""
    known = int(handle[0]), int(handle[1])
    if _followers.ending:
        _followers.notify_once(Key(request.name, known))
        weights = [np.empty(0, np.float32)] * request.weighted
        return [handle, positions, np.array(False), *weights, *empty_arrays(request.layout)]
    name = known if handle.any() else two_numbers(os.urandom(16))
    opened, follower = _followers.open(
        Key(request.name, name), name, lambda: Follower(FollowSource(request), request.layout)
    )
    idle = follower.idle
    try:
        batch = follower.take(positions)
    except ReaderClosedError:
        _followers.require_time()
        raise
    finally:
        if idle:
            _followers.finalizers.ensure_running()
    input_totals.add_rows(batch.rows)
    weights = [np.ones(batch.rows, np.float32)] * request.weighted
    return [opened.tensor(), batch.positions, np.array(True), *weights, *owned(batch.arrays, kept=False)]


def open_readers() -> int:
    """Number of iterators of this process that read a cache now."""
    return readers.open.count() + _followers.count()


@functools.lru_cache(maxsize=64)
def _parse(request: bytes) -> Request:
    return Request.from_json(request)


_followers: OpenReaders[Follower] = OpenReaders()
