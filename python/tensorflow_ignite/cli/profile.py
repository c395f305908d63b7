"""``profile``: where the time of a running task goes."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tensorflow_ignite.cli.errors import CommandLineError
from tensorflow_ignite.cli.options import Address, JobId, Json, option, session, usage
from tensorflow_ignite.cli.render import escaped, fold, has_colour, paint, print_json, short_id, table
from tensorflow_ignite.jobs import checks

if TYPE_CHECKING:
    from tensorflow_ignite.jobs.profiles import Profile

# Of an operation that is shown.
_LEAST_SHARE = 0.005


def profile(
    context: typer.Context,
    job_id: JobId,
    seconds: Annotated[float, option("--seconds", "SECONDS", "Length of the profile, 0.1 to 60.")] = 5.0,
    task: Annotated[
        str | None, option("--task", "ROLE:INDEX", "The task, such as worker:0; else the first with the script.")
    ] = None,
    output: Annotated[
        Path | None, option("--output", "DIRECTORY", "Also write the trace here, for tensorboard --logdir.")
    ] = None,
    address: Address = None,
    json_output: Json = False,
) -> None:
    """Profile a running task: its share of waiting for input, and the operations that take the most time.

    The profiler of TensorFlow, or of JAX, records in the task while it trains. The trace is stored with the curves
    of the job; TensorBoard with its profiler shows it.

    \b
    Examples:
      tensorflow-ignite profile 7f3a
      tensorflow-ignite profile 7f3a --seconds 10 --task worker:2
      tensorflow-ignite profile 7f3a --output trace && tensorboard --logdir trace
      tensorflow-ignite profile 7f3a --json | jq .input_wait
    """
    with usage():
        checks.profile_seconds(seconds)
    if output is not None:
        try:
            output.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CommandLineError(
                f"--output {output} cannot be made: {error.strerror}. It names a directory. Give another name."
            ) from None
    with session(context, address) as client:
        from tensorflow_ignite.jobs.profiles import write_trace

        job = client.job(job_id)
        with _status(f"profiling {task or 'a task'} of job {short_id(job.id)} for {seconds:g} s"):
            found = job.profile(task, seconds=seconds)
        if output is not None:
            write_trace(job.files(), found, output)
    if json_output:
        print_json(found.to_dict())
        return
    _print(found)
    print(f"\ntrace: {found.trace}")
    shown = f"tensorboard --logdir {output}" if output else f"tensorflow-ignite tensorboard {short_id(job.id)}"
    print(fold(f"TensorBoard shows it after 'pip install tensorboard-plugin-profile': {shown}", 2))


def _status(text: str) -> Any:
    if not has_colour(sys.stderr):
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(text)


def _print(found: Profile) -> None:
    print(f"profile of {paint(found.task, 'bold')}, {found.seconds:.1f} s")
    if found.input_wait is not None:
        print(f"  waiting for input: {found.input_wait:.0%} of the time")
    if not found.operations:
        print("  no operations: the task computed nothing in this time, or JAX has recorded, whose trace is not read")
        return
    rows = [
        # The name of the function that was called says nothing, and pushes the operation out of a narrow terminal.
        [
            escaped(each.name.removeprefix("StatefulPartitionedCall/")),
            each.device,
            f"{each.calls:,}",
            f"{each.seconds:.3f}",
            f"{each.share:.0%}",
        ]
        for each in found.operations
        if each.share >= _LEAST_SHARE
    ]
    print()
    print(table(["OPERATION", "ON", "CALLS", "SECONDS", "SHARE"], rows, indent="  ", elastic=["OPERATION"]))
