"""Functions for the script of a job: its context, strategy, checkpoints and progress reports.

Importing this package does not import TensorFlow; calls of :func:`strategy` and of checkpoints do. It installs the
corrections of TensorFlow, Keras and tf_keras.
"""

from tensorflow_ignite import corrections
from tensorflow_ignite.task import WorkerAssignment
from tensorflow_ignite.train.adapting import adapt
from tensorflow_ignite.train.callback import CheckpointCallback
from tensorflow_ignite.train.checkpoint import TrainCheckpoint, checkpoint
from tensorflow_ignite.train.context import Context, context
from tensorflow_ignite.train.distribution import strategy
from tensorflow_ignite.train.evaluation import checkpoints, evaluate
from tensorflow_ignite.train.exporting import export
from tensorflow_ignite.train.progress import busy, report
from tensorflow_ignite.train.rounds import rounds
from tensorflow_ignite.train.tracking.tracker import Tracker, end_run, tracker
from tensorflow_ignite.train.training_round import Round

__all__ = [
    "CheckpointCallback",
    "Context",
    "Round",
    "Tracker",
    "TrainCheckpoint",
    "WorkerAssignment",
    "adapt",
    "busy",
    "checkpoint",
    "checkpoints",
    "context",
    "end_run",
    "evaluate",
    "export",
    "report",
    "rounds",
    "strategy",
    "tracker",
]

# After the imports above: functions have the names of some modules of this package.
corrections.install()
