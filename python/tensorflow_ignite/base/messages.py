"""Protobuf messages as frozen dataclasses of plain Python values, and plain values as what JSON can hold."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from google.protobuf.message import Message

#: Microseconds in a second.
MICROSECOND = 1_000_000

_V = TypeVar("_V", bound="Value")
_M = TypeVar("_M", bound="Message")


class Value:
    """Base of the dataclasses that show a message: each attribute is the field of its name, read by its type.

    ======================= ==================================================================
    attribute               field
    ======================= ==================================================================
    ``Literal[...]``        an enum; not set: the attribute's default, if there is one
    ``datetime``            a ``Timestamp``, read in UTC
    ``float``               a number, or a ``Duration``, read in seconds
    a subclass of `Value`   a message
    ``tuple[...]``          a repeated field, as ``Sequence[...]``
    ``Mapping[...]``        a map
    ``... | None``          a field that is not set, or 0 where that makes no difference, is None
    ======================= ==================================================================
    """

    @classmethod
    def from_proto(cls: type[_V], message: Any) -> _V:
        """Reads the message."""
        return cls(**{name: read(message, name) for name, read in _readers(cast("Any", cls))})

    def to_dict(self) -> dict[str, Any]:
        """Returns plain dicts, lists, strings and numbers, ready for JSON; times as ISO 8601 in UTC."""
        return cast("dict[str, Any]", _plain(self))


def write_message(value: Any, message_type: type[_M]) -> _M:
    """The message that a value is read from; attributes that are None are not set."""
    from google.protobuf.duration_pb2 import Duration

    found: dict[str, Any] = {}
    for attribute in dataclasses.fields(value):
        content = getattr(value, attribute.name)
        field = message_type.DESCRIPTOR.fields_by_name[attribute.name]
        if content is None:
            continue
        if field.enum_type is not None:
            content = _enum_prefix(field.enum_type) + content.replace("-", "_").upper()
        elif field.message_type is not None and field.message_type.full_name == Duration.DESCRIPTOR.full_name:
            seconds, content = content, Duration()
            content.FromMicroseconds(round(seconds * MICROSECOND))
        elif isinstance(content, Value):
            content = write_message(content, cast("Any", field.message_type)._concrete_class)
        elif isinstance(content, tuple) and field.message_type is not None:
            content = [write_message(each, cast("Any", field.message_type)._concrete_class) for each in content]
        found[attribute.name] = content
    return message_type(**found)


def to_json(message: Message) -> str:
    """Protobuf's JSON; enums are written without their prefix: ``"WORKER"`` for ROLE_WORKER."""
    from google.protobuf import json_format

    content = json_format.MessageToDict(message)
    for name, prefix in _enum_prefixes(message):
        if name in content:
            content[name] = content[name].removeprefix(prefix)
    return json.dumps(content, indent=2)


def from_json(text: str, message: _M) -> _M:
    """Reads what `to_json` writes into a message, and returns it; skips fields of a later version.

    Raises:
        ValueError: It is not JSON.
        google.protobuf.json_format.ParseError: It is not the message.
    """
    from google.protobuf import json_format

    content = json.loads(text)
    if isinstance(content, dict):
        for name, prefix in _enum_prefixes(message):
            if isinstance(content.get(name), str):
                content[name] = prefix + content[name].removeprefix(prefix)
    return json_format.ParseDict(content, message, ignore_unknown_fields=True)


def _enum_prefixes(message: Message) -> list[tuple[str, str]]:
    fields = message.DESCRIPTOR.fields
    return [(field.json_name, _enum_prefix(field.enum_type)) for field in fields if field.enum_type is not None]


def enum_text(message: Message, field_name: str) -> str:
    """The text of an enum's value: ``"running"`` for JOB_STATE_RUNNING."""
    number = getattr(message, field_name)
    enum = message.DESCRIPTOR.fields_by_name[field_name].enum_type
    return _enum_texts(enum).get(number, f"unknown-{number}") if number else "unspecified"


@functools.cache
def _enum_texts(enum: Any) -> dict[int, str]:
    prefix = _enum_prefix(enum)
    return {value.number: value.name.removeprefix(prefix).replace("_", "-").lower() for value in enum.values}


def _enum_prefix(enum: Any) -> str:
    """The prefix of the names of an enum's values, which is the enum's own name: ``"TASK_STATE_"``."""
    return str(enum.values_by_number[0].name).removesuffix("UNSPECIFIED")


@functools.cache
def _readers(cls: Any) -> tuple[tuple[str, Callable[[Any, str], Any]], ...]:
    types = get_type_hints(cls)
    return tuple(
        (attribute.name, _reader(types[attribute.name], attribute.default)) for attribute in dataclasses.fields(cls)
    )


def _reader(hint: Any, default: Any) -> Callable[[Any, str], Any]:
    """Reads a field of a message for an attribute of this type."""
    alternatives = [one for one in get_args(hint) if one is not type(None)]
    is_optional = len(alternatives) < len(get_args(hint))
    kind = alternatives[0] if is_optional else hint
    origin = get_origin(kind)
    if origin is Literal:
        unset = None if is_optional else "unspecified" if default is dataclasses.MISSING else default
        return lambda message, name: enum_text(message, name) if getattr(message, name) else unset
    if origin in (tuple, Sequence):
        item = get_args(kind)[0]
        read_item = item.from_proto if _is_value(item) else item
        return lambda message, name: tuple(read_item(one) for one in getattr(message, name))
    if origin is not None:
        return lambda message, name: dict(getattr(message, name))
    convert = _conversion(kind)
    if not is_optional:
        return lambda message, name: convert(getattr(message, name))
    return lambda message, name: convert(getattr(message, name)) if _is_set(message, name) else None


def _conversion(kind: Any) -> Callable[[Any], Any]:
    if kind is datetime:
        return lambda timestamp: timestamp.ToDatetime(tzinfo=timezone.utc)
    if kind is float:
        return lambda value: value if isinstance(value, float) else value.ToMicroseconds() / MICROSECOND
    return cast("Callable[[Any], Any]", kind.from_proto if _is_value(kind) else kind)


def _is_value(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Value)


def _is_set(message: Message, name: str) -> bool:
    field = message.DESCRIPTOR.fields_by_name[name]
    return message.HasField(name) if field.has_presence else bool(getattr(message, name))


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
        # JSON has no such numbers; protobuf's JSON mapping has these names.
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
