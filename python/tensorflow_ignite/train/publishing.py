"""Published versions of a model: ``ignite:///models/NAME/NUMBER.keras``, and whether a new one is not worse."""

from __future__ import annotations

import importlib
import math
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, SupportsFloat, get_args

from tensorflow_ignite.errors import InvalidRequestError, StoredFileExistsError, StoredFileNotFoundError
from tensorflow_ignite.spec import Publication
from tensorflow_ignite.storage.files import Files
from tensorflow_ignite.storage.reader import copy_bytes
from tensorflow_ignite.train import keras3

Better = Literal["lower", "higher"]
Measure = Callable[[Any], SupportsFloat]

_COPY_BYTES = 4 << 20


class Versions:
    """The published versions of one model."""

    def __init__(self, name: str, files: Files) -> None:
        """Makes no call yet.

        Raises:
            InvalidRequestError: It is no name.
        """
        if not isinstance(name, str) or not re.fullmatch(r"[^/\x00-\x1f\x7f]{1,200}", name) or name in (".", ".."):
            raise InvalidRequestError(
                f"{name!r} is no name of a model. It is the name of a directory below ignite:///models: 1 to 200 "
                "characters without a slash or a control character. Use such a name"
            )
        self.name = name
        self._files = files
        self._directory = f"/models/{name}"

    def newest(self) -> int | None:
        """The number of the newest version; None: there is none."""
        try:
            names = [info.path.rpartition("/")[2] for info in self._files.list(self._directory)]
        except StoredFileNotFoundError:
            return None
        return max((int(name[:-6]) for name in names if re.fullmatch(r"[1-9]\d*\.keras", name)), default=None)

    def read(self, version: int, target: Path) -> None:
        """Copies a version into a file of this machine."""
        with self._files.open_reader(f"{self._directory}/{version}.keras") as reader, target.open("wb") as file:
            copy_bytes(reader, file)

    def url(self, version: int) -> str:
        """The URL of a version."""
        return f"ignite://{self._directory}/{version}.keras"

    def write(self, source: Path, version: int) -> bool:
        """Publishes a file as a version, in one step, unless there is one of this number, of another job."""
        try:
            path = f"{self._directory}/{version}.keras"
            with source.open("rb") as file, self._files.open_writer(path, "x", parents=True) as writer:
                while data := file.read(_COPY_BYTES):
                    writer.write(data)
        except StoredFileExistsError:
            return False
        return True


def publish(model: Any, versions: Versions, measure: Measure, better: Better) -> Publication:
    """Publishes a model, unless it is worse than the newest version, by its measure.

    Both are measured as they are loaded from their files, outside of any strategy.

    Raises:
        InvalidRequestError: The measure is no number; or the newest version cannot be loaded and measured.
    """
    package = importlib.import_module("keras" if keras3.is_model(model) else "tf_keras")
    with tempfile.TemporaryDirectory(prefix="tensorflow-ignite-model-") as folder:
        path, earlier_path = Path(folder, "candidate.keras"), Path(folder, "published.keras")
        model.save(str(path))
        measured = _number(measure(package.models.load_model(str(path))))
        while True:
            earlier, earlier_measured = versions.newest(), 0.0
            if earlier is not None:
                try:
                    versions.read(earlier, earlier_path)
                except StoredFileNotFoundError:
                    # Removed meanwhile.
                    continue
                earlier_measured = _measure_published(versions.url(earlier), package, earlier_path, measure)
            if is_worse(measured, None if earlier is None else earlier_measured, better):
                return Publication(versions.name, measured, earlier, earlier_measured, None)
            version = (earlier or 0) + 1
            if versions.write(path, version):
                return Publication(versions.name, measured, earlier, earlier_measured, version)
            # Another job has published the same model meanwhile: that version is compared, too.


def take_part(model: Any) -> None:
    """Does the part of another worker while the first one saves a model to publish it.

    Under several workers some variables of tf_keras, such as those of metrics, are reduced over all workers when they
    are read. Keras 3 saves the variables of one worker.
    """
    if not keras3.is_model(model):
        with tempfile.TemporaryDirectory(prefix="tensorflow-ignite-model-") as folder:
            model.save(str(Path(folder, "candidate.keras")))


def _measure_published(url: str, package: Any, path: Path, measure: Measure) -> float:
    try:
        model = package.models.load_model(str(path))
    except Exception as error:
        raise _unusable(url, "loaded", error) from error
    try:
        return _number(measure(model))
    except (ValueError, TypeError) as error:
        # Of another shape than the rows. Other errors are those of the rows.
        raise _unusable(url, "measured", error) from error


def _unusable(url: str, verb: str, error: Exception) -> InvalidRequestError:
    return InvalidRequestError(
        f"the version that was published last, {url}, cannot be {verb} ({error!s:.300}). A new model is published if "
        "it is not worse than that one. Remove the file (tensorflow-ignite fs rm), register the classes that it needs, "
        "or publish under another name"
    )


def is_worse(measured: float, than: float | None, better: Better) -> bool:
    """Whether a measure is worse than another one, or than none; what is not finite is worse than anything."""
    if not math.isfinite(measured) or than is None or not math.isfinite(than):
        return not math.isfinite(measured)
    return measured > than if better == "lower" else measured < than


def check_better(better: Better) -> None:
    """Checks which of two measures is better.

    Raises:
        InvalidRequestError: It is neither.
    """
    if better not in get_args(Better):
        raise InvalidRequestError(
            f'better={better!r} is unknown. It is "lower" for a loss, and "higher" for an accuracy. Use one of these'
        )


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InvalidRequestError(
            f"the measure of a model is {value!r:.100}. It is one number, by which two models are compared. Return "
            "one: of several metrics of evaluate(), name one by its index, evaluate(...)[1]"
        ) from None
