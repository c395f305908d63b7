"""Verifies that the cluster holds every block of every file, unchanged, and no other blocks.

Files change meanwhile, so a fault is checked again: a block that no node has reported is read, and blocks of no
file are a fault only if a second scan finds them too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Literal

from tensorflow_ignite import errors
from tensorflow_ignite.storage.files import Files
from tensorflow_ignite.storage.info import CheckedBlocks, Extent, FileInfo

FaultKind = Literal["corrupt", "lost", "orphan"]

# Calls at the same time; each waits mostly for the network.
_THREADS = 8


@dataclass(frozen=True)
class Fault:
    """Blocks that break a rule.

    Attributes:
        kind: ``"corrupt"``: their checksums are wrong; ``"lost"``: no node holds them; ``"orphan"``: they belong to no
            file, or are after its end, and no writer or sweeper uses them.
        path: The file; None for orphans of no file.
        extent: Id of the extent.
        blocks: Numbers of the blocks in the extent, sorted.
        bytes: Size of all blocks of the extent, for orphans of no file; else 0.
        address: ``host:port`` of the node that holds them; None if they are lost, or on several nodes.
    """

    kind: FaultKind
    path: str | None
    extent: str
    blocks: tuple[int, ...]
    bytes: int = 0
    address: str | None = None


@dataclass(frozen=True)
class VerificationResult:
    """Result of `verify`.

    Attributes:
        files: Number of files.
        blocks: Number of blocks that were verified.
        bytes: Size of these blocks; copies of a block count once.
        addresses: ``host:port`` of the nodes that hold them.
        faults: Faults, by path.
    """

    files: int
    blocks: int
    bytes: int
    addresses: tuple[str, ...]
    faults: tuple[Fault, ...]


@dataclass
class _StoredBlocks:
    """The blocks of one extent, on all nodes."""

    numbers: set[int] = field(default_factory=set)
    corrupt: dict[str, set[int]] = field(default_factory=dict)
    bytes: int = 0
    pending: bool = False

    def add(self, checked: CheckedBlocks) -> None:
        self.numbers.update(checked.numbers)
        if checked.corrupt:
            self.corrupt.setdefault(checked.address, set()).update(checked.corrupt)
        self.bytes += checked.bytes
        self.pending = self.pending or checked.pending


def verify(files: Files, progress: Callable[[int], object] = lambda _: None) -> VerificationResult:
    """Verifies every block that nodes hold, and every file.

    Args:
        files: The cluster's files.
        progress: Called with the bytes of blocks that were verified since the last call.

    Raises:
        ConnectionFailedError: No node answers, or a node was lost meanwhile.
        RequestTimeoutError: No answer came in time.
    """
    addresses: set[str] = set()
    stored = _stored_blocks(files, progress, addresses)
    owned: set[str] = set()
    faults: list[Fault] = []
    number = 0
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="tensorflow-ignite verify") as pool:
        for path, extents in pool.map(lambda path: (path, _extents(files, path)), _paths(files, "/")):
            if extents is None:
                continue
            number += 1
            owned.update(extent.id for extent in extents)
            faults += _faults(files, path, extents, stored)
    unowned = {extent for extent, blocks in stored.items() if extent not in owned and not blocks.pending}
    if unowned:
        faults += _orphans(files, unowned)
    return VerificationResult(
        files=number,
        blocks=sum(len(blocks.numbers) for blocks in stored.values()),
        bytes=sum(blocks.bytes for blocks in stored.values()),
        addresses=tuple(sorted(addresses)),
        faults=tuple(faults),
    )


def find_fault(files: Files, path: str) -> str:
    """Returns why a file cannot be read whole; empty if every block of it is there and has the right checksum.

    One byte of each block travels, since a node verifies the whole block before it sends a part of it.

    Raises:
        StoredFileNotFoundError: The file does not exist.
        FileChangedError: The file is replaced meanwhile.
        ConnectionFailedError: No node answers.
        RequestTimeoutError: No answer came in time.
    """

    def fault(offset: int) -> str:
        try:
            reader.read(offset, 1)
        except (errors.FileLostError, errors.FileCorruptError) as error:
            return str(error)
        return ""

    with files.open_reader(path) as reader, ThreadPoolExecutor(_THREADS) as pool:
        return next(filter(None, pool.map(fault, reader.block_offsets())), "")


def _stored_blocks(files: Files, progress: Callable[[int], object], addresses: set[str]) -> dict[str, _StoredBlocks]:
    stored: dict[str, _StoredBlocks] = {}
    for checked in files.check():
        addresses.add(checked.address)
        stored.setdefault(checked.extent, _StoredBlocks()).add(checked)
        progress(checked.bytes)
    return stored


def _paths(files: Files, directory: str) -> Iterator[str]:
    # Without recursion: directories may be nested deeper than Python's stack.
    directories = [_entries(files, directory)]
    while directories:
        info = next(directories[-1], None)
        if info is None:
            directories.pop()
        elif info.is_directory:
            directories.append(_entries(files, info.path))
        else:
            yield info.path


def _entries(files: Files, directory: str) -> Iterator[FileInfo]:
    try:
        return iter(files.list(directory))
    except errors.StoredFileNotFoundError:
        return iter(())  # removed meanwhile


def _extents(files: Files, path: str) -> tuple[Extent, ...] | None:
    try:
        return files.extents(path)
    except (errors.StoredFileNotFoundError, errors.StoredIsADirectoryError):
        return None  # removed meanwhile


def _faults(files: Files, path: str, extents: tuple[Extent, ...], stored: dict[str, _StoredBlocks]) -> Iterator[Fault]:
    begin = 0
    for extent in extents:
        blocks = stored.get(extent.id, _StoredBlocks())
        expected = range(-(-extent.bytes // extent.block_bytes))
        for address, corrupt in sorted(blocks.corrupt.items()):
            numbers = tuple(sorted(corrupt.intersection(expected)))
            if numbers:
                yield Fault("corrupt", path, extent.id, numbers, 0, address)
        unreported = [number for number in expected if number not in blocks.numbers]
        lost = tuple(number for number in unreported if _is_lost(files, path, begin + number * extent.block_bytes))
        if lost:
            yield Fault("lost", path, extent.id, lost)
        behind = tuple(sorted(number for number in blocks.numbers if number >= len(expected)))
        if behind and not blocks.pending:
            yield Fault("orphan", path, extent.id, behind)
        begin += extent.bytes


def _is_lost(files: Files, path: str, offset: int) -> bool:
    """Reads one byte: the node verifies the whole block before it sends a part of it."""
    try:
        with files.open_reader(path) as reader:
            reader.read(offset, 1)
    except (errors.FileLostError, errors.FileCorruptError):
        return True
    except (errors.FileChangedError, errors.StoredFileNotFoundError, errors.StoredIsADirectoryError):
        return False  # the file was replaced or removed
    return False


def _orphans(files: Files, unowned: set[str]) -> list[Fault]:
    """Scans again; returns the extents that still exist and belong to no file, since files may have been moved."""
    stored = _stored_blocks(files, lambda _: None, set())
    unowned = {extent for extent in unowned if extent in stored and not stored[extent].pending}
    if unowned:
        for path in _paths(files, "/"):
            unowned.difference_update(extent.id for extent in _extents(files, path) or ())
    return [
        Fault("orphan", None, extent, tuple(sorted(stored[extent].numbers)), stored[extent].bytes)
        for extent in sorted(unowned)
    ]
