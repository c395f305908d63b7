"""How a checkpoint comes onto storage and back, for one process, for joint workers, and for a coordinator."""

from __future__ import annotations

import contextlib
import re
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

from tensorflow_ignite.errors import AttemptSupersededError, TensorFlowIgniteError
from tensorflow_ignite.storage.paths import SCHEME
from tensorflow_ignite.train.context import context
from tensorflow_ignite.train.fence import Fence, Writer

#: The coordinator's device under parameter servers. What passes through it is written where the client process runs;
#: else every parameter server would write its part, and need the directory as well.
_COORDINATOR = "/job:chief/replica:0/task:0/device:CPU:0"

_NAME = "ckpt"


class Store:
    """One directory of checkpoints.

    Under MultiWorkerMirroredStrategy saving is a joint act, since reading some variables needs all workers: each
    writes, the first one into the directory, the others into a scratch directory that is removed. The first worker
    also tells which checkpoint all restore.

    Attributes:
        workers: Processes that save together.
    """

    def __init__(self, directory: str, trackables: dict[str, Any], strategy: Any, keep: int, writer: Writer) -> None:
        """Takes the directory over; the first worker does.

        Raises:
            AttemptSupersededError: A later attempt of the same job writes there.
            TensorFlowIgniteError: The directory is in the cluster, and TensorFlow cannot be made to reach it.
        """
        import tensorflow as tf

        self._tf = tf
        self._directory = directory
        self._in_cluster = directory.startswith(SCHEME)
        if self._in_cluster:
            from tensorflow_ignite.storage.tf import scheme

            scheme.require()
        self._strategy = strategy
        self._checkpoint = tf.train.Checkpoint(**trackables)
        with strategy.scope():
            # Made now, as the making of a variable is a joint act too.
            _ = self._checkpoint.save_counter
        self.workers, self._first = _place(tf, strategy)
        # Only a coordinator's variables are on other machines.
        self._coordinated = isinstance(strategy, tf.distribute.ParameterServerStrategy)
        self._options = tf.train.CheckpointOptions(experimental_io_device=_COORDINATOR if self._coordinated else None)
        self._fence: Fence | None = None
        self._manager: Any = None
        if self._first:
            self._fence = Fence(directory, writer, _Files(tf))
            with self._refusals():
                self._fence.claim()
                _remove_unfinished(tf, directory)
            self._manager = tf.train.CheckpointManager(self._checkpoint, directory, keep, checkpoint_name=_NAME)
        self._agree = self._make_agree() if self.workers > 1 else None

    def first_workers_word(self, value: int) -> int:
        """What the first worker called this with, on all workers; they must all call it."""
        return value if self._agree is None else int(self._agree(self._tf.constant(value, self._tf.int64)))

    def restore(self) -> bool:
        """Restores the newest complete checkpoint, the same one on all workers.

        Returns:
            Whether there was one.

        Raises:
            TensorFlowIgniteError: It does not fit what is to be restored, or this worker does not see it.
        """
        number = self.first_workers_word(self._newest() if self._first else 0)
        if number == 0:
            return False
        path = f"{self._directory.rstrip('/')}/{_NAME}-{number}"
        if not self._tf.io.gfile.exists(f"{path}.index"):
            raise TensorFlowIgniteError(
                f"{context().task} cannot resume: the first worker of {self.workers} restores {path}, and here there "
                "is no such checkpoint. All workers read and write one and the same directory. Submit the job without "
                "--checkpoint-directory, then it is in the cluster, or with one on storage that every node shares"
            )
        try:
            self._checkpoint.restore(path, options=self._options).assert_existing_objects_matched()
        except (AssertionError, ValueError) as error:
            raise TensorFlowIgniteError(
                f"{context().task} cannot resume from {path}: {_first_line(error)}. Everything that is restored must "
                "be in the checkpoint, under the same names and with the same shapes. Train with the model that was "
                "saved, or choose another --checkpoint-directory"
            ) from error
        return True

    def save(self) -> bool:
        """Saves; all workers must.

        Returns:
            Whether it was this process that wrote into the directory.

        Raises:
            AttemptSupersededError: A later attempt of the job writes there.
            TensorFlowIgniteError: Another call, or another job, writes there.
        """
        if self._coordinated:
            self._tf.distribute.coordinator.ClusterCoordinator(self._strategy).join()
        if self._fence is not None:
            with self._refusals():
                self._fence.check()
                self._manager.save(options=self._options)
            return True
        scratch = tempfile.mkdtemp(prefix="tensorflow-ignite-checkpoint-")
        try:
            self._checkpoint.save_counter.assign_add(1)
            self._checkpoint.write(f"{scratch}/{_NAME}", options=self._options)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        return False

    @contextlib.contextmanager
    def _refusals(self) -> Iterator[None]:
        """Gives the refusal of a node, which comes through TensorFlow, its own class again."""
        try:
            yield
        except self._tf.errors.PermissionDeniedError as error:
            if not self._in_cluster:
                raise
            raise AttemptSupersededError(
                f"{context().task} saves no checkpoint in {self._directory}: {_first_line(error)}"
            ) from error

    def _newest(self) -> int:
        """Number of the newest checkpoint whose files are all there; 0: none."""
        for path in reversed(self._manager.checkpoints):
            with contextlib.suppress(self._tf.errors.OpError):
                # The index is written last, by a rename; its reader does not look for the data.
                self._tf.train.load_checkpoint(path)
                if self._tf.io.gfile.glob(f"{path}.data-*"):
                    return int(path.rpartition("-")[2])
        return 0

    def _make_agree(self) -> Any:
        tf, strategy = self._tf, self._strategy

        def agree(value: Any) -> Any:
            def own_word() -> Any:
                first = tf.distribute.get_replica_context().replica_id_in_sync_group == 0
                return tf.where(first, value, tf.zeros_like(value))

            return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(own_word), axis=None)

        return tf.function(agree)


def _place(tf: Any, strategy: Any) -> tuple[int, bool]:
    """How many processes save together under a strategy, and whether this is the first of them."""
    if not isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
        return 1, True
    resolver = strategy.cluster_resolver
    cluster = resolver.cluster_spec().as_dict() if resolver is not None else {}
    chiefs = len(cluster.get("chief", ()))
    workers = chiefs + len(cluster.get("worker", ()))
    if workers <= 1:
        return 1, True
    return workers, resolver.task_type == "chief" or (not chiefs and resolver.task_id == 0)


def _remove_unfinished(tf: Any, directory: str) -> None:
    """Removes what killed processes had begun to write; it can be as large as a checkpoint."""
    for name in tf.io.gfile.listdir(directory):
        if re.fullmatch(rf"{_NAME}-\d+_temp/?", name):
            tf.io.gfile.rmtree(f"{directory.rstrip('/')}/{name}")


def _first_line(error: BaseException) -> str:
    """What TensorFlow complains of, without the object that it prints behind it."""
    return re.sub(r"\s+", " ", str(error).strip()).rstrip(".")[:400]


class _Files:
    """Small files, through TensorFlow: the directory may be on any storage that it reaches."""

    def __init__(self, tf: Any) -> None:
        self._tf = tf

    def read(self, path: str) -> str | None:
        try:
            with self._tf.io.gfile.GFile(path, "r") as file:
                return str(file.read())
        except self._tf.errors.NotFoundError:
            return None

    def replace(self, path: str, text: str) -> None:
        gfile = self._tf.io.gfile
        gfile.makedirs(path.rpartition("/")[0])
        with gfile.GFile(f"{path}.new", "w") as file:
            file.write(text)
        gfile.rename(f"{path}.new", path, overwrite=True)
