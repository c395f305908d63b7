"""Who a reader is to a cluster that asks: never part of a graph, a message, a representation or a log.

A script's credentials stay in the memory of its process, under a random number which is all that a graph holds of them.
A process that does not know the number, such as a remote worker, takes its own from its environment.
"""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NoReturn

from tensorflow_ignite.errors import InvalidRequestError

_PREFIX = "IGNITE_DATASET_"
# What the earlier dataset's users have set; the last two are ours, which it lacked.
_VARIABLES = {
    "username": "USERNAME",
    "password": "PASSWORD",
    "certfile": "CERTFILE",
    "keyfile": "KEYFILE",
    "key_password": "CERT_PASSWORD",
    "cafile": "CAFILE",
}


@dataclass(frozen=True, repr=False)
class Credentials:
    """A user and a password, files of a certificate, or both. Not to be printed or pickled.

    TLS is used as soon as one of the files, or ``tls``, is given; a user and a password alone travel as they are. The
    node's certificate is verified against ``cafile``, or against the authorities that this machine trusts. The name of
    its host is not checked, which pyignite cannot: whoever holds any certificate of these authorities can pass for the
    node, so give the ``cafile`` of an authority that signs nothing else.

    Attributes:
        username: Of Ignite's authentication.
        password: Of the user.
        certfile: Path of this client's certificate, PEM.
        keyfile: Path of its private key; None: it is in certfile.
        key_password: Of the key, if it is encrypted.
        cafile: Path of the certificates of authorities, PEM.
        tls: Encrypt although no file is given.
        verify: False accepts any certificate of a node, and so anybody's.
    """

    username: str | None = field(default=None)
    password: str | None = None
    certfile: str | None = None
    keyfile: str | None = None
    key_password: str | None = None
    cafile: str | None = None
    tls: bool = False
    verify: bool = True

    def __post_init__(self) -> None:
        """Checks what belongs together.

        Raises:
            InvalidRequestError: If one of a pair is missing.
        """
        if bool(self.username) != bool(self.password):
            raise InvalidRequestError(
                f"credentials name a {'user without a password' if self.username else 'password without a user'}. "
                f"Ignite wants both. Give credentials=(user, password), or set IGNITE_DATASET_USERNAME and "
                f"IGNITE_DATASET_PASSWORD"
            )
        if self.keyfile and not self.certfile:
            raise InvalidRequestError(
                "credentials name a key without a certificate. A key belongs to a certificate. Give certfile as well, "
                "or set IGNITE_DATASET_CERTFILE"
            )

    @property
    def encrypted(self) -> bool:
        """Whether the connection is by TLS."""
        return self.tls or any((self.certfile, self.keyfile, self.cafile))

    def __repr__(self) -> str:
        """Nothing of what it holds."""
        return "Credentials(...)"

    def __reduce__(self) -> NoReturn:
        """Refused: a pickle is a copy that nobody guards."""
        raise TypeError("credentials are not pickled; another process takes its own from its environment")


def given(value: Any) -> Credentials | None:
    """Reads the ``credentials=`` of a call.

    Args:
        value: None, :class:`Credentials`, ``(user, password)``, or a mapping with the names of its attributes.

    Raises:
        InvalidRequestError: If it is nothing of these; the text holds no part of it.
    """
    if value is None or isinstance(value, Credentials):
        return value
    names = [attribute.name for attribute in fields(Credentials)]
    if isinstance(value, Mapping) and set(value) <= set(names):
        return Credentials(**{name: _text(part) for name, part in value.items()})
    if isinstance(value, (tuple, list)) and len(value) == 2 and all(isinstance(part, str) for part in value):
        return Credentials(*value)
    raise InvalidRequestError(
        f"credentials of type {type(value).__name__} cannot be read. They are (user, password), or a dict with some of "
        f"{', '.join(names)}. Leave them out to take those of the environment, IGNITE_DATASET_USERNAME and others"
    )


def _text(value: Any) -> Any:
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def from_environment(env: Mapping[str, str] = os.environ) -> Credentials | None:
    """IGNITE_DATASET_USERNAME, _PASSWORD, _CERTFILE, _KEYFILE, _CERT_PASSWORD and _CAFILE; None when none is set.

    Raises:
        InvalidRequestError: If one of a pair is missing.
    """
    found = {name: env[_PREFIX + variable] for name, variable in _VARIABLES.items() if env.get(_PREFIX + variable)}
    return Credentials(**found) if found else None  # type: ignore[arg-type]


_lock = threading.Lock()
_kept: dict[str, Credentials] = {}


def keep(credentials: Credentials | None) -> str:
    """Keeps them in this process' memory until it ends; returns the name for a graph, empty when there are none."""
    if credentials is None:
        return ""
    with _lock:
        for name, kept in _kept.items():
            if kept == credentials:
                return name
        name = secrets.token_hex(16)
        _kept[name] = credentials
        return name


def of(name: str, env: Mapping[str, str] = os.environ) -> Credentials | None:
    """Those kept under a name; in a process that does not know it, or without a name, those of its environment."""
    with _lock:
        kept = _kept.get(name)
    return kept if kept is not None else from_environment(env)
