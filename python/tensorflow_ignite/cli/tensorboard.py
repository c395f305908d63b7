"""``tensorboard``: TensorBoard for what jobs have written into the cluster."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tensorflow_ignite.base import system
from tensorflow_ignite.cli.credentials import address_of, resolve_credentials
from tensorflow_ignite.cli.errors import CommandLineError
from tensorflow_ignite.cli.options import Address, complete_job, option
from tensorflow_ignite.errors import JobNotFoundError
from tensorflow_ignite.net.addresses import ADDRESS_VARIABLE

if TYPE_CHECKING:
    from tensorflow_ignite.net.credentials import Credentials

#: Where jobs have their files.
JOBS = "ignite:///jobs"


def tensorboard(
    context: typer.Context,
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="JOB|OPTION",
            help="A job's id, its first characters, or its name; else all jobs. Options of TensorBoard itself.",
            show_default=False,
            autocompletion=complete_job,
        ),
    ] = None,
    logdir: Annotated[
        str | None, option("--logdir", "URL", f"Where event files are, instead of a job; else {JOBS}.")
    ] = None,
    host: Annotated[str | None, typer.Option("--host", help="Where TensorBoard listens; else localhost.")] = None,
    port: Annotated[int | None, typer.Option("--port", help="Its port, 0 for any; else 6006.")] = None,
    address: Address = None,
) -> None:
    """Run TensorBoard on the curves of a job, or of all jobs, until Ctrl-C.

    The figures that a script or CheckpointCallback reports (tfi.train.report) are curves; other event files belong into
    tfi.train.context().log_directory. Options that are not listed below are passed to TensorBoard.

    \b
    Examples:
      tensorflow-ignite tensorboard 7f3a
      tensorflow-ignite tensorboard
      tensorflow-ignite tensorboard 7f3a --port 0 --reload_interval 1
      tensorflow-ignite tensorboard --logdir ignite:///experiments
    """
    # The job comes before all options of TensorBoard.
    job, *options = arguments if arguments and not arguments[0].startswith("-") else ["", *(arguments or [])]
    if job and logdir is not None:
        raise CommandLineError(
            f"both a job ({job}) and --logdir {logdir} say what to show. One of them does. Leave the other out."
        )
    if importlib.util.find_spec("tensorboard") is None:
        raise CommandLineError(
            "TensorBoard is not installed. It is a package of its own. Install it: pip install tensorboard"
        )
    address = address_of(context, address)
    logdir = logdir or JOBS
    nodes = _nodes(logdir, address)
    credentials = resolve_credentials(context, nodes)
    if job:
        logdir = _directory_of(job, nodes, credentials)
    if not _exists(logdir, nodes, credentials):
        print(
            f"{logdir} does not exist yet: nothing of it is shown until something is written there. A script draws "
            "curves by tfi.train.report(step, total_steps, loss=loss).",
            file=sys.stderr,
        )
    environment = {"TF_CPP_MIN_LOG_LEVEL": "2", **os.environ, **({ADDRESS_VARIABLE: address} if address else {})}
    command = [sys.executable, "-m", "tensorflow_ignite.storage.tensorboard", f"--logdir={logdir}"]
    command += [f"--{name}={value}" for name, value in (("host", host), ("port", port)) if value is not None]
    with contextlib.ExitStack() as files:
        if credentials is not None:
            from tensorflow_ignite.net.credentials import as_environment, without_credentials
            from tensorflow_ignite.net.profile import PROFILE_VARIABLE, PROFILES_VARIABLE

            write = _in_memory if system.HAS_MEMORY_FILES else functools.partial(_in_folder, files)
            environment = {**without_credentials(environment), **as_environment(credentials, write)}
            # TensorBoard's process must not use a profile where these variables are empty.
            environment.pop(PROFILE_VARIABLE, None)
            environment |= {ADDRESS_VARIABLE: address or ",".join(nodes), PROFILES_VARIABLE: ""}
        sys.stdout.flush()
        if system.HAS_MEMORY_FILES:
            # This process becomes TensorBoard: signals, output and the exit code are its own.
            os.execve(sys.executable, [*command, *options], environment)
        else:
            raise typer.Exit(subprocess.call([*command, *options], env=environment))


def _directory_of(job: str, addresses: tuple[str, ...], credentials: Credentials | None) -> str:
    """The directory of the files of a job, given by its id, the id's first characters, or its name.

    Raises:
        JobNotFoundError: There is no such job.
    """
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    from tensorflow_ignite.jobs.client import connect

    with connect(",".join(addresses), credentials=credentials) as client:
        try:
            found = client.job(job).id
        except JobNotFoundError:
            named = [each.id for each in client.jobs() if each.spec.name == job]
            if not named:
                raise
            found = named[0]  # the newest
    return f"{JOBS}/{found}"


def _in_memory(secret: str) -> str:
    """The path of a file in memory that exists as long as this process, also after execve."""
    descriptor = os.memfd_create("tensorflow-ignite", 0)
    os.write(descriptor, secret.encode())
    return f"/proc/self/fd/{descriptor}"


def _in_folder(files: contextlib.ExitStack, secret: str) -> str:
    """The path of a file that only this user can open, and that is removed with `files`."""
    path = Path(files.enter_context(tempfile.TemporaryDirectory()), "secret")
    path.write_text(secret, encoding="utf-8")
    return str(path)


def _nodes(logdir: str, address: str | None) -> tuple[str, ...]:
    """The nodes whose files TensorBoard reads."""
    from tensorflow_ignite.net.resolve import resolve
    from tensorflow_ignite.storage import paths

    named = paths.parse(logdir).addresses if logdir.startswith(paths.SCHEME) else None
    return named or resolve(address)


def _exists(logdir: str, addresses: tuple[str, ...], credentials: Credentials | None) -> bool:
    """Whether there is something to show; TensorBoard itself would only show an empty page, and log an error.

    Raises:
        ConnectionFailedError: No node answers.
    """
    from tensorflow_ignite.storage import paths

    if not logdir.startswith(paths.SCHEME):
        return True
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    from tensorflow_ignite.storage.files import Files

    return Files.at(addresses, credentials=credentials).exists(paths.parse(logdir).path)
