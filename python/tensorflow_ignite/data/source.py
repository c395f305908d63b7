"""Rows of a cache as a tf.data.Dataset; the only file here that builds graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import tensorflow as tf

from tensorflow_ignite.data import reading, remote
from tensorflow_ignite.data.layout import pack, types_of

# Far more batches than any cache has; the reader says when they end.
_INDICES = 2**62


def dataset(
    cache: str,
    *,
    columns: Sequence[str] | None = None,
    key: bool = False,
    partitions: Sequence[int] | Literal["all"] | None = None,
    address: str | None = None,
    batch_bytes: int = 0,
) -> tf.data.Dataset:
    """The rows of a cache, one element a row: a dict from column names to tensors.

    In a job, the job's own cache is read by partitions: the dataset has the rows of the partitions that the attempt
    assigned to the worker that iterates over it. Any other cache is read whole. Outside a job every cache is.

    Numbers and booleans become scalars, lists of a fixed length dense tensors of static shape, other lists
    tensors ``[None]`` (RaggedTensors when batched), text and bytes ``tf.string``. The order of rows is by partition;
    use ``shuffle``. Each iteration reads the cache again; several may go on at once. For each node that sends rows,
    about three batches are kept in memory for an iteration.

    Outside a job the environment of the earlier IgniteDataset is obeyed: IGNITE_DATASET_CACHE_NAME names another
    cache, IGNITE_DATASET_LOCAL=true reads the partitions of the node that is asked, IGNITE_DATASET_PART=0,1 these
    partitions, IGNITE_DATASET_HOST and IGNITE_DATASET_PORT say where.

    Args:
        cache: Name of the cache.
        columns: Columns to read, in this order; None: all.
        key: Read the cache's key too, as column ``_key``.
        partitions: Numbers of partitions to read, or ``"all"``; None: as said above.
        address: ``host:port[,host:port]`` of any nodes; None: TENSORFLOW_IGNITE_ADDRESS, or IGNITE_DATASET_HOST and
            IGNITE_DATASET_PORT, or localhost:10820. A task of a job always asks the node that it runs beside.
        batch_bytes: Size in bytes, about, of the batches that travel; 0: 8 MiB.

    Returns:
        The dataset, of known cardinality where the number of rows is known, never sharded again by a
        tf.distribute strategy. While it is iterated over, tf.errors.OpError carries what a node says, and is raised
        when other rows arrive than were counted: an epoch is never shorter in silence.

    Raises:
        InvalidRequestError: If an argument breaks a rule.
        TensorFlowIgniteError: CacheNotFoundError and others, as the node says; or if no node answers.
    """
    # Inside a tf.function AutoGraph would try to rewrite all that this calls, down to Arrow.
    plain = tf.autograph.experimental.do_not_convert
    request = plain(reading.request)(
        cache, columns=columns, key=key, partitions=partitions, address=address, batch_bytes=batch_bytes
    )
    remote.register()
    return plain(_rows)(request)


def _rows(request: reading.Request) -> tf.data.Dataset:
    rows = _batches(request).unbatch()
    if request.rows >= 0:
        rows = rows.apply(tf.data.experimental.assert_cardinality(request.rows))
    return rows.with_options(_options())


def _batches(request: reading.Request) -> tf.data.Dataset:
    """Whole batches. Reading is addressed by index, so that the position of an iterator can be saved and restored."""
    layout = request.layout
    types = [tf.bool, *map(tf.as_dtype, types_of(layout))]

    def begin(text: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        (handle,) = tf.raw_ops.PyFunc(input=["open", text], token=remote.TOKEN, Tout=[tf.int64])
        return text, tf.ensure_shape(handle, [remote.ALIGNMENT // 8])

    def epoch(text: tf.Tensor, handle: tf.Tensor) -> tf.data.Dataset:
        def batch(index: tf.Tensor) -> tuple[tf.Tensor, dict[str, Any]]:
            more, *arrays = tf.raw_ops.PyFunc(
                input=["read", text, handle, index], token=remote.TOKEN, Tout=types, name="read_cache"
            )
            more.set_shape([])
            return more, pack(layout, arrays, _tensor)

        return tf.data.Dataset.range(_INDICES).map(batch).take_while(lambda more, row: more).map(lambda more, row: row)

    return tf.data.Dataset.from_tensors(tf.constant(request.to_json())).map(begin).flat_map(epoch)


def _tensor(values: tf.Tensor, shape: tuple[int, ...], splits: list[tf.Tensor]) -> Any:
    values.set_shape([None, *shape])
    for split in splits:
        split.set_shape([None])
    return tf.RaggedTensor.from_nested_row_splits(values, splits, validate=False)


def _options() -> tf.data.Options:
    options = tf.data.Options()
    # Each worker has its own rows already; the default would give it a part of them and drop the rest.
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    # Saving an iterator saves its index; the reader behind it finds the place again.
    options.experimental_external_state_policy = tf.data.experimental.ExternalStatePolicy.IGNORE
    return options
