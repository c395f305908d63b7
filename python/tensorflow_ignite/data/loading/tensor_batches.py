"""A tf.data.Dataset as batches of arrays, without an import of TensorFlow."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tensorflow_ignite import errors
from tensorflow_ignite.base.libraries import is_of

# Number of rows of a batch, if the size of a row is not known.
_ROWS = 256
_MAX_ROWS = 65_536
# Classes of tf.data that make elements of another kind than their inputs have, by parts of their names.
_OTHER_ELEMENTS = ("flatmap", "interleave", "window")


class _Leaf(NamedTuple):
    """A component.

    Attributes:
        shape: None: not known.
        dtype: Of TensorFlow.
        is_row: Whether it is certainly no batch: a row of a ragged tensor, in which nothing is ragged any more.
    """

    shape: tuple[int | None, ...] | None
    dtype: Any
    is_row: bool


def is_dataset(data: Any) -> bool:
    """Whether the data are a tf.data.Dataset."""
    return hasattr(data, "element_spec") and any(is_of(base, "tensorflow") for base in type(data).__mro__)


def batches(dataset: Any, names: Sequence[str], batch_bytes: int, batched: bool | None) -> Iterator[dict[str, Any]]:
    """The elements as columns by name, in batches that TensorFlow makes if the elements are rows.

    Args:
        dataset: A dataset of dicts (of dicts) of tensors, or of tuples.
        names: Names of the components of tuples, in their order.
        batch_bytes: Size of a batch in bytes, about, if the elements are rows.
        batched: Whether each element is a batch; None: determined by the element_spec, and by how the dataset is made.

    Raises:
        InvalidRequestError: If components have no names, or the elements may be both rows and batches.
    """
    spec = dataset.element_spec
    named = _name(spec, names)
    leaves = list(_leaves("", named))
    if batched is None:
        batched = _is_batched(leaves, dataset)
    if not batched:
        rows = _rows(leaves, batch_bytes)
        # Rows of one shape are stacked; other rows become ragged.
        fixed = all(leaf.shape is not None and None not in leaf.shape for leaf in leaves)
        dataset = dataset.batch(rows) if fixed else dataset.ragged_batch(rows)
    for element in dataset.prefetch(1):
        yield _name(element, names)


def _name(element: Any, names: Sequence[str]) -> dict[str, Any]:
    if isinstance(element, Mapping):
        return dict(element)
    parts = list(element) if isinstance(element, tuple) else [element]
    if len(parts) != len(names):
        raise errors.InvalidRequestError(
            f"the dataset's elements are no dicts but have {len(parts)} component(s), and schema= names {len(names)}: "
            f"{list(names)}. Columns need names. Give a name for each component, in their order: "
            f"schema={{'pixels': None, 'label': None}}"
        )
    return dict(zip(names, parts, strict=True))


def _leaves(prefix: str, spec: Any) -> Iterator[_Leaf]:
    for name, part in spec.items():
        if isinstance(part, Mapping):
            yield from _leaves(f"{prefix}{name}.", part)
            continue
        shape = getattr(part, "shape", None)
        if shape is None or not hasattr(part, "dtype") or type(part).__name__ == "SparseTensorSpec":
            raise errors.InvalidRequestError(
                f"component {prefix + name!r} of the dataset is a {type(part).__name__}; only tensors and ragged "
                f"tensors can be loaded. Convert the component with Dataset.map first"
            )
        known = None if shape.rank is None else tuple(shape.as_list())
        yield _Leaf(known, part.dtype, getattr(part, "ragged_rank", None) == 0)


def _is_batched(leaves: Sequence[_Leaf], dataset: Any) -> bool:
    if any(leaf.shape == () or leaf.is_row for leaf in leaves):
        return False
    firsts = {leaf.shape[0] if leaf.shape else None for leaf in leaves}
    if len(firsts) > 1:
        return False
    first = firsts.pop()
    # A batch of a known size may also be a row, such as a sequence that `batch` cuts.
    known = _is_made_of_batches(dataset) if first is None else None
    if known is not None:
        return known
    either = "a row, or a batch" if first is None else f"a row or a batch of {first} rows"
    raise errors.InvalidRequestError(
        f"by the dataset's element_spec, an element may be {either}. Each entry of a batch is loaded as a row. Choose "
        "with batched=True or batched=False"
    )


def _is_made_of_batches(dataset: Any) -> bool | None:
    """Whether the last method of batches was ``batch`` or a similar one, and not ``unbatch``; None: not known."""
    kind = type(dataset).__name__.lower()
    if "batch" in kind:
        return "unbatch" not in kind
    if any(other in kind for other in _OTHER_ELEMENTS):
        return None
    found = {_is_made_of_batches(inner) for inner in dataset._inputs()}
    return found.pop() if len(found) == 1 else None


def _rows(leaves: Sequence[_Leaf], batch_bytes: int) -> int:
    size = 0
    for shape, dtype, _ in leaves:
        if shape is None or None in shape or not getattr(dtype, "size", 0):
            return _ROWS
        size += math.prod(part or 1 for part in shape) * dtype.size
    return max(1, min(_MAX_ROWS, batch_bytes // max(1, size)))
