"""``logs`` and ``attach``: the output of a job's tasks."""

from __future__ import annotations

import json
import re
import sys
from typing import Annotated

import typer

from tensorflow_ignite.cli.errors import CommandLineError
from tensorflow_ignite.cli.options import Address, JobId, Json, option, session
from tensorflow_ignite.spec import ROLES


def logs(
    context: typer.Context,
    job_id: JobId,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on until the job is over and its output complete.")
    ] = False,
    task: Annotated[
        str | None, option("--task", "ROLE[:INDEX]", "Only this task: worker:0; or this role: worker.")
    ] = None,
    attempt: Annotated[int | None, option("--attempt", "NUMBER", "Only this attempt, counted from 1.")] = None,
    prefix: Annotated[bool, typer.Option("--prefix/--no-prefix", help="Put the task before each line.")] = True,
    address: Address = None,
    json_output: Annotated[bool, typer.Option("--json", help="Print one JSON object for each line.")] = False,
) -> None:
    """Print the output of a job's tasks from its first line on, also after the job's end.

    \b
    Examples:
      tensorflow-ignite logs 7f3a
      tensorflow-ignite logs -f --task worker:0 7f3a
      tensorflow-ignite logs --attempt 1 --no-prefix --task worker:0 7f3a
    """
    role, index = _parse_task(task)
    if attempt is not None and attempt < 1:
        raise CommandLineError(f"--attempt {attempt} does not exist. Attempts count from 1. Give another number.")
    with session(context, address) as client:
        from tensorflow_ignite.cli.follow import INTERRUPTED, log_text

        job = client.job(job_id)
        try:
            for line in job.logs(follow=follow, role=role, index=index, attempt=attempt):
                if json_output:
                    print(json.dumps(vars(line), ensure_ascii=False), flush=follow)
                else:
                    print(log_text(line, sys.stdout, prefix=prefix), flush=follow)
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None


def attach(context: typer.Context, job_id: JobId, address: Address = None, json_output: Json = False) -> None:
    """Print a job's output from its first line on until it is over; the exit code is the job's.

    Ctrl-C detaches: the job goes on.

    With --json the tasks' output goes to standard error, and the job, when
    it is over, to standard output.

    \b
    Examples:
      tensorflow-ignite attach 7f3a
      tensorflow-ignite attach 7f3a && echo trained
    """
    with session(context, address) as client:
        from tensorflow_ignite.cli.follow import follow
        from tensorflow_ignite.cli.render import print_json

        job = client.job(job_id)
        code = follow(job, sys.stderr if json_output else sys.stdout)
        if json_output:
            print_json(job.status.to_dict())
    raise typer.Exit(code)


def _parse_task(task: str | None) -> tuple[str | None, int | None]:
    if task is None:
        return None, None
    match = re.fullmatch(r"([a-z][a-z0-9_]*)(?:[: ]([0-9]{1,9}))?", task)
    if match is None:
        raise CommandLineError(
            f"--task {task!r} names no task. A task is ROLE:INDEX, the role one of {', '.join(ROLES)}, or a role of a "
            "custom job. For example: --task worker:0"
        )
    return match.group(1), int(match.group(2)) if match.group(2) else None
