"""``submit``: makes a job of code, options and the script's own arguments."""

from __future__ import annotations

import dataclasses
import inspect
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tensorflow_ignite.cli.errors import CommandLineError
from tensorflow_ignite.cli.job_options import JobOptions, add_variables, complete_setting, is_job_file
from tensorflow_ignite.cli.options import Address, Json, complete_cache, one_of, option, session
from tensorflow_ignite.groups import Environment
from tensorflow_ignite.jobs.options import GROUPS, packages
from tensorflow_ignite.kinds import TRAINING_KINDS

if TYPE_CHECKING:
    from tensorflow_ignite.jobs.handle import JobHandle

_GROUPS = "Groups of options"
_OUTPUT = "This command"


def submit(
    context: typer.Context,
    code: Annotated[
        str,
        typer.Argument(
            metavar="CODE", help="A script, a folder, a .zip archive; or a job file: .yaml, with code and options."
        ),
    ],
    args: Annotated[
        list[str] | None,
        typer.Argument(metavar="ARGS", help="Everything after the code is passed to the script unchanged."),
    ] = None,
    cache: Annotated[
        str | None,
        option(
            "--cache",
            "NAME",
            "The cache whose partitions are split over the workers. Required here or in the job file.",
            autocompletion=complete_cache,
        ),
    ] = None,
    script: Annotated[
        str | None, option("--script", "PATH", "The script inside a folder or archive; by default main.py or train.py.")
    ] = None,
    name: Annotated[str | None, option("--name", "TEXT", "A name for people; by default the script's name.")] = None,
    priority: Annotated[
        int | None,
        option("--priority", "NUMBER", "From -100 to 100: each unit moves the job ten minutes forward in the queue."),
    ] = None,
    checkpoint_directory: Annotated[
        str | None,
        option(
            "--checkpoint-directory",
            "PATH",
            "The directory for checkpoints, a path or URL that every node reaches; by default in the cluster.",
        ),
    ] = None,
    read_rate: Annotated[
        str | None,
        option(
            "--read-rate",
            "RATE",
            "Limit of bytes or rows that all tasks together read from each node per second: 200MB, 50000rows.",
        ),
    ] = None,
    strategy: Annotated[
        str | None,
        option(
            "--strategy",
            "KIND",
            f"One of {', '.join(TRAINING_KINDS)}. Same as strategy.kind.",
            autocompletion=one_of(TRAINING_KINDS),
            rich_help_panel=_GROUPS,
        ),
    ] = None,
    env: Annotated[
        list[str] | None,
        option(
            "--env",
            "[ROLE:]NAME=VALUE",
            "Set a variable of every task, or of one role's tasks; may be repeated. Same as environment.variables.",
            rich_help_panel=_GROUPS,
        ),
    ] = None,
    requirements: Annotated[
        Path | None,
        option(
            "--requirements",
            "FILE",
            "A requirements file; pip installs its packages on each node. Same as environment.requirements.",
            rich_help_panel=_GROUPS,
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        option(
            "--set",
            "OPTION=VALUE",
            "Any option of a group; may be repeated. The list of groups is above.",
            autocompletion=complete_setting,
            rich_help_panel=_GROUPS,
        ),
    ] = None,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose",
            help="Also print TensorFlow's C++ messages.",
            rich_help_panel=_OUTPUT,
        ),
    ] = False,
    wait: Annotated[
        bool,
        typer.Option(
            "--wait/--detach",
            help="Print the job's output until it is over, or only print its id.",
            rich_help_panel=_OUTPUT,
        ),
    ] = True,
    address: Address = None,
    json_output: Json = False,
) -> None:
    """Submit a job that trains beside the rows of a cache.

    Options stand before the code; everything after it goes to the script.
    It runs on the nodes, which have Linux, from any system.

    With --wait the exit code is the job's, and Ctrl-C detaches: the job goes on.

    With --json, the tasks' output goes to standard error. Standard output gets
    the job at its end, or with --detach at its submission.

    \b
    Examples:
      tensorflow-ignite submit --cache images train.py --epochs 3
      tensorflow-ignite submit --cache images --env SEED=7 project/ -c a.yaml
      tensorflow-ignite submit --cache images --script src/fit.py code.zip
      tensorflow-ignite submit --cache images --requirements r.txt train.py
      tensorflow-ignite submit --cache clicks --strategy parameter-server train.py
      tensorflow-ignite submit --cache images --set workers.per_node=2 train.py
      tensorflow-ignite submit --cache images --set evaluator.cache=test train.py
      tensorflow-ignite submit --cache trips --set rounds.every=10m train.py
      tensorflow-ignite submit job.yaml
      tensorflow-ignite submit --set timeouts.stall=1h --name night job.yaml
      id=$(tensorflow-ignite submit --detach --cache images train.py)

    \b
    Options of groups, for --set and job files; docs/jobs.md explains them:
      {groups}
    """
    options = JobOptions()
    if is_job_file(code):
        options.add_file(code)
        if args and options.args is not None:
            raise CommandLineError(
                f"args are given twice: in {code}, and behind it. A script has one list of arguments. Give it once."
            )
    given = args or options.args or []
    flags = {
        "cache": cache,
        "script": script,
        "name": name,
        "priority": priority,
        "checkpoint_directory": checkpoint_directory,
        "read_rate": read_rate,
        "environment.requirements": requirements,
    }
    for named, value in flags.items():
        if value is not None:
            options.add(named, value, f"--{named.rpartition('.')[2].replace('_', '-')}")
    if strategy is not None:
        options.add_text("strategy.kind", strategy, "--strategy")
    add_variables(options, env)
    if verbose:
        options.add("environment.variables", "0", "--verbose", "TF_CPP_MIN_LOG_LEVEL")
    for setting in settings or []:
        options.add_setting(setting)
    chosen = options.arguments()
    if "cache" not in chosen:
        if options.code is not None:
            raise CommandLineError(
                f"{code} has no cache, and the option --cache is missing. A job trains on the rows of one cache. Write "
                f"cache: NAME into {code}, or give --cache NAME before it."
            )
        hint = ""
        if any(arg == "--cache" or arg.startswith("--cache=") for arg in given):
            hint = f" (the one after {code!r} goes to the script)"
        raise CommandLineError(
            f"the option --cache is missing{hint}. A job trains on the rows of one cache, and options stand before "
            f"the code. For example: tensorflow-ignite submit --cache NAME {code}"
        )

    # Before the first call: a script with a syntax error is reported also where no node answers.
    from tensorflow_ignite.jobs.archive import pack

    processes = chosen.get("environment", Environment())
    archive = pack(options.code or code, chosen.pop("script", None), **packages(processes))
    chosen["environment"] = dataclasses.replace(processes, requirements="", wheels=())
    with session(context, address) as client, options.placed():
        job = client.submit(archive, args=given, **chosen)
        exit_code = report(job, wait=wait, json_output=json_output)
    raise typer.Exit(exit_code)


# `python -OO` has no docstrings.
submit.__doc__ = inspect.cleandoc(submit.__doc__ or "").format(
    groups="\n  ".join(
        f"{name:<11}  {' '.join(field.name for field in dataclasses.fields(group))}"  # type: ignore[arg-type]
        for name, group in GROUPS.items()
    )
)


def report(job: JobHandle, *, wait: bool, json_output: bool) -> int:
    """Prints a submitted job as the options of the command request; returns the exit code."""
    from tensorflow_ignite.cli.follow import follow
    from tensorflow_ignite.cli.render import print_json, short_id

    exit_code = 0
    if wait:
        end = f"tensorflow-ignite stop {short_id(job.id)}"
        print(f"job {job.id} submitted; Ctrl-C detaches; end it: {end}", file=sys.stderr)
        exit_code = follow(job, sys.stderr if json_output else sys.stdout)
    if json_output:
        print_json(job.status.to_dict())
    elif not wait:
        print(job.id)
    return exit_code
