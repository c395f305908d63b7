"""``tensorboard``: TensorBoard for what jobs have written into the cluster."""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from tensorflow_ignite.addresses import ADDRESS_VARIABLE
from tensorflow_ignite.cli.identity import address_of, caller
from tensorflow_ignite.cli.options import Address, CommandLineError

if TYPE_CHECKING:
    from tensorflow_ignite.credentials import Credentials

__all__ = ["tensorboard"]

#: Where jobs have their files.
JOBS = "ignite:///jobs"


def tensorboard(
    context: typer.Context,
    options: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- OPTION...]", help="Options of TensorBoard itself.", show_default=False),
    ] = None,
    logdir: Annotated[
        str, typer.Option("--logdir", metavar="URL", help="Where event files are; with all that is below.")
    ] = JOBS,
    host: Annotated[str | None, typer.Option("--host", help="Where TensorBoard listens; else localhost.")] = None,
    port: Annotated[int | None, typer.Option("--port", help="Its port, 0 for any; else 6006.")] = None,
    address: Address = None,
) -> None:
    """Run TensorBoard on what jobs have written into the cluster, until Ctrl-C.

    \b
    Examples:
      tensorflow-ignite tensorboard
      tensorflow-ignite tensorboard --logdir ignite:///jobs/7f3a
      tensorflow-ignite tensorboard --port 0 -- --reload_interval 1
    """
    if importlib.util.find_spec("tensorboard") is None:
        raise CommandLineError(
            "TensorBoard is not installed. It is a package of its own. Install it: pip install tensorboard"
        )
    address = address_of(context, address)
    called = _called(logdir, address)
    who = caller(context, called)
    _check_that_a_node_answers(logdir, called, who)
    environment = {**os.environ, **({ADDRESS_VARIABLE: address} if address else {})}
    if who is not None:
        from tensorflow_ignite.credentials import as_environment, without_own
        from tensorflow_ignite.profile import PROFILE_VARIABLE, PROFILES_VARIABLE

        environment = {**without_own(environment), **as_environment(who, _in_memory)}
        # Otherwise a profile would be looked for again where these variables are empty.
        environment.pop(PROFILE_VARIABLE, None)
        environment |= {ADDRESS_VARIABLE: address or ",".join(called), PROFILES_VARIABLE: ""}
    command = [sys.executable, "-m", "tensorflow_ignite.storage.tensorboard", f"--logdir={logdir}"]
    command += [f"--{name}={value}" for name, value in (("host", host), ("port", port)) if value is not None]
    sys.stdout.flush()
    # This process becomes TensorBoard: signals, output and the exit code are its own.
    os.execve(sys.executable, [*command, *(options or [])], environment)


def _in_memory(secret: str) -> str:
    """A file without a name that lives as long as this process, whatever program it becomes."""
    descriptor = os.memfd_create("tensorflow-ignite", 0)
    os.write(descriptor, secret.encode())
    return f"/proc/self/fd/{descriptor}"


def _called(logdir: str, address: str | None) -> tuple[str, ...]:
    """The nodes whose files TensorBoard reads."""
    from tensorflow_ignite.addresses import parse_addresses
    from tensorflow_ignite.storage import paths

    named = paths.parse(logdir).addresses if logdir.startswith(paths.SCHEME) else None
    return named or parse_addresses(address)


def _check_that_a_node_answers(logdir: str, addresses: tuple[str, ...], who: Credentials | None) -> None:
    """TensorBoard itself would show an empty page, and its log would have to be read.

    Raises:
        ConnectionFailedError: None answers.
    """
    from tensorflow_ignite.storage import paths

    if not logdir.startswith(paths.SCHEME):
        return
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    from tensorflow_ignite.storage.files import Files

    Files.at(addresses, credentials=who).exists(paths.parse(logdir).path)
