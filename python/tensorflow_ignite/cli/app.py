"""All commands as one program, with exit codes, and errors printed as one block of text.

The modules of the commands import gRPC, Ignite and rich's live displays inside their functions, so that `--help` and
shell completion stay quick.
"""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer
import typer.main

from tensorflow_ignite.base import system
from tensorflow_ignite.cli import (
    baseline,
    data_loss,
    describe,
    doctor,
    drain,
    events,
    fs,
    jobs,
    load,
    logs,
    model,
    node,
    predict,
    profile,
    quorum,
    submit,
    tensorboard,
    token,
)
from tensorflow_ignite.cli.credentials import Cafile, Certfile, Keyfile, PasswordFile, Profile, TokenFile, User
from tensorflow_ignite.cli.errors import CommandLineError
from tensorflow_ignite.cli.options import Address
from tensorflow_ignite.cli.render import fold, paint
from tensorflow_ignite.errors import TensorFlowIgniteError
from tensorflow_ignite.net import server_warnings

PROGRAM = "tensorflow-ignite"
#: Set to 1, errors come with their traceback.
DEBUG_VARIABLE = "TENSORFLOW_IGNITE_DEBUG"

_FAILED, _WRONG_USAGE, _INTERRUPTED = 1, 2, 130


def _print_version(is_requested: bool) -> None:
    if is_requested:
        from importlib.metadata import PackageNotFoundError, version

        try:
            print(f"{PROGRAM} {version(PROGRAM)}")
        except PackageNotFoundError:
            print(f"{PROGRAM} (not installed: run from its sources)")
        raise typer.Exit


def program(
    address: Address = None,
    profile: Profile = None,
    user: User = None,
    password_file: PasswordFile = None,
    token_file: TokenFile = None,
    cafile: Cafile = None,
    certfile: Certfile = None,
    keyfile: Keyfile = None,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Distributed TensorFlow training inside an Apache Ignite cluster, beside the data.

    \b
    Examples:
      tensorflow-ignite node                             start an Ignite node
      tensorflow-ignite load images train.npz            load rows into a cache
      tensorflow-ignite submit --cache images train.py   train on its rows
      tensorflow-ignite ps                               list the jobs
      tensorflow-ignite logs -f 7f3a                     follow one's output
      tensorflow-ignite fs ls                            list the cluster's files
      tensorflow-ignite --cafile ca.pem --user alice ps  by TLS, with a password
    """


_COMMANDS: tuple[tuple[Callable[..., None], str], ...] = (
    (submit.submit, "Jobs"),
    (predict.predict, "Jobs"),
    (jobs.ps, "Jobs"),
    (describe.describe, "Jobs"),
    (events.events, "Jobs"),
    (logs.logs, "Jobs"),
    (logs.attach, "Jobs"),
    (jobs.stop, "Jobs"),
    (jobs.rm, "Jobs"),
    (profile.profile, "Jobs"),
    (tensorboard.tensorboard, "Jobs"),
    (load.load, "Data"),
    (data_loss.accept_data_loss, "Data"),
    (node.node, "Cluster"),
    (jobs.nodes, "Cluster"),
    (drain.drain, "Cluster"),
    (baseline.baseline, "Cluster"),
    (doctor.doctor, "Cluster"),
    (token.token, "Cluster"),
    (node.quickstart, "Cluster"),
)


def _program_of(commands: Sequence[tuple[Callable[..., None], str]]) -> typer.Typer:
    made = typer.Typer(
        name=PROGRAM,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"]},
    )
    made.callback()(program)
    for command, panel in commands:
        # The arguments behind the code of submit belong to the script, also when they look like options of ours.
        settings = {"allow_interspersed_args": command is not submit.submit}
        if command is tensorboard.tensorboard:
            settings["ignore_unknown_options"] = True
        made.command(rich_help_panel=panel, context_settings=settings)(command)
    return made


#: All commands.
app = _program_of(_COMMANDS)
app.add_typer(fs.app, name="fs", rich_help_panel="Data")
app.add_typer(model.app, name="model", rich_help_panel="Data")
app.add_typer(quorum.app, name="quorum", rich_help_panel="Jobs")


def program_for(arguments: Sequence[str]) -> typer.Typer:
    """The program with the command that the arguments call alone: typer needs a while for each command.

    Where they call none, or a group of commands, it is the program with all of them.
    """
    rest = iter(arguments)
    for argument in rest:
        if not argument.startswith("-"):
            called = [entry for entry in _COMMANDS if entry[0].__name__.replace("_", "-") == argument]
            return _program_of(called) if called else app
        if "=" not in argument:
            # The next one is the value of this option; an option without a value is of the program with all commands.
            next(rest, None)
    return app


def run(argv: Sequence[str] | None = None) -> int:
    """Runs one command; see `tensorflow_ignite.cli.main`."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    # Python has no stream where the caller has closed it, as in `… >&-`.
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a task's output may hold what this terminal cannot show
    system.enable_colours()
    server_warnings.report_to(_print_warning)
    try:
        command = typer.main.get_command(program_for(arguments))
        result: Any = command.main(arguments or ["--help"], prog_name=PROGRAM, standalone_mode=False)
        sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        _print_error("interrupted")
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has ended, as in `… | head`: no error, and nothing more may be written.
        _discard_output()
        return _FAILED
    except CommandLineError as error:
        _print_error(str(error))
        return _WRONG_USAGE
    except TensorFlowIgniteError as error:
        if os.environ.get(DEBUG_VARIABLE) == "1":
            raise
        _print_error(str(error))
        return _FAILED
    except OSError as error:
        if os.environ.get(DEBUG_VARIABLE) == "1":
            raise
        _discard_output()
        place = f"{error.filename}: " if error.filename else ""
        _print_error(
            f"{place}{error.strerror or error}. The command uses local files and standard output. "
            f"Free the disk or allow the access, then run it again; {DEBUG_VARIABLE}=1 shows where it failed."
        )
        return _FAILED
    except Exception as error:
        # The parser's own errors have one base class, whose module differs between versions of typer.
        if not hasattr(error, "format_message"):
            raise
        context = getattr(error, "ctx", None)
        if not error.format_message():
            return _WRONG_USAGE  # a group of commands without a command: its help is printed already
        path = context.command_path if context else PROGRAM
        _print_error(f"{error.format_message()}\nSee: {path} --help")
        return int(getattr(error, "exit_code", _WRONG_USAGE))
    if not arguments:
        return _WRONG_USAGE
    return result if isinstance(result, int) else 0


def _discard_output() -> None:
    """Discards buffered output, also when the process ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_warning(text: str) -> None:
    lines = textwrap.wrap(f"warning: {text}", 80, break_long_words=False, break_on_hyphens=False)
    print(
        "\n".join([lines[0].replace("warning:", paint("warning:", "yellow", sys.stderr), 1), *lines[1:]]),
        file=sys.stderr,
    )


def _print_error(text: str) -> None:
    print(fold(f"{paint('error:', 'red', sys.stderr)} {text}", 0, sys.stderr), file=sys.stderr)
