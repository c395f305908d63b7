"""``events``: the history of a job, in order."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from tensorflow_ignite.cli.options import Address, JobId, session
from tensorflow_ignite.cli.render import escaped, fold, paint, paint_state
from tensorflow_ignite.spec import Event

_STATE_WIDTH = len("restarting")


def events(
    context: typer.Context,
    job_id: JobId,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the job is over.")] = False,
    address: Address = None,
    json_output: Annotated[bool, typer.Option("--json", help="Print one JSON object for each event.")] = False,
) -> None:
    """Print a job's history: each state, attempt and restart, with its cause, oldest first.

    The cluster keeps the newest 500 events of a job.

    \b
    Examples:
      tensorflow-ignite events 7f3a
      tensorflow-ignite events -f 7f3a
      tensorflow-ignite events --json 7f3a | jq -r .text
    """
    with session(context, address) as client:
        from tensorflow_ignite.cli.follow import INTERRUPTED

        job = client.job(job_id)
        try:
            for event in job.events(follow=follow):
                if json_output:
                    print(json.dumps(event.to_dict(), ensure_ascii=False), flush=follow)
                else:
                    print(fold(event_text(event), 4), flush=follow)
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None


def event_text(event: Event) -> str:
    """An event in one line: when, in which attempt, the job's state from then on, what happened."""
    at = "-" if event.at is None else f"{event.at.astimezone():%Y-%m-%d %H:%M:%S}"
    attempt = f"attempt {event.attempt}" if event.attempt else "-"
    return f"{paint(at, 'dim')}  {attempt:<11}{paint_state(event.state.ljust(_STATE_WIDTH))}  {escaped(event.text)}"
