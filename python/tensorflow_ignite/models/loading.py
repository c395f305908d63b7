"""A version of a model in the memory of this process; its format is known here only."""

from __future__ import annotations

import importlib
import json
import zipfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from tensorflow_ignite.errors import InvalidRequestError, ModelUnusableError
from tensorflow_ignite.models.signature import DEFAULT_SIGNATURE, Array, Signature, TensorSpec
from tensorflow_ignite.models.version import KERAS_FILE, ModelFormat, default_signature

_METHODS = {"tensorflow/serving/classify": "classify", "tensorflow/serving/regress": "regress"}
_SAVED_MODEL = "saved_model.pb"
# Of a long error, its first and its last characters: Keras puts a configuration between what failed and why.
_FIRST_CHARACTERS, _LAST_CHARACTERS = 150, 350

Function = Callable[[Mapping[str, Any]], Mapping[str, Any]]


class LoadedModel:
    """A model that predicts. Safe to use from several threads.

    Attributes:
        signatures: Its functions by name.
    """

    def __init__(self, subject: str, signatures: Mapping[str, Signature], functions: Mapping[str, Function]) -> None:
        """Made by :func:`load`."""
        self.signatures = signatures
        self._subject = subject
        self._functions = functions

    def predict(self, inputs: Mapping[str, Any], signature: str = "") -> dict[str, Array]:
        """The outputs of one batch.

        Args:
            inputs: Arrays by the names of the inputs, each of shape [rows, ...].
            signature: Name of the function; empty: the default one.

        Returns:
            Arrays by the names of the outputs, strings as objects of type bytes.

        Raises:
            InvalidRequestError: The inputs do not fit; the error says what the signature requires.
            ModelUnusableError: The model has failed, or has returned a wrong number of rows.
        """
        name = signature or default_signature(self.signatures)
        if name not in self.signatures:
            raise InvalidRequestError(
                f"{self._subject} has no signature {name!r}. Its signatures are {', '.join(self.signatures)}. Use one "
                "of them"
            )
        try:
            arrays = self.signatures[name].converted(inputs, self._subject, _cast)
            return {output: value.numpy() for output, value in self._functions[name](arrays).items()}
        except InvalidRequestError:
            raise
        except Exception as error:
            raise ModelUnusableError(
                f"{self._subject} has failed in {name} ({_reason(error)}). The error is of the model's own code. "
                "Correct the model, and make a new version of it"
            ) from error


def _cast(array: Array, dtype: Any) -> Any:
    """A tensor of another type. TensorFlow has memory for it; numpy would take new memory for each batch."""
    import tensorflow as tf

    return tf.cast(array, dtype)


def find(path: Path) -> tuple[ModelFormat, Path]:
    """The format of a model on this machine, and the directory or file that holds it.

    Args:
        path: A SavedModel, a ``.keras`` file, or a directory with exactly one of these.

    Raises:
        InvalidRequestError: There is none, or more than one.
    """
    if path.is_file() and path.suffix == ".keras":
        return "keras", path
    if (path / _SAVED_MODEL).is_file():
        return "saved_model", path
    found: list[tuple[ModelFormat, Path]] = [("keras", file) for file in sorted(path.glob("*.keras"))]
    found += [("saved_model", file.parent) for file in sorted(path.glob(f"*/{_SAVED_MODEL}"))]
    if len(found) == 1:
        return found[0]
    names = ", ".join(model.name for _, model in found) or "none"
    raise InvalidRequestError(
        f"{path} is no model: of SavedModels and .keras files in it there are {len(found)} ({names}). A model is a "
        f"directory with {_SAVED_MODEL}, as model.export() writes it, or a .keras file, as model.save() writes it. "
        "Name one"
    )


def read_signatures(path: Path, model_format: ModelFormat) -> dict[str, Signature]:
    """The functions of a model on this machine. A SavedModel is not loaded for that, a file of Keras is.

    Args:
        path: The directory of the SavedModel, or the file of Keras.
        model_format: Its format.

    Raises:
        ModelUnusableError: It cannot be read, or has no function that predicts rows.
    """
    if model_format == "keras":
        return keras_signatures(_load_keras(path, str(path)), str(path))
    from google.protobuf.message import DecodeError
    from tensorflow.core.protobuf import saved_model_pb2

    saved = saved_model_pb2.SavedModel()
    try:
        saved.ParseFromString((path / _SAVED_MODEL).read_bytes())
    except DecodeError as error:
        raise _unusable(str(path), error) from error
    found: dict[str, Signature] = {}
    for graph in saved.meta_graphs:
        if "serve" in graph.meta_info_def.tags:
            for name, definition in graph.signature_def.items():
                if not name.startswith("__") and definition.outputs and _is_dense(definition):
                    method = _METHODS.get(definition.method_name, "predict")
                    found[name] = Signature(_specs(definition.inputs), _specs(definition.outputs), method)
    if not found:
        raise ModelUnusableError(
            f"the SavedModel {path} has no signature of dense tensors under the tag 'serve'. Predictions call "
            f"{DEFAULT_SIGNATURE}, or another signature by its name. Write it by model.export(), or by "
            "tf.saved_model.save(module, path, signatures=...)"
        )
    return dict(sorted(found.items(), key=lambda item: (item[0] != DEFAULT_SIGNATURE, item[0])))


