"""Profiles: addresses and credentials under a name, in a file that only its owner reads.

# ~/.config/tensorflow-ignite/profiles.toml, mode 600; %APPDATA%\\tensorflow-ignite\\profiles.toml on Windows
[default]
address = "node1:10820,node2:10820"
cafile = "~/.config/tensorflow-ignite/ca.pem"
token = "..."

[laboratory]
username = "alice"
password_file = "~/.secrets/laboratory"
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from tensorflow_ignite.base import system
from tensorflow_ignite.errors import InvalidRequestError
from tensorflow_ignite.net.addresses import parse_addresses
from tensorflow_ignite.net.credentials import Credentials, read_secret

#: Names the file of profiles; empty: there are none.
PROFILES_VARIABLE = "TENSORFLOW_IGNITE_PROFILES"
#: Names the profile.
PROFILE_VARIABLE = "TENSORFLOW_IGNITE_PROFILE"
#: The profile that is used when none is named.
DEFAULT = "default"

_FILE = system.settings_folder() / "tensorflow-ignite/profiles.toml"
_PATHS = ("certfile", "keyfile", "cafile")
_SECRET_FILES = {"password_file": "password", "token_file": "token"}
_KEYS = ("address", *(attribute.name for attribute in fields(Credentials)), *_SECRET_FILES)
_BYTES = 1024 * 1024


@dataclass(frozen=True)
class Profile:
    """One section of the file.

    Attributes:
        name: Name of the section.
        address: ``"host:port[,host:port]"``; None: the section has no address.
        credentials: Credentials; None: the section has none.
        chosen: The profile was requested by its name.
    """

    name: str
    address: str | None
    credentials: Credentials | None
    chosen: bool

    def credentials_for(self, addresses: Sequence[str]) -> Credentials | None:
        """Returns the credentials for calls to nodes; the default profile with an address is for these nodes only."""
        if self.chosen or self.address is None or set(parse_addresses(self.address)) & set(addresses):
            return self.credentials
        return None


def load(name: str | None = None, env: Mapping[str, str] = os.environ) -> Profile | None:
    """Reads a profile.

    Args:
        name: Its name; None: that in the environment variable TENSORFLOW_IGNITE_PROFILE, else ``default``.
        env: The environment.

    Returns:
        The profile; None if no profile was requested and there is no default.

    Raises:
        InvalidRequestError: There is no profile of that name; or the file is not the user's own with mode 600, or is
            malformed. The error contains no part of a secret.
    """
    requested = name or env.get(PROFILE_VARIABLE) or None
    named = env.get(PROFILES_VARIABLE)
    path = Path(os.path.expanduser(_FILE if named is None else named))
    content = None if named == "" else _read(path, required=bool(requested or named))
    if content is None and (requested or named):
        source = f"{PROFILES_VARIABLE} names" if named is not None else f"should have the profile {requested!r}"
        raise InvalidRequestError(
            f"there is no file of profiles {str(path) if named != '' else repr('')}, which {source}. Profiles are in a "
            f"TOML file that only you may read, {_FILE} unless {PROFILES_VARIABLE} names another. Make the file, or "
            "leave the profile out"
        )
    sections = _parse(content, path) if content is not None else {}
    section = sections.get(requested or DEFAULT)
    if section is None:
        if requested is None:
            return None
        raise InvalidRequestError(
            f"there is no profile {requested!r} in {path}. The file has: {', '.join(map(repr, sections)) or 'none'}. "
            "Name one of these, or add the profile"
        )
    return _profile(requested or DEFAULT, section, path, chosen=requested is not None)


def _read(path: Path, *, required: bool) -> bytes | None:
    """Returns the content of the file; None if it does not exist. Owner and mode are checked on the open file."""
    if str(path).startswith("~") and not required:
        return None  # of a user without a home
    try:
        descriptor = os.open(path, os.O_RDONLY | system.NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        # No profile was requested: a home directory without permission is not an error of the call.
        if isinstance(error, PermissionError) and not required:
            return None
        raise InvalidRequestError(
            f"the file of profiles {path} cannot be read ({error.strerror}). Only you may have permission to read it. "
            f"Set its mode: chmod 600 {path}"
        ) from None
    with open(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        fault = None
        if not stat.S_ISREG(found.st_mode):
            fault = "is not a regular file"
        elif not system.HAS_OWNERS:
            pass  # only the user and administrators can open files in the user's folder
        elif found.st_uid != os.geteuid():
            fault = f"belongs to the user {found.st_uid}, and you are {os.geteuid()}"
        elif stat.S_IMODE(found.st_mode) & 0o077:
            fault = f"has mode {stat.S_IMODE(found.st_mode):o}, so other users can open it"
        if fault:
            raise InvalidRequestError(
                f"the file of profiles {path} {fault}. Since it may contain secrets, it must be your own file with "
                f"mode 600. Set its mode: chmod 600 {path}"
            )
        return file.read(_BYTES)


def _parse(content: bytes, path: Path) -> dict[str, dict[str, Any]]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        sections = tomllib.loads(content.decode())
    except UnicodeDecodeError:
        fault = "is no text in UTF-8"
    except tomllib.TOMLDecodeError as error:
        # Without the text of the line, which may be a secret.
        line = getattr(error, "lineno", None)
        fault = "is no TOML" + (f" in line {line}" if line else f" ({str(error).rpartition('(')[2].rstrip(')')})")
    else:
        if all(isinstance(section, dict) for section in sections.values()):
            return sections
        fault = "has a value outside a section"
    raise InvalidRequestError(
        f"the file of profiles {path} cannot be read: it {fault}. Each profile is a section [NAME] with lines such as "
        f'token = "...". Write the file in this form'
    )


def _profile(name: str, section: dict[str, Any], path: Path, *, chosen: bool) -> Profile:
    where = f"the profile {name!r} in {path}"
    unknown = [key for key in section if key not in _KEYS]
    if unknown:
        raise InvalidRequestError(
            f"{where} has {', '.join(map(repr, unknown))}. A profile may have {', '.join(_KEYS)}. Remove other keys"
        )
    found = dict(section)
    address = found.pop("address", None)
    if address is not None and not isinstance(address, str):
        raise InvalidRequestError(
            f'the address of {where} is not text. It is "host:port[,host:port]". Put it in quotes'
        )
    try:
        for key, secret in _SECRET_FILES.items():
            if key in found:
                found[secret] = read_secret(str(found.pop(key)), f"{key} of {where}")
        for key in _PATHS:
            if isinstance(found.get(key), str):
                found[key] = os.path.expanduser(found[key])
        credentials = Credentials(**found) if found else None
    except InvalidRequestError as error:
        raise InvalidRequestError(f"{where} cannot be used: {error}") from None
    if address is not None:
        parse_addresses(address)
    return Profile(name, address, credentials, chosen)
