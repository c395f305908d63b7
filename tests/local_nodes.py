"""What tests in several folders ask of the nodes that they start on this machine."""

from __future__ import annotations

from typing import Any

import psutil

import tensorflow_ignite as tfi
from tensorflow_ignite.testing import LocalNode

# How long nodes wait for one that stands still; 10 s by default. For node_configuration(node=...).
GIVES_UP_AFTER_A_MINUTE = '<property name="failureDetectionTimeout" value="60000"/>'
# The timeouts.leaseSeconds of the clusters whose nodes tests kill and freeze; a busy machine is late by some seconds.
LEASE_SECONDS = 12


def agent_of(node: LocalNode) -> psutil.Process:
    [agent] = [child for child in psutil.Process(node.pid).children() if "tensorflow_ignite.agent" in child.cmdline()]
    return agent


def read_at(nodes: Any, **options: Any) -> tfi.ReadOptions:
    """Options of a read that asks the node at the address of a cluster, or of a client."""
    return tfi.ReadOptions(address=nodes.address, **options)
