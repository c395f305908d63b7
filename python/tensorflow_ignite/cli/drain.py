"""``drain``: takes a node out of use for jobs, before maintenance for example."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from tensorflow_ignite.cli.options import Address, Json, option, session
from tensorflow_ignite.cli.render import print_json, short_id
from tensorflow_ignite.errors import RequestTimeoutError

if TYPE_CHECKING:
    from tensorflow_ignite.jobs.client import Client

_POLL_SECONDS = 0.5


def drain(
    context: typer.Context,
    node: Annotated[str, typer.Argument(help="Its id or the begin of it, its name, or its address.", metavar="NODE")],
    undo: Annotated[bool, typer.Option("--undo", help="The node gets tasks again.")] = False,
    wait: Annotated[
        float,
        option("--wait", "SECONDS", "Return when it has no task and no model, at the latest after so long.", min=0),
    ] = 0.0,
    address: Address = None,
    json_output: Json = False,
) -> None:
    """Let a node run no tasks any more; its data stay in use.

    Tasks that it has end as planned: their jobs save after a common step, and
    restart on the other nodes, which read the node's partitions over the
    network. The mark ends with the node; `nodes` shows it.

    \b
    Examples:
      tensorflow-ignite drain node-2
      tensorflow-ignite drain node-2 --undo
      tensorflow-ignite drain node-2 --wait 60
    """
    with session(context, address) as client:
        found = client.drain(node, undo=undo)
        if wait and not undo:
            _await_empty(client, found.id, wait)
    if json_output:
        print_json(found.to_dict())
        return
    name = f"node {short_id(found.id)} at {found.address}"
    print(f"{name} gets tasks again" if undo else f"{name} is drained: its tasks end, and it gets no others")


def _await_empty(client: Client, node_id: str, seconds: float) -> None:
    """Waits until a drained node can be stopped; a node that has left is empty."""
    deadline = time.monotonic() + seconds
    while True:
        tasks = sum(node.tasks for node in client.nodes() if node.id == node_id)
        models = sum(
            process.node_id == node_id for deployment in client.models.deployments() for process in deployment.processes
        )
        if not tasks and not models:
            return
        if time.monotonic() >= deadline:
            raise RequestTimeoutError(
                f"node {short_id(node_id)} is drained, and still has {tasks} tasks and {models} model processes after "
                f"{seconds:g} s (--wait). Tasks end when their job has saved, models when other nodes serve them. "
                "See: tensorflow-ignite nodes"
            )
        time.sleep(_POLL_SECONDS)
