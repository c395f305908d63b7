"""Unpacks a job's code archive, whoever made it, without writing outside its directory."""

import shutil
import stat
import zipfile
import zlib
from pathlib import Path, PurePosixPath

MAX_ENTRIES = 20_000
MAX_BYTES = 2 * 1024**3
MAX_PATH_CHARACTERS = 1_024


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
        with zipfile.ZipFile(archive) as opened:
            entries = opened.infolist()
            _check_size(archive, entries)
            for entry in entries:
                _check(archive, entry)
            _check_distinct(archive, entries)
            for entry in entries:
                _extract(opened, entry, partial)
        partial.rename(directory)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError) as error:
        raise BadArchiveError(f"code archive {archive} cannot be read: {error}; it must be a zip archive") from error
    except FileNotFoundError as error:
        if archive.exists():
            raise
        raise BadArchiveError(f"code archive {archive} is not on this node; submit the job again") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


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
    elif "\\" in name or "\0" in name or (len(name) > 1 and name[1] == ":") or len(name) > MAX_PATH_CHARACTERS:
        fault = "has a name that is not portable"
    elif kind not in (0, stat.S_IFREG, stat.S_IFDIR) or (kind == stat.S_IFDIR and not entry.is_dir()):
        fault = "is neither a file nor a directory"
    elif entry.flag_bits & 0x1:
        fault = "is encrypted"
    else:
        return
    raise BadArchiveError(
        f"code archive {archive}: entry {name!r} {fault}; entries are relative paths of plain files and directories, "
        f"without '..', links, devices or passwords, of at most {MAX_PATH_CHARACTERS} characters; pack it again without"
    )


def _check_distinct(archive: Path, entries: list[zipfile.ZipInfo]) -> None:
    files: set[PurePosixPath] = set()
    for entry in entries:
        path = PurePosixPath(entry.filename)
        if not entry.is_dir():
            if path in files:
                raise BadArchiveError(f"code archive {archive} has {entry.filename!r} twice; pack it again")
            files.add(path)
    for entry in entries:
        path = PurePosixPath(entry.filename)
        above = [*path.parents, path] if entry.is_dir() else path.parents
        if any(parent in files for parent in above):
            raise BadArchiveError(
                f"code archive {archive} has a part of {entry.filename!r} as a file and as a directory; pack it again"
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
