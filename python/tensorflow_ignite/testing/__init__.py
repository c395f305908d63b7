"""For tests of users and our own: a real cluster on this machine, which proves that it leaves nothing behind."""

from tensorflow_ignite.node.runtime import NodeStartError
from tensorflow_ignite.testing.cluster import LocalCluster
from tensorflow_ignite.testing.configuration import node_configuration
from tensorflow_ignite.testing.leaks import LeakError
from tensorflow_ignite.testing.node_process import LocalNode

__all__ = ["LeakError", "LocalCluster", "LocalNode", "NodeStartError", "node_configuration"]
