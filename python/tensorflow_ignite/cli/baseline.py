"""``baseline``: the nodes to which Ignite gives partitions, which an operator chooses if data are on disk."""

from __future__ import annotations

from typing import Annotated

import typer

from tensorflow_ignite.cli.errors import CommandLineError
from tensorflow_ignite.cli.options import Address, Json, option, session
from tensorflow_ignite.cli.render import fold, print_json, table


def baseline(
    context: typer.Context,
    add: Annotated[
        list[str] | None, option("--add", "NODE", "Add a node of the cluster, by its NAME; may be repeated.")
    ] = None,
    add_online: Annotated[bool, typer.Option("--add-online", help="Add all nodes of the cluster.")] = False,
    remove: Annotated[
        list[str] | None, option("--remove", "NODE", "Remove a node that is offline; may be repeated.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Also if partitions on disk are then lost. Other nodes get them empty.")
    ] = False,
    address: Address = None,
    json_output: Json = False,
) -> None:
    """Show the nodes to which Ignite gives partitions, or change them in a cluster with data on disk.

    A node that joins such a cluster gets no partitions until it is added. A
    node that is permanently off keeps its place until it is removed: then
    other nodes make copies of its partitions. A node that has the last copy
    of a partition is not removed. Attempts of jobs whose rows move end as
    planned, and begin again.

    \b
    Examples:
      tensorflow-ignite baseline
      tensorflow-ignite baseline --add-online
      tensorflow-ignite baseline --add node-4 --remove node-2
    """
    changes = bool(add or add_online or remove)
    if force and not changes:
        raise CommandLineError("--force belongs to a change. Name nodes: --add NODE, --add-online or --remove NODE.")
    with session(context, address) as client:
        found = (
            client.change_baseline(add=add or (), add_online=add_online, remove=remove or (), force=force)
            if changes
            else client.baseline()
        )
    if json_output:
        print_json(found.to_dict())
        return
    print(
        table(
            ["NAME", "STATE", "ADDRESS"],
            [[node.consistent_id, node.state, node.address or "-"] for node in found.nodes],
            elastic=["NAME"],
        )
    )
    if found.is_automatic:
        print(fold("Ignite adjusts the baseline itself when nodes join and leave", 2))
        return
    for node in found.nodes:
        if node.state == "outside":
            print(fold(f"node {node.consistent_id} gets no partitions: tensorflow-ignite baseline --add NODE", 2))
