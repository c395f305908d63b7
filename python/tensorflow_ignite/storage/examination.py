"""Whether the cluster holds what was written: every block of every file, and nothing else.

Files change while they are examined. So what looks wrong at first is looked at again: a block that no node told of is
read, and blocks of no file count only when they are there at a second look too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Literal

from tensorflow_ignite.errors import (
    FileChangedError,
    FileCorruptError,
    StoredFileNotFoundError,
    StoredIsADirectoryError,
)
from tensorflow_ignite.storage.files import Files
from tensorflow_ignite.storage.info import CheckedBlocks, Extent

__all__ = ["Examination", "Fault", "FaultKind", "examine"]

FaultKind = Literal["corrupt", "lost", "orphan"]

# Calls at the same time; each waits for the network most of its time.
_THREADS = 8


@dataclass(frozen=True)
class Fault:
    """Something that is not as it must be.

    Attributes:
        kind: ``"corrupt"``: blocks are not what was written; ``"lost"``: no node holds them; ``"orphan"``: they are of
            no file, or behind its end, and nobody is writing or removing them.
        path: The file; None for orphans of none.
        extent: Id of the extent.
        blocks: The blocks' numbers in it, sorted.
        bytes: Of all blocks of the extent, for orphans of no file; else 0.
        address: ``host:port`` of the node that holds them; None when they are lost, or on several.
    """

    kind: FaultKind
    path: str | None
    extent: str
    blocks: tuple[int, ...]
    bytes: int = 0
    address: str | None = None


@dataclass(frozen=True)
class Examination:
    """What an examination came to.

    Attributes:
        files: Number of files.
        blocks: Number of blocks that were checked.
        bytes: Of these blocks; a block counts once, however many copies there are.
        addresses: ``host:port`` of the nodes that hold them.
        faults: What is wrong, by path.
    """

    files: int
    blocks: int
    bytes: int
    addresses: tuple[str, ...]
    faults: tuple[Fault, ...]


@dataclass
class _Held:
    """The blocks of one extent, on all nodes."""

    numbers: set[int] = field(default_factory=set)
    corrupt: dict[str, set[int]] = field(default_factory=dict)
    bytes: int = 0
    pending: bool = False

    def add(self, told: CheckedBlocks) -> None:
        self.numbers.update(told.numbers)
        if told.corrupt:
            self.corrupt.setdefault(told.address, set()).update(told.corrupt)
        self.bytes += told.bytes
        self.pending = self.pending or told.pending


def examine(files: Files, progress: Callable[[int], object] = lambda _: None) -> Examination:
    """Looks at every block that nodes hold, and at every file.

    Args:
        files: The cluster's.
        progress: Told of the bytes of blocks as they are checked.

    Raises:
        ConnectionFailedError: No node answers, or one is gone in the middle.
        RequestTimeoutError: No answer came in time.
    """
    addresses: set[str] = set()
    held = _look(files, progress, addresses)
    owned: set[str] = set()
    faults: list[Fault] = []
    number = 0
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="examine") as pool:
        for path, extents in pool.map(lambda path: (path, _extents(files, path)), _paths(files, "/")):
            if extents is None:
                continue
            number += 1
            owned.update(extent.id for extent in extents)
            faults += _faults(files, path, extents, held)
    unowned = {extent for extent, blocks in held.items() if extent not in owned and not blocks.pending}
    if unowned:
        faults += _orphans(files, unowned)
    return Examination(
        files=number,
        blocks=sum(len(blocks.numbers) for blocks in held.values()),
        bytes=sum(blocks.bytes for blocks in held.values()),
        addresses=tuple(sorted(addresses)),
        faults=tuple(faults),
    )


def _look(files: Files, progress: Callable[[int], object], addresses: set[str]) -> dict[str, _Held]:
    held: dict[str, _Held] = {}
    for told in files.check():
        addresses.add(told.address)
        held.setdefault(told.extent, _Held()).add(told)
        progress(told.bytes)
    return held


def _paths(files: Files, directory: str) -> Iterator[str]:
    try:
        entries = files.list(directory)
    except StoredFileNotFoundError:
        return  # removed meanwhile
    for info in entries:
        if info.is_directory:
            yield from _paths(files, info.path)
        else:
            yield info.path


def _extents(files: Files, path: str) -> tuple[Extent, ...] | None:
    try:
        return files.extents(path)
    except (StoredFileNotFoundError, StoredIsADirectoryError):
        return None  # removed meanwhile


def _faults(files: Files, path: str, extents: tuple[Extent, ...], held: dict[str, _Held]) -> Iterator[Fault]:
    begin = 0
    for extent in extents:
        blocks = held.get(extent.id, _Held())
        wanted = range(-(-extent.bytes // extent.block_bytes))
        for address, corrupt in sorted(blocks.corrupt.items()):
            numbers = tuple(sorted(corrupt.intersection(wanted)))
            if numbers:
                yield Fault("corrupt", path, extent.id, numbers, 0, address)
        untold = [number for number in wanted if number not in blocks.numbers]
        lost = tuple(number for number in untold if _is_lost(files, path, begin + number * extent.block_bytes))
        if lost:
            yield Fault("lost", path, extent.id, lost)
        behind = tuple(sorted(number for number in blocks.numbers if number >= len(wanted)))
        if behind and not blocks.pending:
            yield Fault("orphan", path, extent.id, behind)
        begin += extent.bytes


def _is_lost(files: Files, path: str, offset: int) -> bool:
    """Reads one byte: the node checks the whole block before it sends any of it."""
    try:
        with files.open_reader(path) as reader:
            reader.read(offset, 1)
    except FileCorruptError:
        return True
    except (FileChangedError, StoredFileNotFoundError, StoredIsADirectoryError):
        return False  # it is another file now, or none
    return False


def _orphans(files: Files, unowned: set[str]) -> list[Fault]:
    """Those that are still there and of no file: one may have been removed, or have moved out of our way."""
    held = _look(files, lambda _: None, set())
    unowned = {extent for extent in unowned if extent in held and not held[extent].pending}
    if unowned:
        for path in _paths(files, "/"):
            unowned.difference_update(extent.id for extent in _extents(files, path) or ())
    return [
        Fault("orphan", None, extent, tuple(sorted(held[extent].numbers)), held[extent].bytes)
        for extent in sorted(unowned)
    ]
