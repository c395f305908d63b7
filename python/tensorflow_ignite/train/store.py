"""Writing checkpoints to storage and restoring them: one process, several workers together, or a coordinator."""

from __future__ import annotations

import contextlib
import logging
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from tensorflow_ignite.errors import AttemptSupersededError, DataLossError, TensorFlowIgniteError
from tensorflow_ignite.storage import paths
from tensorflow_ignite.storage.paths import SCHEME
from tensorflow_ignite.task import current
from tensorflow_ignite.train import keras_state
from tensorflow_ignite.train.directory import NAME, CheckpointDirectory
from tensorflow_ignite.train.fence import Fence, Writer
from tensorflow_ignite.train.saver import CheckpointSaver

#: The coordinator's device under parameter servers. With it, the client process writes all variables; otherwise every
#: parameter server would write its part, and need access to the directory.
_COORDINATOR = "/job:chief/replica:0/task:0/device:CPU:0"

# Announced instead of a number if there are checkpoints: none is whole, or only the chief can read them.
_NONE_WHOLE = -1
_NONE_SHARED = -2

_log = logging.getLogger(__name__)


class Store:
    """One directory of checkpoints.

    Under MultiWorkerMirroredStrategy all workers save together, since reading some variables needs all of them: the
    chief writes into the directory, the others into a temporary directory that is removed. The chief also decides which
    checkpoint all workers restore.

    Attributes:
        workers: Number of processes that save together.
    """

    def __init__(
        self,
        directory: str,
        trackables: dict[str, Any],
        strategy: Any,
        keep: int,
        writer: Writer,
        optional: dict[str, Any],
    ) -> None:
        """Takes the directory over, on the chief.

        Args:
            directory: Where the checkpoints are.
            trackables: The objects to save, by name.
            strategy: Of the variables.
            keep: Number of checkpoints to keep.
            writer: The attempt that writes.
            optional: Further objects, which a checkpoint may lack.

        Raises:
            AttemptSupersededError: A later attempt of the same job writes there.
            TensorFlowIgniteError: The directory is in the cluster, and TensorFlow cannot use ``ignite://``.
        """
        import tensorflow as tf

        self._tf = tf
        self._directory = directory
        self._in_cluster = directory.startswith(SCHEME)
        if self._in_cluster:
            from tensorflow_ignite.storage.tf import scheme

            scheme.require()
        self._strategy = strategy
        optional = {**optional, **keras_state.of(trackables)}
        self._checkpoint = tf.train.Checkpoint(**trackables, **optional)
        self._required, self._optional = trackables, optional
        with strategy.scope():
            # Created now, because all workers must create a variable together.
            _ = self._checkpoint.save_counter
        self.workers, self._is_chief = _position(tf, strategy)
        # Only the variables of a coordinator are on other machines.
        self._coordinated = isinstance(strategy, tf.distribute.ParameterServerStrategy)
        self._options = tf.train.CheckpointOptions(experimental_io_device=_COORDINATOR if self._coordinated else None)
        # Until the objects have made all their variables: what TensorFlow knows of the restored checkpoint; its path.
        self._restored: tuple[Any, str] | None = None
        self._files = GFiles(tf)
        self._saver: CheckpointSaver | None = None
        if self._is_chief:
            with self._translated_errors():
                tf.io.gfile.makedirs(directory)
                self._saver = CheckpointSaver(directory, self._files, Fence(directory, writer, self._files), keep)
        self._chief_only = self._make_sum(chief_only=True) if self.workers > 1 else None
        self._sum = self._make_sum(chief_only=False) if self.workers > 1 else None
        self._rows = self._make_rows() if self.workers > 1 else None

    @property
    def leads(self) -> bool:
        """Whether this process is the first of those that save together."""
        return bool(self._is_chief)

    def chief_decision(self, value: int) -> int:
        """Returns the chief's argument on all workers; all of them must call it."""
        return value if self._chief_only is None else int(self._chief_only(self._tf.constant(value, self._tf.int64)))

    def gather(self, own: bytes) -> list[bytes]:
        """The bytes of all workers that save together, in their order; all of them must call it."""
        if self.workers == 1:
            return [own]
        import numpy as np

        sizes = self._gathered(np.array([len(own)]))[:, 0]
        # A power of two, so that few functions are traced; each number has eight bytes.
        padded = np.zeros(1 << max(8, int(sizes.max()).bit_length()), np.uint8)
        padded[: len(own)] = np.frombuffer(own, np.uint8)
        rows = np.ascontiguousarray(self._gathered(padded.view(np.int64))).view(np.uint8)
        return [row[:size].tobytes() for row, size in zip(rows, sizes.tolist(), strict=True)]

    def _is_somewhere(self, here: bool) -> bool:
        """Whether the argument is true on any worker; all of them must call it."""
        return here if self._sum is None else int(self._sum(self._tf.constant(int(here), self._tf.int64))) > 0

    def restore(self, before: Callable[[], None]) -> bool:
        """Restores the newest checkpoint that all workers can read, the same one on all of them.

        The chief announces one whole checkpoint after the other, until no worker has failed to restore it.

        Args:
            before: Called before a checkpoint is restored.

        Returns:
            Whether there was a checkpoint.

        Raises:
            DataLossError: There are checkpoints, and none of them is whole.
            TensorFlowIgniteError: The checkpoint does not match the objects, or this worker cannot read it.
        """
        found = None if self._saver is None else self._saver.found
        candidates = found.whole() if found is not None else iter(())
        nothing = _NONE_WHOLE if found is not None and found.numbers else 0
        while True:
            number = self.chief_decision(next(candidates, nothing))
            if number < 0:
                raise self._unreadable(number)
            if number == 0:
                self._begin_behind(0)
                return False
            before()
            fault, mismatch = self._restore(number)
            failed = self._is_somewhere(bool(fault))
            if mismatch is not None:
                raise mismatch
            if not failed:
                self._begin_behind(number)
                return True
            if found is not None:
                nothing = nothing if fault else _NONE_SHARED
                found.reject(number, fault or "another worker cannot read it, and its output says why")

    def _restore(self, number: int) -> tuple[str, TensorFlowIgniteError | None]:
        """Restores a checkpoint; returns why it cannot be read here, or why it does not match the objects."""
        path = f"{self._directory.rstrip('/')}/{NAME}-{number}"
        if not self._tf.io.gfile.exists(f"{path}.index"):
            fault = f"{path} does not exist here, and the first worker of {self.workers} has it"
            _log.warning("tensorflow_ignite: %s cannot resume: %s", current().task, fault)
            return fault, None
        try:
            self._restore_objects(path)
        except (AssertionError, ValueError) as error:
            return "", _mismatch(path, error)
        except self._tf.errors.OpError as error:
            # Nodes that left meanwhile have taken files with them; every other error is one of this attempt.
            fault = CheckpointDirectory(self._directory, self._files).fault(number)
            if not fault:
                raise
            _log.warning("tensorflow_ignite: %s cannot resume from %s: %s", current().task, path, _first_line(error))
            return fault, None
        return "", None

    def _restore_objects(self, path: str) -> None:
        """Restores all objects but the optional ones that the checkpoint lacks."""
        names = keras_state.names_in(path, self._required)
        if names.issuperset(self._optional):
            status = self._checkpoint.restore(path, options=self._options).assert_existing_objects_matched()
        else:
            present = {name: each for name, each in self._optional.items() if name in names}
            earlier = self._tf.train.Checkpoint(**self._required, **present)
            with self._strategy.scope():
                _ = earlier.save_counter
            status = earlier.restore(path, options=self._options).assert_existing_objects_matched()
            self._checkpoint.save_counter.assign(earlier.save_counter.read_value())
        self._restored = status, path

    def require_all_restored(self) -> None:
        """Compares the checkpoint with what the objects have made since it was restored; called after a step.

        Raises:
            TensorFlowIgniteError: Variables have been made that have no values of the checkpoint.
        """
        if self._restored is None:
            return
        (status, path), self._restored = self._restored, None
        try:
            status.assert_existing_objects_matched()
        except AssertionError as error:
            raise _mismatch(path, error) from error
        found = status._checkpoint
        left = [
            node.attributes[0].checkpoint_key.partition("/.ATTRIBUTES/")[0]
            for number, node in enumerate(found.object_graph_proto.nodes)
            if node.attributes and found.object_by_proto_id.get(number) is None
        ]
        left = [name for name in left if name.partition("/")[0] in (*self._required, keras_state.NAME)]
        if left:
            _log.warning(
                "tensorflow_ignite: %s has resumed from %s, and no variable has taken these values of it: %s%s. They "
                "are not in the next checkpoint. If the model should have them, let it make its variables before it is "
                "restored: model.build(shape)",
                current().task,
                path,
                ", ".join(left[:3]),
                f" and {len(left) - 3} more" if len(left) > 3 else "",
            )

    def _unreadable(self, announced: int) -> TensorFlowIgniteError:
        """The error when there are checkpoints, and none that all workers can read."""
        faults = "the output of the first worker names what each of them lacks"
        if self._saver is not None:
            faults = "; ".join(f"{NAME}-{number}: {each}" for number, each in self._saver.found.faults.items())
        if announced == _NONE_SHARED:
            return TensorFlowIgniteError(
                f"{current().task} cannot resume: the first worker of {self.workers} has checkpoints in "
                f"{self._directory}, and another worker cannot read them ({faults}). All workers read and write the "
                "same directory. Submit the job without --checkpoint-directory, so that checkpoints are in the "
                "cluster, or with a directory on storage that every node shares"
            )
        return DataLossError(
            f"{current().task} cannot resume: no checkpoint in {self._directory} is whole ({faults}). Training does "
            "not begin anew in a directory that has checkpoints. Submit the job with another --checkpoint-directory, "
            "or remove this one to train from the first step"
        )

    def _begin_behind(self, restored: int) -> None:
        """Gives later saves numbers that no other checkpoint has, and no other process uses.

        A save under the number of a checkpoint that is not whole would mix the files of both if it is interrupted.
        """
        last = self.chief_decision(0 if self._saver is None else self._saver.last_number)
        self._checkpoint.save_counter.assign(last)
        if self._saver is not None and restored:
            with self._translated_errors():
                self._saver.begin_behind(restored)

    def save(self) -> bool:
        """Saves a checkpoint; all workers must call it.

        Returns:
            Whether this process wrote into the directory.

        Raises:
            AttemptSupersededError: A later attempt of the job writes there.
            TensorFlowIgniteError: Another call, or another job, writes there.
        """
        if self._coordinated:
            self._tf.distribute.coordinator.ClusterCoordinator(self._strategy).join()
        self._checkpoint.save_counter.assign_add(1)
        if self._saver is not None:
            with self._translated_errors():
                number = int(self._checkpoint.save_counter.numpy())
                self._saver.save(number, lambda path: self._checkpoint.write(path, options=self._options))
            return True
        scratch = tempfile.mkdtemp(prefix="tensorflow-ignite-checkpoint-")
        try:
            self._checkpoint.write(f"{scratch}/{NAME}", options=self._options)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        return False

    @contextlib.contextmanager
    def _translated_errors(self) -> Iterator[None]:
        """Turns the error of a node, which TensorFlow has translated, into the class of this package."""
        try:
            yield
        except self._tf.errors.PermissionDeniedError as error:
            if not self._in_cluster:
                raise
            raise AttemptSupersededError(
                f"{current().task} saves no checkpoint in {self._directory}: {_first_line(error)}"
            ) from error

    def _gathered(self, values: Any) -> Any:
        """The numbers of all workers, int64, shape [workers, ...]; the argument is this worker's numbers."""
        assert self._rows is not None
        return self._rows(self._tf.constant(values, self._tf.int64)).numpy()

    def _make_rows(self) -> Any:
        tf, strategy, workers = self._tf, self._strategy, self.workers
        own = len(strategy.extended.worker_devices)

        def rows(values: Any) -> Any:
            def local() -> Any:
                replica = tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.int64)
                row = tf.one_hot(replica // own, workers, dtype=tf.int64)
                return tf.where(replica % own == 0, row, tf.zeros_like(row))[:, tf.newaxis] * values

            return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(local), axis=None)

        return tf.function(rows)

    def _make_sum(self, *, chief_only: bool) -> Any:
        tf, strategy = self._tf, self._strategy

        def total(value: Any) -> Any:
            def local_value() -> Any:
                first = tf.distribute.get_replica_context().replica_id_in_sync_group == 0
                return tf.where(first, value, tf.zeros_like(value)) if chief_only else value

            return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(local_value), axis=None)

        return tf.function(total)


