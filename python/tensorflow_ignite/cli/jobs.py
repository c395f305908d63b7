"""``ps``, ``stop``, ``rm`` and ``nodes``: lists of jobs and nodes, the end of a job, and its removal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, cast

import typer

from tensorflow_ignite import spec
from tensorflow_ignite.cli.credentials import addresses_of, resolve_credentials
from tensorflow_ignite.cli.errors import CommandLineError
from tensorflow_ignite.cli.options import Address, JobId, JobIds, Json, moment, one_of, option, session, usage
from tensorflow_ignite.cli.render import age, count, escaped, fold, paint, print_json, short_id, table
from tensorflow_ignite.jobs import checks

# Jobs in the queue of which ps prints the reasons.
_SHOWN_WAITING = 5
# Seconds in which a lost node answers, if it runs.
_SPLIT_SECONDS = 2.0


def ps(
    context: typer.Context,
    state: Annotated[
        list[str] | None,
        option("--state", "STATE", "Only jobs in this state; may be repeated.", autocompletion=one_of(spec.JOB_STATES)),
    ] = None,
    since: Annotated[
        str | None, option("--since", "TIME", "Only jobs submitted since then: 30m, 12h, 7d, or 2026-11-25T08:00.")
    ] = None,
    limit: Annotated[int, option("--limit", "NUMBER", "How many jobs at most, from 1 to 100000.")] = 100,
    address: Address = None,
    json_output: Json = False,
) -> None:
    """List the jobs, newest first.

    \b
    Examples:
      tensorflow-ignite ps
      tensorflow-ignite ps --state running --state pending
      tensorflow-ignite ps --since 12h --limit 1000
      tensorflow-ignite ps --json | jq -r '.[].id'
    """
    begin = None if since is None else moment("--since", since)
    with session(context, address) as client, usage():
        # One more, to know whether there are more.
        jobs = client.jobs(
            states=cast("list[spec.JobState]", state or []), since=begin, limit=limit + (1 <= limit < checks.MAX_JOBS)
        )
    more = len(jobs) > limit
    jobs = jobs[:limit]
    if more:
        higher = min(10 * limit, checks.MAX_JOBS)
        print(f"only the newest {count(limit, 'job')}; for more: --limit {higher}", file=sys.stderr)
    if json_output:
        print_json([job.to_dict() for job in jobs])
        return
    if not jobs and (state or since):
        print("no such jobs; all: tensorflow-ignite ps")
        return
    if not jobs:
        print("no jobs; submit one: tensorflow-ignite submit --cache NAME train.py")
        return
    rows = [
        [
            job.id,
            job.spec.name or "-",
            job.spec.strategy.kind,
            job.spec.cache,
            job.state_text,
            str(job.attempt.number) if job.attempt else "-",
            str(job.progress or "-"),
            age(job.created_at),
        ]
        for job in jobs
    ]
    heads = ["ID", "NAME", "KIND", "CACHE", "STATE", "ATTEMPT", "PROGRESS", "AGE"]
    print(table(heads, rows, optional=["KIND", "ATTEMPT"], elastic=["PROGRESS", "NAME", "CACHE"]))
    waiting = [job for job in jobs if job.queue_position]
    for job in sorted(waiting, key=lambda job: job.queue_position)[:_SHOWN_WAITING]:
        print(fold(f"job {short_id(job.id)} is waiting for {job.waiting_for}", 2))
    for job in jobs:
        if job.state == "unreadable":
            text = f"job {job.id}: {paint(job.cause, 'red')}. Remove it: tensorflow-ignite rm --force {job.id}"
            print(fold(text, 2))


def stop(
    context: typer.Context,
    job_id: JobId,
    force: Annotated[
        bool, typer.Option("--force", help="End it also if some nodes cannot prove that nothing is left.")
    ] = False,
    timeout: Annotated[
        float, option("--timeout", "SECONDS", "How long to wait for the proof that nothing is left.")
    ] = 60.0,
    save: Annotated[
        bool, typer.Option("--save", help="The tasks save a checkpoint first; they have the job's stop grace for it.")
    ] = False,
    address: Address = None,
    json_output: Json = False,
) -> None:
    """Stop a job, and wait until the end of its processes is proven.

    With --force the job ends without that proof after the stop grace, two leases and 10 s. The nodes where its
    processes may still run get no task of any job until their agents have proven the end.
    With --save, all tasks of a script with tfi.train.checkpoint or CheckpointCallback save after the same step, so that
    a job with the same --checkpoint-directory continues there.

    \b
    Examples:
      tensorflow-ignite stop 7f3a
      tensorflow-ignite stop 7f3a --timeout 300
      tensorflow-ignite stop 7f3a --force
      tensorflow-ignite stop 7f3a --save
    """
    if not 0 < timeout < float("inf"):
        raise CommandLineError(f"--timeout {timeout:g} is not a time. It is more than 0 seconds. Give a larger number.")
    with session(context, address) as client:
        job = client.job(job_id).stop(force=force, save=save, timeout=timeout)
    if json_output:
        print_json(job.to_dict())
    elif job.attempt and job.attempt.unproven_node_ids:
        print(f"job {job.id} is over ({job.state}): {paint(job.cause or job.events[-1].text, 'red')}")
    elif job.state == "stopped" and save and job.events:
        print(f"job {job.id} is stopped: {job.events[-1].text}")
    elif job.state == "stopped":
        print(f"job {job.id} is stopped; nothing of it runs")
    else:
        print(f"job {job.id} had already {job.state} before the request to stop; nothing of it runs")


def rm(
    context: typer.Context,
    job_ids: JobIds,
    force: Annotated[
        bool, typer.Option("--force", help="Also jobs whose row is unreadable, or of a later version; their tasks end.")
    ] = False,
    address: Address = None,
) -> None:
    """Remove jobs that are over, with their checkpoints in the cluster, their output and their code.

    The cluster removes a job by itself some time after its end; `describe` shows when.

    \b
    Examples:
      tensorflow-ignite rm 7f3a
      tensorflow-ignite ps --state failed --json | jq -r '.[].id' |
        xargs tensorflow-ignite rm
    """
    with session(context, address) as client:
        # All are looked up before the first is removed: after a typing error nothing is removed.
        for job in [client.job(job_id) for job_id in job_ids]:
            job.remove(force=force)
            print(f"job {job.id} is removed, with all that it had left")


def nodes(context: typer.Context, address: Address = None, json_output: Json = False) -> None:
    """List the nodes of the cluster that run the service, and what their agents have.

    \b
    Examples:
      tensorflow-ignite nodes
      tensorflow-ignite nodes --address node1:10820,node2:10820 --json
    """
    with session(context, address) as client:
        found = client.nodes()
    split = _split(context, address, found)
    if json_output:
        print_json([node.to_dict() for node in found])
        if split:
            print(split, file=sys.stderr)
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
            f"{node.tasks}/{node.max_tasks or '-'}",
            str(len(node.gpus)),
            f"{node.agent.warm_processes} ({node.agent.warm_bytes >> 20} MiB)" if node.agent.warm_processes else "-",
            node.plugin_version or "-",
        ]
        for node in found
    ]
    heads = ["ID", "NAME", "HOST", "ADDRESS", "AGENT", "PYTHON", "TENSORFLOW", "TASKS", "GPUS", "SPARES", "VERSION"]
    print(table(heads, rows, optional=["AGENT", "HOST", "SPARES", "VERSION", "GPUS"], elastic=["NAME"]))
    for node in found:
        if node.agent.error:
            print(fold(f"node {short_id(node.id)} runs no tasks: {paint(node.agent.error, 'red')}", 2))
        for unproven in node.quarantine:
            print(fold(f"node {short_id(node.id)} is in quarantine: {paint(unproven.text, 'red')}", 2))
        if node.availability:
            print(fold(f"node {short_id(node.id)} gets no tasks: {availability_text(node.availability)}", 2))
        if node.is_outside_baseline:
            add = f"tensorflow-ignite baseline --add {node.consistent_id}"
            print(fold(f"node {short_id(node.id)} is outside of the baseline, and gets no partitions: {add}", 2))
        for loop in node.loops:
            print(fold(f"node {short_id(node.id)}: {paint(loop_text(loop), 'red')}", 2))
    for loss in found[0].losses if found else ():
        print(fold(paint(loss_text(loss), "red"), 2))
    for lost in found[0].lost_nodes if found else ():
        print(fold(paint(lost_text(lost), "red"), 2))
    for missing in found[0].missing_nodes if found else ():
        print(fold(paint(missing_text(missing), "red"), 2))
    if split:
        print(fold(paint(split, "red"), 2))


def _split(context: typer.Context, address: str | None, found: Sequence[spec.Node]) -> str:
    """What a cut of the network has left, if nodes of its other side answer; else empty."""
    if not found or not found[0].lost_nodes:
        return ""
    from tensorflow_ignite.doctor.split import SPLIT_REMEDY, other_clusters, split_text

    credentials = resolve_credentials(context, addresses_of(context, address))
    others = other_clusters(found, _SPLIT_SECONDS, credentials)
    return f"the cluster is split: {split_text(found, others)}. {SPLIT_REMEDY}" if others else ""


def availability_text(availability: spec.NodeAvailability) -> str:
    """Why a node gets no tasks, and what to do."""
    return "it is being stopped" if availability == "stopping" else "it is drained (tensorflow-ignite drain --undo)"


def loop_text(loop: spec.NodeLoop) -> str:
    """The failure of a loop of a node: ``"its loop 'node runner' has failed …"``."""
    since = f", completed last {age(loop.completed_at)} ago"
    if not loop.error:
        return f"its loop '{loop.name}' is silent{since}"
    failed = f"has failed {loop.failures:,} times in succession{since}" if loop.failures else "had failed, and goes on"
    return f"its loop '{loop.name}' {failed}: {loop.error}"


def loss_text(loss: spec.CacheLoss) -> str:
    """What a cache has lost, and what to do."""
    since = f" {age(loss.lost_at)} ago" if loss.lost_at else ""
    return escaped(f"{loss.text}{since}. {loss.remedy}. To accept the loss: {loss.accept_command}")


def lost_text(lost: spec.LostNode) -> str:
    """Which node has left without being stopped, and what to do."""
    since = f" {age(lost.lost_at)} ago" if lost.lost_at else ""
    return (
        f"node {short_id(lost.id)} at {lost.address} was lost{since}: it was killed, or the network to it is cut. To "
        "find out which: tensorflow-ignite doctor"
    )


def missing_text(node: spec.MissingNode) -> str:
    """Which node of the baseline is missing, and what to do."""
    return (
        f"node {node.text} of the baseline is missing. Start it; if it is permanently off: "
        f"tensorflow-ignite baseline --remove {node.consistent_id}"
    )


def newest_tasks(job: spec.Job) -> Sequence[spec.Task]:
    """The tasks of the newest attempt; none before the first."""
    return job.attempt.tasks if job.attempt else ()
