"""``describe``: everything about one job, for people."""

from __future__ import annotations

import dataclasses
import shlex
from datetime import datetime, timezone

import typer

from tensorflow_ignite.cli import render, speed
from tensorflow_ignite.cli.events import event_text
from tensorflow_ignite.cli.options import Address, JobId, Json, session
from tensorflow_ignite.spec import Attempt, EpochProgress, Job, JobSpec, Task

# How many of a job's newest events are shown.
_ATTEMPTS = 20
_EVENTS = 10
# The service's default of max_crashes in job.proto.
_MAX_CRASHES = 3


def describe(context: typer.Context, job_id: JobId, address: Address = None, json_output: Json = False) -> None:
    """Show everything about a job: its attempts, why each ended, its tasks and their nodes, its first failure.

    \b
    Examples:
      tensorflow-ignite describe 7f3a
      tensorflow-ignite describe 7f3a --json | jq '.attempts[].cause'
    """
    with session(context, address) as client:
        job = client.job(job_id).status
    if json_output:
        render.print_json(job.to_dict())
        return
    print(f"job {render.paint(job.id, 'bold')}")
    for name, value in _facts(job):
        if value:
            print(render.fold(f"  {name + ':':<14}{value}", 16))
    if job.spec.rounds is not None:
        _print_rounds(job)
    if job.attempts:
        _print_attempts(job)
    if job.attempt:
        _print_tasks(job.attempt)
    if job.events:
        _print_events(job)
    if job.traceback:
        print(f"\n{render.paint('traceback of the first failure', 'bold')}{_source_of(job)}:")
        for line in job.traceback.rstrip().splitlines():
            print(f"  {render.escaped(line)}")


def _facts(job: Job) -> list[tuple[str, str]]:
    spec = job.spec
    return [
        ("name", render.escaped(spec.name)),
        ("owner", render.escaped(job.owner)),
        ("state", render.paint_state(job.state_text)),
        ("waiting for", "" if job.is_over else job.waiting_for),
        ("next attempt", _back_off(job)),
        ("cause", render.paint(render.escaped(job.cause), "red") if job.cause else ""),
        ("not proven", _unproven(job)),
        ("exit code", "" if job.exit_code is None else str(job.exit_code)),
        ("crashes", _budget(job)),
        ("restarts", f"{job.idle_restarts} in a row without a further step" if job.idle_restarts else ""),
        ("node failures", f"{job.node_failures} in a row; after 5 the job fails" if job.node_failures else ""),
        (
            "data lost",
            f"all copies of {render.count(len(job.lost_partitions), 'partition')}" if job.lost_partitions else "",
        ),
        (
            "kind",
            spec.strategy.kind + (f", {render.count(spec.strategy.servers, 'ps')}" if spec.strategy.servers else ""),
        ),
        ("tasks", render.escaped(", ".join(_tasks(spec)))),
        ("cache", render.escaped(", ".join([spec.cache, *spec.access.caches]))),
        ("model", spec.prediction.model if spec.prediction else ""),
        ("into", render.escaped(spec.prediction.output_cache) if spec.prediction else ""),
        ("script", render.escaped(shlex.join([spec.script, *spec.args]))),
        ("env", render.escaped(shlex.join(_variables(spec)))),
        ("packages", render.escaped(" ".join(filter(None, [spec.environment.requirements, *spec.environment.wheels])))),
        ("directories", render.escaped(" ".join(spec.access.directories))),
        ("interpreter", render.escaped(spec.environment.python)),
        ("checkpoints", spec.checkpoint_directory),
        ("rules", _rules(job)),
        ("code", f"sha256 {spec.code_digest}"),
        ("created", render.timestamp(job.created_at)),
        ("finished", f"{render.timestamp(job.finished_at)}, after {render.duration(job.created_at, job.finished_at)}")
        if job.finished_at
        else ("running for", render.duration(job.created_at)),
        (
            "kept until",
            render.timestamp(job.kept_until) if job.kept_until else "removed by hand" if job.is_over else "",
        ),
        ("service on", job.service_node_id if not job.is_over else ""),
    ]


def _unproven(job: Job) -> str:
    """The nodes on which processes of a job that is over may still run."""
    nodes = job.attempt.unproven_node_ids if job.attempt else ()
    return (
        f"that all has ended on node {', '.join(map(render.short_id, nodes))}; see: tensorflow-ignite nodes"
        if nodes
        else ""
    )


