"""The files of a model on their way into the cluster, and out of it."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tensorflow_ignite.errors import FileCorruptError, InvalidRequestError
from tensorflow_ignite.models.version import KERAS_FILE, ModelFormat, ModelVersion

#: The metadata of a version, beside its files.
METADATA_FILE = "model.json"

_READ_BYTES = 4 << 20


@contextmanager
def on_this_machine(source: str | os.PathLike[str]) -> Iterator[Path]:
    """A model as files of this machine, copied if it is a URL; the copy is removed afterwards.

    Args:
        source: A path, or a URL that fsspec knows, such as ``s3://…`` or ``ignite:///…``.

    Raises:
        InvalidRequestError: There is nothing, or fsspec does not know the URL.
    """
    text = os.fspath(source)
    if "://" not in text:
        path = Path(text).expanduser()
        if not path.exists():
            raise InvalidRequestError(
                f"{text} does not exist. A model is a directory or file of this machine, or a URL. Name an existing one"
            )
        yield path
        return
    from fsspec.core import url_to_fs

    with tempfile.TemporaryDirectory(prefix="tensorflow-ignite-model-") as folder:
        try:
            filesystem, path_there = url_to_fs(text)
            target = Path(folder, path_there.rstrip("/").rpartition("/")[2] or "model")
            filesystem.get(path_there.rstrip("/"), str(target), recursive=True)
        except (ImportError, ValueError, FileNotFoundError) as error:
            raise InvalidRequestError(
                f"{text} cannot be copied ({type(error).__name__}: {error!s:.300}). A model is a directory or file of "
                "this machine, or a URL that fsspec knows. Name an existing one, and install the package of its kind "
                "of URL"
            ) from error
        yield target


def files_of(model: Path, model_format: ModelFormat) -> dict[str, Path]:
    """The files of a model by their paths below the directory of a version, sorted.

    Raises:
        InvalidRequestError: A file is none of the model's own: a link, or something without bytes.
    """
    if model_format == "keras":
        return {KERAS_FILE: model}
    found = {}
    for path in sorted(model.rglob("*")):
        name = path.relative_to(model).as_posix()
        if path.is_symlink() or not (path.is_dir() or path.is_file()):
            raise InvalidRequestError(
                f"{path} is a link or no file. A SavedModel has directories and files only. Copy what it refers to"
            )
        if path.is_file() and name != METADATA_FILE:
            found[name] = path
    return found


def digest_of(files: dict[str, Path]) -> str:
    """SHA-256 of names, sizes and contents of files, as hexadecimal digits."""
    digest = hashlib.sha256()
    # By the parts of the paths: the order of a caller, or of a text, is another one.
    for name, path in sorted(files.items(), key=lambda file: file[0].split("/")):
        encoded = name.encode()
        digest.update(len(encoded).to_bytes(8, "big") + encoded + path.stat().st_size.to_bytes(8, "big"))
        with path.open("rb") as file:
            while data := file.read(_READ_BYTES):
                digest.update(data)
    return digest.hexdigest()


def read_metadata(name: str, number: int, content: bytes) -> ModelVersion:
    """A version from the content of its metadata file; it has no labels.

    Raises:
        FileCorruptError: The content is not the metadata of a version.
    """
    try:
        return ModelVersion.from_json(name, number, json.loads(content.decode()))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise unreadable_metadata(name, number, error) from error


def unreadable_metadata(name: str, number: int, error: Exception) -> FileCorruptError:
    """The error for a version whose metadata file cannot be read because of another error."""
    return FileCorruptError(
        f"the metadata of model {name}:{number} cannot be read ({type(error).__name__}: {error}). Its file "
        f"{METADATA_FILE} is written with the version. Remove this version, and add it again"
    )


def check_digest(version: ModelVersion, files: dict[str, Path]) -> None:
    """Compares files, by their paths below the directory of a version, with those that were written.

    Raises:
        FileCorruptError: They differ.
    """
    if digest_of(files) != version.digest:
        raise FileCorruptError(
            f"the files of model {version.reference} are not those that were written: their digest differs from "
            f"{version.digest:.12}. Files of a version do not change. Remove this version, and add it again"
        )
