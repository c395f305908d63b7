"""TFRecord files of tf.train.Example, as batches of columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.types as types

from tensorflow_ignite import errors
from tensorflow_ignite.data.loading.source import Source

_ROWS = 1024
# Number of records from which an error infers the columns that it proposes.
_SAMPLE = 100
_CAUSE = re.compile(r"(?:\{\{function_node .*?\}\} )?(?:.*(?=Key: ))?(.*?)\.?(?: \[Op:.*)?")


def batches(source: Source, path: str, columns: Mapping[str, pa.DataType | None]) -> Iterator[dict[str, Any]]:
    """The columns of a file; TensorFlow parses whole batches.

    Args:
        source: Where it is.
        path: The file; its records are serialized tf.train.Example.
        columns: The columns to read with their types: a number, text or bytes; or a list of these, with a fixed size
            if each record has this number of values.

    Raises:
        InvalidRequestError: No column is named, TensorFlow is not installed, or a record is damaged or has other
            features.
    """
    with source.local(path) as file:
        yield from _batches(path, file, columns)


def _batches(path: str, file: str, columns: Mapping[str, pa.DataType | None]) -> Iterator[dict[str, Any]]:
    try:
        import tensorflow as tf
    except ImportError as error:
        raise errors.InvalidRequestError(
            f"{path} cannot be read without TensorFlow, which reads TFRecord files. Install it: pip install tensorflow"
        ) from error
    records = tf.data.TFRecordDataset(file, compression_type="GZIP" if path.lower().endswith(".gz") else "")
    try:
        if not columns:
            raise errors.InvalidRequestError(
                f"{path} does not say which columns it has, and of which types. A load of TFRecord files needs them. "
                f"By its first records: {_suggestion(tf, path, records)}"
            )
        features = {name: _feature(tf, path, name, kind) for name, kind in columns.items()}
        for batch in records.batch(_ROWS).map(lambda many: tf.io.parse_example(many, features)):
            yield dict(batch)
    except (tf.errors.InvalidArgumentError, tf.errors.DataLossError) as error:
        cause = _CAUSE.fullmatch(str(error.message).splitlines()[0])
        text = cause[1] if cause else error.message
        raise errors.InvalidRequestError(
            f"{path} cannot be read as tfrecord: {text}. Each record is a tf.train.Example with the features that "
            "schema= names, of their types. Repair the file, or correct schema="
        ) from error


def _feature(tf: Any, path: str, name: str, kind: pa.DataType | None) -> Any:
    size: tuple[int, ...] | None = ()
    value = kind
    if kind is not None and types.is_fixed_size_list(kind):
        size, value = (kind.list_size,), kind.value_type
    elif kind is not None and (types.is_list(kind) or types.is_large_list(kind)):
        size, value = None, kind.value_type
    if value is not None and (types.is_integer(value) or types.is_boolean(value)):
        dtype = tf.int64
    elif value is not None and types.is_floating(value):
        dtype = tf.float32
    elif value is not None and (types.is_string(value) or types.is_binary(value)):
        dtype = tf.string
    else:
        raise errors.InvalidRequestError(
            f"column {name!r} of {path} has the type {kind}. A feature of a tf.train.Example has integers, floats, "
            f"text or bytes, one or a list of them. Give one of these types, for example schema={{{name!r}: 'int64'}}"
        )
    return tf.io.RaggedFeature(dtype) if size is None else tf.io.FixedLenFeature(size, dtype)


def _suggestion(tf: Any, path: str, records: Any) -> str:
    kinds: dict[str, str] = {}
    found: list[dict[str, int]] = []
    for record in records.take(_SAMPLE):
        if tf.train.SequenceExample.FromString(record.numpy()).feature_lists.feature_list:
            raise errors.InvalidRequestError(
                f"{path} has records of tf.train.SequenceExample, whose lists of features no schema= names. A load of "
                "TFRecord files takes tf.train.Example. Parse the records with tf.io.parse_sequence_example in a "
                "tf.data.Dataset, and load that"
            )
        found.append({})
        for name, feature in tf.train.Example.FromString(record.numpy()).features.feature.items():
            which = feature.WhichOneof("kind")
            if which:
                found[-1][name] = len(getattr(feature, which).value)
                kinds[name] = {"int64_list": "int64", "float_list": "float32", "bytes_list": "binary"}[which]
    parts = []
    for name, kind in sorted(kinds.items()):
        sizes = {each.get(name, 0) for each in found}
        size = f", {min(sizes)}" if len(sizes) == 1 else ""
        parts.append(f"{name!r}: " + (f"'{kind}'" if sizes == {1} else f"pyarrow.list_(pyarrow.{kind}(){size})"))
    return f"schema={{{', '.join(parts)}}}"
