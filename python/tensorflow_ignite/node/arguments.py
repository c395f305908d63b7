"""The command line of ``python -m tensorflow_ignite.node``, for programs such as `LocalCluster`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from tensorflow_ignite.node.runtime import START_TIMEOUT


def parse(arguments: Sequence[str]) -> dict[str, Any]:
    """Turns a command line into the arguments of `run_node`."""
    parser = argparse.ArgumentParser(
        prog="python -m tensorflow_ignite.node",
        description="Runs an Ignite server node with the tensorflow-ignite service in it. SIGTERM and Ctrl-C stop it.",
    )
    add = parser.add_argument
    add("--config", metavar="FILE", help="Spring XML file with one IgniteConfiguration; options win over it")
    add("--name", help="Ignite instance name")
    add("--host", help="address that Ignite and the node API bind to (default: loopback)")
    add("--port", help="port of the node API, a range 10820..10919 (the default), or 0 for any free port")
    add("--discovery", metavar="LIST", help="host:port..port,… of the cluster (default: 127.0.0.1:47500..47509)")
    add("--python", metavar="PATH", help="interpreter that runs tasks (default: this one)")
    add("--work-directory", metavar="DIR", help="Ignite's work directory: log, data on disk, files of tasks")
    add("--json", dest="json_output", action="store_true", help="print events as lines of JSON")
    add("--jvm-arg", dest="jvm_args", action="append", default=[], metavar="OPTION", help="as in --jvm-arg=-Xmx4g")
    add("--persistent", action="store_const", const=True, help="keep the data on disk, in the work directory")
    add("--activate-at", type=int, default=0, metavar="N", help="activate the cluster when it has N server nodes")
    add("--data-region-bytes", type=int, metavar="N", help="the most memory for rows, and as much for files and jobs")
    add("--attribute", dest="attributes", action="append", default=[], metavar="NAME=VALUE", help="node attribute")
    add("--parent-pid", type=int, metavar="PID", help="stop when this process ends")
    add("--start-timeout", type=float, default=START_TIMEOUT, metavar="SECONDS", help="for the node API, after joining")
    values = vars(parser.parse_args(arguments))
    for pair in values["attributes"]:
        if "=" not in pair:
            parser.error(f"--attribute {pair}: write NAME=VALUE")
    values["attributes"] = dict(pair.split("=", 1) for pair in values["attributes"])
    return values
