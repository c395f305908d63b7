"""Credentials of this process, which must not be in a graph, a message, a pickle or a log.

`resolve` decides which source of credentials is used. A graph, or any other object that leaves the process, has only a
random name, under which this process stores the credentials. A process that does not know the name, such as a remote
worker, uses its own credentials.
"""

from __future__ import annotations

import base64
import os
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NoReturn

from tensorflow_ignite.base import forks
from tensorflow_ignite.errors import InvalidRequestError

_PREFIX = "TENSORFLOW_IGNITE_"
_VARIABLES = {
    "username": "USERNAME",
    "password": "PASSWORD",
    "token": "TOKEN",
    "certfile": "CERTFILE",
    "keyfile": "KEYFILE",
    "key_password": "KEY_PASSWORD",
    "cafile": "CAFILE",
}
# Variables that name a file with the secret, so that the secret itself is not in the environment.
_SECRET_FILES = {"password": "PASSWORD_FILE", "token": "TOKEN_FILE", "key_password": "KEY_PASSWORD_FILE"}
_DATASET_PREFIX = "IGNITE_DATASET_"
# Variables of the IGNITE dataset of tensorflow-io; that dataset does not have the last two.
_DATASET_VARIABLES = {
    "username": "USERNAME",
    "password": "PASSWORD",
    "certfile": "CERTFILE",
    "keyfile": "KEYFILE",
    "key_password": "CERT_PASSWORD",
    "cafile": "CAFILE",
}
_FLAGS = ("tls", "verify")
_YES = ("1", "true", "yes", "on")
_NO = ("", "0", "false", "no", "off")
_SECRET_BYTES = 64 * 1024
_STORED_NAME = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, repr=False)
class Credentials:
    """A user with a password, or a token; a client certificate; the trusted authorities. Its text shows no secret.

    TLS is used if one of the files, or ``tls``, is given; without TLS a password or a token is sent unencrypted. The
    node's certificate and its host name are verified against ``cafile``, or against the authorities that this machine
    trusts. With Ignite's thin client port (``transport="thin"``) the host name is not verified, because pyignite
    cannot: every owner of a certificate of these authorities can impersonate the node, so give the ``cafile`` of an
    authority that signs nothing else.

    Attributes:
        username: User of Ignite's authentication.
        password: Password of the user.
        certfile: Path of this client's certificate, PEM.
        keyfile: Path of its private key; None: the key is in certfile.
        key_password: Password of the key, if it is encrypted.
        cafile: Path of the certificates of authorities, PEM.
        tls: Use TLS although no file is given.
        verify: False accepts every certificate of a node; only for Ignite's thin client port.
        token: Token instead of a user and a password; see ``tensorflow-ignite token``.
    """

    username: str | None = None
    password: str | None = None
    certfile: str | None = None
    keyfile: str | None = None
    key_password: str | None = None
    cafile: str | None = None
    tls: bool = False
    verify: bool = True
    token: str | None = None

    def __post_init__(self) -> None:
        """Checks the combination of the attributes.

        Raises:
            InvalidRequestError: One of a pair is missing, or two attributes exclude each other.
        """
        for attribute in fields(self):
            kind = bool if attribute.name in _FLAGS else (str, type(None))
            if not isinstance(getattr(self, attribute.name), kind):
                raise InvalidRequestError(
                    f"{attribute.name} of the credentials is a {type(getattr(self, attribute.name)).__name__}. tls and "
                    "verify are True or False, everything else is text. Pass a value of that type"
                )
        if bool(self.username) != bool(self.password):
            raise InvalidRequestError(
                f"credentials name a {'user without a password' if self.username else 'password without a user'}. "
                f"Ignite needs both. Give credentials=(user, password), or set {_PREFIX}USERNAME and {_PREFIX}PASSWORD "
                f"(for transport='thin' {_DATASET_PREFIX}USERNAME and {_DATASET_PREFIX}PASSWORD)"
            )
        if self.token and self.username:
            raise InvalidRequestError(
                "credentials name a user and a token. A call is authenticated by one of them. Give only one"
            )
        if self.keyfile and not self.certfile:
            raise InvalidRequestError(
                "credentials name a key without a certificate. A key belongs to a certificate. Give certfile as well, "
                f"or set {_PREFIX}CERTFILE (for transport='thin' {_DATASET_PREFIX}CERTFILE)"
            )
        if ":" in (self.username or ""):
            raise InvalidRequestError(
                "the user's name in the credentials contains a colon. In the header of a call a colon ends the name "
                "(RFC 7617). Use another user, or a token"
            )
        # A header cannot contain this token, and gRPC's error would show it.
        if self.token and not (self.token.isascii() and self.token.isprintable() and " " not in self.token):
            raise InvalidRequestError(
                "the token in the credentials contains a space, a line break or a character outside ASCII. A token has "
                "letters, digits, '-', '_' and '.', as tensorflow-ignite token prints it. Copy the token again"
            )

    @property
    def encrypted(self) -> bool:
        """Whether connections use TLS."""
        return self.tls or any((self.certfile, self.keyfile, self.cafile))

    @property
    def authorization(self) -> str | None:
        """The value of the header ``authorization``, a secret; None: there is no password or token."""
        if self.token:
            return f"Bearer {self.token}"
        if self.username:
            return f"Basic {base64.b64encode(f'{self.username}:{self.password}'.encode()).decode()}"
        return None

    def __repr__(self) -> str:
        """Returns a text without any attribute."""
        return "Credentials(...)"

    def __copy__(self) -> Credentials:
        """Itself: it never changes."""
        return self

    def __deepcopy__(self, memo: Any) -> Credentials:
        """Itself: it never changes."""
        return self

    def __reduce__(self) -> NoReturn:
        """Refuses to be pickled, because a pickle with secrets may be stored anywhere."""
        raise TypeError(
            "credentials cannot be pickled. Secrets stay in their process. Another process uses credentials of its own "
            "environment"
        )


