"""``tensorboard``: TensorBoard for what jobs have written into the cluster."""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from tensorflow_ignite.cli.credentials import address_of, resolve_credentials
from tensorflow_ignite.cli.errors import CommandLineError
from tensorflow_ignite.cli.options import Address, option
from tensorflow_ignite.net.addresses import ADDRESS_VARIABLE

if TYPE_CHECKING:
    from tensorflow_ignite.net.credentials import Credentials

#: Where jobs have their files.
JOBS = "ignite:///jobs"


def tensorboard(
    context: typer.Context,
    options: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- OPTION...]", help="Options of TensorBoard itself.", show_default=False),
    ] = None,
    logdir: Annotated[str, option("--logdir", "URL", "Where event files are; with all that is below.")] = JOBS,
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
    nodes = _nodes(logdir, address)
    credentials = resolve_credentials(context, nodes)
    _check_that_a_node_answers(logdir, nodes, credentials)
    environment = {**os.environ, **({ADDRESS_VARIABLE: address} if address else {})}
    if credentials is not None:
        from tensorflow_ignite.net.credentials import as_environment, without_credentials
        from tensorflow_ignite.net.profile import PROFILE_VARIABLE, PROFILES_VARIABLE

        environment = {**without_credentials(environment), **as_environment(credentials, _in_memory)}
        # TensorBoard's process must not use a profile where these variables are empty.
        environment.pop(PROFILE_VARIABLE, None)
        environment |= {ADDRESS_VARIABLE: address or ",".join(nodes), PROFILES_VARIABLE: ""}
    command = [sys.executable, "-m", "tensorflow_ignite.storage.tensorboard", f"--logdir={logdir}"]
    command += [f"--{name}={value}" for name, value in (("host", host), ("port", port)) if value is not None]
    sys.stdout.flush()
    # This process becomes TensorBoard: signals, output and the exit code are its own.
    os.execve(sys.executable, [*command, *(options or [])], environment)


def _in_memory(secret: str) -> str:
    """The path of a file in memory that exists as long as this process, also after execve."""
    descriptor = os.memfd_create("tensorflow-ignite", 0)
    os.write(descriptor, secret.encode())
    return f"/proc/self/fd/{descriptor}"


def _nodes(logdir: str, address: str | None) -> tuple[str, ...]:
    """The nodes whose files TensorBoard reads."""
    from tensorflow_ignite.net.resolve import resolve
    from tensorflow_ignite.storage import paths

    named = paths.parse(logdir).addresses if logdir.startswith(paths.SCHEME) else None
    return named or resolve(address)


def _check_that_a_node_answers(logdir: str, addresses: tuple[str, ...], credentials: Credentials | None) -> None:
    """Calls a node: TensorBoard itself would only show an empty page, and log the error.

    Raises:
        ConnectionFailedError: No node answers.
    """
    from tensorflow_ignite.storage import paths

    if not logdir.startswith(paths.SCHEME):
        return
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    from tensorflow_ignite.storage.files import Files

    Files.at(addresses, credentials=credentials).exists(paths.parse(logdir).path)
