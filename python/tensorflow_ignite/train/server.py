"""A worker or parameter server of a parameter-server job: a plain TensorFlow server beside the data.

`python -m tensorflow_ignite.train.server` reads TF_CONFIG, and serves until it is ended. The user's script runs
elsewhere, in the client process, and places its work here.
"""

import json
import os
import sys
from typing import Any


def main() -> None:
    """Serves for ever; SIGTERM ends the process at once, there is nothing to save here.

    Raises:
        SystemExit: TF_CONFIG names no place in a cluster.
    """
    cluster, role, index = _place(os.environ.get("TF_CONFIG", ""))

    import tensorflow as tf

    from tensorflow_ignite.data import remote

    # Before the server can be asked for the first dataset.
    remote.register()
    server = tf.distribute.Server(
        tf.train.ClusterSpec(cluster), job_name=role, task_index=index, protocol="grpc", start=True
    )
    print(f"tensorflow_ignite: {role} {index} serves at {cluster[role][index]}", flush=True)
    server.join()


def _place(text: str) -> tuple[dict[str, list[str]], str, int]:
    try:
        config: dict[str, Any] = json.loads(text)
        cluster, role, index = config["cluster"], config["task"]["type"], int(config["task"]["index"])
        if not 0 <= index < len(cluster[role]):
            raise IndexError(f"no {role} {index} in the cluster")
    except (ValueError, KeyError, TypeError, IndexError) as error:
        sys.exit(
            f"TF_CONFIG names no place in a cluster: {error!r}; it holds JSON with 'cluster' and 'task', and is set "
            "for every task of a job; submit a parameter-server job rather than start this by hand"
        )
    return cluster, role, index


if __name__ == "__main__":
    main()
