"""Evaluating checkpoints during the training: each checkpoint as it comes, until the training has ended."""

from __future__ import annotations

import contextlib
import itertools
import logging
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tensorflow_ignite import task
from tensorflow_ignite.errors import TensorFlowIgniteError
from tensorflow_ignite.train import fits, keras3, keras_state
from tensorflow_ignite.train.checkpoint import find_directory
from tensorflow_ignite.train.curves import EVALUATION_RUN
from tensorflow_ignite.train.directory import CheckpointDirectory
from tensorflow_ignite.train.metric_states import numbers_of
from tensorflow_ignite.train.progress import announce, report_figures
from tensorflow_ignite.train.store import GFiles

if TYPE_CHECKING:
    import tensorflow as tf

    from tensorflow_ignite.jobs.client import Client

_POLL_SECONDS = 1.0
# Of a pass over the directory, which may wait for files of nodes that fail.
_WAIT_SECONDS = 60.0
_STEP = "step/.ATTRIBUTES/VARIABLE_VALUE"

_log = logging.getLogger(__name__)


def checkpoints(*, directory: str | None = None, **trackables: Any) -> Iterator[int]:
    """Restores each checkpoint of a training as it comes, and yields its step.

        for step in tfi.train.checkpoints(model=model):
            tfi.train.report(step, accuracy=accuracy_of(model))

    Of several new checkpoints it takes the newest. In the directory of the job it takes the checkpoints of each ``fit``
    of the script, one ``fit`` after the other; a later ``fit`` of another model is left out, with a warning. In the
    evaluator of a job (`tensorflow_ignite.Evaluator`) it waits for the next checkpoint, and ends after the last one,
    when the training has ended; outside a job it ends when there is no newer checkpoint. It reads the checkpoints of
    `CheckpointCallback` and `checkpoint`.

    Args:
        directory: Directory of the checkpoints, as of :func:`tensorflow_ignite.train.checkpoint`. None: the job's
            directory; in a continuous job, the directory of its rounds.
        **trackables: Objects to restore, by the names of their saved states; `CheckpointCallback` saves ``model``. The
            rest of a checkpoint is not read.

    Yields:
        Number of finished steps of the restored checkpoint.

    Raises:
        TensorFlowIgniteError: No directory is given, the training has ended without a checkpoint, or a checkpoint does
            not match the objects.
    """
    for step, _ in _restored(directory, trackables):
        yield step


def _restored(directory: str | None, trackables: dict[str, Any]) -> Iterator[tuple[int, str]]:
    """As :func:`checkpoints`; also yields the name of the training in its directory, empty for the first one."""
    here = task.current()
    found = find_directory(directory)
    rounds = f"{found.rstrip('/')}/{fits.ROUNDS}" if found and directory is None and here.rounds else ""
    if not found:
        raise TensorFlowIgniteError(
            "checkpoints() knows no directory. Outside a job a script names the one in which its training saves. Use "
            "checkpoints(directory=...)"
        )
    import tensorflow as tf

    from tensorflow_ignite.jobs.client import connect

    # The numbers of the newest checkpoints that were restored, by directory.
    restored: dict[str, int] = {}
    left_out: set[str] = set()
    with connect(here.node_address) if here.in_job else contextlib.nullcontext() as client:
        while True:
            # Read before the directory is listed: the list then has all checkpoints that were saved until now.
            is_last = client is None or _has_ended(client, here)
            if rounds and tf.io.gfile.isdir(rounds):
                found = rounds
            is_new = False
            for name, folder in _trainings(tf, found, alone=directory is not None):
                number = 0 if folder in left_out else _newest(tf, folder, restored.get(folder, 0))
                if not number:
                    continue
                announce(0, force=True)
                try:
                    step = _restore(tf, folder, number, trackables)
                except TensorFlowIgniteError as error:
                    if not name:
                        raise
                    _log.warning("tensorflow_ignite: the checkpoints of %s are left out: %s", name, error)
                    left_out.add(folder)
                    continue
                restored[folder] = number
                if step is not None:
                    is_new = True
                    yield step, name
            if is_new:
                continue
            if is_last:
                break
            # A process that does nothing for long counts as stalled.
            announce(_WAIT_SECONDS, force=True)
            time.sleep(_POLL_SECONDS)
    if not restored:
        raise TensorFlowIgniteError(
            f"{task.current().task} has nothing to evaluate: the training has ended, and {found} has no checkpoint. An "
            "evaluator restores what the script saves. Use tfi.train.CheckpointCallback() or tfi.train.checkpoint() in "
            "the training"
        )


