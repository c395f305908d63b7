"""The first calls of a model, before callers wait for it: TensorFlow makes its graphs and its memory at these."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tensorflow_ignite.errors import InvalidRequestError, ModelUnusableError
from tensorflow_ignite.models.loading import LoadedModel
from tensorflow_ignite.models.signature import Array, Signature, TensorSpec
from tensorflow_ignite.v1 import predict_pb2

#: The recorded requests of a SavedModel, as TensorFlow Serving reads them.
RECORDED = "assets.extra/tf_serving_warmup_requests"
#: As TensorFlow Serving: a file with more is an error of its maker.
MAX_RECORDED = 1000


def warm(model: LoadedModel, directory: Path) -> int:
    """Calls a model with its recorded requests, or once with zeros for each signature; returns the number of calls.

    Recorded requests of other methods than predict, such as classify, are not called.

    Args:
        model: The model.
        directory: Its files.

    Raises:
        ModelUnusableError: It fails for a recorded request, or there are too many. A failure for zeros says nothing.
        InvalidRequestError: A recorded request does not fit the model.
    """
    recorded = directory / RECORDED
    if recorded.is_file() and (calls := _replay(model, recorded)):
        return calls
    for name, signature in model.signatures.items():
        try:
            model.predict(_zeros(signature), name)
        except (ModelUnusableError, InvalidRequestError):
            # Some models reject zeros or empty texts, such as a model that parses its strings.
            continue
    return len(model.signatures)


def _zeros(signature: Signature) -> dict[str, Array]:
    return {spec.name: _zeros_of(spec) for spec in signature.inputs}


def _zeros_of(spec: TensorSpec) -> Array:
    shape = [1 if size is None else size for size in ((1,) if spec.shape is None else spec.shape)]
    if spec.dtype == "string":
        return np.full(shape, b"", dtype=object)
    import tensorflow as tf

    return np.zeros(shape, dtype=tf.dtypes.as_dtype(spec.dtype).as_numpy_dtype)


def _replay(model: LoadedModel, recorded: Path) -> int:
    import tensorflow as tf
    from tensorflow.core.framework import tensor_pb2

    count = 0
    for record in tf.data.TFRecordDataset(str(recorded)).as_numpy_iterator():
        if count == MAX_RECORDED:
            raise ModelUnusableError(
                f"{RECORDED} has more than {MAX_RECORDED} requests. A model is called with all of them before it "
                "serves. Record fewer requests"
            )
        request = predict_pb2.RecordedLog.FromString(record).predict.request
        if request.inputs:
            inputs = {
                name: tf.make_ndarray(tensor_pb2.TensorProto.FromString(value))
                for name, value in request.inputs.items()
            }
            model.predict(inputs, request.model.signature)
            count += 1
    return count
