"""A worker or parameter server of a parameter-server job: a plain TensorFlow server beside the data.

`python -m tensorflow_ignite.train.server` reads TF_CONFIG, and serves until it is terminated. The user's script runs in
the client process, which sends work to this server.
"""

import json
import os
import signal
import sys
import threading
import time
from typing import Any

from tensorflow_ignite.data.epochs import input_totals
from tensorflow_ignite.train.command import COMMAND_VARIABLE, CommandReader
from tensorflow_ignite.train.progress import report_end, report_throughput
from tensorflow_ignite.v1 import job_pb2

_REPORT_SECONDS = 5.0


def main() -> None:
    """Serves until its agent ends it, or, outside a job, until SIGTERM.

    SIGTERM from outside asks the job for a planned end: the client process saves while this server still serves.

    Raises:
        SystemExit: TF_CONFIG names no task of a cluster.
    """
    cluster, role, index = _parse_config(os.environ.get("TF_CONFIG", ""))
    in_job = COMMAND_VARIABLE in os.environ
    if in_job:
        # Before TensorFlow starts threads, so that all of them leave the signal to `_await_end`.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})

    import tensorflow as tf

    from tensorflow_ignite.data import pyfunc

    # Before the server gets its first dataset.
    pyfunc.register()
    server = tf.distribute.Server(
        tf.train.ClusterSpec(cluster), job_name=role, task_index=index, protocol="grpc", start=True
    )
    print(f"tensorflow_ignite: {role} {index} serves at {cluster[role][index]}", flush=True)
    if in_job:
        threading.Thread(target=_report_throughput, name="tensorflow-ignite-throughput", daemon=True).start()
        _await_end()
    server.join()


def _report_throughput() -> None:
    while True:
        time.sleep(_REPORT_SECONDS)
        if input_totals.totals().rows:
            report_throughput()


def _await_end() -> None:
    commands = CommandReader(os.environ[COMMAND_VARIABLE])
    while not commands.read().stop:
        signal.sigwait({signal.SIGTERM})
        if not commands.read().stop:
            report_end(job_pb2.EndProgress(terminated=True))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    os.kill(os.getpid(), signal.SIGTERM)


def _parse_config(text: str) -> tuple[dict[str, list[str]], str, int]:
    try:
        config: dict[str, Any] = json.loads(text)
        cluster, role, index = config["cluster"], config["task"]["type"], int(config["task"]["index"])
        if not 0 <= index < len(cluster[role]):
            raise IndexError(f"no {role} {index} in the cluster")
    except (ValueError, KeyError, TypeError, IndexError) as error:
        sys.exit(
            f"TF_CONFIG names no task of a cluster: {error!r}. It is JSON with 'cluster' and 'task', which a job sets "
            "for each of its tasks. Submit a parameter-server job instead of starting this program"
        )
    return cluster, role, index


if __name__ == "__main__":
    main()
