"""``node`` and ``quickstart``: starting Ignite nodes on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from tensorflow_ignite.cli.options import Discovery, Python, option
from tensorflow_ignite.errors import require_linux


def node(
    config: Annotated[
        str | None,
        typer.Option("--config", "-c", metavar="FILE", help="Ignite's Spring XML; else a small in-memory node."),
    ] = None,
    name: Annotated[str | None, option("--name", "TEXT", "The Ignite instance name.")] = None,
    host: Annotated[
        str | None,
        option(
            "--host",
            "ADDRESS",
            "The address that the node binds to, else 127.0.0.1; on any other, callers must authenticate.",
        ),
    ] = None,
    port: Annotated[
        str | None, option("--port", "PORTS", "Of the node API, the first that is free; 10820..10919 when left out.")
    ] = None,
    discovery: Discovery = None,
    python: Python = None,
    work_directory: Annotated[
        str | None,
        option("--work-directory", "PATH", "Where the node keeps its files; ignite/work here when left out."),
    ] = None,
    activate_at: Annotated[
        int,
        option("--activate-at", "N", "Activate a cluster with data on disk when it has N nodes; 0: never.", min=0),
    ] = 0,
    jvm_arg: Annotated[
        list[str] | None, option("--jvm-arg", "ARG", "For the JVM, as --jvm-arg=-Xmx4g; repeatable.")
    ] = None,
    start_timeout: Annotated[
        float,
        typer.Option(
            "--start-timeout",
            metavar="SECONDS",
            min=1,
            help="How long the node API may take to answer after the node has joined the cluster.",
        ),
    ] = 120.0,
    json_output: Annotated[bool, typer.Option("--json", help="Print the start as JSON, for programs.")] = False,
) -> None:
    """Run an Ignite server node with the service in it, until SIGTERM or Ctrl-C.

    Nodes need Linux.

    \b
    Examples:
      tensorflow-ignite node
      tensorflow-ignite node --config node.xml --name node-1 --jvm-arg=-Xmx4g
      tensorflow-ignite node --config secured.xml --host 10.0.0.7 \\
        --discovery node1:47500..47509
    """
    from tensorflow_ignite.node import run_node

    code = run_node(
        config,
        name=name,
        host=host,
        port=port,
        discovery=discovery,
        python=python,
        work_directory=work_directory,
        json_output=json_output,
        activate_at=activate_at,
        jvm_args=list(jvm_arg or []),
        start_timeout=start_timeout,
    )
    raise typer.Exit(code)


def quickstart() -> None:
    """Train on a three-node cluster on this machine, lose a node, resume, and leave nothing behind.

    Nodes need Linux.

    \b
    Examples:
      tensorflow-ignite quickstart
    """
    require_linux("tensorflow-ignite quickstart, which starts three nodes,")
    from tensorflow_ignite.cli.quickstart import run

    raise typer.Exit(run())
