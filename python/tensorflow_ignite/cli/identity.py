"""Who the command line is to the cluster: options before the command, the environment, a profile, a prompt.

No secret is an option: a command line is seen by everybody on the machine, and kept by the shell.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tensorflow_ignite.cli.errors import CommandLineError
from tensorflow_ignite.errors import InvalidRequestError

if TYPE_CHECKING:
    from tensorflow_ignite.credentials import Credentials

__all__ = [
    "Cafile",
    "Certfile",
    "Keyfile",
    "PasswordFile",
    "Profile",
    "TokenFile",
    "User",
    "address_of",
    "addresses_of",
    "caller",
]

_PANEL = "Who calls"
_OPTIONS = ("profile", "user", "password_file", "token_file", "cafile", "certfile", "keyfile")
_WHO = ("username", "password", "token")
_KNOWN = "tensorflow_ignite.cli.identity"
_ASKED = f"{_KNOWN}.password"

Profile = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="NAME",
        help="Address and credentials from ~/.config/tensorflow-ignite/profiles.toml; else $TENSORFLOW_IGNITE_PROFILE.",
        rich_help_panel=_PANEL,
    ),
]
User = Annotated[
    str | None,
    typer.Option(
        "--user",
        metavar="NAME",
        help="A user of the cluster; the password comes from --password-file, $TENSORFLOW_IGNITE_PASSWORD or a prompt.",
        rich_help_panel=_PANEL,
    ),
]
PasswordFile = Annotated[
    str | None,
    typer.Option("--password-file", metavar="FILE", help="Holds the user's password.", rich_help_panel=_PANEL),
]
TokenFile = Annotated[
    str | None,
    typer.Option(
        "--token-file",
        metavar="FILE",
        help="Holds a token, in place of a user; else $TENSORFLOW_IGNITE_TOKEN.",
        rich_help_panel=_PANEL,
    ),
]
Cafile = Annotated[
    str | None,
    typer.Option(
        "--cafile",
        metavar="FILE",
        help="The authority that signs the nodes' certificates, PEM: calls are by TLS.",
        rich_help_panel=_PANEL,
    ),
]
Certfile = Annotated[
    str | None,
    typer.Option("--certfile", metavar="FILE", help="This client's certificate, PEM.", rich_help_panel=_PANEL),
]
Keyfile = Annotated[
    str | None,
    typer.Option("--keyfile", metavar="FILE", help="Its key, unless it is in --certfile.", rich_help_panel=_PANEL),
]


def address_of(context: typer.Context, address: str | None) -> str | None:
    """The address that the command, else the program, else the profile named there gives; None: none of them does.

    Raises:
        CommandLineError: There is no such profile.
    """
    root = context.find_root().params
    found = address or root.get("address")
    if found is None and root.get("profile"):
        found = _profile(root["profile"]).address
    return found


def addresses_of(context: typer.Context, address: str | None) -> tuple[str, ...]:
    """The addresses that a command calls which names no other: those of `address_of`, or those of the environment.

    Raises:
        CommandLineError: There is no such profile.
        InvalidRequestError: They cannot be read.
    """
    from tensorflow_ignite.addresses import parse_addresses

    return parse_addresses(address_of(context, address))


def caller(context: typer.Context, addresses: Sequence[str], *, ask: bool = True) -> Credentials | None:
    """The credentials that the options give, completed by the environment or a profile; None: there is no option.

    Args:
        context: Of the command.
        addresses: ``"host:port"`` of the nodes that are called: a default profile is for those of its own cluster.
        ask: A password that is nowhere else may be asked for on the terminal, once.

    Raises:
        CommandLineError: The options do not go together, or a file of theirs cannot be read.
    """
    given = {name: context.find_root().params.get(name) for name in _OPTIONS}
    if not any(given.values()):
        return None
    known: dict[tuple[str, ...], Credentials | None] = context.meta.setdefault(_KNOWN, {})

    def password(user: str) -> str:
        if _ASKED not in context.meta:
            context.meta[_ASKED] = _password(user, ask)
        return str(context.meta[_ASKED])

    key = tuple(addresses)
    if key not in known:
        try:
            known[key] = _read(given, key, password)
        except InvalidRequestError as error:
            raise CommandLineError(str(error)) from None
    return known[key]


def _read(given: dict[str, str | None], addresses: Sequence[str], password: Callable[[str], str]) -> Credentials | None:
    from tensorflow_ignite.credentials import Credentials, read_secret

    user, password_file, token_file = given["user"], given["password_file"], given["token_file"]
    if user and token_file:
        raise CommandLineError("--user and --token-file are both given. A call is made in one name. Leave one out.")
    if password_file and not user:
        raise CommandLineError("--password-file is given without --user. A password is a user's. Give --user NAME.")
    found = _otherwise(given["profile"], addresses)
    if user or token_file:
        before = {name: found.pop(name, None) for name in _WHO}
        found["username"], found["token"] = user, token_file and read_secret(token_file, "--token-file")
        if user:
            own = before["password"] if before["username"] in (None, user) else None
            found["password"] = (
                read_secret(password_file, "--password-file") if password_file else own or password(user)
            )
    found |= {name: given[name] for name in ("cafile", "certfile", "keyfile") if given[name]}
    # A profile that names no credentials is nobody's, and not the environment's or another profile's.
    return Credentials(**found) if found or given["profile"] else None


def _otherwise(profile: str | None, addresses: Sequence[str]) -> dict[str, Any]:
    """What is known without the other options."""
    from tensorflow_ignite.credentials import environment_fields
    from tensorflow_ignite.profile import load

    if profile:
        credentials = _profile(profile).credentials
    else:
        found = environment_fields(os.environ)
        if found:
            return found
        chosen = load()
        credentials = chosen.credentials_for(addresses) if chosen else None
    if credentials is None:
        return {}
    return {attribute.name: getattr(credentials, attribute.name) for attribute in fields(credentials)}


def _profile(name: str) -> Any:
    from tensorflow_ignite.profile import load

    try:
        return load(name)
    except InvalidRequestError as error:
        raise CommandLineError(str(error)) from None


def _password(user: str, ask: bool) -> str:
    if not ask or not sys.stdin.isatty():
        raise CommandLineError(
            f"no password of {user} is known, and there is no terminal to ask for it. It comes from --password-file, "
            "TENSORFLOW_IGNITE_PASSWORD, or a prompt. Give one of the first two."
        )
    return str(typer.prompt(f"Password of {user}", hide_input=True, err=True))
