"""Rows of a cache as a tf.data.Dataset; the only file of `data` that builds graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import tensorflow as tf

from tensorflow_ignite import task
from tensorflow_ignite.data import cache_position, pyfunc, whole_rows
from tensorflow_ignite.data.epoch_readers import readers
from tensorflow_ignite.data.epochs.rows_per_worker import PADDED, ROWS_OF_NOW, Uneven
from tensorflow_ignite.data.epochs.tensor_schema import pack, types_of
from tensorflow_ignite.data.follow.interrupts import interrupts
from tensorflow_ignite.data.open_readers import HANDLE_NUMBERS
from tensorflow_ignite.data.options import Changes, HoldOut, ReadOptions, RowArguments
from tensorflow_ignite.data.request import Request
from tensorflow_ignite.data.row_dataset import RowDataset
from tensorflow_ignite.data.rows import Rows, requested_rows

# More batches than any cache has; the reader returns an empty batch at the end.
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
    snapshot: Literal["refresh", "frozen"] | bool | None = None,
    exact: bool = False,
    accept_data_loss: bool | None = None,
    changes: Changes | None = None,
    hold_out: HoldOut | None = None,
    options: ReadOptions | None = None,
) -> tf.data.Dataset:
    """The rows of a cache, one element a row: a dict from column names to tensors.

    With ``label=`` an element is a pair of that dict and the label, as ``fit`` of Keras takes it::

        rows = tfi.dataset("images", columns=["pixels", "label"], label="label", shuffle=True)
        model.fit(rows.repeat().batch(256), steps_per_epoch=tfi.train.context().steps_per_epoch(256))

    In a job, the job's own cache is read by partitions: the dataset has the rows of the partitions that the attempt
    assigned to the worker that iterates over it; an evaluator reads all of them. Any other cache is read whole, and
    outside a job every cache.

    Numbers and booleans become scalars, lists of a fixed length dense tensors of static shape, other lists
    tensors ``[None]`` (RaggedTensors when batched), text and bytes ``tf.string``. An iteration needs memory for about
    three batches of each node that sends rows. ``batch`` directly after this function, or after ``repeat``, cuts
    batches out of larger ones and does no work for each row: call it before ``map``.

    **Which rows.** Each row that exists during a whole epoch comes exactly once; a row that is put or removed during
    the epoch may come or not. An epoch has the rows that exist then, so the cardinality is not known:

    - In a multi-worker-mirrored or custom job, whose workers must take equal steps, the workers agree when an epoch
      of the job's cache begins: it has the same number of rows on each (``uneven``). Rows that are left out come first
      in the next epoch, missing ones are filled, and the worker logs it once. A worker that does not begin the epoch
      within 30 s is counted with the rows of its last one.
    - ``changes=tfi.Changes(since=position)``: an epoch has the rows that were put after a position and still exist,
      each once, with its present values. The rows of partitions whose changes are not known completely come too; see
      docs/changing-data.md.
    - ``changes=tfi.Changes(follow=True)``: an iteration has no end. It has all rows, or with ``since`` those that were
      put after the position, and then those that are put meanwhile, soon after: each put row comes at least once, and
      its last value always. An iterator that is restored from a checkpoint continues after the rows that it has had.
      ``batch(n)`` waits for n rows; Ctrl-C ends the wait.
    - ``exact=True``: the rows are counted when the dataset is made, and ``int(dataset.cardinality())`` is that number.
      Outside a job a different number is an error. In a mirrored job each epoch has the number of rows on which the
      workers have agreed at the beginning, and with ``where`` or ``sql`` it is an error if the cache changes meanwhile.

    **Order.** By partition, unless ``shuffle`` is given. Iterators that are started one after the other are epochs 0,
    1, 2, … of their dataset in their process; with ``shuffle`` each has another order, which ``seed`` determines.

    **Later epochs.** A snapshot caches the batches of the first epoch that is read to its end; later epochs read them
    from the memory of this process. Before, each node sends what has been put or removed since
    (``"refresh"``); of an unchanged cache that is nothing. ``"frozen"`` keeps the rows of the first epoch, also if the
    cache is written. The snapshot is removed with the dataset.

    **Checkpoints.** ``tf.train.Checkpoint(iterator=iter(dataset))`` saves the position in the epoch, also behind other
    transformations, and a restored iterator continues with the next row, also in another process. If it would read
    other partitions, another number of rows, or with other options, it raises AssignmentChangedError (as the text of a
    tf.errors.OpError).

    Outside a job the environment of the earlier IgniteDataset applies: IGNITE_DATASET_CACHE_NAME names another cache,
    IGNITE_DATASET_LOCAL=true reads the partitions of the node at the address, IGNITE_DATASET_PART=0,1 these
    partitions, IGNITE_DATASET_HOST and IGNITE_DATASET_PORT are the address.

    Args:
        cache: Name of the cache.
        columns: Columns to read, in this order; None: all.
        key: Read the cache's key too, as column ``_key``.
        label: The column to predict: elements become ``(features, label)``. Several columns: the label is
            a dict of them.
        schema: Requested types of some columns: a dict from column to a tf.TensorSpec of one row's value, a tf.DType
            or a pyarrow.DataType, such as ``{"pixels": tf.TensorSpec([28, 28], tf.uint8)}``; or a pyarrow.Schema.
        where: Condition in SQL over the columns, with a ``?`` for each of ``parameters``; only rows that meet it.
        sql: SELECT over the cache's table, whose rows are read instead; it may join tables that lie with it.
        parameters: Values for the question marks of ``where`` or ``sql``.
        partitions: Numbers of partitions to read, or ``"all"``; None: see above.
        shuffle: Number of rows that are shuffled together, a window; True: about 64 MB of rows, at most 65,536. The
            order of partitions is shuffled as well; in later epochs from a snapshot the order of batches.
        seed: Seed of the order; None: a random one.
        nulls: ``"error"``: a null is an error. ``"default"``: zero, False, an empty text or list replaces it.
            ``"mask"``: as ``"default"``, and a column ``NAME_mask`` is True where there is a value.
        on_mismatch: A row that does not fit the columns is an ``"error"``, or is left out (``"skip"``).
        uneven: For the job's own cache in a multi-worker-mirrored or custom job. ``"repeat"``: an epoch has the rows
            of the worker with the most rows; the others repeat some. ``"drop"``: of the worker with the fewest; the
            others leave some out. ``"pad"``: of the worker with the most, and each row comes exactly once; missing rows
            are zeros of weight 0. Elements then have a weight, also outside such jobs: a column ``_weight`` of float32,
            or with ``label`` a third component, which ``fit`` takes as sample weights.
        snapshot: ``"refresh"``: cache batches for later epochs, and read what has changed; True is the same, but
            ``"frozen"`` over the thin client port.
            ``"frozen"``: cache batches, and read nothing more. False: read all rows in each epoch. None: ``"refresh"``
            in a job, else False.
        exact: Fix the number of rows when the dataset is made, see above.
        accept_data_loss: Read the remaining rows if partitions have lost all their copies; otherwise that is a
            DataLossError. None: as the job says (``restart.allow_data_loss``), outside a job False.
        changes: Only rows that change: :class:`tensorflow_ignite.Changes`; None: all rows that exist.
        hold_out: The side of the rows that are held out: :class:`tensorflow_ignite.HoldOut`; None: both sides.
        options: How rows are read: :class:`tensorflow_ignite.ReadOptions`, with transport, memory, rate, address and
            credentials.

    Returns:
        The dataset. Its cardinality is known with ``exact=True`` alone, and no tf.distribute strategy shards it.
        During iteration an error of a node is a tf.errors.OpError: an epoch is never shorter without an error.

    Raises:
        InvalidRequestError: If an argument breaks a rule.
        CacheEmptyError: If a worker of a mirrored job has no row where it needs one.
        DataLossError: If partitions of the cache have lost all their copies.
        RowMismatchError: If the workers of a mirrored job cannot agree on their rows.
        TensorFlowIgniteError: CacheNotFoundError and other errors of a node; if no node answers.
    """
    # Inside a tf.function AutoGraph would try to rewrite all functions that this function calls, also those of Arrow.
    plain = tf.autograph.experimental.do_not_convert
    rows = plain(requested_rows)(
        RowArguments(
            cache=cache,
            columns=columns,
            key=key,
            label=label,
            schema=schema,
            where=where,
            sql=sql,
            parameters=parameters,
            partitions=partitions,
            shuffle=shuffle,
            seed=seed,
            nulls=nulls,
            on_mismatch=on_mismatch,
            uneven=uneven,
            snapshot=snapshot,
            exact=exact,
            accept_data_loss=accept_data_loss,
            changes=changes,
            hold_out=hold_out,
            options=options,
        )
    )
    pyfunc.register()
    if rows.request.follow:
        plain(interrupts.notice)()
    return plain(_dataset)(rows, bool(exact))


def _dataset(rows: Rows, exact: bool) -> tf.data.Dataset:
    request = rows.request
    numbers = tf.data.Dataset.range(_BATCHES)
    if tf.executing_eagerly():
        # Every dataset that is derived from this one holds this object; in a graph it lives as long as the graph.
        readers.forget_on_collect(numbers, request.name)

    # Keras takes a number that it knows for that of its steps. Under several workers each step has only a part of a
    # batch from each worker, and the steps would end before the rows.
    known = exact and request.rows >= 0
    setattr(numbers, ROWS_OF_NOW, not known and not request.follow)
    setattr(numbers, PADDED, request.weighted)
    setattr(numbers, whole_rows.REQUEST, request)
    plain = _batches(numbers, rows)

    def batches_for(size: int) -> tf.data.Dataset:
        resized = request.in_batches_of(size) if size else request
        return plain if resized is request else _batches(numbers, rows._replace(request=resized))

    if request.follow:
        cardinality = tf.data.INFINITE_CARDINALITY
    else:
        cardinality = request.rows if known else tf.data.UNKNOWN_CARDINALITY
    return RowDataset(batches_for, cardinality, request)


def _batches(numbers: tf.data.Dataset, rows: Rows) -> tf.data.Dataset:
    """Whole batches. The state is the position of a row, so that an iterator can be saved and restored.

    Each function in a dataset costs milliseconds for every new iterator, so there are only two.
    """
    request = rows.request
    layout, text = request.layout, request.to_json()
    begin = _begin(request)
    types = [tf.int64, tf.int64, *([tf.bool] * request.follow), *([tf.float32] * request.weighted)]
    types += map(tf.as_dtype, types_of(layout))

    def batch(state: tuple[tf.Tensor, tf.Tensor], _: tf.Tensor) -> tuple[tuple[tf.Tensor, tf.Tensor], Any]:
        handle, following, *arrays = tf.raw_ops.PyFunc(
            input=[text, *state],
            token=pyfunc.FOLLOW_TOKEN if request.follow else pyfunc.TOKEN,
            Tout=types,
            name="read_cache",
        )
        handle.set_shape([HANDLE_NUMBERS])
        following.set_shape(begin.shape)
        goes_on = arrays.pop(0) if request.follow else None
        return (handle, following), element(arrays) if goes_on is None else (goes_on, element(arrays))

    def element(arrays: list[tf.Tensor]) -> Any:
        weights = arrays.pop(0) if request.weighted else None
        if weights is not None:
            weights.set_shape([None])
        return rows.element(pack(layout, arrays, _tensor), weights)

    no_handle = np.zeros(HANDLE_NUMBERS, np.int64)
    batches = numbers.scan((no_handle, begin), batch)
    if request.follow:
        # A batch without rows comes while nothing changes, so that an iterator can end.
        batches = batches.take_while(lambda goes_on, _: goes_on).map(lambda _, found: found).filter(_any_row)
    else:
        batches = batches.take_while(_any_row)
    return batches.with_options(_options(request.follow, task.current().is_waited_for))


def _begin(request: Request) -> Any:
    """The position of the first row: its number in an epoch, or what has been read of each partition."""
    return cache_position.decode(request.since) if request.follow else np.int64(0)


def _any_row(*batch: Any) -> tf.Tensor:
    """Whether a batch has rows; the batch after the last one has none."""
    column = tf.nest.flatten(batch)[0]
    rows = column.nrows() if isinstance(column, tf.RaggedTensor) else tf.shape(column)[0]
    return rows > 0


def _tensor(values: tf.Tensor, shape: tuple[int, ...], splits: list[tf.Tensor]) -> Any:
    values.set_shape([None, *shape])
    for split in splits:
        split.set_shape([None])
    return tf.RaggedTensor.from_nested_row_splits(values, splits, validate=False)


def _options(follow: bool, is_waited_for: bool) -> tf.data.Options:
    options = tf.data.Options()
    if is_waited_for:
        # The deletion of an iterator may wait until the autotuner wakes, which sleeps for as long as the iterator has
        # lived, up to a minute. All workers would wait with this one. See also `train.device_iterators`.
        options.autotune.enabled = False
    # Each worker reads its own rows; the default policy would drop a part of them.
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    # A saved iterator has the position of its next row, which the reader finds again.
    options.experimental_external_state_policy = tf.data.experimental.ExternalStatePolicy.IGNORE
    if follow:
        # An iterator cannot be saved while a thread of it waits for an element, and that may be long here.
        options.experimental_optimization.inject_prefetch = False
        options.experimental_optimization.map_parallelization = False
    return options
