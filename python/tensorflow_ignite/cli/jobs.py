"""``ps``, ``describe``, ``stop`` and ``nodes``: looking at the cluster, and ending a job."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from tensorflow_ignite.cli.options import Address, CommandLineError, JobId, Json, session
from tensorflow_ignite.cli.render import age, count, paint, paint_state, print_json, short_id, table, timestamp
from tensorflow_ignite.spec import Attempt, Job, Progress, Task

__all__ = ["describe", "nodes", "progress_of", "progress_text", "ps", "stop"]

# So many of a job's newest events are shown.
_EVENTS = 10


def ps(context: typer.Context, address: Address = None, json_output: Json = False) -> None:
    """List the jobs, newest first.

    \b
    Examples:
      tensorflow-ignite ps
      tensorflow-ignite ps --json | jq -r '.[].id'
    """
    with session(context, address) as client:
        jobs = client.jobs()
    if json_output:
        print_json([job.to_dict() for job in jobs])
        return
    if not jobs:
        print("no jobs; submit one: tensorflow-ignite submit --cache NAME train.py")
        return
    rows = [
        [
            job.id,
            job.spec.name or "-",
            job.spec.kind,
            job.spec.cache,
            _state(job),
            str(job.attempt.number) if job.attempt else "-",
            progress_text(progress_of(job)) or "-",
            age(job.created_at),
        ]
        for job in jobs
    ]
    print(table(["ID", "NAME", "KIND", "CACHE", "STATE", "ATTEMPT", "PROGRESS", "AGE"], rows))


def describe(context: typer.Context, job_id: JobId, address: Address = None, json_output: Json = False) -> None:
    """Show all that is known of a job: states, attempts, tasks and their nodes, and why it ended.

    \b
    Examples:
      tensorflow-ignite describe 7f3a
      tensorflow-ignite describe 7f3a --json | jq .cause
    """
    with session(context, address) as client:
        job = client.job(job_id).status
    if json_output:
        print_json(job.to_dict())
        return
    spec = job.spec
    facts = [
        ("name", spec.name),
        ("state", paint_state(_state(job))),
        ("kind", spec.kind + (f", {count(spec.ps_count, 'ps')}" if spec.ps_count else "")),
        ("cache", spec.cache),
        ("script", shlex.join([spec.script, *spec.args])),
        ("env", shlex.join(f"{name}={value}" for name, value in sorted(spec.env.items()))),
        ("checkpoints", spec.checkpoint_directory),
        ("code", f"sha256 {spec.code_digest}"),
        ("created", timestamp(job.created_at)),
        ("finished", timestamp(job.finished_at) if job.finished_at else ""),
        ("service on", job.service_node_id if not job.is_over else ""),
        ("waiting for", job.waiting_for),
        ("crashes", f"{job.crashes} since it was last healthy" if job.crashes else ""),
        ("data lost", f"all copies of {count(len(job.lost_partitions), 'partition')}" if job.lost_partitions else ""),
        ("cause", paint(job.cause, "red") if job.cause else ""),
        ("exit code", "" if job.exit_code is None else str(job.exit_code)),
    ]
    print(f"job {paint(job.id, 'bold')}")
    for name, value in facts:
        if value:
            print(f"  {name + ':':<13}{value}")
    for attempt in job.attempts[:-1]:
        why = attempt.cause or _tasks_in_short(attempt)
        kind = f"{attempt.cause_kind}: " if attempt.cause_kind else ""
        print(f"\nattempt {attempt.number}, over {timestamp(attempt.finished_at)}, {_steps(attempt)}{kind}{why}")
    if job.attempt:
        _print_attempt(job.attempt)
    if job.events:
        print(f"\nwhat happened (the last of {len(job.events)}; all: --json):")
        for event in job.events[-_EVENTS:]:
            print(f"  {timestamp(event.at)} {event.text}")
    if job.traceback:
        print("\ntraceback of the first failure:")
        for line in job.traceback.rstrip().splitlines():
            print(f"  {line}")


def stop(
    context: typer.Context,
    job_id: JobId,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", help="How long to wait for the proof that nothing is left.")
    ] = 60.0,
    address: Address = None,
    json_output: Json = False,
) -> None:
    """Stop a job, and wait until its processes are proven gone.

    \b
    Examples:
      tensorflow-ignite stop 7f3a
      tensorflow-ignite stop 7f3a --timeout 300
    """
    if not 0 < timeout < float("inf"):
        raise CommandLineError(f"--timeout {timeout:g} is not a time. It is more than 0 seconds. Change it.")
    with session(context, address) as client:
        job = client.job(job_id).stop(timeout=timeout)
    if json_output:
        print_json(job.to_dict())
    elif job.state == "stopped":
        print(f"job {job.id} is stopped; nothing of it runs")
    else:
        print(f"job {job.id} had already {job.state} when it was asked to stop; nothing of it runs")


def nodes(context: typer.Context, address: Address = None, json_output: Json = False) -> None:
    """List the nodes of the cluster that run the service, and what their agents have.

    \b
    Examples:
      tensorflow-ignite nodes
      tensorflow-ignite nodes --address node1:10820,node2:10820 --json
    """
    with session(context, address) as client:
        found = client.nodes()
    if json_output:
        print_json([node.to_dict() for node in found])
        return
    rows = [
        [
            short_id(node.id),
            node.consistent_id,
            node.host_name,
            node.address,
            "-" if node.agent.pid is None else str(node.agent.pid),
            node.agent.python_version or "-",
            node.agent.tensorflow_version or "-",
            node.plugin_version or "-",
        ]
        for node in found
    ]
    print(table(["ID", "NAME", "HOST", "ADDRESS", "AGENT", "PYTHON", "TENSORFLOW", "VERSION"], rows))
    for node in found:
        if node.agent.error:
            print(f"node {short_id(node.id)} runs no tasks: {paint(node.agent.error, 'red')}")


def progress_of(job: Job) -> Progress | None:
    """What the newest attempt's slowest task told of its work: a job has done the steps that all have done."""
    tasks = job.attempt.tasks if job.attempt else ()
    told = [task.status.progress for task in tasks if task.status.progress]
    return min(told, key=lambda progress: progress.step, default=None)


