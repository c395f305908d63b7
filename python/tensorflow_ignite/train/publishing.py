"""Publishing a model of Keras as the next version, if it is not worse than the newest one."""

from __future__ import annotations

import importlib
import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, SupportsFloat, get_args

from tensorflow_ignite import errors
from tensorflow_ignite.models.loading import keras_signatures
from tensorflow_ignite.models.registry import Models
from tensorflow_ignite.models.version import KERAS_FILE, ModelReference, ModelVersion, check_name
from tensorflow_ignite.spec import Publication
from tensorflow_ignite.train import keras3
from tensorflow_ignite.train.tracking.tracker import note_model

Better = Literal["lower", "higher"]
Measure = Callable[[Any], SupportsFloat]


def publish(model: Any, name: str, models: Models, measure: Measure, better: Better, job: str = "") -> Publication:
    """Publishes a model, unless it is worse than the newest version, by its measure.

    Both are measured as they are loaded from their files, outside of any strategy.

    Args:
        model: A model of Keras 3 or of tf_keras.
        name: Name of the model.
        models: The models of the cluster.
        measure: Returns a number for a model.
        better: Whether a lower or a higher number is better.
        job: Id of the job.

    Raises:
        InvalidRequestError: The measure is no number; or the newest version cannot be loaded and measured.
    """
    check_name(name)
    package = importlib.import_module("keras" if keras3.is_model(model) else "tf_keras")
    with tempfile.TemporaryDirectory(prefix="tensorflow-ignite-model-") as folder:
        path = Path(folder, KERAS_FILE)
        model.save(str(path))
        candidate = package.models.load_model(str(path))
        try:
            signatures = keras_signatures(candidate, f"model {name}")
        except errors.ModelUnusableError:
            # Its inputs are known after its first batch only; Keras may load it all the same.
            signatures = {}
        measured = _number(measure(candidate))
        while True:
            earlier, earlier_measured = models.newest(name), 0.0
            if earlier is not None:
                try:
                    version = models.get(ModelReference(name, earlier))
                    earlier_folder = Path(folder, f"earlier-{earlier}")
                    models.download(version, earlier_folder)
                except errors.ModelNotFoundError:
                    # Removed meanwhile.
                    continue
                earlier_measured = _measure_published(version, package, earlier_folder / KERAS_FILE, measure)
            if is_worse(measured, None if earlier is None else earlier_measured, better):
                return Publication(name, measured, earlier, earlier_measured, None)
            try:
                number = models.add(name, path, job=job, signatures=signatures, after=earlier or 0).number
            except errors.StoredFileExistsError:
                # Another job has published the same model meanwhile: that version is compared, too.
                continue
            note_model(name, str(number))
            return Publication(name, measured, earlier, earlier_measured, number)


def take_part(model: Any) -> None:
    """Does the part of another worker while the first one saves a model to publish it.

    Under several workers some variables of tf_keras, such as a metric's, are reduced over all workers when they are
    read. Keras 3 saves the variables of one worker.
    """
    if not keras3.is_model(model):
        with tempfile.TemporaryDirectory(prefix="tensorflow-ignite-model-") as folder:
            model.save(str(Path(folder, "candidate.keras")))


def _measure_published(version: ModelVersion, package: Any, path: Path, measure: Measure) -> float:
    if not path.exists():
        raise errors.InvalidRequestError(
            f"the newest version, {version.url}, is no .keras file, but for example a SavedModel of "
            "tensorflow_ignite.train.export. A new model is compared with a .keras file only. Publish under another "
            "name"
        )
    try:
        model = package.models.load_model(str(path))
    except Exception as error:
        raise _unusable(version, "loaded", error) from error
    try:
        return _number(measure(model))
    except (ValueError, TypeError) as error:
        # The model's inputs or outputs do not fit the rows. Other errors come from reading the rows.
        raise _unusable(version, "measured", error) from error


def _unusable(version: ModelVersion, verb: str, error: Exception) -> errors.InvalidRequestError:
    return errors.InvalidRequestError(
        f"the version that was published last, {version.url}, cannot be {verb} by Keras ({error!s:.300}). A new model "
        "is published if it is not worse than that one. Remove the version (tensorflow-ignite model rm "
        f"{version.reference}), register the classes that it needs, or publish under another name"
    )


def is_worse(measured: float, than: float | None, better: Better) -> bool:
    """Whether a measure is worse than another one, or than none; an infinite measure or NaN is worse than any other."""
    if not math.isfinite(measured) or than is None or not math.isfinite(than):
        return not math.isfinite(measured)
    return measured > than if better == "lower" else measured < than


def check_better(better: Better) -> None:
    """Checks which of two measures is better.

    Raises:
        InvalidRequestError: It is neither.
    """
    if better not in get_args(Better):
        raise errors.InvalidRequestError(
            f'better={better!r} is unknown. It is "lower" for a loss, and "higher" for an accuracy. Use one of these'
        )


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise errors.InvalidRequestError(
            f"the measure of a model is {value!r:.100}. It is one number, by which two models are compared. Return "
            "one: of several metrics of evaluate(), name one by its index, evaluate(...)[1]"
        ) from None