def from_argument(value: Any) -> Credentials | None:
    """Reads the argument ``credentials=`` of a call.

    Args:
        value: None, :class:`Credentials`, ``(user, password)``, or a mapping with the names of its attributes.

    Raises:
        InvalidRequestError: The value is none of these; the error's text contains no part of it.
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
        f"{', '.join(names)}. Leave them out to use the environment, {_PREFIX}USERNAME and others, or a profile"
    )


def _text(value: Any) -> Any:
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def of_task(token: str, env: Mapping[str, str] = os.environ) -> Credentials:
    """Returns a task's token, with the authority of its cluster from the environment that the node has set."""
    return Credentials(token=token, cafile=env.get(f"{_PREFIX}CAFILE") or None, tls=_flag(env, f"{_PREFIX}TLS"))


def from_environment(env: Mapping[str, str] = os.environ) -> Credentials | None:
    """Reads TENSORFLOW_IGNITE_USERNAME, _PASSWORD, _TOKEN, _CERTFILE, _KEYFILE, _KEY_PASSWORD, _CAFILE and _TLS.

    _PASSWORD_FILE, _TOKEN_FILE and _KEY_PASSWORD_FILE name files with the secret. Returns None if none is set.

    Raises:
        InvalidRequestError: One of a pair is missing, or a file or value is invalid.
    """
    found = environment_fields(env)
    return Credentials(**found) if found else None


def environment_fields(env: Mapping[str, str]) -> dict[str, Any]:
    """Returns the attributes of credentials in the environment, without a check of their combination.

    Raises:
        InvalidRequestError: A file or value is invalid.
    """
    found: dict[str, Any] = {
        name: env[_PREFIX + variable] for name, variable in _VARIABLES.items() if env.get(_PREFIX + variable)
    }
    for name, variable in _SECRET_FILES.items():
        if env.get(_PREFIX + variable) and name not in found:
            found[name] = read_secret(env[_PREFIX + variable], _PREFIX + variable)
    if _flag(env, f"{_PREFIX}TLS"):
        found["tls"] = True
    return found