def progress_text(progress: Progress | None) -> str:
    """Progress in one line: ``"step 120/300 accuracy=0.91"``."""
    if progress is None:
        return ""
    steps = f"step {progress.step:,}" + (f"/{progress.total_steps:,}" if progress.total_steps else "")
    return " ".join([steps, *(f"{name}={value:.4g}" for name, value in sorted(progress.metrics.items()))])


def _state(job: Job) -> str:
    return f"ending ({job.outcome})" if job.state == "ending" and job.outcome else job.state


def _tasks_in_short(attempt: Attempt) -> str:
    states: dict[str, int] = {}
    for task in attempt.tasks:
        states[task.status.state] = states.get(task.status.state, 0) + 1
    return ", ".join(f"{number} {state}" for state, number in states.items()) or "no tasks"


def _steps(attempt: Attempt) -> str:
    return f"at step {attempt.last_step:,}, " if attempt.last_step else ""


def _print_attempt(attempt: Attempt) -> None:
    resumed = f", resumed from step {attempt.resumed_from_step:,}" if attempt.resumed_from_step else ""
    print(f"\nattempt {attempt.number}, to {attempt.phase}, begun {timestamp(attempt.started_at)}{resumed}")
    if not attempt.tasks:
        return
    heads = ["TASK", "NODE", "STATE", "PID", "PARTITIONS", "ROWS", "ADDRESS", "EXIT", "PROGRESS"]
    print(table(heads, [_task_row(task) for task in attempt.tasks], indent="  "))
    for task in attempt.tasks:
        if task.status.error:
            print(f"  {task.name}: {paint(task.status.error, 'red')}")


def _task_row(task: Task) -> list[str]:
    status = task.status
    return [
        task.name + (f" ({task.incarnation})" if task.incarnation > 1 else ""),
        short_id(task.node_id),
        status.state,
        "-" if status.pid is None else str(status.pid),
        str(len(task.partitions)) if task.partitions else "-",
        f"{status.rows:,}" if task.partitions and status.state != "placed" else "-",
        status.address or "-",
        "-" if status.exit_code is None else str(status.exit_code),
        progress_text(status.progress) or "-",
    ]
