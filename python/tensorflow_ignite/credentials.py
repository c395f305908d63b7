"""Who this process is to a cluster that asks, and whom it trusts: never in a graph, a message, a pickle or a log.

Of several sources the first that gives anything is taken: the argument of a call; in a task of a job, for calls to its
own cluster, the task's token; the environment; a profile. A graph, and whatever else leaves the process, holds a random
number under which this process keeps a script's credentials. A process that does not know the number, such as a remote
worker, takes its own.
"""

from __future__ import annotations

import base64
import os
import re
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NoReturn

from tensorflow_ignite.errors import InvalidRequestError

__all__ = [
    "Credentials",
    "as_environment",
    "environment_fields",
    "find",
    "from_dataset_environment",
    "from_environment",
    "given",
    "keep",
    "kept",
    "of",
    "read_secret",
    "without_own",
]

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
# Files that hold a secret, for those who keep secrets out of environments.
_SECRET_FILES = {"password": "PASSWORD_FILE", "token": "TOKEN_FILE", "key_password": "KEY_PASSWORD_FILE"}
_DATASET_PREFIX = "IGNITE_DATASET_"
# What the earlier dataset's users have set; the last two are ours, which it lacked.
_DATASET_VARIABLES = {
    "username": "USERNAME",
    "password": "PASSWORD",
    "certfile": "CERTFILE",
    "keyfile": "KEYFILE",
    "key_password": "CERT_PASSWORD",
    "cafile": "CAFILE",
}
_CONTEXT_VARIABLE = "TENSORFLOW_IGNITE_CONTEXT"
_FLAGS = ("tls", "verify")
_YES = ("1", "true", "yes", "on")
_NO = ("", "0", "false", "no", "off")
_SECRET_BYTES = 64 * 1024
_KEPT_NAME = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, repr=False)
class Credentials:
    """A user and a password, or a token; a client certificate; whose certificates are trusted. Not to be printed.

    TLS is used as soon as one of the files, or ``tls``, is given; a password or a token alone travels as it is. A
    node's certificate, and that it was made for the host that is called, are verified against ``cafile``, or against
    the authorities that this machine trusts. With Ignite's thin client port (``transport="thin"``) the name of the host
    is not checked, which pyignite cannot: whoever holds any certificate of these authorities can pass for the node, so
    give the ``cafile`` of an authority that signs nothing else.

    Attributes:
        username: Of Ignite's authentication.
        password: Of the user.
        certfile: Path of this client's certificate, PEM.
        keyfile: Path of its private key; None: it is in certfile.
        key_password: Of the key, if it is encrypted.
        cafile: Path of the certificates of authorities, PEM.
        tls: Encrypt although no file is given.
        verify: False accepts any certificate of a node, and so anybody's; only for Ignite's thin client port.
        token: In place of a user and a password; see ``tensorflow-ignite token``.
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
        """Checks what belongs together.

        Raises:
            InvalidRequestError: If one of a pair is missing, or there are two where one is wanted.
        """
        for attribute in fields(self):
            kind = bool if attribute.name in _FLAGS else (str, type(None))
            if not isinstance(getattr(self, attribute.name), kind):
                raise InvalidRequestError(
                    f"{attribute.name} of the credentials is a {type(getattr(self, attribute.name)).__name__}. tls and "
                    "verify are True or False, everything else is text. Change it"
                )
        if bool(self.username) != bool(self.password):
            raise InvalidRequestError(
                f"credentials name a {'user without a password' if self.username else 'password without a user'}. "
                f"Ignite wants both. Give credentials=(user, password), or set {_PREFIX}USERNAME and {_PREFIX}PASSWORD "
                f"(for transport='thin' {_DATASET_PREFIX}USERNAME and {_DATASET_PREFIX}PASSWORD)"
            )
        if self.token and self.username:
            raise InvalidRequestError(
                "credentials name a user and a token. A call is made in one name. Give the one or the other"
            )
        if self.keyfile and not self.certfile:
            raise InvalidRequestError(
                "credentials name a key without a certificate. A key belongs to a certificate. Give certfile as well, "
                f"or set {_PREFIX}CERTFILE (for transport='thin' {_DATASET_PREFIX}CERTFILE)"
            )
        if ":" in (self.username or ""):
            raise InvalidRequestError(
                "the user's name in the credentials has a colon in it. A colon ends the name where it is sent "
                "(RFC 7617). Use another user, or a token"
            )
        # The text would break the header that carries it, and gRPC's error would show it.
        if self.token and not (self.token.isascii() and self.token.isprintable() and " " not in self.token):
            raise InvalidRequestError(
                "the token in the credentials has a space, a line break or a sign outside ASCII in it. A token is "
                "letters, digits, '-', '_' and '.', as tensorflow-ignite token prints it. Copy it again"
            )

    @property
    def encrypted(self) -> bool:
        """Whether the connection is by TLS."""
        return self.tls or any((self.certfile, self.keyfile, self.cafile))

    @property
    def authorization(self) -> str | None:
        """The value of the header ``authorization``, a secret; None: there is nothing to say."""
        if self.token:
            return f"Bearer {self.token}"
        if self.username:
            return f"Basic {base64.b64encode(f'{self.username}:{self.password}'.encode()).decode()}"
        return None

    def __repr__(self) -> str:
        """Nothing of what it holds."""
        return "Credentials(...)"

    def __copy__(self) -> Credentials:
        """Itself: it never changes."""
        return self

    def __deepcopy__(self, memo: Any) -> Credentials:
        """Itself: it never changes."""
        return self

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
        f"{', '.join(names)}. Leave them out to take those of the environment, {_PREFIX}USERNAME and others, or of a "
        "profile"
    )


def _text(value: Any) -> Any:
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def find(
    value: Any, addresses: Sequence[str], *, data: bool = False, env: Mapping[str, str] = os.environ
) -> Credentials | None:
    """Who calls the nodes at some addresses; None: nobody in particular, and without TLS.

    Args:
        value: What the call was given.
        addresses: ``"host:port"`` of the nodes that are called first; others are those that these tell of.
        data: The call is for rows: IGNITE_DATASET_USERNAME and its like count too.
        env: The environment.

    Raises:
        InvalidRequestError: If the first source that gives anything cannot be read.
    """
    found = given(value)
    if found is not None:
        return found
    in_task = bool(env.get(_CONTEXT_VARIABLE))
    if in_task:
        found = _of_task(addresses, env)
    found = found or from_environment(env) or (from_dataset_environment(env) if data else None)
    if found is not None:
        return found
    from tensorflow_ignite import profile

    # The profiles of whoever has started the node are none of a job's business.
    if in_task and not env.get(profile.PROFILES_VARIABLE):
        return None
    chosen = profile.load(env=env)
    return chosen.credentials_for(addresses) if chosen else None


def _of_task(addresses: Sequence[str], env: Mapping[str, str]) -> Credentials | None:
    """The token of this task, and the authority of its cluster, which the node has put into the environment."""
    from tensorflow_ignite.train.context import own_token

    token, node_address = own_token()
    if not token or node_address not in addresses:
        return None
    return Credentials(token=token, cafile=env.get(f"{_PREFIX}CAFILE") or None, tls=_flag(env, f"{_PREFIX}TLS"))


def from_environment(env: Mapping[str, str] = os.environ) -> Credentials | None:
    """TENSORFLOW_IGNITE_USERNAME, _PASSWORD, _TOKEN, _CERTFILE, _KEYFILE, _KEY_PASSWORD, _CAFILE and _TLS.

    _PASSWORD_FILE, _TOKEN_FILE and _KEY_PASSWORD_FILE name files that hold the secret. None when none is set.

    Raises:
        InvalidRequestError: If one of a pair is missing, or a file or value cannot be read.
    """
    found = environment_fields(env)
    return Credentials(**found) if found else None


def environment_fields(env: Mapping[str, str]) -> dict[str, Any]:
    """The attributes of credentials that the environment gives, whether they belong together or not.

    Raises:
        InvalidRequestError: If a file or value cannot be read.
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
    """The variables that give another program the same credentials; its secrets stand in files.

    Args:
        credentials: Who calls.
        write: Puts a secret into a file that the other program can read, and returns the path.
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


def without_own(env: Mapping[str, str]) -> dict[str, str]:
    """An environment without the variables that give credentials."""
    own = {_PREFIX + name for name in (*_VARIABLES.values(), *_SECRET_FILES.values(), "TLS")}
    return {name: value for name, value in env.items() if name not in own}


def from_dataset_environment(env: Mapping[str, str] = os.environ) -> Credentials | None:
    """IGNITE_DATASET_USERNAME, _PASSWORD, _CERTFILE, _KEYFILE, _CERT_PASSWORD and _CAFILE; None when none is set.

    Raises:
        InvalidRequestError: If one of a pair is missing.
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
        raise InvalidRequestError(f"{name}={env[name]!r} is neither true nor false. It is one of the two. Change it")
    return text in _YES


