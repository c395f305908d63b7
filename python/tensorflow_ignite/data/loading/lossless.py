"""Casts of Arrow columns that keep every value, and types that hold all values of others."""

from __future__ import annotations

import contextlib

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as types

from tensorflow_ignite.data.loading.layouts import entries

# What a cast raises that would lose something.
REFUSED = (pa.ArrowException, ValueError, OverflowError)
# For each size of a floating-point number in bits, the bits of the integers that it holds exactly.
_EXACT_BITS = {16: 11, 32: 24, 64: 53}
_UNITS = ("s", "ms", "us", "ns")


def cast(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """The column as another type. A floating-point number may be rounded to a shorter floating-point type.

    Raises:
        pa.ArrowException: Arrow refuses the cast.
        ValueError: A value would be changed.
        TypeError: The type has no place for a field of a struct.
    """
    _require_fields(column.type, kind)
    result = column.cast(kind)
    _require_kept(column, result)
    return result


def first_refused(column: pa.Array, kind: pa.DataType) -> tuple[int, str]:
    """The first row that :func:`cast` refuses, and why.

    Args:
        column: A column that it refuses.
        kind: The type.
    """
    first, last = 0, len(column)
    while last - first > 1:
        middle = (first + last) // 2
        try:
            cast(_copy(column, first, middle - first), kind)
            first = middle
        except REFUSED:
            last = middle
    try:
        cast(_copy(column, first, 1), kind)
    except REFUSED as error:
        return first, str(error)
    return first, "the column cannot be cast"


def _copy(column: pa.Array, first: int, rows: int) -> pa.Array:
    """Some rows alone: of a slice of maps, Arrow casts the values of all rows."""
    return pa.concat_arrays([column.slice(first, rows)])


def holds(kind: pa.DataType, other: pa.DataType) -> bool:
    """Whether a type has each value of another type, with the same meaning."""
    if kind == other or types.is_null(other):
        return True
    if types.is_integer(other):
        signed = types.is_signed_integer(other)
        if types.is_integer(kind):
            wider = kind.bit_width > other.bit_width
            return bool(wider and (types.is_signed_integer(kind) or not signed))
        return bool(types.is_floating(kind) and other.bit_width - signed <= _EXACT_BITS[kind.bit_width])
    if types.is_floating(other):
        return bool(types.is_floating(kind) and kind.bit_width > other.bit_width)
    if types.is_decimal(other):
        is_larger = types.is_decimal(kind) and kind.precision - kind.scale >= other.precision - other.scale
        return bool(is_larger and kind.scale >= other.scale)
    for is_kind in (types.is_timestamp, types.is_time, types.is_duration):
        if is_kind(other):
            zones = [getattr(of, "tz", None) for of in (kind, other)]
            return bool(is_kind(kind) and zones[0] == zones[1] and _UNITS.index(kind.unit) >= _UNITS.index(other.unit))
    if types.is_nested(other) and kind.id == other.id and kind.num_fields == other.num_fields:
        sizes = not types.is_fixed_size_list(kind) or kind.list_size == other.list_size
        pairs = [(kind.field(at), other.field(at)) for at in range(kind.num_fields)]
        named = not types.is_struct(kind) or all(one.name == two.name for one, two in pairs)
        return sizes and named and all(holds(one.type, two.type) for one, two in pairs)
    return False


def _require_fields(kind: pa.DataType, other: pa.DataType) -> None:
    """Refuses structs without some of their fields, which Arrow would drop."""
    if types.is_struct(kind) and types.is_struct(other):
        lost = {field.name for field in kind} - {field.name for field in other}
        if lost:
            raise TypeError(f"the field {min(lost)!r} of the struct would be lost")
        for field in kind:
            _require_fields(field.type, other.field(field.name).type)
    elif types.is_nested(kind) and types.is_nested(other) and kind.num_fields == other.num_fields:
        for at in range(kind.num_fields):
            _require_fields(kind.field(at).type, other.field(at).type)


def _require_kept(before: pa.Array, after: pa.Array) -> None:
    kind, other = before.type, after.type
    if kind == other or types.is_null(kind):
        return
    if types.is_nested(kind) and types.is_nested(other):
        if types.is_struct(kind):
            values = dict(zip([field.name for field in other], after.flatten(), strict=True))
            for field, value in zip(kind, before.flatten(), strict=True):
                _require_kept(value, values[field.name])
        elif types.is_map(kind):
            for one, two in zip(entries(before), entries(after), strict=True):
                _require_kept(one, two)
        else:
            _require_kept(before.flatten(), after.flatten())
        return
    if _is_text(other):
        return
    if types.is_floating(other) and (types.is_floating(kind) or _is_text(kind)):
        is_infinite = (
            pc.is_inf(before.cast(pa.float64()))
            if types.is_floating(kind)
            else pc.match_substring_regex(before.cast(pa.string()), "(?i)inf")
        )
        if pc.any(pc.and_not(pc.is_inf(after.cast(pa.float64())), is_infinite)).as_py():
            raise ValueError(f"the number is too large for {other}")
        return
    if _is_text(kind):
        return
    if types.is_timestamp(kind) and types.is_time(other) and before.null_count < len(before):
        raise ValueError("the date would be lost")
    # Arrow itself takes each number but 0 for True, and rounds some numbers and times.
    with contextlib.suppress(pa.ArrowNotImplementedError):
        if pc.all(pc.equal(before, after.cast(kind, safe=False))).as_py() is False:
            is_truth = types.is_boolean(other)
            rule = "a number that is neither 0 nor 1 is no truth value" if is_truth else "the value would be rounded"
            raise ValueError(rule)


def _is_text(kind: pa.DataType) -> bool:
    while types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        kind = kind.value_type
    return bool(
        types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_string_view(kind)
        or types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_binary_view(kind)
        or types.is_fixed_size_binary(kind)
    )
