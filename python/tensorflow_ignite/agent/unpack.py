"""Unpacks a job's code archive, also an untrusted one, without writing outside its directory."""

import io
import shutil
import stat
import struct
import zipfile
import zlib
from itertools import pairwise
from pathlib import Path, PurePosixPath

MAX_ENTRIES = 20_000
# Includes directories that occur only in names of files.
MAX_PATHS = 100_000
MAX_BYTES = 256 * 1024**2
# An archive may expand to this many times its size, or to FREE_BYTES.
MAX_RATIO = 200
FREE_BYTES = 16 * 1024**2
MAX_PATH_CHARACTERS = 1_024
MAX_PATH_PARTS = 64
MAX_PART_BYTES = 255

_REMEDY = "Leave data and environments out of the code folder"
_BLOCK = 1 << 20
_ENTRY_SIGNATURE = b"PK\x01\x02"
# Without the name of the entry, which follows.
_HEADER_BYTES = 30
# Largest size of the list of entries: each has a name and further fields.
_MAX_LIST_BYTES = MAX_ENTRIES * 2_048
_COMPRESSION = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# Exceptions of zipfile for truncated, damaged or malformed archives.
_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    OverflowError,
    RuntimeError,
    ValueError,
)


class BadArchiveError(Exception):
    """The code archive cannot be used; the text has the reason."""


def unpack(archive: Path, directory: Path) -> None:
    """Unpacks a zip archive into a directory that does not exist yet; the directory appears whole or not at all.

    Of the attributes, only the execute permission is kept.

    Raises:
        BadArchiveError: The file is not a zip archive, or an entry breaks a rule; no files are left.
        OSError: The files cannot be written.
    """
    partial = directory.with_name(directory.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True, mode=0o700)
    try:
        with archive.open("rb", buffering=0) as file, zipfile.ZipFile(_Bounded(file, archive)) as opened:
            entries = opened.infolist()
            _check_size(archive, entries)
            for entry in entries:
                _check(archive, entry)
            _check_distinct(archive, entries)
            budget = _Budget(archive)
            for entry in entries:
                _extract(opened, entry, partial, budget)
        partial.rename(directory)
    except _UNREADABLE as error:
        raise BadArchiveError(
            f"code archive {archive} cannot be read: {error}. It must be a zip archive. Submit the job again"
        ) from error
    except FileNotFoundError as error:
        if archive.exists():
            raise
        raise BadArchiveError(
            f"code archive {archive} is not on this node. A node fetches it before it starts a task. Submit the job "
            "again"
        ) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


class _Bounded(io.BufferedReader):
    """A file that refuses to read a too long list of entries, and to seek to impossible positions.

    zipfile reads the whole list at once, and makes an object for each entry, before the entries can be counted.
    """

    def __init__(self, file: io.FileIO, archive: Path) -> None:
        super().__init__(file)
        self._archive = archive

    def seek(self, position: int, whence: int = io.SEEK_SET, /) -> int:
        """Sets the position; an impossible one is a fault of the archive, which contains positions, not of the disk."""
        try:
            return super().seek(position, whence)
        except OSError as error:
            if whence == io.SEEK_SET:
                raise zipfile.BadZipFile(
                    f"it contains the position {position}, which is outside of any file"
                ) from error
            raise

    def read(self, size: int | None = -1, /) -> bytes:
        """Reads `size` bytes, or all remaining bytes; rejects a list of more than `MAX_ENTRIES` entries."""
        requested = size is not None and size > _MAX_LIST_BYTES
        data = super().read(_MAX_LIST_BYTES if requested else size)
        if requested or data.count(_ENTRY_SIGNATURE) > 2 * MAX_ENTRIES:
            raise BadArchiveError(
                f"code archive {self._archive} has too many entries. At most {MAX_ENTRIES} are unpacked. {_REMEDY}"
            )
        return data


class _Budget:
    """Counts the bytes that are unpacked; an archive declares any size that it likes."""

    def __init__(self, archive: Path) -> None:
        self._archive = archive
        self._bytes = 0

    def spend(self, count: int) -> None:
        """Counts further bytes; rejects the archive when it exceeds a limit."""
        self._bytes += count
        _check_bytes(self._archive, self._bytes)


