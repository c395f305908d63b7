"""What the script of a job may use: its context, its strategy, its checkpoints, and a way to tell its progress.

Importing this package does not import TensorFlow; :func:`strategy` and what makes checkpoints do, when they are used.
"""

from tensorflow_ignite.train.callback import CheckpointCallback
from tensorflow_ignite.train.checkpoint import TrainCheckpoint, checkpoint
from tensorflow_ignite.train.context import Context, WorkerAssignment, context
from tensorflow_ignite.train.distribution import strategy
from tensorflow_ignite.train.keras3 import fix_keras_fit
from tensorflow_ignite.train.progress import report

__all__ = [
    "CheckpointCallback",
    "Context",
    "TrainCheckpoint",
    "WorkerAssignment",
    "checkpoint",
    "context",
    "fix_keras_fit",
    "report",
    "strategy",
]
