"""What predicts the rows of a batch: a version of a model, or the function of a script."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from tensorflow_ignite import errors
from tensorflow_ignite.models import loading
from tensorflow_ignite.models.registry import Models
from tensorflow_ignite.models.signature import Signature
from tensorflow_ignite.models.version import ModelVersion
from tensorflow_ignite.predict.input_columns import InputColumn
from tensorflow_ignite.predict.planning import FUNCTION


class Scorer(Protocol):
    """Predicts; any thread may call."""

    def predict(self, batch: Mapping[str, Any]) -> Mapping[str, Any]:
        """The outputs by their names, of the arrays of some rows by the names of their columns."""


class ModelScorer:
    """A version of a model on this machine."""

    def __init__(
        self, model: loading.LoadedModel, name: str, signature: Signature, inputs: tuple[InputColumn, ...]
    ) -> None:
        """Makes no call.

        Args:
            model: The model.
            name: Name of its signature; empty: the default one.
            signature: That signature.
            inputs: The columns of its inputs.
        """
        self._model = model
        self._name = name
        self._outputs = [spec.name for spec in signature.outputs]
        self._inputs = inputs

    def predict(self, batch: Mapping[str, Any]) -> Mapping[str, Any]:
        """As of `Scorer`, in the order of the signature.

        Raises:
            InvalidRequestError: The values do not fit.
            ModelUnusableError: The model fails.
        """
        arrays = {column.spec.name: column.array(batch[column.column]) for column in self._inputs}
        predicted = self._model.predict(arrays, self._name)
        return {name: predicted[name] for name in self._outputs}


class ScriptScorer:
    """The function `FUNCTION` of a script, which is called by one thread at a time."""

    def __init__(self, path: Path) -> None:
        """Runs the script.

        Args:
            path: The script.

        Raises:
            CodeInvalidError: It has no such function.
        """
        # Its own imports find the modules beside it.
        sys.path.insert(0, str(path.parent))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
        function = getattr(module, FUNCTION, None)
        if not callable(function):
            raise errors.CodeInvalidError(
                f"the script {path.name!r} has no function {FUNCTION}. A script that predicts defines "
                f"{FUNCTION}(batch). Define it"
            )
        self._name = path.name
        self._function = function
        self._lock = threading.Lock()

    def predict(self, batch: Mapping[str, Any]) -> Mapping[str, Any]:
        """As of `Scorer`.

        Raises:
            RowMismatchError: The function returns no arrays by names.
        """
        with self._lock:
            found = self._function(dict(batch))
        if not isinstance(found, Mapping) or not found or not all(isinstance(name, str) for name in found):
            raise errors.RowMismatchError(
                f"{FUNCTION} of {self._name} has returned {type(found).__name__}: {found!r:.200}. It returns arrays by "
                "the names of the new columns, at least one. Return a dict of arrays"
            )
        return found


def load_model(models: Models, version: ModelVersion) -> loading.LoadedModel:
    """Loads a version of a model.

    Raises:
        ModelNotFoundError: It was removed.
        ModelUnusableError: It does not load here.
    """
    with tempfile.TemporaryDirectory(prefix="tensorflow-ignite-model-") as folder:
        target = Path(folder, "model")
        models.download(version, target)
        return loading.load(target, version.format, f"model {version.reference}")
