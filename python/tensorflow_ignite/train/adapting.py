"""The function that lets a layer of a script learn from rows; the first call imports what it needs."""

from __future__ import annotations

from typing import Any


def adapt(layer: Any, rows: Any) -> None:
    """Lets a preprocessing layer learn from rows, once for the whole job, with the same result on every worker.

        words = keras.layers.StringLookup()
        tfi.train.adapt(words, tfi.dataset("reviews", columns=["word"]).batch(1024).map(lambda row: row["word"]))

    Call it on every worker, in the same order. The first worker reads the rows of all workers, each row once; the
    others wait, and get the state. It is kept beside the checkpoints: a later attempt of the job reads no rows again,
    unless the layer, or which rows the dataset selects, has changed. In a job ``layer.adapt(rows)`` does the same for
    rows of :func:`tensorflow_ignite.dataset`; this function does it for any rows, and uses the rows of the first
    worker. Outside a job it is ``layer.adapt(rows)``.

    Args:
        layer: Normalization, Discretization, StringLookup, IntegerLookup, TextVectorization or FeatureSpace, of Keras 3
            or tf_keras; or a layer with ``adapt``, ``get_config``, ``state_dict()``, which returns plain values and
            arrays in lists and dicts, and ``load_state_dict(state)``. In a class that inherits from a named layer, the
            two methods have only the state that the class adds.
        rows: Rows as the layer's ``adapt`` takes them: batches of one tensor, such as ``[batch]`` or ``[batch,
            values]``; for FeatureSpace, of a dict.

    Raises:
        InvalidRequestError: The layer cannot learn, or its state cannot be shared; the rows have no end; or they come
            from a dataset with ``exact=True``.
        TensorFlowIgniteError: The workers let different layers learn, or any error of a node.
    """
    from tensorflow_ignite.train.adaptation import learn_from_any

    learn_from_any(layer, rows)
