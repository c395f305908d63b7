"""Versions of models as files, as the registry stores them."""

import json
from datetime import datetime, timezone
from pathlib import Path

import tensorflow as tf

from tensorflow_ignite.models import loading, source
from tensorflow_ignite.models.version import ModelVersion


class Doubler(tf.Module):
    """Doubles numbers."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, "x")])
    def double(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": 2 * x}


def write(module: tf.Module, function: tf.types.experimental.GenericFunction, directory: Path) -> Path:
    """A version of a model with one signature."""
    tf.saved_model.save(module, str(directory), signatures={"serving_default": function})
    return add_metadata(directory)


def add_metadata(directory: Path) -> Path:
    files = source.files_of(directory, "saved_model")
    version = ModelVersion(
        name="doubler",
        number=1,
        format="saved_model",
        digest=source.digest_of(files),
        bytes=sum(path.stat().st_size for path in files.values()),
        signatures=loading.read_signatures(directory, "saved_model"),
        job="",
        created_at=datetime.now(timezone.utc),
    )
    (directory / source.METADATA_FILE).write_text(json.dumps(version.to_json()))
    return directory
