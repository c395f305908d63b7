"""``token``: makes a secret that identifies a caller, and the configuration that makes nodes accept it."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from typing import Annotated

import typer

from tensorflow_ignite.cli.errors import CommandLineError
from tensorflow_ignite.cli.options import Json
from tensorflow_ignite.cli.render import print_json

_BYTES = 32


def token(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Who calls with it, in rules.", show_default=False)],
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write it there, with mode 600, in place of printing it."),
    ] = None,
    json_output: Json = False,
) -> None:
    """Make a token for a caller of the cluster, and print what its nodes must know of it.

    Nothing is sent or stored: nodes know a token by its SHA-256,
    in the property `security.tokens` of the service's bean.

    \b
    Examples:
      tensorflow-ignite token etl
      tensorflow-ignite token etl --output ~/.secrets/etl
      tensorflow-ignite --token-file ~/.secrets/etl ps
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}", name):
        raise CommandLineError(
            f"{name!r} cannot be a name. It has 1 to 64 letters, digits, '_', '.', '@' and '-', and begins with a "
            "letter or a digit. For example: etl"
        )
    made = secrets.token_urlsafe(_BYTES)
    digest = hashlib.sha256(made.encode()).hexdigest()
    if output is not None:
        _write(output, made)
    if json_output:
        print_json({"name": name, "sha256": digest, **({} if output is not None else {"token": made})})
        return
    if output is None:
        print(f"The token of {name}, which is shown only this once:\n\n  {made}\n")
    else:
        print(f"The token of {name} is in {output}.\n")
    print(
        f"Who has it calls as {name}: --token-file FILE, TENSORFLOW_IGNITE_TOKEN, or token = in a profile.\n"
        "The nodes know it by its SHA-256, in the service's bean:\n\n"
        f'  <property name="security.tokens"><map><entry key="{name}" value="{digest}"/></map></property>'
    )


def _write(path: str, made: str) -> None:
    """Writes a new file; an existing one is not replaced, as it may hold another secret."""
    try:
        descriptor = os.open(os.path.expanduser(path), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise CommandLineError(
            f"{path} cannot be made ({error.strerror}). A token is written into a new file. Name another."
        ) from None
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(f"{made}\n")
