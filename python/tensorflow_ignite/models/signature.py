"""What a model takes and returns, as plain values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorflow_ignite.errors import InvalidRequestError

#: The signature of a call that names none.
DEFAULT_SIGNATURE = "serving_default"

_STRING = "string"
Array = np.ndarray[Any, Any]
#: Makes an array or tensor of an array and a type of numpy.
Convert = Callable[[Array, np.dtype[Any]], Any]


@dataclass(frozen=True)
class TensorSpec:
    """One input or output of a model.

    Attributes:
        name: Its name.
        dtype: TensorFlow's name of the type of its elements, such as ``"float32"`` or ``"string"``.
        shape: The size of each axis, None for any size; the first axis is the rows of a batch. None: any rank.
    """

    name: str
    dtype: str
    shape: tuple[int | None, ...] | None

    def __str__(self) -> str:
        """Such as ``pixels: float32[?, 64]``."""
        return f"{self.name}: {self.dtype}{shape_text(self.shape)}"

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        return {"name": self.name, "dtype": self.dtype, "shape": None if self.shape is None else list(self.shape)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> TensorSpec:
        """The value of :meth:`to_json`."""
        shape = value["shape"]
        return cls(value["name"], value["dtype"], None if shape is None else tuple(shape))

    def converted(self, array: Any, subject: str, convert: Convert = np.ndarray.astype) -> Any:
        """The array in the type of this input.

        Args:
            array: The values of a batch; anything that numpy can make an array of.
            subject: Names the model in error texts.
            convert: Makes the returned array of another type.

        Raises:
            InvalidRequestError: Its type cannot be converted without loss, or its shape does not fit.
        """
        given = as_array(self.name, array)
        if not self._takes_shape(given.shape):
            raise InvalidRequestError(
                f"input {self.name!r} of {subject} has the shape {list(given.shape)}. The model takes {self}; the "
                "first axis is the rows of the batch, and ? is any size. Give values of this shape"
            )
        if self.dtype == _STRING:
            if given.dtype.kind in "OSU":
                return given
        else:
            numpy_type = _numpy_type(self.dtype)
            if given.dtype == numpy_type:
                return given
            if converts(given.dtype, numpy_type):
                found = convert(given, numpy_type)
                if not _are_integers(given.dtype, numpy_type) or np.array_equal(found, given):
                    return found
                raise InvalidRequestError(
                    f"input {self.name!r} of {subject} has integers that are too large for {self.dtype}, or negative. "
                    f"The model takes {self}. Give numbers of this type, or use a model with a wider type"
                )
        raise InvalidRequestError(
            f"input {self.name!r} of {subject} has elements of type {given.dtype}. The model takes {self}; integers "
            "become floats, and numbers wider or narrower ones of their kind, nothing else. Convert the values"
        )

    def _takes_shape(self, shape: tuple[int, ...]) -> bool:
        if self.shape is None:
            return len(shape) > 0
        return len(shape) == len(self.shape) and all(
            expected in (None, size) for expected, size in zip(self.shape, shape, strict=True)
        )


@dataclass(frozen=True)
class Signature:
    """One function of a model.

    Attributes:
        inputs: Its inputs.
        outputs: Its outputs.
        method: As in TensorFlow Serving: ``"predict"``, ``"classify"`` or ``"regress"``.
    """

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    method: str = "predict"

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "inputs": [spec.to_json() for spec in self.inputs],
            "outputs": [spec.to_json() for spec in self.outputs],
            "method": self.method,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Signature:
        """The value of :meth:`to_json`."""
        inputs, outputs = (tuple(TensorSpec.from_json(spec) for spec in value[name]) for name in ("inputs", "outputs"))
        return cls(inputs, outputs, value["method"])

    def converted(
        self, inputs: Mapping[str, Any], subject: str, convert: Convert = np.ndarray.astype
    ) -> dict[str, Any]:
        """The inputs of one batch, in the types of the model.

        Args:
            inputs: Values by the names of the inputs; all have the same number of rows.
            subject: Names the model in error texts.
            convert: As of `TensorSpec.converted`.

        Raises:
            InvalidRequestError: An input is missing or unknown, or does not fit.
        """
        expected = {spec.name: spec for spec in self.inputs}
        if inputs.keys() != expected.keys():
            wrong = sorted(inputs.keys() ^ expected.keys())
            raise InvalidRequestError(
                f"the inputs {sorted(inputs)} do not fit {subject}: {wrong} differ. It takes "
                f"{', '.join(map(str, self.inputs))}. Give exactly these"
            )
        arrays = {name: expected[name].converted(array, subject, convert) for name, array in inputs.items()}
        # An input without an axis, such as a temperature, has no rows.
        rows = {name: len(array) for name, array in arrays.items() if array.ndim}
        if len(set(rows.values())) > 1:
            raise InvalidRequestError(
                f"the inputs of {subject} have different numbers of rows: {rows}. Each row has a value in every input. "
                "Give the same number of rows"
            )
        return arrays


def converts(given: np.dtype[Any], expected: np.dtype[Any]) -> bool:
    """Whether a model takes numbers of a type: float64 becomes float32, and int64 float32, but no float an integer."""
    return _are_integers(given, expected) or (given.kind in "biuf" and np.can_cast(given, expected, "same_kind"))


def _are_integers(given: np.dtype[Any], expected: np.dtype[Any]) -> bool:
    return {given.kind, expected.kind} <= {"i", "u"}


def as_array(name: str, values: Any) -> Array:
    """The values of an input as an array.

    Raises:
        InvalidRequestError: They are lists of different lengths.
    """
    try:
        return np.asarray(values)
    except ValueError as error:
        raise InvalidRequestError(
            f"the values of input {name!r} are no array ({error}). Lists in an input have one length in all rows. Fill "
            "the shorter ones, or predict rows of each length by themselves"
        ) from error


def shape_text(shape: tuple[int | None, ...] | None) -> str:
    """Such as ``[?, 64]``."""
    return "[...]" if shape is None else f"[{', '.join('?' if size is None else str(size) for size in shape)}]"


def _numpy_type(dtype: str) -> np.dtype[Any]:
    """The type of numpy for a type of TensorFlow that is not a string."""
    try:
        return np.dtype(dtype)
    except TypeError:
        # bfloat16 and others that numpy does not have by itself.
        import tensorflow as tf

        other: np.dtype[Any] = np.dtype(tf.dtypes.as_dtype(dtype).as_numpy_dtype)
        return other