def _position(tf: Any, strategy: Any) -> tuple[int, bool]:
    """Number of processes that save together under a strategy, and whether this process is their chief."""
    if not isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
        return 1, True
    resolver = strategy.cluster_resolver
    cluster = resolver.cluster_spec().as_dict() if resolver is not None else {}
    chiefs = len(cluster.get("chief", ()))
    workers = chiefs + len(cluster.get("worker", ()))
    if workers <= 1:
        return 1, True
    return workers, resolver.task_type == "chief" or (not chiefs and resolver.task_id == 0)


def _mismatch(path: str, error: BaseException) -> TensorFlowIgniteError:
    mismatch = TensorFlowIgniteError(
        f"{current().task} cannot resume from {path}: {_first_line(error)}. The checkpoint must have every restored "
        "object, under the same name and with the same shape. Train with the model that was saved, which has made its "
        "variables before it is restored (by model.build(shape), or a call with a batch), or choose another "
        "--checkpoint-directory"
    )
    mismatch.__cause__ = error
    return mismatch


def _first_line(error: BaseException) -> str:
    """The error's text in one line of at most 400 characters; TensorFlow prints whole objects after it."""
    return re.sub(r"\s+", " ", str(error).strip()).rstrip(".")[:400]


class GFiles:
    """`DirectoryFiles` through TensorFlow, for any storage that TensorFlow supports."""

    def __init__(self, tf: Any) -> None:
        self._tf = tf

    def names(self, directory: str) -> list[str]:
        return list(self._tf.io.gfile.listdir(directory))

    def read(self, path: str) -> str | None:
        try:
            with self._tf.io.gfile.GFile(path, "r") as file:
                return str(file.read())
        except self._tf.errors.NotFoundError:
            return None
        except self._tf.errors.DataLossError as error:
            raise DataLossError(_first_line(error)) from error

    def replace(self, path: str, text: str, series: int) -> None:
        from tensorflow.python.lib.io import file_io

        gfile = self._tf.io.gfile
        gfile.makedirs(path.rpartition("/")[0])
        # A store of objects writes each object in one step, and renames it in two.
        written = f"{path}.{series}.new" if file_io.has_atomic_move(path) else path
        with gfile.GFile(written, "w") as file:
            file.write(text)
        if written != path:
            gfile.rename(written, path, overwrite=True)

    def remove(self, path: str) -> None:
        gfile = self._tf.io.gfile
        path = path.rstrip("/")
        with contextlib.suppress(self._tf.errors.NotFoundError):
            (gfile.rmtree if gfile.isdir(path) else gfile.remove)(path)

    def fault(self, path: str) -> str:
        if path.startswith(SCHEME):
            from tensorflow_ignite.storage import verification
            from tensorflow_ignite.storage.files import Files

            location = paths.parse(path)
            return verification.find_fault(Files.at(location.addresses), location.path)
        # Other storage either has all bytes of a file, or fails when they are read.
        return "" if self._tf.io.gfile.stat(path).length else "it is empty"


class State(Protocol):
    """What a checkpoint saves as bytes."""

    def serialize(self) -> bytes:
        """The state; called when a checkpoint is saved."""

    def deserialize(self, state: bytes) -> None:
        """Called when a checkpoint is restored."""


def python_state(state: State) -> Any:
    """A state as an object that TensorFlow saves in a checkpoint."""
    import tensorflow as tf

    class Tracked(tf.train.experimental.PythonState):  # type: ignore[misc]
        def serialize(self) -> bytes:
            return state.serialize()

        def deserialize(self, found: bytes) -> None:
            state.deserialize(found)

    return Tracked()
