"""A model that a script has trained, as a version of the cluster's models: once for each job, when it succeeds."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensorflow_ignite import task
from tensorflow_ignite.errors import InvalidRequestError, ModelUnusableError
from tensorflow_ignite.train import keras3
from tensorflow_ignite.train.context import context
from tensorflow_ignite.train.strategy_check import warn_of_own
from tensorflow_ignite.train.tracking.tracker import note_model

if TYPE_CHECKING:
    from tensorflow_ignite.models.version import ModelVersion


def export(model: Any, name: str, *, signatures: Any = None) -> ModelVersion | None:
    """Makes the next version of a model of the cluster, as a SavedModel: from a job, when the job succeeds.

        model.fit(rows, ...)
        tfi.train.export(model, "digits")

    A job makes one version of a name, also if it restarts: the version that the successful attempt has exported. It
    appears before the job's state is final. If the job fails or is stopped, there is no version. Call it on every
    worker: the first worker writes, and the others take part as far as tf_keras needs them. In a cluster with
    authentication, the job needs ``ignite:///models/NAME`` in ``access.directories``.

    Args:
        model: A model of Keras 3 or tf_keras, or a ``tf.Module``.
        name: Name of the model: 1 to 200 letters, digits, ``_``, ``.`` and ``-``.
        signatures: Of a ``tf.Module``: as ``tf.saved_model.save`` takes them.

    Returns:
        The version; None in a job, where it does not exist yet.

    Raises:
        InvalidRequestError: The name breaks a rule; or the job is continuous, and has no end.
        ModelUnusableError: The model cannot be exported.
    """
    # numpy and gRPC, which a script that exports nothing need not load.
    from tensorflow_ignite.models.registry import Models
    from tensorflow_ignite.models.version import KERAS_FILE, check_name
    from tensorflow_ignite.storage.files import Files
    from tensorflow_ignite.train.publishing import take_part

    check_name(name)
    here = context()
    if here.rounds is not None:
        raise InvalidRequestError(
            f"a continuous job exports no model {name}. Exported models become versions when their job succeeds, and a "
            "continuous one has no end. Publish after each round: round.publish(model, name, measure=...)"
        )
    if not here.is_chief:
        if hasattr(model, "save"):
            take_part(model)
        return None
    if here.in_job and hasattr(model, "variables"):
        import tensorflow as tf

        warn_of_own(model, name, tf.distribute.DistributedValues)
    models = Models(Files.at(None))
    # A client outside the cluster has tasks, but its own end is none of a job.
    is_task = task.CONTEXT_VARIABLE in os.environ
    with tempfile.TemporaryDirectory(prefix="tensorflow-ignite-model-") as folder:
        target = Path(folder, name)
        if hasattr(model, "export"):
            _export_keras(model, Path(folder, KERAS_FILE), target, here.in_job)
        else:
            _export_module(model, target, signatures)
        if not is_task:
            version = models.add(name, target)
            note_model(name, str(version.number))
            return version
        models.export(name, target, here.job_id, here.attempt)
        note_model(name, f"the version of job {here.job_id}")
        return None


def _export_module(module: Any, target: Path, signatures: Any) -> None:
    import tensorflow as tf

    try:
        tf.saved_model.save(module, str(target), signatures=signatures)
    except (ValueError, TypeError) as error:
        raise _not_exported(target.name, error) from error


def _export_keras(model: Any, file: Path, target: Path, in_job: bool) -> None:
    """Writes a model of Keras as a SavedModel; in a job outside of its strategy, of tf_keras a copy of the model."""
    try:
        if keras3.is_model(model):
            with _local_variables(model) if in_job else contextlib.nullcontext():
                model.export(str(target), verbose=False)
        else:
            (_local_copy(model, file) if in_job else model).export(str(target))
    except (ValueError, TypeError, AttributeError, NotImplementedError) as error:
        raise _not_exported(target.name, error) from error


@contextlib.contextmanager
def _local_variables(model: Any) -> Iterator[None]:
    """Gives a model of Keras 3 variables of this process alone, with the values of this worker, in place of its own."""
    import tensorflow as tf

    variables = {id(each): each for layer in model._flatten_layers() for each in layer.variables}.values()
    own = [(each, each._value) for each in variables]
    try:
        for variable, value in own:
            local = model.distribute_strategy.experimental_local_results(value)[0]
            variable._value = tf.Variable(local, trainable=variable.trainable)
        yield
    finally:
        for variable, value in own:
            variable._value = value


def _local_copy(model: Any, file: Path) -> Any:
    """A copy of a model of tf_keras, by a file of this process: its code is trusted, and the classes are here."""
    import tensorflow as tf
    import tf_keras

    model.save(str(file))
    classes = {type(layer).__name__: type(layer) for layer in model._flatten_layers()}
    copy = tf_keras.models.load_model(str(file), custom_objects=classes, compile=False, safe_mode=False)
    if getattr(copy, "inputs", None) is None:
        # A subclass is exported after its first batch.
        arguments, named = model.save_spec()
        zeros = tf.nest.map_structure(lambda spec: tf.zeros([size or 1 for size in spec.shape], spec.dtype), arguments)
        copy(*zeros, **named)
    return copy


def _not_exported(name: str, error: Exception) -> ModelUnusableError:
    return ModelUnusableError(
        f"the model {name} cannot be exported ({type(error).__name__}: {error!s:.500}). A model of Keras has seen a "
        "batch, the names of its inputs have letters, digits, _, . and - only, and in a job a class of tf_keras that "
        "takes arguments has get_config(); another module needs signatures=. Call the model with a batch, name its "
        "inputs so, write get_config(), or give signatures"
    )
