"""The distribution strategy that fits the process, with TensorFlow's pitfalls out of the way."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING, Any

from tensorflow_ignite.errors import TensorFlowIgniteError
from tensorflow_ignite.train.context import MULTI_WORKER_MIRRORED, PARAMETER_SERVER, context

if TYPE_CHECKING:
    import tensorflow as tf

_lock = threading.Lock()
_strategy: Any = None


def strategy() -> tf.distribute.Strategy:
    """The strategy of this process; call it before any other use of TensorFlow.

    In a ``multi-worker-mirrored`` job a ``tf.distribute.MultiWorkerMirroredStrategy``, in the client process of a
    ``parameter-server`` job a ``tf.distribute.ParameterServerStrategy``, outside a job TensorFlow's default strategy.
    Every call returns the same object. It waits until all tasks of the job answer.

    Raises:
        TensorFlowIgniteError: If TensorFlow was used before, or this task runs no script.
    """
    global _strategy
    with _lock:
        if _strategy is None:
            _strategy = _create()
        return _strategy


def made() -> Any:
    """The strategy that :func:`strategy` returned before; None: nobody has asked for it yet."""
    return _strategy


def _create() -> Any:
    import tensorflow as tf

    here = context()
    if not here.in_job:
        return tf.distribute.get_strategy()
    if here.kind == MULTI_WORKER_MIRRORED:
        return _multi_worker_mirrored(tf)
    if here.kind == PARAMETER_SERVER and here.role in ("client", "chief"):
        return tf.distribute.ParameterServerStrategy(tf.distribute.cluster_resolver.TFConfigClusterResolver())
    raise TensorFlowIgniteError(
        f"{here.task} has no strategy: in a job of kind {here.kind!r} only the client process runs the script. "
        f"Call tfi.train.strategy() in the submitted script only"
    )


def _multi_worker_mirrored(tf: Any) -> Any:
    """MultiWorkerMirroredStrategy replaces the handler of SIGTERM by one that ignores it; it is put back."""
    main = threading.current_thread() is threading.main_thread()
    terminate = signal.getsignal(signal.SIGTERM) if main else None
    try:
        created = tf.distribute.MultiWorkerMirroredStrategy()
    except RuntimeError as error:
        if "program startup" not in str(error):
            raise
        raise TensorFlowIgniteError(
            f"the strategy of {context().task} cannot be made any more: {error} MultiWorkerMirroredStrategy must "
            f"exist before TensorFlow runs its first operation. Call tfi.train.strategy() at the top of the script"
        ) from error
    if main:
        signal.signal(signal.SIGTERM, terminate if terminate is not None else signal.SIG_DFL)
    return created
