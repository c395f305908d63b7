"""Plain values and arrays as bytes: an archive of numpy, which runs no code when it is read."""

from __future__ import annotations

import io
import json
from typing import Any

_PLAIN = (type(None), bool, int, float, str)


def require(value: Any) -> None:
    """Checks that a value can be packed.

    Raises:
        TypeError: It has something else than plain values and arrays.
    """
    _encoded(value, [])


def packed(value: Any) -> bytes:
    """The value as an archive of numpy.

    Raises:
        TypeError: It has something else than plain values and arrays.
    """
    import numpy as np

    arrays: list[Any] = []
    text = json.dumps(_encoded(value, arrays))
    file = io.BytesIO()
    np.savez(file, json=np.array(text), **{f"array_{number}": array for number, array in enumerate(arrays)})
    return file.getvalue()


def unpacked(archive: bytes) -> Any:
    """The value of :func:`packed`, in which tuples have become lists."""
    import numpy as np

    with np.load(io.BytesIO(archive), allow_pickle=False) as arrays:
        return _decoded(json.loads(str(arrays["json"])), arrays)


def _encoded(value: Any, arrays: list[Any]) -> Any:
    """Values of JSON, in which arrays are numbers: lists and dicts stand in a pair with their kind."""
    import numpy as np

    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, (list, tuple)):
        return ["list", [_encoded(each, arrays) for each in value]]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return ["dict", {key: _encoded(each, arrays) for key, each in value.items()}]
    array = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
    if array.dtype.kind == "V" and array.dtype.names is None:
        # numpy saves none of the short floating-point types, such as bfloat16.
        array = array.astype(np.float32)
    if array.dtype.hasobject:
        raise TypeError(f"a {type(value).__name__}")
    arrays.append(array)
    return ["array", len(arrays) - 1]


def _decoded(value: Any, arrays: Any) -> Any:
    if isinstance(value, _PLAIN):
        return value
    kind, content = value
    if kind == "list":
        return [_decoded(each, arrays) for each in content]
    if kind == "dict":
        return {key: _decoded(each, arrays) for key, each in content.items()}
    return arrays[f"array_{content}"]
