"""Options that several commands share, and how the commands connect to a node."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from tensorflow_ignite.cli.credentials import address_of, addresses_of, resolve_credentials
from tensorflow_ignite.cli.errors import CommandLineError
from tensorflow_ignite.errors import InvalidRequestError, TensorFlowIgniteError
from tensorflow_ignite.net.addresses import ADDRESS_VARIABLE, DEFAULT_ADDRESS, parse_addresses

if TYPE_CHECKING:
    from tensorflow_ignite.jobs.client import Client

_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_T = TypeVar("_T")
# The user waits for the answer to the Tab key.
_COMPLETION_SECONDS = 1.5


def option(name: str, metavar: str, text: str, **settings: Any) -> Any:
    """An option with a value; `text` is its help."""
    return typer.Option(name, metavar=metavar, help=text, **settings)


def moment(name: str, text: str) -> datetime:
    """The moment of an option: an age such as ``12h``, or a date and time; without a zone: in this machine's zone."""
    age = _seconds(text)
    try:
        if age is not None:
            return datetime.now(timezone.utc) - timedelta(seconds=age)
        return datetime.fromisoformat(text).astimezone(timezone.utc)
    except (ValueError, OverflowError):
        raise CommandLineError(
            f"{name} {text} is not a time. It is an age in seconds, minutes, hours or days, such as 90s, 30m, 12h and "
            "7d, or a date with a time, such as 2026-11-25T08:00. Give one of these."
        ) from None


def _seconds(text: str) -> int | None:
    """The seconds of a text such as ``10m``; None: it is no such text."""
    found = re.fullmatch(r"(\d{1,6})([smhd])", text)
    return int(found[1]) * _UNIT_SECONDS[found[2]] if found else None


@contextmanager
def usage() -> Iterator[None]:
    """Makes the error of a wrong argument that of a wrong command line."""
    try:
        yield
    except InvalidRequestError as error:
        raise CommandLineError(str(error)) from None


def _check_address(value: str | None) -> str | None:
    if value is not None:
        with usage():
            parse_addresses(value)
    return value


Address = Annotated[
    str | None,
    typer.Option(
        "--address",
        metavar="ADDRESS",
        help=f"host:port[,host:port] of nodes, the first that answers is called; else ${ADDRESS_VARIABLE}, "
        f"else {DEFAULT_ADDRESS}.",
        callback=_check_address,
    ),
]
Discovery = Annotated[str | None, option("--discovery", "ADDRESS", "Where the nodes of the cluster find each other.")]
Python = Annotated[str | None, option("--python", "PATH", "The interpreter that runs tasks; else this one.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


def complete_job(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Ids of jobs for the shell, each with its name and state; none when no node answers in time."""
    jobs = _found(context, lambda client: client.jobs())
    return [(job.id, f"{job.spec.name} {job.state}") for job in jobs if job.id.startswith(incomplete)]


def complete_cache(context: typer.Context, incomplete: str) -> list[str]:
    """Names of caches for the shell; none when no node answers in time."""
    return [cache for cache in _found(context, lambda client: client.caches()) if cache.startswith(incomplete)]


def complete_model(context: typer.Context, incomplete: str) -> list[str]:
    """Names of models for the shell; none when no node answers in time."""
    return [name for name in _found(context, lambda client: client.models.names()) if name.startswith(incomplete)]


def _found(context: typer.Context, ask: Callable[[Client], list[_T]]) -> list[_T]:
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    from tensorflow_ignite.jobs.client import connect

    try:
        address = address_of(context, context.params.get("address"))
        credentials = resolve_credentials(context, addresses_of(context, address), ask=False)
        with connect(address, timeout=_COMPLETION_SECONDS, credentials=credentials) as client:
            return ask(client)
    except TensorFlowIgniteError:
        return []


JobId = Annotated[
    str,
    typer.Argument(
        metavar="JOB",
        help="A job's id, or its first characters (at least 4).",
        show_default=False,
        autocompletion=complete_job,
    ),
]
JobIds = Annotated[
    list[str],
    typer.Argument(
        metavar="JOB...",
        help="Ids of jobs, or their first characters (at least 4).",
        show_default=False,
        autocompletion=complete_job,
    ),
]


def one_of(choices: Sequence[str]) -> Callable[[str], list[str]]:
    """Completes one of some words."""

    def complete(incomplete: str) -> list[str]:
        return [choice for choice in choices if choice.startswith(incomplete)]

    return complete


@contextmanager
def session(context: typer.Context, address: str | None) -> Iterator[Client]:
    """Connects to the node that the command, else the program, else the environment names."""
    # gRPC's own lines on stderr would stand between our errors.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    from tensorflow_ignite.jobs.client import connect

    credentials = resolve_credentials(context, addresses_of(context, address))
    with connect(address_of(context, address), credentials=credentials) as client:
        yield client