def load(directory: Path, model_format: ModelFormat, subject: str) -> LoadedModel:
    """Loads a version from its files on this machine.

    Args:
        directory: The files of the version, as `Models.download` copies them.
        model_format: Its format.
        subject: Names it in error texts, such as ``"model digits:3"``.

    Raises:
        ModelUnusableError: It cannot be loaded, for example since it needs operations or classes that are not there.
    """
    if model_format == "keras":
        model = _load_keras(directory / KERAS_FILE, subject)
        signatures = keras_signatures(model, subject)
        return LoadedModel(subject, signatures, {DEFAULT_SIGNATURE: _keras_function(model, signatures)})
    import tensorflow as tf

    signatures = read_signatures(directory, model_format)
    try:
        loaded = tf.saved_model.load(str(directory))
        functions = {name: _function_of(loaded, name) for name in signatures}
    except Exception as error:
        raise _unusable(subject, error) from error
    return LoadedModel(subject, signatures, functions)


def keras_signatures(model: Any, subject: str) -> dict[str, Signature]:
    """The one function of a model of Keras 3 or tf_keras.

    Raises:
        ModelUnusableError: Its inputs are not known before its first batch.
    """
    inputs, outputs = getattr(model, "inputs", None), getattr(model, "outputs", None)
    if not inputs or not outputs:
        raise ModelUnusableError(
            f"{subject} does not say what it takes. A model of Keras has known inputs if it is Functional or "
            "Sequential with an Input; others are exported by model.export(), after their first batch. Export it"
        )
    input_names = getattr(model, "input_names", None) or [tensor.name for tensor in inputs]
    output_names = _output_names(model, len(outputs))
    # A model without an Input keeps the rows of its first batch as the size of its first axis; states need these rows.
    any_rows = not any(getattr(layer, "stateful", False) for layer in model.layers)

    def specs(names: Iterable[str], tensors: Iterable[Any]) -> tuple[TensorSpec, ...]:
        return tuple(_keras_spec(name, tensor, any_rows) for name, tensor in zip(names, tensors, strict=True))

    return {DEFAULT_SIGNATURE: Signature(specs(input_names, inputs), specs(output_names, outputs))}


def _load_keras(path: Path, subject: str) -> Any:
    try:
        with zipfile.ZipFile(path) as archive:
            version = str(json.loads(archive.read("metadata.json"))["keras_version"])
        package = importlib.import_module("tf_keras" if version.startswith("2.") else "keras")
        return package.models.load_model(str(path), compile=False)
    except Exception as error:
        raise _unusable(subject, error) from error


def _keras_function(model: Any, signatures: Mapping[str, Signature]) -> Function:
    import tensorflow as tf

    signature = signatures[DEFAULT_SIGNATURE]
    names, outputs = [spec.name for spec in signature.inputs], [spec.name for spec in signature.outputs]
    # A Sequential model of Keras 3 that was loaded has no attribute `input` yet.
    structure = model.inputs[0] if len(model.inputs) == 1 else model.input

    @tf.function(input_signature=[tf.TensorSpec(spec.shape, spec.dtype, spec.name) for spec in signature.inputs])  # type: ignore[untyped-decorator]
    def call(*tensors: Any) -> list[Any]:
        by_name = dict(zip(names, tensors, strict=True))
        # Keras takes its inputs in the structure in which the model was made.
        given = tf.nest.map_structure(lambda tensor: by_name[_tensor_name(model, tensor)], structure)
        return list(tf.nest.flatten(model(given, training=False)))

    return lambda arrays: dict(zip(outputs, call(*(arrays[name] for name in names)), strict=True))


def _tensor_name(model: Any, tensor: Any) -> str:
    names = getattr(model, "input_names", None) or [other.name for other in model.inputs]
    return str(names[next(index for index, other in enumerate(model.inputs) if other is tensor)])


def _function_of(loaded: Any, name: str) -> Function:
    function = loaded.signatures[name]

    def call(arrays: Mapping[str, Any]) -> Mapping[str, Any]:
        import tensorflow as tf

        # Signatures take tensors only, in their exact types.
        outputs: Mapping[str, Any] = function(**{key: tf.convert_to_tensor(array) for key, array in arrays.items()})
        return outputs

    return call


def _output_names(model: Any, count: int) -> list[str]:
    names = getattr(model, "output_names", None)
    if names and len(names) == count == len(set(names)):
        return [str(name) for name in names]
    return [f"output_{index}" for index in range(count)]


def _keras_spec(name: str, tensor: Any, any_rows: bool) -> TensorSpec:
    dtype = tensor.dtype if isinstance(tensor.dtype, str) else tensor.dtype.name
    rows, *shape = tensor.shape
    return TensorSpec(str(name), dtype, (None if any_rows else rows, *shape))


def _specs(infos: Mapping[str, Any]) -> tuple[TensorSpec, ...]:
    import tensorflow as tf

    def shape(info: Any) -> tuple[int | None, ...] | None:
        if info.tensor_shape.unknown_rank:
            return None
        return tuple(None if axis.size < 0 else int(axis.size) for axis in info.tensor_shape.dim)

    return tuple(
        TensorSpec(name, tf.dtypes.as_dtype(info.dtype).name, shape(info)) for name, info in sorted(infos.items())
    )


def _is_dense(definition: Any) -> bool:
    return all(info.name for infos in (definition.inputs, definition.outputs) for info in infos.values())


def _unusable(subject: str, error: Exception) -> ModelUnusableError:
    return ModelUnusableError(
        f"{subject} cannot be loaded ({_reason(error)}). The machine that loads a model must have its operations and "
        "classes. Install the missing ones, or write the model by model.export(), which needs no classes"
    )


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())
    if len(text) > _FIRST_CHARACTERS + _LAST_CHARACTERS:
        text = f"{text[:_FIRST_CHARACTERS]} … {text[-_LAST_CHARACTERS:]}"
    return f"{type(error).__name__}: {text}"