def read_secret(path: str | os.PathLike[str], source: str) -> str:
    """Reads the one secret that a file holds, without the line break at its end.

    Args:
        path: Of the file.
        source: Who names it, for messages.

    Raises:
        InvalidRequestError: If it cannot be read, or is empty, or is no text; the text holds nothing of it.
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
            f"{os.fspath(path)} {fault}. It is named by {source}, and holds one secret and nothing else. Correct it"
        )
    return secret


_lock = threading.Lock()
_kept: dict[str, Credentials] = {}


def _forget_lock() -> None:
    """In a forked child: the lock may be held by a thread that is not there."""
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_forget_lock)


def keep(credentials: Credentials | None) -> str:
    """Keeps them in this process' memory until it ends; returns the name for a graph, empty when there are none."""
    if credentials is None:
        return ""
    with _lock:
        for name, known in _kept.items():
            if known == credentials:
                return name
        name = secrets.token_hex(16)
        _kept[name] = credentials
        return name


def kept(name: str) -> Credentials | None:
    """Those kept under a name; None in a process that does not know it, and without a name.

    Raises:
        InvalidRequestError: If it is no such name; the text does not repeat it.
    """
    if name and not _KEPT_NAME.fullmatch(name):
        raise InvalidRequestError(
            "credentials were given as text that this package did not make. They are (user, password), or a dict. "
            "Change them"
        )
    with _lock:
        return _kept.get(name)


def of(name: str, env: Mapping[str, str] = os.environ) -> Credentials | None:
    """For Ignite's thin client port: those kept under a name; else those of IGNITE_DATASET_USERNAME and its like."""
    with _lock:
        known = _kept.get(name)
    return known if known is not None else from_dataset_environment(env)