def as_environment(credentials: Credentials, write: Callable[[str], str]) -> dict[str, str]:
    """Returns variables that give another program the same credentials; secrets are in files.

    Args:
        credentials: The credentials.
        write: Writes a secret into a file that the other program can read, and returns the path.
    """
    found = {}
    for name, variable in _VARIABLES.items():
        value = getattr(credentials, name)
        if value and name in _SECRET_FILES:
            found[_PREFIX + _SECRET_FILES[name]] = write(value)
        elif value:
            found[_PREFIX + variable] = value
    if credentials.tls:
        found[f"{_PREFIX}TLS"] = "true"
    return found


def without_credentials(env: Mapping[str, str]) -> dict[str, str]:
    """Returns an environment without the variables of credentials."""
    own = {_PREFIX + name for name in (*_VARIABLES.values(), *_SECRET_FILES.values(), "TLS")}
    return {name: value for name, value in env.items() if name not in own}


def from_dataset_environment(env: Mapping[str, str] = os.environ) -> Credentials | None:
    """Reads IGNITE_DATASET_USERNAME, _PASSWORD, _CERTFILE, _KEYFILE, _CERT_PASSWORD and _CAFILE; None if none is set.

    Raises:
        InvalidRequestError: One of a pair is missing.
    """
    found = {
        name: env[_DATASET_PREFIX + variable]
        for name, variable in _DATASET_VARIABLES.items()
        if env.get(_DATASET_PREFIX + variable)
    }
    return Credentials(**found) if found else None  # type: ignore[arg-type]


def _flag(env: Mapping[str, str], name: str) -> bool:
    text = env.get(name, "").strip().lower()
    if text not in (*_YES, *_NO):
        raise InvalidRequestError(
            f"{name}={env[name]!r} is not a boolean. Allowed values are true and false. Set it to one of them"
        )
    return text in _YES


def read_secret(path: str | os.PathLike[str], source: str) -> str:
    """Reads the secret in a file, without the line break at its end.

    Args:
        path: Path of the file.
        source: The variable or option that names the file, for messages.

    Raises:
        InvalidRequestError: The file cannot be read, is empty, or is not text; the error contains no part of it.
    """
    fault = None
    try:
        with Path(os.path.expanduser(path)).open("rb") as file:
            text = file.read(_SECRET_BYTES + 1).decode()
        secret = text.rstrip("\r\n")
        fault = (
            "is empty" if not secret else f"has more than {_SECRET_BYTES} bytes" if len(text) > _SECRET_BYTES else None
        )
    except OSError as error:
        fault = f"cannot be read ({error.strerror})"
    except UnicodeDecodeError:
        fault = "is no text in UTF-8"
    if fault:
        raise InvalidRequestError(
            f"{os.fspath(path)} {fault}. The file is named by {source}, and contains one secret and nothing else. "
            "Write the secret into that file, or name another file"
        )
    return secret


_lock = forks.RenewedLock()
_stored: dict[str, Credentials] = {}


def store(credentials: Credentials | None) -> str:
    """Stores credentials in this process until it ends; returns their random name, empty for None."""
    if credentials is None:
        return ""
    with _lock:
        for name, known in _stored.items():
            if known == credentials:
                return name
        name = secrets.token_hex(16)
        _stored[name] = credentials
        return name


def stored(name: str) -> Credentials | None:
    """Returns the credentials with a name; None in a process that does not know the name, and for an empty name.

    Raises:
        InvalidRequestError: The text is not a name of credentials; the error does not contain it.
    """
    if name and not _STORED_NAME.fullmatch(name):
        raise InvalidRequestError(
            "credentials were given as text that this package did not make. They are (user, password), or a dict. "
            "Pass one of these"
        )
    with _lock:
        return _stored.get(name)
