"""Names and versions of models, as plain values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from tensorflow_ignite.errors import InvalidRequestError
from tensorflow_ignite.models.signature import DEFAULT_SIGNATURE, Signature

ModelFormat = Literal["saved_model", "keras"]

#: The directory of all models.
ROOT = "/models"
#: The label of the version that a name without a version or label means.
STABLE = "stable"
#: The only file of a version in the format ``"keras"``, beside its metadata.
KERAS_FILE = "model.keras"

_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}"
_LABEL = r"[A-Za-z_][A-Za-z0-9_.-]{0,63}"


@dataclass(frozen=True)
class ModelReference:
    """A model, and one of its versions by number or by label.

    Attributes:
        name: Name of the model.
        number: Number of the version.
        label: A label of the version. Without number and label: see `Models.get`.
    """

    name: str
    number: int | None = None
    label: str | None = None

    def __str__(self) -> str:
        """As :func:`parse_reference` reads it."""
        if self.number is not None:
            return f"{self.name}:{self.number}"
        return self.name if self.label is None else f"{self.name}@{self.label}"

    @property
    def directory(self) -> str:
        """The directory of the model."""
        return f"{ROOT}/{self.name}"


@dataclass(frozen=True)
class ModelVersion:
    """One version of a model. It never changes; only its labels move.

    Attributes:
        name: Name of the model.
        number: Number of the version, from 1 on.
        format: ``"saved_model"``, or ``"keras"`` for a file of Keras.
        digest: SHA-256 of its files and their names, as hexadecimal digits.
        bytes: Size of its files.
        signatures: Its functions by name; the first one is the default of a call.
        job: Id of the job that made it; empty: it was copied in.
        created_at: When it was made.
        labels: Its labels, sorted.
    """

    name: str
    number: int
    format: ModelFormat
    digest: str
    bytes: int
    signatures: Mapping[str, Signature]
    job: str
    created_at: datetime
    labels: tuple[str, ...] = ()

    @property
    def reference(self) -> str:
        """``NAME:NUMBER``."""
        return f"{self.name}:{self.number}"

    @property
    def path(self) -> str:
        """The directory of its files: a SavedModel or a file of Keras, and the metadata."""
        return f"{ROOT}/{self.name}/{self.number}"

    @property
    def url(self) -> str:
        """The URL that TensorFlow or Keras loads."""
        return f"ignite://{self.path}" + (f"/{KERAS_FILE}" if self.format == "keras" else "")

    def signature(self, name: str = "") -> Signature:
        """One of its functions; empty: the default one.

        Raises:
            InvalidRequestError: It has none of this name.
        """
        chosen = name or default_signature(self.signatures)
        if chosen not in self.signatures:
            raise InvalidRequestError(
                f"model {self.reference} has no signature {chosen!r}. Its signatures are "
                f"{', '.join(self.signatures) or 'none, since its inputs are not known'}. Use one of these"
            )
        return self.signatures[chosen]

    def to_json(self) -> dict[str, Any]:
        """As JSON, as the file of its metadata has it: name, number and labels are not in that file."""
        return {
            "format": self.format,
            "digest": self.digest,
            "bytes": self.bytes,
            "signatures": {name: signature.to_json() for name, signature in self.signatures.items()},
            "job": self.job,
            "created_at": self.created_at.isoformat(),
        }

    @classmethod
    def from_json(cls, name: str, number: int, value: Mapping[str, Any]) -> ModelVersion:
        """The value of :meth:`to_json`; it has no labels."""
        signatures = {key: Signature.from_json(signature) for key, signature in value["signatures"].items()}
        created_at = datetime.fromisoformat(value["created_at"])
        return cls(name, number, value["format"], value["digest"], value["bytes"], signatures, value["job"], created_at)

    def with_labels(self, labels: tuple[str, ...]) -> ModelVersion:
        """The same version with these labels."""
        return replace(self, labels=tuple(sorted(labels)))


def default_signature(signatures: Mapping[str, Signature]) -> str:
    """The name of the signature of a call that names none: `DEFAULT_SIGNATURE`, or the first one."""
    return DEFAULT_SIGNATURE if DEFAULT_SIGNATURE in signatures else next(iter(signatures), DEFAULT_SIGNATURE)


def parse_reference(text: str) -> ModelReference:
    """Parses ``NAME``, ``NAME:NUMBER`` or ``NAME@LABEL``.

    Raises:
        InvalidRequestError: It is none of them.
    """
    found = re.fullmatch(rf"({_NAME})(?::([1-9]\d{{0,17}})|@({_LABEL}))?", text) if isinstance(text, str) else None
    if found is None:
        raise InvalidRequestError(
            f"{text!r} names no model. A model is NAME, NAME:VERSION or NAME@LABEL, such as digits, digits:3 and "
            "digits@stable: a name has 1 to 200 letters, digits, '_', '.' and '-' and begins with none of the last "
            "two, a version is a number from 1 on. Use a name of this form"
        )
    name, number, label = found.groups()
    return ModelReference(name, int(number) if number else None, label)


def is_name(name: str) -> bool:
    """Whether a text is a name of a model."""
    return re.fullmatch(_NAME, name) is not None


def check_name(name: str) -> str:
    """Returns the name of a model.

    Raises:
        InvalidRequestError: It is not one.
    """
    if not isinstance(name, str) or not is_name(name):
        raise InvalidRequestError(
            f"{name!r} is no name of a model. It is the name of a directory below ignite://{ROOT}: 1 to 200 letters, "
            "digits, '_', '.' and '-', and begins with none of the last two. Use another name"
        )
    return name


def check_label(label: str) -> str:
    """Returns a label.

    Raises:
        InvalidRequestError: It is not one.
    """
    if not isinstance(label, str) or not re.fullmatch(_LABEL, label):
        raise InvalidRequestError(
            f"{label!r} is no label. A label has 1 to 64 letters, digits, '_', '.' and '-', and begins with a letter "
            f"or '_', such as {STABLE} or canary. Use another label"
        )
    return label
