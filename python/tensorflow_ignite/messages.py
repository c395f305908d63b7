"""Fields of protobuf messages as plain Python values, and plain values as what JSON can hold."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from google.protobuf.message import Message

__all__ = ["MICROSECOND", "Value", "enum_text", "seconds_of", "time_of"]

#: Microseconds in a second.
MICROSECOND = 1_000_000


class Value:
    """What the dataclasses of `tensorflow_ignite.spec` have in common."""

    def to_dict(self) -> dict[str, Any]:
        """Returns plain dicts, lists, strings and numbers, ready for JSON; times as ISO 8601 in UTC."""
        return cast("dict[str, Any]", _plain(self))


def enum_text(message: Message, field_name: str, *, prefix: str = "") -> str:
    """The text of an enum's value: ``"running"`` for RUNNING."""
    number = getattr(message, field_name)
    enum: Any = message.DESCRIPTOR.fields_by_name[field_name].enum_type
    value = enum.values_by_number.get(number)
    if value is None:
        return f"unknown-{number}"
    if number == 0:
        return "unspecified"
    return str(value.name).removeprefix(prefix).replace("_", "-").lower()


def time_of(message: Message, field_name: str) -> datetime | None:
    """A timestamp in UTC; None when it is not set."""
    if not message.HasField(field_name):
        return None
    return cast("datetime", getattr(message, field_name).ToDatetime(tzinfo=timezone.utc))


def seconds_of(message: Message, field_name: str) -> float | None:
    """A duration in seconds; None when it is not set."""
    if not message.HasField(field_name):
        return None
    return float(getattr(message, field_name).ToMicroseconds()) / MICROSECOND


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return {item.name: _plain(getattr(value, item.name)) for item in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        # JSON has no such numbers; the names are those of protobuf's JSON mapping.
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
