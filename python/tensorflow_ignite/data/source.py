"""Rows of a cache as a tf.data.Dataset; the only file here that builds graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import tensorflow as tf

from tensorflow_ignite import credentials as who
from tensorflow_ignite.data import arguments, queries, reading, remote
from tensorflow_ignite.data.layout import pack, types_of
from tensorflow_ignite.data.rows import Rows
from tensorflow_ignite.data.shares import UNEVEN, Uneven
from tensorflow_ignite.data.wanted import wanted_of

# Far more batches than any cache has; the reader says when they end.
_BATCHES = 2**62


def dataset(
    cache: str,
    *,
    columns: Sequence[str] | None = None,
    key: bool = False,
    label: str | Sequence[str] | None = None,
    schema: Any = None,
    where: str | None = None,
    sql: str | None = None,
    parameters: Sequence[Any] = (),
    partitions: Sequence[int] | Literal["all"] | None = None,
    shuffle: bool | int | None = None,
    seed: int | None = None,
    nulls: Literal["error", "default", "mask"] = "error",
    on_mismatch: Literal["error", "skip"] = "error",
    uneven: Uneven = "repeat",
    snapshot: bool | None = None,
    memory: int | str | None = None,
    transport: Literal["auto", "shared", "tcp", "flight", "thin"] = "auto",
    address: str | None = None,
    credentials: Any = None,
    batch_bytes: int = 0,
) -> tf.data.Dataset:
    """The rows of a cache, one element a row: a dict from column names to tensors.

    With ``label=`` an element is a pair of that dict and the label, as ``fit`` of Keras takes it::

        rows = tfi.dataset("images", columns=["pixels", "label"], label="label", shuffle=True)
        model.fit(rows.repeat().batch(256), steps_per_epoch=tfi.train.context().steps_per_epoch(256))

    In a job, the job's own cache is read by partitions: the dataset has the rows of the partitions that the attempt
    assigned to the worker that iterates over it. Any other cache is read whole. Outside a job every cache is.

    Numbers and booleans become scalars, lists of a fixed length dense tensors of static shape, other lists
    tensors ``[None]`` (RaggedTensors when batched), text and bytes ``tf.string``. For each node that sends rows, about
    three batches are kept in memory for an iteration. ``batch`` right behind this, or behind ``repeat``, cuts batches
    out of those that arrive and costs nothing for each row: call it before ``map``.

    **Which rows.** Each row that is there during a whole epoch comes exactly once; of rows that are put or removed
    meanwhile it is not said. When other rows come than were counted, because the cache is being written:

    - In a multi-worker-mirrored job, whose workers must take equal steps, an epoch has exactly the rows agreed upon
      (``uneven``): it is cut or filled, and the log of the worker says so once.
    - In a parameter-server job, and outside a job with ``snapshot=False``, an epoch has the rows that are there, and
      the cardinality is not known.
    - Otherwise outside a job the number of rows is fixed when the dataset is made, and an epoch that differs is an
      error.

    With ``where``, ``sql`` or ``on_mismatch="skip"`` the workers of a mirrored job count their rows when the dataset is
    made, and refuse a cache that changes while they do; ``int(dataset.cardinality())`` is what they agreed upon.

    **Order.** By partition, unless ``shuffle`` is given. Iterators that are begun one after the other are epochs 0, 1,
    2, … of their dataset in their process; with ``shuffle`` each has another order, the same for the same ``seed``.

    **Later epochs.** A snapshot keeps the batches of the first epoch that is read to its end; later epochs take them
    from the memory of this process, without copying them and without the cluster. So they have the rows of that first
    epoch, whatever is written to the cache meanwhile. It goes when the dataset goes.

    **Checkpoints.** ``tf.train.Checkpoint(iterator=iter(dataset))`` saves the place in the epoch, whatever is in
    between, and goes on with the next row, also in another process. Should it read other partitions, another number of
    rows, or with other options, it raises AssignmentChangedError (as text of a tf.errors.OpError).

    Outside a job the environment of the earlier IgniteDataset is obeyed: IGNITE_DATASET_CACHE_NAME names another
    cache, IGNITE_DATASET_LOCAL=true reads the partitions of the node that is asked, IGNITE_DATASET_PART=0,1 these
    partitions, IGNITE_DATASET_HOST and IGNITE_DATASET_PORT say where.

    Args:
        cache: Name of the cache.
        columns: Columns to read, in this order; None: all.
        key: Read the cache's key too, as column ``_key``.
        label: The column that is to be predicted: elements become ``(features, label)``. Several columns: the label is
            a dict of them.
        schema: What some of the columns shall be: a dict from column to a tf.TensorSpec of one row's value, a tf.DType
            or a pyarrow.DataType, such as ``{"pixels": tf.TensorSpec([28, 28], tf.uint8)}``; or a pyarrow.Schema.
        where: Condition in SQL over the columns, with a ``?`` for each of ``parameters``; only rows that meet it.
        sql: SELECT over the cache's table, whose rows are read instead.
        parameters: Values for the question marks of either.
        partitions: Numbers of partitions to read, or ``"all"``; None: as said above.
        shuffle: Rows that are shuffled together, a window; True: about 64 MB of rows, at most 65,536. The order of
            partitions is shuffled as well; in later epochs from a snapshot that of batches.
        seed: Of the order; None: another one each time.
        nulls: ``"error"``: a null is one. ``"default"``: zero, False, an empty text or list stand in its place.
            ``"mask"``: so they do, and beside each column ``NAME_mask`` is True where there is a value.
        on_mismatch: ``"error"``: a row that does not fit the columns is one. ``"skip"``: it is left out.
        uneven: For the job's own cache in a multi-worker-mirrored job. ``"repeat"``: the worker with the most rows
            decides how many an epoch has, the others begin theirs again. ``"drop"``: the one with the fewest decides,
            the others leave some out. ``"pad"``: the one with the most decides, and each row comes exactly once;
            missing rows are zeros of weight 0. Elements then have a weight, elsewhere too: a column ``_weight`` of
            float32, or with ``label`` a third component, which ``fit`` takes for sample weights.
        snapshot: Keep batches for later epochs; None: in a job.
        memory: Bytes that all snapshots of this process may have together, such as ``"2GB"``; the oldest goes first,
            and what has no room is read anew each epoch. None: a quarter of what the machine has available, divided by
            the workers on this node.
        transport: How batches travel. ``"auto"``: through memory shared with a node on the same host, else over TCP
            connections of their own, else over Arrow Flight. ``"shared"``, ``"tcp"`` and ``"flight"`` insist on one of
            them. ``"thin"`` reads a cluster without our service by its thin client port, row by row, and slowly.
        address: ``host:port[,host:port]`` of any nodes; None: TENSORFLOW_IGNITE_ADDRESS, or IGNITE_DATASET_HOST and
            IGNITE_DATASET_PORT, or localhost:10820. A task of a job always asks the node that it runs beside.
        credentials: Who asks, and whom it trusts: :class:`tensorflow_ignite.Credentials`, ``(user, password)``, or a
            dict with some of username, password, token, certfile, keyfile, key_password, cafile, tls, verify; None:
            those of the task, of the environment, or of a profile. They never leave this process: a remote worker takes
            its own. See docs/security.md.
        batch_bytes: Size in bytes, about, of the batches that travel; 0: 4 MiB for rows of a fixed length below
            64 KiB, else 8 MiB.

    Returns:
        The dataset, of known cardinality where the number of rows is known, never sharded again by a
        tf.distribute strategy. While it is iterated over, tf.errors.OpError carries what a node says: an epoch is
        never shorter in silence.

    Raises:
        InvalidRequestError: If an argument breaks a rule.
        CacheEmptyError: If a worker of a mirrored job has no row where it needs one.
        RowMismatchError: If the workers of a mirrored job cannot agree on their rows.
        TensorFlowIgniteError: CacheNotFoundError and others, as the node says; or if no node answers.
    """
    # Inside a tf.function AutoGraph would try to rewrite all that this calls, down to Arrow.
    plain = tf.autograph.experimental.do_not_convert
    labels = plain(arguments.labels)(label, columns, key)
    condition, select, values = plain(queries.checked)(where, sql, parameters, columns, key)
    request = plain(reading.request)(
        cache,
        columns=columns,
        key=key,
        partitions=partitions,
        address=address,
        batch_bytes=batch_bytes,
        window=arguments.window(shuffle),
        seed=arguments.seed(seed),
        nulls=arguments.one_of("nulls", nulls, ("error", "default", "mask")),
        on_mismatch=arguments.one_of("on_mismatch", on_mismatch, ("error", "skip")),
        uneven=arguments.one_of("uneven", uneven, UNEVEN),
        snapshot=arguments.flag("snapshot", snapshot),
        memory=arguments.memory(memory),
        transport=arguments.one_of("transport", transport, ("auto", "shared", "tcp", "flight", "thin")),
        where=condition,
        sql=select,
        parameters=values,
        schema=plain(wanted_of)(schema),
        credentials=plain(_keep)(credentials),
    )
    remote.register()
    return plain(_rows)(request, labels)


def _keep(given: Any) -> str:
    """A graph knows credentials by a name, which says nothing of them."""
    return who.keep(who.given(given))


def _rows(request: reading.Request, labels: str | tuple[str, ...] | None) -> tf.data.Dataset:
    arguments.check_labels(labels, [column.name for column in request.layout], request.cache)
    numbers = tf.data.Dataset.range(_BATCHES)
    if tf.executing_eagerly():
        # Every dataset that is made of this one holds it; one that lives in a graph is run for as long as the graph.
        remote.forget_with(numbers, request.name)

    plain = _batches(numbers, request, labels)

    def batches_for(rows: int) -> tf.data.Dataset:
        suited = request.in_batches_of(rows) if rows else request
        return plain if suited is request else _batches(numbers, suited, labels)

    return Rows(batches_for, request.rows if request.rows >= 0 else tf.data.UNKNOWN_CARDINALITY)


def _batches(
    numbers: tf.data.Dataset, request: reading.Request, labels: str | tuple[str, ...] | None
) -> tf.data.Dataset:
    """Whole batches. Reading is addressed by row, so that the position of an iterator can be saved and restored.

    Each function in a dataset costs every new iterator milliseconds: there are two.
    """
    layout, text = request.layout, request.to_json()
    types = [tf.int64, tf.int64, *([tf.float32] * request.weighted), *map(tf.as_dtype, types_of(layout))]

    def batch(state: tuple[tf.Tensor, tf.Tensor], _: tf.Tensor) -> tuple[tuple[tf.Tensor, tf.Tensor], Any]:
        handle, following, *arrays = tf.raw_ops.PyFunc(
            input=[text, *state], token=remote.TOKEN, Tout=types, name="read_cache"
        )
        handle.set_shape([remote.HANDLE_NUMBERS])
        following.set_shape([])
        return (handle, following), element(arrays)

    def element(arrays: list[tf.Tensor]) -> Any:
        weights = arrays.pop(0) if request.weighted else None
        if weights is not None:
            weights.set_shape([None])
        return _element(pack(layout, arrays, _tensor), labels, weights)

    begin = np.zeros(remote.HANDLE_NUMBERS, np.int64), np.int64(0)
    return numbers.scan(begin, batch).take_while(_any_row).with_options(_options())


def _any_row(*batch: Any) -> tf.Tensor:
    """Only what stands behind the last batch has none."""
    column = tf.nest.flatten(batch)[0]
    rows = column.nrows() if isinstance(column, tf.RaggedTensor) else tf.shape(column)[0]
    return rows > 0


def _element(row: dict[str, Any], labels: str | tuple[str, ...] | None, weights: tf.Tensor | None) -> Any:
    if labels is None:
        return row if weights is None else {**row, reading.WEIGHT_COLUMN: weights}
    names = (labels,) if isinstance(labels, str) else labels
    wanted = {name: row.pop(name) for name in names}
    told = wanted[labels] if isinstance(labels, str) else wanted
    return (row, told) if weights is None else (row, told, weights)


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
