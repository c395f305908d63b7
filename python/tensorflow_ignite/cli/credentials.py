"""The credentials of the command line: from options before the command, the environment, a profile, a prompt.

No secret is an option: everybody on the machine can read a command line, and the shell keeps it.
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
    from tensorflow_ignite.net.credentials import Credentials

_PANEL = "Credentials"
_OPTIONS = ("profile", "user", "password_file", "token_file", "cafile", "certfile", "keyfile")
_IDENTITY = ("username", "password", "token")
_RESOLVED = "tensorflow_ignite.cli.credentials"
_PASSWORD = f"{_RESOLVED}.password"


def _option(name: str, metavar: str, text: str) -> Any:
    return typer.Option(name, metavar=metavar, help=text, rich_help_panel=_PANEL)


Profile = Annotated[
    str | None,
    _option(
        "--profile",
        "NAME",
        "Address and credentials from ~/.config/tensorflow-ignite/profiles.toml; else $TENSORFLOW_IGNITE_PROFILE.",
    ),
]
User = Annotated[
    str | None,
    _option(
        "--user",
        "NAME",
        "A user of the cluster; the password comes from --password-file, $TENSORFLOW_IGNITE_PASSWORD or a prompt.",
    ),
]
PasswordFile = Annotated[str | None, _option("--password-file", "FILE", "Holds the user's password.")]
TokenFile = Annotated[
    str | None, _option("--token-file", "FILE", "Holds a token, in place of a user; else $TENSORFLOW_IGNITE_TOKEN.")
]
Cafile = Annotated[
    str | None,
    _option("--cafile", "FILE", "The authority that signs the nodes' certificates, PEM: calls are by TLS."),
]
Certfile = Annotated[str | None, _option("--certfile", "FILE", "This client's certificate, PEM.")]
Keyfile = Annotated[str | None, _option("--keyfile", "FILE", "Its key, unless it is in --certfile.")]


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
    """The addresses that a command calls: from `address_of`, or from the environment.

    Raises:
        CommandLineError: There is no such profile.
        InvalidRequestError: The addresses cannot be read.
    """
    from tensorflow_ignite.net.resolve import resolve

    return resolve(address_of(context, address))


def resolve_credentials(context: typer.Context, addresses: Sequence[str], *, ask: bool = True) -> Credentials | None:
    """The credentials that the options give, completed by the environment or a profile; None: there is no option.

    Args:
        context: Of the command.
        addresses: ``"host:port"`` of the nodes that are called: a default profile is only for its own cluster.
        ask: Whether the terminal may prompt, once, for a password that is nowhere else.

    Raises:
        CommandLineError: The options do not go together, or a file of theirs cannot be read.
    """
    given = {name: context.find_root().params.get(name) for name in _OPTIONS}
    if not any(given.values()):
        return None
    resolved: dict[tuple[str, ...], Credentials | None] = context.meta.setdefault(_RESOLVED, {})

    def password(user: str) -> str:
        if _PASSWORD not in context.meta:
            context.meta[_PASSWORD] = _password(user, ask)
        return str(context.meta[_PASSWORD])

    key = tuple(addresses)
    if key not in resolved:
        try:
            resolved[key] = _read(given, key, password)
        except InvalidRequestError as error:
            raise CommandLineError(str(error)) from None
    return resolved[key]


def _read(given: dict[str, str | None], addresses: Sequence[str], password: Callable[[str], str]) -> Credentials | None:
    from tensorflow_ignite.net.credentials import Credentials, read_secret

    user, password_file, token_file = given["user"], given["password_file"], given["token_file"]
    if user and token_file:
        raise CommandLineError("--user and --token-file are both given. A call has one identity. Leave one out.")
    if password_file and not user:
        raise CommandLineError(
            "--password-file is given without --user. A password belongs to a user. Add --user NAME."
        )
    found = _fallback(given["profile"], addresses)
    if user or token_file:
        before = {name: found.pop(name, None) for name in _IDENTITY}
        found["username"], found["token"] = user, token_file and read_secret(token_file, "--token-file")
        if user:
            password_of_user = before["password"] if before["username"] in (None, user) else None
            found["password"] = (
                read_secret(password_file, "--password-file") if password_file else password_of_user or password(user)
            )
    found |= {name: given[name] for name in ("cafile", "certfile", "keyfile") if given[name]}
    # A named profile without credentials means none: neither the environment nor another profile is used.
    return Credentials(**found) if found or given["profile"] else None


def _fallback(profile: str | None, addresses: Sequence[str]) -> dict[str, Any]:
    """The credentials of a profile or of the environment, for parts that the options do not give."""
    from tensorflow_ignite.net.credentials import environment_fields
    from tensorflow_ignite.net.profile import load

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
    from tensorflow_ignite.net.profile import load

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
