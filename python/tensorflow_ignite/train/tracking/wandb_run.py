"""The run of a job in Weights & Biases, whose id is the id of the job."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tensorflow_ignite.errors import InvalidRequestError
from tensorflow_ignite.train.tracking.run import PREFIX, Outcome, RunSource, importing

_EXIT_CODES: Mapping[Outcome, int] = {"finished": 0, "failed": 1, "stopped": 130}
# How often W&B writes the file of an offline run; by default 15 s, which a killed process would lose.
_FLUSH_SECONDS = 1.0
# The file of a run is a log of LevelDB: a head, then blocks of records.
_HEAD_BYTES, _BLOCK_BYTES, _RECORD = 7, 32768, struct.Struct("<IHB")
_FULL, _LAST = 1, 4


class WandbRun:
    """A run of this process."""

    def __init__(self, source: RunSource, experiment: str | None, options: Mapping[str, Any]) -> None:
        """Begins the run, or resumes the run of an earlier attempt."""
        with importing("wandb", "wandb"):
            import wandb
        arguments: dict[str, Any] = {"name": source.name or None}
        if experiment is not None:
            arguments["project"] = experiment
        if "x_transaction_log_flush_interval" in getattr(wandb.Settings, "model_fields", {}):
            arguments["settings"] = wandb.Settings(x_transaction_log_flush_interval=_FLUSH_SECONDS)
        arguments |= options
        if source.job:
            # Offline, W&B cannot read the tags of earlier attempts.
            attempts = [f"attempt {number}" for number in range(1, source.attempt + 1)]
            arguments |= {"id": source.job, "resume": "allow", "tags": [*(options.get("tags") or ()), *attempts]}
        self.native = wandb.init(**arguments)
        self.native.config.update(dict(source.parameters), allow_val_change=True)
        self._last = self.native.starting_step - 1
        if source.job and self.native.offline:
            folder = Path(self.native.dir).resolve().parent
            if folder.is_relative_to(Path.cwd()):
                self.native.finish(exit_code=1)
                raise InvalidRequestError(
                    f'tracker("wandb") cannot begin in job {source.job}: W&B is offline, and would write into the work '
                    "directory of the task, which is removed. An offline run needs a directory that each node reaches. "
                    "Submit the job with --env WANDB_DIR=/a/shared/directory"
                )
            self._last = max(_steps(folder), default=-1)

    def last_step(self, name: str) -> int | None:
        """See `TrackedRun`. Steps of W&B ascend, over all metrics."""
        return self._last if self._last >= 0 else None

    def write(self, figures: Sequence[tuple[int, float, Mapping[str, float]]]) -> None:
        """See `TrackedRun`."""
        for step, _, values in figures:
            self.native.log(dict(values), step=step)

    def note_model(self, name: str, version: str) -> None:
        """See `TrackedRun`."""
        self.native.config.update({f"{PREFIX}model.{name}": version}, allow_val_change=True)

    def end(self, outcome: Outcome) -> None:
        """See `TrackedRun`.

        A job stops a task by SIGTERM to all its processes. The process of W&B ends at once, so nothing can be recorded.
        """
        if outcome in ("finished", "failed"):
            self.native.finish(exit_code=_EXIT_CODES[outcome])


def _steps(own: Path) -> Iterator[int]:
    """The steps in the files of earlier attempts, beside the folder of this attempt."""
    from wandb.proto import wandb_internal_pb2

    identity = own.name.rpartition("-")[2]
    for path in own.parent.glob(f"offline-run-*-{identity}/run-{identity}.wandb"):
        if path.parent == own:
            continue
        for data in _records(path.read_bytes()):
            record = wandb_internal_pb2.Record.FromString(data)
            for item in record.history.item:
                if item.key == "_step" or list(item.nested_key) == ["_step"]:
                    yield int(item.value_json)


def _records(data: bytes) -> Iterator[bytes]:
    """The complete records of a file, whose last record may be cut."""
    position, parts = _HEAD_BYTES, b""
    while position + _RECORD.size <= len(data):
        left = _BLOCK_BYTES - position % _BLOCK_BYTES
        if left < _RECORD.size:
            position += left
            continue
        _, size, kind = _RECORD.unpack_from(data, position)
        position += _RECORD.size + size
        if position > len(data) or kind == 0:
            return
        parts += data[position - size : position]
        if kind in (_FULL, _LAST):
            yield parts
            parts = b""


def end_from_outside(job: str, outcome: Outcome, models: Mapping[str, str], options: Mapping[str, Any]) -> bool:
    """Ends the run of a job that is over."""
    with importing("wandb", "wandb"):
        import wandb
    # Without such a run, "allow" would begin one.
    run = wandb.init(**{"id": job, "resume": "must", **options})
    for name, version in models.items():
        run.config.update({f"{PREFIX}model.{name}": version}, allow_val_change=True)
    if outcome == "stopped":
        # W&B has no state for it.
        run.tags = (*(run.tags or ()), "stopped")
    run.finish(exit_code=_EXIT_CODES[outcome])
    return True
