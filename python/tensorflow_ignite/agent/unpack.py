"""Unpacks a job's code archive, whoever made it, without writing outside its directory."""

import io
import shutil
import stat
import struct
import zipfile
import zlib
from pathlib import Path, PurePosixPath

MAX_ENTRIES = 20_000
# With the directories that stand in names only.
MAX_PATHS = 100_000
MAX_BYTES = 2 * 1024**3
MAX_PATH_CHARACTERS = 1_024
MAX_PATH_PARTS = 64
MAX_PART_BYTES = 255

_ENTRY_SIGNATURE = b"PK\x01\x02"
# What the list of entries may take: each has a name, and whatever else of the format.
_MAX_LIST_BYTES = MAX_ENTRIES * 2_048
_COMPRESSION = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# What zipfile raises for archives that are cut short, damaged or otherwise not what they say.
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
    """The code archive cannot be used; the text says why."""


def unpack(archive: Path, directory: Path) -> None:
    """Unpacks a zip archive into a directory that does not exist yet; it appears whole or not at all.

    Execute permission is kept, every other attribute is not.

    Raises:
        BadArchiveError: It is no zip archive, or one of its entries breaks a rule; nothing is left behind.
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
            for entry in entries:
                _extract(opened, entry, partial)
        partial.rename(directory)
    except _UNREADABLE as error:
        raise BadArchiveError(f"code archive {archive} cannot be read: {error}; it must be a zip archive") from error
    except FileNotFoundError as error:
        if archive.exists():
            raise
        raise BadArchiveError(f"code archive {archive} is not on this node; submit the job again") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


class _Bounded(io.BufferedReader):
    """A file that refuses to give a list of more entries than are unpacked, and places that no file has.

    zipfile reads the whole list at once, and makes an object of each entry, before anybody can count them.
    """

    def __init__(self, file: io.FileIO, archive: Path) -> None:
        super().__init__(file)
        self._archive = archive

    def seek(self, place: int, whence: int = io.SEEK_SET, /) -> int:
        """Goes to a place; one that no file has is a fault of the archive, which names places, not of the disk."""
        try:
            return super().seek(place, whence)
        except OSError as error:
            if whence == io.SEEK_SET:
                raise zipfile.BadZipFile(f"it names the place {place}, which no file has") from error
            raise

    def read(self, size: int | None = -1, /) -> bytes:
        """As many bytes; all that are left without a number."""
        wanted = size is not None and size > _MAX_LIST_BYTES
        data = super().read(_MAX_LIST_BYTES if wanted else size)
        if wanted or data.count(_ENTRY_SIGNATURE) > 2 * MAX_ENTRIES:
            raise BadArchiveError(
                f"code archive {self._archive} has too long a list of entries; at most {MAX_ENTRIES} are unpacked; "
                "leave data and environments out of the code folder"
            )
        return data


def _check_size(archive: Path, entries: list[zipfile.ZipInfo]) -> None:
    if len(entries) > MAX_ENTRIES:
        raise BadArchiveError(
            f"code archive {archive} has {len(entries)} entries; at most {MAX_ENTRIES} are unpacked; "
            "leave data and environments out of the code folder"
        )
    size = sum(entry.file_size for entry in entries)
    if size > MAX_BYTES:
        raise BadArchiveError(
            f"code archive {archive} holds {size} bytes; at most {MAX_BYTES} are unpacked; "
            "leave data and environments out of the code folder"
        )


def _check(archive: Path, entry: zipfile.ZipInfo) -> None:
    # orig_filename: zipfile itself cuts names at NUL and turns backslashes on other systems.
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
        fault = "is compressed in a way that is not used here"
    else:
        return
    raise BadArchiveError(
        f"code archive {archive}: entry {name!r} {fault}; entries are relative paths of plain files and directories, "
        f"without '..', links, devices or passwords, of at most {MAX_PATH_CHARACTERS} characters in {MAX_PATH_PARTS} "
        f"parts of {MAX_PART_BYTES} bytes, stored or deflated; pack it again without"
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
            raise BadArchiveError(f"code archive {archive} has {entry.filename!r} twice; pack it again")
        else:
            files.add(parts)
        for count in range(len(parts) - 1, 0, -1):
            if parts[:count] in directories:
                break
            directories.add(parts[:count])
        if len(files) + len(directories) > MAX_PATHS:
            raise BadArchiveError(
                f"code archive {archive} has more than {MAX_PATHS} files and directories; that is the most that are "
                "unpacked; leave data and environments out of the code folder"
            )
    for both in sorted(files & directories):
        raise BadArchiveError(
            f"code archive {archive} has {'/'.join(both)!r} as a file and as a directory; pack it again"
        )


def _extract(opened: zipfile.ZipFile, entry: zipfile.ZipInfo, directory: Path) -> None:
    target = directory / entry.filename
    if entry.is_dir():
        target.mkdir(parents=True, exist_ok=True)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    # zipfile reads no more than the size that the entry declares, which _check_size has counted.
    with opened.open(entry) as source, target.open("xb") as sink:
        shutil.copyfileobj(source, sink, 1 << 20)
    executable = (entry.external_attr >> 16) & 0o111
    target.chmod(0o755 if executable else 0o644)