def _budget(job: Job) -> str:
    limit = _MAX_CRASHES if job.spec.restart.max_crashes is None else job.spec.restart.max_crashes
    if job.is_over and not job.crashes:
        return ""
    left = max(limit - job.crashes, 0)
    rest = "" if job.is_over else f": {left} more {'is' if left == 1 else 'are'} followed by a restart"
    return f"{job.crashes} of {limit} (max_crashes) since it was last healthy{rest}"


def _back_off(job: Job) -> str:
    now = datetime.now(timezone.utc)
    if job.is_over or job.not_before is None or job.not_before <= now:
        return ""
    return f"not before {job.not_before.astimezone():%H:%M:%S} (in {render.duration(now, job.not_before)})"


def _tasks(spec: JobSpec) -> list[str]:
    """Which tasks the job has beside the tasks of its kind, and on which nodes."""
    workers, strategy = spec.workers, spec.strategy
    tasks = [f"{workers.per_node} workers a node"] if workers.per_node > 1 else []
    tasks += [f"{render.count(workers.gpus, 'GPU')} for each worker"] if workers.gpus else []
    tasks += [f"workers on nodes with {name}={value}" for name, value in sorted(workers.nodes.items())]
    tasks += [f"ps on nodes with {name}={value}" for name, value in sorted(strategy.server_nodes.items())]
    tasks += ["worker 0 is the chief in TF_CONFIG"] if strategy.chief else []
    tasks += [f"{number} {role}" for role, number in sorted(strategy.roles.items())]
    if spec.evaluator is not None:
        script = f" runs {spec.evaluator.script}" if spec.evaluator.script else ""
        tasks.append(f"an evaluator{script}" + (f" on cache {spec.evaluator.cache}" if spec.evaluator.cache else ""))
    return tasks


def _variables(spec: JobSpec) -> list[str]:
    """The variables of all tasks, then the variables of roles, as they are given to submit."""
    variables = sorted(spec.environment.variables.items(), key=lambda each: (":" in each[0], each))
    return [f"{name}={value}" for name, value in variables]


def _rules(job: Job) -> str:
    """The options of the job that are not the defaults."""
    spec = job.spec
    rules = [f"priority={spec.priority}"] if spec.priority else []
    rules += [f"read_rate={spec.read_rate}"] if spec.read_rate else []
    rules += ["workers.minimum=" + str(spec.workers.minimum)] if spec.workers.minimum > 1 else []
    rules += ["access.allow_plaintext=True"] if spec.access.allow_plaintext else []
    rules += ["rounds"] if spec.rounds else []
    for name, group in (("restart", spec.restart), ("timeouts", spec.timeouts), ("rounds", spec.rounds)):
        for field in dataclasses.fields(group) if group else ():
            value = getattr(group, field.name)
            if value != field.default:
                rules.append(
                    f"{name}.{field.name}={value:g}" if isinstance(value, float) else f"{name}.{field.name}={value}"
                )
    return ", ".join(rules)


def _print_rounds(job: Job) -> None:
    if not job.rounds:
        print(f"\n{render.paint('rounds', 'bold')}: none; they begin when the script calls tfi.train.rounds()")
        return
    print(f"\n{render.paint('rounds', 'bold')}:")
    for each in job.rounds:
        begun = "-" if each.begun_at is None else f"{each.begun_at.astimezone():%Y-%m-%d %H:%M:%S}"
        state = "" if each.finished_at else " (stopped)" if job.is_over else " (trains)"
        print(render.fold(f"  {begun}  {render.escaped(str(each))}{state}", 4))
    for task in job.attempt.tasks if job.attempt and not job.is_over else ():
        if task.status.progress and task.status.progress.waiting_for:
            print(render.fold(f"  the next one waits for {render.escaped(task.status.progress.waiting_for)}", 4))


def _print_attempts(job: Job) -> None:
    shown = job.attempts[-_ATTEMPTS:]
    rest = job.earlier_attempts + len(job.attempts) - len(shown)
    more = f" (and {rest} before; with --json: {len(job.attempts)})" if rest else ""
    print(f"\n{render.paint('attempts', 'bold')}{more}:")
    heads = ["NUMBER", "STATE", "WORKERS", "STEPS", "BEGUN", "DURATION"]
    rows = [_attempt_row(job, attempt) for attempt in shown]
    print(render.table(heads, rows, indent="  ", elastic=["STEPS"]))
    for attempt in shown:
        if attempt.cause:
            kind = f"{attempt.cause_kind}: " if attempt.cause_kind else ""
            print(render.fold(f"  attempt {attempt.number} ended, {kind}{render.escaped(attempt.cause)}", 4))


