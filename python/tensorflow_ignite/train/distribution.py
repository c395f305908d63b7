"""The distribution strategy of this process."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tensorflow_ignite import task
from tensorflow_ignite.errors import TensorFlowIgniteError
from tensorflow_ignite.net.sockets import connect

if TYPE_CHECKING:
    import tensorflow as tf

_POLL_SECONDS = 0.02
# Afterwards TensorFlow waits itself, and says for what.
_FIRST_WORKER_SECONDS = 60.0

_lock = threading.Lock()
_strategy: Any = None
# The job of that strategy; empty: it was created outside a job.
_job_id = ""


def strategy() -> tf.distribute.Strategy:
    """Returns the strategy of this process; call it before any other use of TensorFlow.

    In a ``multi-worker-mirrored`` job a ``tf.distribute.MultiWorkerMirroredStrategy``, in the client process of a
    ``parameter-server`` job a ``tf.distribute.ParameterServerStrategy``, in a ``mirrored`` job a
    ``tf.distribute.MirroredStrategy``, in a ``central-storage`` job a
    ``tf.distribute.experimental.CentralStorageStrategy``; in the other kinds, in an evaluator, and outside a job,
    TensorFlow's default strategy. Every call in a job, or in a context of ``client.parameter_servers``, returns the
    same object. The first call waits until all tasks of the job answer.

    Raises:
        TensorFlowIgniteError: TensorFlow was used before, this task runs no script, or this process had the parameter
            servers of a context that has ended.
    """
    global _strategy, _job_id
    job_id = task.current().job_id
    with _lock:
        if _strategy is not None and _job_id not in ("", job_id):
            raise TensorFlowIgniteError(
                f"this process has the strategy of job {_job_id}, whose servers have ended. TensorFlow has one cluster "
                "in a process. Start another process; in a notebook, restart the kernel"
            )
        if _strategy is None or _job_id != job_id:
            _strategy, _job_id = _create(), job_id
        return _strategy


def existing() -> Any:
    """The strategy that :func:`strategy` has returned; None before its first call."""
    return _strategy


def _create() -> Any:
    import tensorflow as tf

    here = task.current()
    if here.rules is None:
        return tf.distribute.get_strategy()
    if here.role == "evaluator":
        return tf.distribute.get_strategy()
    if here.rules.parameter_servers and not here.is_chief:
        raise TensorFlowIgniteError(
            f"{here.task} has no strategy. In a job of kind {here.kind!r} only the client process runs the script. "
            f"Call tfi.train.strategy() in the submitted script only"
        )
    make = _STRATEGIES.get(here.kind)
    return make(tf) if make else tf.distribute.get_strategy()


def await_first_worker(tf_config: str, seconds: float) -> bool:
    """Waits until the TensorFlow server of the first worker, which may be called the chief, accepts connections.

    All other workers call it when they create their strategy. A call that comes too early is repeated by gRPC, but only
    a second later.

    Args:
        tf_config: The text of TF_CONFIG.
        seconds: The longest wait.

    Returns:
        Whether it accepts connections.
    """
    try:
        cluster = json.loads(tf_config)["cluster"]
        address = str((cluster.get("chief") or cluster["worker"])[0])
    except (ValueError, LookupError, TypeError, AttributeError):
        return False
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            connect(address, 1.0).close()
            return True
        except OSError:
            time.sleep(_POLL_SECONDS)
    return False


def _multi_worker_mirrored(tf: Any) -> Any:
    """Creates the strategy, and restores the handler of SIGTERM: TensorFlow sets a handler that ignores the signal."""
    main = threading.current_thread() is threading.main_thread()
    terminate = signal.getsignal(signal.SIGTERM) if main else None
    if task.current().index > 0:
        await_first_worker(os.environ.get("TF_CONFIG", ""), _FIRST_WORKER_SECONDS)
    try:
        created = tf.distribute.MultiWorkerMirroredStrategy()
    except RuntimeError as error:
        if "program startup" not in str(error):
            raise
        raise TensorFlowIgniteError(
            f"the strategy of {task.current().task} cannot be created: {error} MultiWorkerMirroredStrategy must exist "
            f"before TensorFlow runs its first operation. Call tfi.train.strategy() at the top of the script"
        ) from error
    if main:
        signal.signal(signal.SIGTERM, terminate if terminate is not None else signal.SIG_DFL)
    return created


_STRATEGIES: dict[str, Callable[[Any], Any]] = {
    "multi-worker-mirrored": _multi_worker_mirrored,
    "parameter-server": lambda tf: tf.distribute.ParameterServerStrategy(
        tf.distribute.cluster_resolver.TFConfigClusterResolver()
    ),
    "mirrored": lambda tf: tf.distribute.MirroredStrategy(),
    "central-storage": lambda tf: tf.distribute.experimental.CentralStorageStrategy(),
}
