"""``drain``: takes a node out of use for jobs, before maintenance for example."""

from __future__ import annotations

from typing import Annotated

import typer

from tensorflow_ignite.cli.options import Address, Json, session
from tensorflow_ignite.cli.render import print_json, short_id


def drain(
    context: typer.Context,
    node: Annotated[str, typer.Argument(help="Its id or the begin of it, its name, or its address.", metavar="NODE")],
    undo: Annotated[bool, typer.Option("--undo", help="The node gets tasks again.")] = False,
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
    """
    with session(context, address) as client:
        found = client.drain(node, undo=undo)
    if json_output:
        print_json(found.to_dict())
        return
    name = f"node {short_id(found.id)} at {found.address}"
    print(f"{name} gets tasks again" if undo else f"{name} is drained: its tasks end, and it gets no others")
