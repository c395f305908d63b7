"""What the script of a job may use: its context, its strategy, and a way to tell its progress.

Importing this package does not import TensorFlow; only :func:`strategy` does.
"""

from tensorflow_ignite.train.context import Context, WorkerAssignment, context
from tensorflow_ignite.train.distribution import strategy
from tensorflow_ignite.train.progress import report

__all__ = ["Context", "WorkerAssignment", "context", "report", "strategy"]
