"""An Ignite server node hosted by Python: the JVM runs inside this process.

`run_node` is what ``python -m tensorflow_ignite.node`` and ``tensorflow-ignite node`` run. A node may as well be
started by Ignite's own scripts, with the plugin jar and the service's bean; then nothing of this package is needed.
"""

from tensorflow_ignite.node.host import run_node
from tensorflow_ignite.node.runtime import NodeStartError

__all__ = ["NodeStartError", "run_node"]
