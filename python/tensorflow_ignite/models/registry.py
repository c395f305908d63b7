"""The models of a cluster: directories ``/models/NAME/NUMBER``, which appear in one step and never change.

A label is a small file ``/models/NAME/.labels/LABEL`` with the number of its version; it is replaced in one step. The
number of a removed version is kept by a file ``/models/NAME/.removed/NUMBER``, so that it is not given again.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
import uuid
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from tensorflow_ignite import errors
from tensorflow_ignite.models import loading, source
from tensorflow_ignite.models.deployments import BatchRule, Deployment, Deployments
from tensorflow_ignite.models.predictions import Predictions
from tensorflow_ignite.models.signature import Array, Signature
from tensorflow_ignite.models.source import METADATA_FILE
from tensorflow_ignite.models.version import (
    ROOT,
    STABLE,
    ModelReference,
    ModelVersion,
    check_label,
    check_name,
    is_name,
    parse_reference,
)
from tensorflow_ignite.storage.files import Files
from tensorflow_ignite.storage.reader import copy_bytes

_COPY_BYTES = 4 << 20
_LABEL_BYTES = 32
#: Prefix of directories in which a version is written. If the caller has ended, its directory is removed after a day.
_ADDING = ".adding-"
_ADDING_SECONDS = 86_400


class Models:
    """The models of one cluster. Every method may also raise what a call to a node raises."""

    def __init__(self, files: Files) -> None:
        """Makes no call yet.

        Args:
            files: The files of the cluster.
        """
        self._files = files
        self._deployments = Deployments(files.addresses, files.credentials)
        self._predictions = Predictions(files.addresses, files.credentials)

    def names(self) -> list[str]:
        """The names of all models, sorted."""
        names = [info.name for info in self._entries(ROOT) if info.is_directory and is_name(info.name)]
        return [name for name in names if any(self._has_metadata(name, number) for number in self._numbers(name))]

    def versions(self, name: str) -> list[ModelVersion]:
        """All versions of a model, the newest first.

        Raises:
            ModelNotFoundError: It has none.
        """
        numbers, labels = self._numbers(check_name(name)), self.labels(name)
        found = [self._read(name, number, labels) for number in sorted(numbers, reverse=True)]
        present = [version for version in found if version is not None]
        if not present:
            raise self._unknown(ModelReference(name))
        return present

    def get(self, reference: str | ModelReference) -> ModelVersion:
        """One version of a model.

        Args:
            reference: ``"NAME:NUMBER"``, ``"NAME@LABEL"``, or ``"NAME"``: the version with the label ``stable``, or the
                newest one if there is no such label.

        Raises:
            InvalidRequestError: It is no reference.
            ModelNotFoundError: There is no such model, version or label.
        """
        chosen = parse_reference(reference) if isinstance(reference, str) else reference
        labels = self.labels(chosen.name)
        number = chosen.number
        if chosen.label is not None:
            number = labels.get(chosen.label)
        elif number is None:
            number = labels.get(STABLE) or self.newest(chosen.name)
        version = None if number is None else self._read(chosen.name, number, labels)
        if version is None:
            raise self._unknown(chosen)
        return version

    def newest(self, name: str) -> int | None:
        """The number of the newest version of a model; None: it has none."""
        return self._newest(check_name(name))

    def add(
        self,
        name: str,
        model: str | os.PathLike[str],
        *,
        label: str = "",
        job: str = "",
        signatures: Mapping[str, Signature] | None = None,
        after: int | None = None,
    ) -> ModelVersion:
        """Makes the next version of a model from files.

        Args:
            name: Name of the model.
            model: A SavedModel or a ``.keras`` file: a path of this machine, or a URL that fsspec knows.
            label: The label that the new version gets; empty: none.
            job: Id of the job that has made it.
            signatures: Its functions; None: they are read from the model.
            after: The number that must be the newest one, 0 for none; None: any.

        Raises:
            InvalidRequestError: The name breaks a rule, or there is no model.
            ModelUnusableError: The model cannot be read, or its inputs are not known.
            StoredFileExistsError: There is a newer version than ``after``.
        """
        reference = ModelReference(check_name(name))
        if label:
            check_label(label)
        with source.on_this_machine(model) as path:
            directory, version = self._written(reference, path, signatures, job)
        try:
            version = ModelVersion.from_json(name, self._claim(reference, directory, after), version.to_json())
        except BaseException:
            self._discard(directory)
            raise
        return self.label(version.reference, label) if label else version

    def export(self, name: str, model: Path, job: str, attempt: int) -> None:
        """Writes a model. When its job succeeds, `ExportedModels` in Java makes it a version.

        Args:
            name: Name of the model.
            model: A SavedModel of this machine.
            job: Id of the job; an earlier export of the job under this name is replaced.
            attempt: The attempt of the job; the model becomes a version only if this attempt succeeds.

        Raises:
            ModelUnusableError: The model cannot be read, or its inputs are not known.
        """
        reference = ModelReference(check_name(name))
        exported = f"{reference.directory}/.exported-{job}"
        directory = self._written(reference, model, None, job)[0]
        # First, so that a killed task leaves no file that its job does not know.
        self._files.write_file(f"/jobs/{job}/exports/{name}", str(attempt).encode())
        self._discard(exported)
        self._files.rename(directory, exported, overwrite=False)

    def deploy(
        self,
        reference: str,
        *,
        replicas: int | None = None,
        memory: int | None = None,
        batches: BatchRule | None = None,
        keep_previous: bool = False,
        timeout: float | None = 600.0,
    ) -> Deployment:
        """Makes the nodes serve a version beside the present one, and then in its place.

        When it serves on all its nodes, they give it the label ``stable``. The current version takes the new options at
        once.

        Args:
            reference: As for `get`.
            replicas: Number of nodes that serve it; 0: all; None: as the deployment before, at first all.
            memory: Largest memory of each process in bytes; 0: no limit; None: as the deployment before, at first no
                limit.
            batches: How requests become batches; None: as the deployment before, at first by default.
            keep_previous: Serve the version before further, by its number.
            timeout: Seconds to wait until it serves; None: do not wait.

        Raises:
            InvalidRequestError: It is no reference, or a number of `batches` is out of range.
            ModelNotFoundError: There is no such model, version or label.
            ModelUnusableError: The version could not be served; the one before it serves further.
            RequestTimeoutError: It does not serve yet; the nodes go on.
        """
        version = self.get(reference)
        return self._deployments.deploy(
            version.name,
            version.number,
            replicas=replicas,
            memory=memory,
            batches=batches,
            keep_previous=keep_previous,
            timeout=timeout,
        )

    def predict(
        self, reference: str, inputs: Mapping[str, Any], *, signature: str = "", timeout: float = 10.0
    ) -> dict[str, Array]:
        """The outputs of one batch, by a version that the nodes serve.

        A call that is lost with its node, or with the process of the model, is made again until the time is over.

        Args:
            reference: ``"NAME"``: the current version; ``"NAME:NUMBER"`` or ``"NAME@LABEL"``: another served version.
            inputs: Arrays or lists by the names of the inputs, each of shape [rows, ...]. Integers become floats, and
                numbers wider or narrower ones of their kind.
            signature: Name of the function; empty: the default one.
            timeout: Seconds, for all attempts together.

        Returns:
            Arrays by the names of the outputs, strings as objects of type bytes.

        Raises:
            InvalidRequestError: The inputs do not fit; the error says what the signature requires.
            ModelNotFoundError: The model, or this version of it, is not deployed.
            ModelNotServedError: No process serves it within the time.
            ModelUnusableError: The model has failed.
            PredictionTimeoutError, RequestTimeoutError: The model has not predicted within the time.
        """
        chosen = parse_reference(reference)
        if chosen.label is not None:
            chosen = ModelReference(chosen.name, self.get(chosen).number)
        return self._predictions.predict(str(chosen), inputs, signature, timeout)

    def close(self) -> None:
        """Closes the connection of :meth:`predict`; a later call opens it again."""
        self._predictions.close()

    def undeploy(self, name: str) -> None:
        """Ends all processes of a model; returns when they have ended.

        Raises:
            ModelNotFoundError: It is not deployed.
            RequestTimeoutError: A process has not ended after 60 s; the nodes go on.
        """
        self._deployments.undeploy(check_name(name))

    def deployments(self) -> list[Deployment]:
        """What the nodes serve, sorted by name: models that the caller may call."""
        return self._deployments.all()

    def label(self, reference: str, label: str) -> ModelVersion:
        """Gives a version a label, which an earlier one loses.

        If the nodes serve the model, they serve the version that gets the label ``stable``; that takes less than a
        second if it was the current one in the last ten minutes. A version that is still loaded to become the current
        one is given up.

        Raises:
            InvalidRequestError: It is no reference, or no label.
            ModelNotFoundError: There is no such version.
            ModelUnusableError: The version could not be served; the label and the one before it stay.
        """
        version = self.get(reference)
        check_label(label)
        served = self._deployments.get(version.name) if label == STABLE else None
        is_current = served is not None and served.current == version.number
        if served is not None and (not is_current or served.target):
            # The nodes move the label when they serve the version. A target that is loaded would take its place again.
            self._deployments.deploy(version.name, version.number, timeout=None if is_current else 600.0)
        if served is None or is_current:
            path = f"{ModelReference(version.name).directory}/.labels/{label}"
            self._files.write_file(path, str(version.number).encode())
        return version.with_labels((*(set(version.labels) - {label}), label))

    def unlabel(self, name: str, label: str) -> None:
        """Removes a label.

        Args:
            name: ``"NAME"``: whichever version has the label loses it; ``"NAME:NUMBER"`` or ``"NAME@LABEL"``: only this
                version may have it.
            label: The label.

        Raises:
            InvalidRequestError: Another version than the named one has the label; or it is ``stable``, and the nodes
                serve the model.
            ModelNotFoundError: The model has no such label, or there is no such version.
        """
        chosen = parse_reference(name)
        reference = ModelReference(chosen.name, label=check_label(label))
        number = chosen.number if chosen.label is None else self.get(chosen).number
        labelled = self.labels(chosen.name).get(label)
        if labelled is None:
            raise self._unknown(reference)
        if number is not None and number != labelled:
            raise errors.InvalidRequestError(
                f"model {chosen.name}:{number} does not have the label {label}: model {chosen.name}:{labelled} has it. "
                "A label is removed from the version that has it. Name that version, or the model alone: "
                f"tensorflow-ignite model label {chosen.name}:{labelled} {label} --remove"
            )
        if label == STABLE and self._deployments.get(chosen.name) is not None:
            raise errors.InvalidRequestError(
                f"the label {STABLE} of model {chosen.name} is not removed: the nodes serve the model. Without this "
                "label its name would mean the newest version in bulk, and the served version online. Give the "
                f"label to another version (tensorflow-ignite model label {chosen.name}:VERSION {STABLE}), or undeploy "
                f"the model first: tensorflow-ignite model undeploy {chosen.name}"
            )
        try:
            self._files.remove(f"{reference.directory}/.labels/{label}", kind="file")
        except errors.StoredFileNotFoundError:
            raise self._unknown(reference) from None

    def labels(self, name: str) -> dict[str, int]:
        """The labels of a model, and the numbers of their versions."""
        found = {}
        for info in self._entries(f"{ROOT}/{check_name(name)}/.labels"):
            try:
                with self._files.open_reader(info.path) as reader:
                    found[info.name] = int(bytes(reader.read(0, min(reader.bytes, _LABEL_BYTES))))
            except (errors.StoredFileNotFoundError, ValueError):
                # Removed meanwhile, or none that was written here.
                continue
        return found

    def remove(self, reference: str) -> ModelReference | None:
        """Removes a version, whose number is not given again, or with a name alone a whole model: the next is 1 again.

        Returns:
            The version; None: the model.

        Raises:
            InvalidRequestError: The version has a label, or is served.
            ModelNotFoundError: There is no such model or version.
        """
        chosen = parse_reference(reference)
        if chosen.number is None and chosen.label is None:
            if not self._numbers(chosen.name):
                raise self._unknown(chosen)
            if self._deployments.get(chosen.name) is not None:
                raise errors.InvalidRequestError(
                    f"model {chosen.name} is served by the nodes. A model that is served is not removed. Undeploy it "
                    f"first: tensorflow-ignite model undeploy {chosen.name}"
                )
            self._files.remove(chosen.directory, recursive=True, kind="directory")
            return None
        number = self.get(chosen).number if chosen.number is None else chosen.number
        if number not in self._numbers(chosen.name):
            raise self._unknown(chosen)
        version = ModelReference(chosen.name, number)
        served = self._deployments.get(chosen.name)
        if served is not None and number in served.versions:
            raise errors.InvalidRequestError(
                f"model {version} is served by the nodes. A version that is served is not removed, since its processes "
                f"may be started again. Deploy another version, or undeploy it: tensorflow-ignite model undeploy "
                f"{chosen.name}"
            )
        labels = [label for label, other in self.labels(chosen.name).items() if other == number]
        if labels:
            raise errors.InvalidRequestError(
                f"model {version} has the label {labels[0]}. A version with a label is not removed, since callers use "
                "it by that name. Move the label to another version, or remove it, first"
            )
        self._files.write_file(f"{chosen.directory}/.removed/{number}", b"")
        self._files.remove(f"{chosen.directory}/{number}", recursive=True, kind="directory")
        return version

    def download(self, version: ModelVersion, target: Path) -> None:
        """Copies the files of a version to this machine.

        Args:
            version: The version.
            target: A directory, which is made; the files are as `loading.load` takes them.

        Raises:
            ModelNotFoundError: The version was removed.
            FileCorruptError: The files are not those that were written.
        """
        try:
            copied = self._download(version.path, version.path, target)
        except errors.StoredFileNotFoundError as error:
            raise self._unknown(ModelReference(version.name, version.number)) from error
        source.check_digest(version, copied)

    def _written(
        self, reference: ModelReference, path: Path, signatures: Mapping[str, Signature] | None, job: str
    ) -> tuple[str, ModelVersion]:
        """Copies a model of this machine into a hidden directory of the cluster; it has no number yet."""
        model_format, found = loading.find(path)
        local = source.files_of(found, model_format)
        version = ModelVersion(
            name=reference.name,
            number=0,
            format=model_format,
            digest=source.digest_of(local),
            bytes=sum(file.stat().st_size for file in local.values()),
            signatures=loading.read_signatures(found, model_format) if signatures is None else signatures,
            job=job,
            created_at=datetime.now(timezone.utc),
        )
        self._remove_abandoned(reference)
        directory = f"{reference.directory}/{_ADDING}{uuid.uuid4().hex}"
        try:
            for name, file in local.items():
                with file.open("rb") as opened, self._files.open_writer(f"{directory}/{name}", parents=True) as writer:
                    while data := opened.read(_COPY_BYTES):
                        writer.write(data)
            self._files.write_file(f"{directory}/{METADATA_FILE}", json.dumps(version.to_json()).encode())
        except BaseException:
            self._discard(directory)
            raise
        return directory, version

    def _claim(self, reference: ModelReference, directory: str, after: int | None) -> int:
        """Moves a complete directory to the next number, which it returns."""
        while True:
            newest = self._newest(reference.name) or 0
            entries = [*self._entries(reference.directory), *self._entries(f"{reference.directory}/.removed")]
            # Any file whose name is a number takes this number.
            number = max((int(info.name) for info in entries if _is_number(info.name)), default=0) + 1
            if after is not None and newest != after:
                raise errors.StoredFileExistsError(
                    f"the newest version of model {reference.name} is {newest} now, and was {after or 'none'}. The new "
                    "version was to follow that one. Compare it with the newest version, and add it again"
                )
            try:
                self._files.rename(directory, f"{reference.directory}/{number}", overwrite=False)
            except errors.StoredFileExistsError:
                # Another caller was faster.
                continue
            return number

    def _read(self, name: str, number: int, labels: dict[str, int]) -> ModelVersion | None:
        """A version with its labels; None: there is none."""
        try:
            content = self._files.read_file(f"{ROOT}/{name}/{number}/{METADATA_FILE}")
        except (errors.StoredFileNotFoundError, errors.StoredNotADirectoryError):
            return None
        version = source.read_metadata(name, number, content)
        return version.with_labels(tuple(label for label, other in labels.items() if other == number))

    def _numbers(self, name: str) -> set[int]:
        return {
            int(info.name) for info in self._entries(f"{ROOT}/{name}") if info.is_directory and _is_number(info.name)
        }

    def _newest(self, name: str) -> int | None:
        numbers = sorted(self._numbers(name), reverse=True)
        return next((number for number in numbers if self._has_metadata(name, number)), None)

    def _has_metadata(self, name: str, number: int) -> bool:
        return self._files.exists(f"{ROOT}/{name}/{number}/{METADATA_FILE}")

    def _entries(self, path: str) -> list[Any]:
        try:
            return self._files.list(path)
        except (errors.StoredFileNotFoundError, errors.StoredNotADirectoryError):
            return []

    def _download(self, path: str, root: str, target: Path) -> dict[str, Path]:
        target.mkdir(parents=True, exist_ok=True)
        found = {}
        for info in self._files.list(path):
            name, local = info.path[len(root) + 1 :], target / info.name
            if info.is_directory:
                found.update(self._download(info.path, root, local))
            elif name != METADATA_FILE:
                with self._files.open_reader(info.path) as reader, local.open("wb") as file:
                    copy_bytes(reader, file)
                found[name] = local
        return found

    def _remove_abandoned(self, reference: ModelReference) -> None:
        for info in self._entries(reference.directory):
            if info.name.startswith(_ADDING) and time.time() - info.modified > _ADDING_SECONDS:
                self._discard(info.path)

    def _discard(self, directory: str) -> None:
        with contextlib.suppress(errors.StoredFileNotFoundError):
            self._files.remove(directory, recursive=True)

    def _unknown(self, reference: ModelReference) -> errors.ModelNotFoundError:
        numbers = sorted(self._numbers(reference.name))
        if not numbers:
            names = ", ".join(self.names()[:10]) or "none"
            return errors.ModelNotFoundError(
                f"there is no model {reference.name}. The models of the cluster are: {names}. List them: "
                "tensorflow-ignite model ls"
            )
        if reference.number in numbers:
            return errors.ModelNotFoundError(
                f"the directory {reference.directory}/{reference.number} is no version of a model: it has no file "
                f"{METADATA_FILE}. Versions are made by tensorflow-ignite model add, and by tfi.train.export. Add its "
                f"files: tensorflow-ignite model add {reference.name} "
                f"ignite://{reference.directory}/{reference.number}"
            )
        labels = ", ".join(f"{label} ({number})" for label, number in sorted(self.labels(reference.name).items()))
        return errors.ModelNotFoundError(
            f"there is no model {reference}. Model {reference.name} has the versions "
            f"{', '.join(map(str, numbers[-10:]))}, and the labels: {labels or 'none'}. Use one of these"
        )


def _is_number(name: str) -> bool:
    """Whether a name is the number of a version."""
    return re.fullmatch(r"[1-9][0-9]{0,17}", name) is not None