def _check_size(archive: Path, entries: list[zipfile.ZipInfo]) -> None:
    if len(entries) > MAX_ENTRIES:
        raise BadArchiveError(
            f"code archive {archive} has {len(entries)} entries. At most {MAX_ENTRIES} are unpacked. {_REMEDY}"
        )
    _check_bytes(archive, sum(entry.file_size for entry in entries))
    for entry, following in pairwise(sorted(entries, key=lambda each: each.header_offset)):
        if following.header_offset < entry.header_offset + _HEADER_BYTES + entry.compress_size:
            raise BadArchiveError(
                f"code archive {archive}: entry {following.orig_filename!r} uses bytes of another entry. Each entry "
                "has its own bytes. Pack the code again"
            )


def _check_bytes(archive: Path, unpacked: int) -> None:
    if unpacked > MAX_BYTES:
        raise BadArchiveError(
            f"code archive {archive} contains {unpacked} bytes or more. At most {MAX_BYTES} are unpacked. {_REMEDY}"
        )
    packed = archive.stat().st_size
    if unpacked > max(FREE_BYTES, MAX_RATIO * packed):
        raise BadArchiveError(
            f"code archive {archive} of {packed} bytes contains {unpacked} bytes or more. An archive expands at most "
            f"{MAX_RATIO} times, or to {FREE_BYTES} bytes. {_REMEDY}"
        )


def _check(archive: Path, entry: zipfile.ZipInfo) -> None:
    # orig_filename: zipfile cuts `filename` at a NUL, and replaces backslashes on other systems.
    name = entry.orig_filename
    path = PurePosixPath(name)
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if not path.parts or path.is_absolute() or ".." in path.parts:
        fault = "leaves the archive's directory"
    elif "\\" in name or any(ord(char) < 32 or ord(char) == 127 for char in name) or name[1:2] == ":":
        fault = "has a name that is not portable"
    elif len(name) > MAX_PATH_CHARACTERS or len(path.parts) > MAX_PATH_PARTS or _longest_part(path) > MAX_PART_BYTES:
        fault = "has a name that is not portable: too long, or too deep"
    elif kind not in (0, stat.S_IFREG, stat.S_IFDIR) or (kind == stat.S_IFDIR and not entry.is_dir()):
        fault = "is neither a file nor a directory"
    elif entry.flag_bits & 0x1:
        fault = "is encrypted"
    elif entry.compress_type not in _COMPRESSION:
        fault = "is compressed by an unsupported method"
    else:
        return
    raise BadArchiveError(
        f"code archive {archive}: entry {name!r} {fault}. Entries are relative paths of plain files and directories, "
        f"without '..', links, devices or passwords, of at most {MAX_PATH_CHARACTERS} characters in {MAX_PATH_PARTS} "
        f"parts of {MAX_PART_BYTES} bytes, stored or deflated. Pack the code again without this entry"
    )


def _longest_part(path: PurePosixPath) -> int:
    return max(len(part.encode("utf-8", "surrogatepass")) for part in path.parts)


def _check_distinct(archive: Path, entries: list[zipfile.ZipInfo]) -> None:
    files: set[tuple[str, ...]] = set()
    directories: set[tuple[str, ...]] = set()
    for entry in entries:
        parts = PurePosixPath(entry.filename).parts
        if entry.is_dir():
            directories.add(parts)
        elif parts in files:
            raise BadArchiveError(
                f"code archive {archive} has {entry.filename!r} twice. Names must be unique. Pack the code again"
            )
        else:
            files.add(parts)
        for count in range(len(parts) - 1, 0, -1):
            if parts[:count] in directories:
                break
            directories.add(parts[:count])
        if len(files) + len(directories) > MAX_PATHS:
            raise BadArchiveError(
                f"code archive {archive} has more than {MAX_PATHS} files and directories. No more are unpacked. "
                f"{_REMEDY}"
            )
    for both in sorted(files & directories):
        raise BadArchiveError(
            f"code archive {archive} has {'/'.join(both)!r} as a file and as a directory. Names must be unique. Pack "
            "the code again"
        )


def _extract(opened: zipfile.ZipFile, entry: zipfile.ZipInfo, directory: Path, budget: _Budget) -> None:
    target = directory / entry.filename
    if entry.is_dir():
        target.mkdir(parents=True, exist_ok=True)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with opened.open(entry) as source, target.open("xb") as sink:
        while block := source.read(_BLOCK):
            budget.spend(len(block))
            sink.write(block)
    executable = (entry.external_attr >> 16) & 0o111
    target.chmod(0o755 if executable else 0o644)