def evaluate(model: Any, data: tf.data.Dataset, *, directory: str | None = None, **options: Any) -> dict[str, float]:
    """Evaluates a Keras model at each checkpoint as it comes, and reports the metrics to the job.

        if tfi.train.context().role == "evaluator":
            tfi.train.evaluate(model, rows_of(context.evaluator_cache))

    ``describe`` shows the last metrics beside the evaluator, ``tensorflow-ignite tensorboard JOB`` their curves. It
    ends like :func:`checkpoints`.

    Args:
        model: A compiled model of Keras 3 or tf_keras, built as in the training.
        data: The rows to evaluate on, as for ``model.evaluate``.
        directory: Directory of the checkpoints; None: the job's directory.
        **options: Further arguments of ``model.evaluate``.

    Returns:
        The metrics of the last checkpoint that are numbers.

    Raises:
        TensorFlowIgniteError: As of :func:`checkpoints`.
    """
    figures: dict[str, float] = {}
    if keras3.is_model(model):
        keras3.build_for_calls(model, getattr(data, "element_spec", None))
    for step, fit in _restored(directory, {"model": model}):
        metrics = model.evaluate(data, return_dict=True, **{"verbose": 0, **options})
        figures = numbers_of(metrics)
        report_figures(step, None, figures, force=True, run=f"{EVALUATION_RUN}-{fit}" if fit else EVALUATION_RUN)
        print(
            f"{fit} step {step}: ".lstrip() + " ".join(f"{name}={value:.4g}" for name, value in figures.items()),
            flush=True,
        )
    return figures


def _trainings(tf: Any, directory: str, *, alone: bool) -> Iterator[tuple[str, str]]:
    """The names and directories of a script's trainings, in order; `alone`: the directory belongs to one training."""
    yield "", directory
    for number in itertools.count(2):
        folder = f"{directory.rstrip('/')}/{fits.name_of(number)}"
        if alone or not tf.io.gfile.isdir(folder):
            return
        yield fits.name_of(number), folder


def _newest(tf: Any, directory: str, after: int) -> int:
    """The number of the newest whole checkpoint after another one; 0: there is none."""
    if not tf.io.gfile.isdir(directory):
        return 0
    found = CheckpointDirectory(directory, GFiles(tf))
    # A checkpoint that is being removed is not whole any more.
    return next((number for number in found.numbers if number > after and not found.fault(number)), 0)


def _restore(tf: Any, directory: str, number: int, trackables: dict[str, Any]) -> int | None:
    """Restores a checkpoint, and returns its step; None: it was removed meanwhile."""
    path = f"{directory.rstrip('/')}/ckpt-{number}"
    try:
        step = int(tf.train.load_variable(path, _STEP))
        extra = keras_state.of(trackables) if keras_state.NAME in keras_state.names_in(path, trackables) else {}
        tf.train.Checkpoint(**trackables, **extra).restore(path).expect_partial().assert_existing_objects_matched()
    except (tf.errors.NotFoundError, tf.errors.DataLossError) as error:
        if tf.io.gfile.exists(f"{path}.index"):
            raise
        _log.info("tensorflow_ignite: %s was removed before it was evaluated: %s", path, error)
        return None
    except (AssertionError, ValueError) as error:
        raise TensorFlowIgniteError(
            f"{task.current().task} cannot restore {path}: {str(error).strip().splitlines()[0]}. The evaluation needs "
            "the objects that the training saves, under the same names and with the same shapes. Build the model as in "
            "the training"
        ) from error
    return step


def training_has_ended(here: task.Task) -> bool:
    """Whether the tasks of the job that train have ended; a call of the node."""
    from tensorflow_ignite.jobs.client import connect

    with connect(here.node_address) as client:
        return _has_ended(client, here)


def _has_ended(client: Client, here: task.Task) -> bool:
    """Whether no further checkpoint comes: the tasks of the job that train have ended."""
    attempt = client.job(here.job_id).status.attempt
    roles = {"named", here.rules.script_role if here.rules else ""}
    return attempt is not None and all(each.status.state == "succeeded" for each in attempt.tasks if each.role in roles)
