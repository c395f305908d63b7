"""Keeps the logs of nodes for failed tests, also of clusters that end, and remove their files, inside of the test."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
import weakref
from pathlib import Path

from tensorflow_ignite.testing import LocalCluster

_MOST_CHARACTERS_OF_A_NAME = 150

_clusters: weakref.WeakSet[LocalCluster] = weakref.WeakSet()
# Copies of the logs of clusters that have ended since the last test began.
_ended: list[Path] = []


def observe() -> None:
    """Notes every cluster of this process from now on."""
    start, release = LocalCluster._make_directory, LocalCluster._release

    def make_directory(self: LocalCluster) -> None:
        start(self)
        _clusters.add(self)

    def copy_and_release(self: LocalCluster, directory: Path) -> None:
        copy = Path(tempfile.gettempdir()).with_name(f"logs-{os.getpid()}-{len(_ended)}")
        _copy(directory, copy / directory.name)
        _ended.append(copy)
        release(self, directory)

    LocalCluster._make_directory = make_directory  # type: ignore[method-assign]
    LocalCluster._release = copy_and_release  # type: ignore[method-assign]


def running() -> list[LocalCluster]:
    """The clusters of this process that have not ended."""
    return [cluster for cluster in list(_clusters) if cluster._directory is not None]


def keep(folder: Path, test: str) -> None:
    """Copies the logs of all clusters that the test has used into a folder of its name."""
    target = folder / re.sub(r"[^\w.-]+", "-", test)[-_MOST_CHARACTERS_OF_A_NAME:]
    for copy in _ended:
        _copy(copy, target)
    for cluster in list(_clusters):
        with contextlib.suppress(RuntimeError):
            _copy(cluster.directory, target / cluster.directory.name)


def forget() -> None:
    """Removes the copies when their test is over."""
    for copy in _ended:
        shutil.rmtree(copy, ignore_errors=True)
    _ended.clear()


def _copy(directory: Path, target: Path) -> None:
    # Nodes that run remove folders meanwhile, which `os.walk` ignores.
    for folder, _, files in os.walk(directory):
        for log in (Path(folder) / file for file in files if file.endswith(".log")):
            with contextlib.suppress(OSError):
                place = target / log.relative_to(directory)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(log, place)
