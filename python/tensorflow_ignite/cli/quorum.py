"""``quorum``: what an operator decides about the nodes of a job after some have left."""

from __future__ import annotations

import typer

from tensorflow_ignite.cli.options import Address, JobId, Json, session
from tensorflow_ignite.cli.render import count, print_json, short_id

app = typer.Typer(no_args_is_help=True)


@app.callback()
def quorum() -> None:
    """Let a job go on that waits for a majority of its nodes.

    An attempt starts, and goes on, only while more than half of the job's
    nodes are connected, or half of them with the oldest: when a network is
    cut, at most one side trains.

    \b
    Examples:
      tensorflow-ignite describe 7f3a          shows which nodes are missing
      tensorflow-ignite quorum accept 7f3a     goes on without them
    """


@app.command()
def accept(
    context: typer.Context,
    job_id: JobId,
    address: Address = None,
    json_output: Json = False,
) -> None:
    """Accept that the missing nodes of a job are permanently off: it goes on without them.

    Make sure first that they are off. After a cut of the network, nodes of
    the other side may still run; if the quorum was accepted there too, both
    sides train, and write to the same checkpoints outside the cluster.

    \b
    Examples:
      tensorflow-ignite quorum accept 7f3a
    """
    with session(context, address) as client:
        job = client.job(job_id)
        missing = job.accept_quorum()
    if json_output:
        print_json({"job": job.id, "missing": [node.to_dict() for node in missing]})
    elif missing:
        names = ", ".join(f"{short_id(node.id)} at {node.address}" for node in missing)
        print(f"accepted: job {job.id} goes on without {count(len(missing), 'node')} ({names})")
    else:
        print(f"all nodes of job {job.id} are here; nothing to accept")