def _attempt_row(job: Job, attempt: Attempt) -> list[str]:
    workers = sum(task.role == "worker" for task in attempt.tasks)
    running = attempt is job.attempt and not job.is_over
    end = attempt.finished_at or (None if running else attempt.ending_at or job.finished_at)
    return [
        str(attempt.number),
        attempt.cause_kind or (job.state_text if attempt is job.attempt else "over"),
        str(workers),
        _steps(attempt),
        "-" if attempt.started_at is None else f"{attempt.started_at.astimezone():%Y-%m-%d %H:%M:%S}",
        render.duration(attempt.started_at, end) if end or running else "-",
    ]


def _steps(attempt: Attempt) -> str:
    """From the step that the attempt resumed from to the highest that its tasks reported."""
    reported = [task.status.progress.step for task in attempt.tasks if task.status.progress]
    last = max([attempt.last_step, *reported])
    if attempt.resumed_from_step:
        return f"resumed from {attempt.resumed_from_step:,}" + (f", to {last:,}" if last else "")
    return f"to {last:,}" if last else "-"


def _print_tasks(attempt: Attempt) -> None:
    if not attempt.tasks:
        return
    print(f"\n{render.paint(f'tasks of attempt {attempt.number}', 'bold')}:")
    heads = ["TASK", "NODE", "STATE", "PID", "PARTITIONS", "ROWS", "ADDRESS", "EXIT", "PROGRESS"]
    rows = [_task_row(task) for task in attempt.tasks]
    left_out = ["PID", "PARTITIONS", "EXIT", "ADDRESS"]
    print(render.table(heads, rows, indent="  ", optional=left_out, elastic=["PROGRESS"]))
    _print_speed(attempt)
    _print_epochs(attempt)
    for task in attempt.tasks:
        if task.status.gpus:
            print(render.fold(f"  {task.name} has the GPUs {', '.join(map(render.escaped, task.status.gpus))}", 4))
    for task in attempt.tasks:
        if task.status.error:
            name = "" if task.status.error.startswith(task.name) else f"{task.name}: "
            print(render.fold(f"  {name}{render.paint(render.escaped(task.status.error), 'red')}", 4))


def _print_speed(attempt: Attempt) -> None:
    """How fast the tasks train, while they run."""
    tasks = [task for task in speed.measured(attempt) if task.status.state == "running"]
    if tasks:
        print(f"\n{render.paint('speed', 'bold')}:")
        print(render.table(speed.HEADS, speed.rows(tasks), indent="  ", optional=speed.OPTIONAL))
        print()


def _print_epochs(attempt: Attempt) -> None:
    """The rows of the last epoch that each task has read to its end."""
    for task in attempt.tasks:
        for epoch in _epochs(task)[-1:]:
            print(render.fold(f"  {task.name}, {render.escaped(str(epoch))}", 4))


def _epochs(task: Task) -> tuple[EpochProgress, ...]:
    return task.status.progress.epochs if task.status.progress else ()


def _task_row(task: Task) -> list[str]:
    status = task.status
    return [
        task.name + (f" (incarnation {task.incarnation})" if task.incarnation else ""),
        render.short_id(task.node_id),
        status.state,
        "-" if status.pid is None else str(status.pid),
        str(len(task.partitions)) if task.partitions else "-",
        f"{status.rows:,}" if task.partitions and status.state != "placed" else "-",
        status.address or "-",
        "-" if status.exit_code is None else str(status.exit_code),
        str(status.progress or "-"),
    ]


def _print_events(job: Job) -> None:
    shown = job.events[-_EVENTS:]
    rest = len(job.events) - len(shown)
    more = f" (and {rest} before; all: tensorflow-ignite events {render.short_id(job.id)})" if rest else ""
    print(f"\n{render.paint('events', 'bold')}{more}:")
    for event in shown:
        print(render.fold(f"  {event_text(event)}", 4))


def _source_of(job: Job) -> str:
    """Which task wrote the job's traceback, if one of the tasks that are known has it."""
    for attempt in reversed(job.attempts):
        for task in attempt.tasks:
            if task.status.traceback == job.traceback:
                return f" (attempt {attempt.number}, {task.name} on node {render.short_id(task.node_id)})"
    return ""
