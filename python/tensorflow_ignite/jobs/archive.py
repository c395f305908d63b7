"""The user's code as one zip archive: the same code has the same bytes, and so the same digest, on every machine.

The agent, which unpacks the archive, has the same rules: names stay inside the archive, entries are files (no links, no
devices), and the limits below hold. They are checked here too, so that the user gets the error before the submission.
"""

from __future__ import annotations

import codecs
import hashlib
import io
import os
import posixpath
import re
import stat
import sys
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from tensorflow_ignite.base import system
from tensorflow_ignite.errors import CodeInvalidError, CodeNotFoundError

#: Largest size of all files together, before compression, in bytes.
MAX_BYTES = 256 * 1024 * 1024
#: Largest number of files in one archive.
MAX_FILES = 20_000
#: Files and folders with these names are left out, at any depth.
EXCLUDED = frozenset({".git", "__pycache__", ".venv"})
#: The default script of a folder or zip archive: the first of these that exists.
DEFAULT_SCRIPTS = ("main.py", "train.py")

#: The folder in an archive that holds requirements and wheels.
PACKAGES = ".tensorflow-ignite"

_WHEEL = re.compile(r"[^\s-]+-[^\s-]+(-\d[^\s-]*)?(-[^\s-]+){3}\.whl")
_EPOCH = (1980, 1, 1, 0, 0, 0)
_BLOCK = 1024 * 1024
_MAX_NAME_BYTES = 1024
# The limits of the agent, which unpacks the archive.
_MAX_PARTS = 64
_MAX_PART_BYTES = 255
_MAX_RATIO = 200
_FREE_BYTES = 16 * 1024 * 1024
# Exceptions of zipfile for archives that are truncated, damaged, encrypted or compressed by an unknown method.
_UNREADABLE = (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, RuntimeError, ValueError)


@dataclass(frozen=True)
class Archive:
    """Code that is ready for submission.

    Attributes:
        data: The zip archive.
        digest: SHA-256 of ``data``, in lower-case hexadecimal.
        script: The script, as a path inside the archive.
        files: Names of the files inside, sorted.
        requirements: The file of requirements, as a path inside; empty: none.
        wheels: Wheels to install, as paths inside.
    """

    data: bytes
    digest: str
    script: str
    files: tuple[str, ...]
    requirements: str = ""
    wheels: tuple[str, ...] = ()


def pack(
    code: str | os.PathLike[str],
    script: str | None = None,
    *,
    requirements: str | os.PathLike[str] | None = None,
    wheels: Sequence[str | os.PathLike[str]] = (),
) -> Archive:
    """Packs a file, a folder or a zip archive, and checks that its script exists and compiles.

    A folder is packed without `EXCLUDED`, virtual environments and empty folders; links to files and folders inside it
    are followed.
    A zip archive is checked and packed again.

    Args:
        code: A script, a folder, or a file whose name ends in ``.zip``.
        script: The script as a path inside the folder or archive; None: the first of `DEFAULT_SCRIPTS`.
        requirements: A file of requirements of pip, which is packed too.
        wheels: Wheels, which are packed too.

    Returns:
        The archive.

    Raises:
        CodeNotFoundError: There is no such file or folder, or no such script in it.
        CodeInvalidError: The code breaks a rule of this module, or the script has a syntax error.
    """
    path = Path(code)
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CodeNotFoundError(
            f"cannot read {str(path)!r}: {reason}. Code is a Python script, a folder or a .zip archive. "
            f"Check the path, which is relative to {Path.cwd()}."
        ) from None
    packer = _Packer()
    try:
        if stat.S_ISDIR(mode):
            packer.add_folder(path.resolve())
        elif not stat.S_ISREG(mode):
            raise CodeInvalidError(
                f"{str(path)!r} is neither a file nor a folder. Code is a Python script, a folder or a .zip archive. "
                "Name one of these."
            )
        elif path.suffix.lower() == ".zip":
            packer.add_zip(path)
        elif path.suffix.lower() == ".whl":
            raise CodeInvalidError(
                f"{str(path)!r} is a wheel. Code is a Python script, a folder or a .zip archive, and wheels are an "
                "option of their own. Name the script, and the wheels in environment.wheels."
            )
        else:
            packer.add_file(path.name, path)
            script = path.name if script is None else script
    except OSError as error:
        raise CodeInvalidError(
            f"cannot read {error.filename or str(path)!r}: {error.strerror or error}. Every file of the code must be "
            "readable. Change its permissions, or keep it outside the folder."
        ) from error
    name = _find_script(packer.files, script, path)
    if name.endswith(".py"):
        _check_syntax(packer.read(name), name)
    return packer.archive(name, requirements, wheels)


def _wheel(path: Path) -> Path:
    if not _WHEEL.fullmatch(path.name):
        raise CodeInvalidError(
            f"{str(path)!r} is not the name of a wheel. A wheel is a file NAME-VERSION-PYTHON-ABI-PLATFORM.whl, "
            "without blanks. Give the file its first name again, or build one: pip wheel --no-deps FOLDER"
        )
    return path


def _require_self_contained(path: Path, content: bytes) -> None:
    """Checks that requirements name no file beside them: only this file is sent, and an environment is kept by it."""
    coding = "utf-16" if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    for line in content.decode(coding, errors="replace").replace("\r\n", "\n").replace("\\\n", " ").split("\n"):
        line = re.sub(r"(^|\s)#.*", "", line).strip()
        option = re.match(r"(?:-[rcef]|--(?:requirement|constraint|editable|find-links)\b)[\s=]*(.*)", line)
        named = option[1] if option else "" if line.startswith("-") else line.partition(";")[0].strip()
        is_local = named.startswith(".") or "/" in named or named.lower().endswith((".whl", ".zip", ".tar.gz", ".txt"))
        if (is_local or (option and named)) and not re.search(r"^/|:/|@", named):
            raise CodeInvalidError(
                f"the line {line!r} of {str(path)!r} names a file or folder of this machine. Nodes get this one file "
                "of requirements, and install it once for all jobs with the same text. Write the lines of other files "
                "into it; of a project of your own build a wheel (pip wheel --no-deps FOLDER), and name it in "
                "environment.wheels."
            )


def pack_files(
    files: Mapping[str, bytes],
    script: str,
    requirements: str | os.PathLike[str] | None = None,
    wheels: Sequence[str | os.PathLike[str]] = (),
) -> Archive:
    """Packs contents by their names.

    Args:
        files: The files.
        script: The name of the script among them.
        requirements: As for `pack`.
        wheels: As for `pack`.

    Returns:
        The archive.

    Raises:
        CodeInvalidError: The code breaks a rule of this module.
    """
    packer = _Packer()
    for name, content in files.items():
        packer.add_content(name, content)
    return packer.archive(script, requirements, wheels)


def with_script(archive: Archive, name: str, content: bytes) -> Archive:
    """The same code with a further file, which is its script.

    Raises:
        CodeInvalidError: The code has a file of this name.
    """
    if name in archive.files:
        raise CodeInvalidError(
            f"the code has a file named {name!r}. The script that calls the function has this name. Rename the file."
        )
    with zipfile.ZipFile(io.BytesIO(archive.data)) as packed:
        files = {file: packed.read(file) for file in archive.files}
    packer = _Packer()
    for file, data in files.items():
        packer.add_content(file, data)
    packer.add_content(name, content)
    data = packer.close()
    return replace(
        archive,
        data=data,
        digest=hashlib.sha256(data).hexdigest(),
        script=name,
        files=tuple(sorted(packer.files)),
    )


def read_file(archive: Archive, name: str) -> bytes:
    """The content of a file of the code."""
    with zipfile.ZipFile(io.BytesIO(archive.data)) as packed:
        return packed.read(name)


def check_name(name: str) -> str:
    """Returns the normal form of a name in an archive: relative, with ``/`` between its parts, inside the archive.

    Args:
        name: The name of a file inside an archive or folder.

    Returns:
        The name without ``.`` parts and doubled slashes.

    Raises:
        CodeInvalidError: The name is empty, absolute, leaves the archive, is longer than 1,024 bytes of UTF-8, or
            contains characters that not every system can store.
    """
    fault = _rejection(name)
    if fault is None:
        return _clean(name)
    raise CodeInvalidError(
        f"the code contains a file named {name!r}: {fault}. Names in an archive are relative and stay inside it. "
        "Rename the file, or leave it out."
    )


def _clean(name: str) -> str:
    return "/".join(part for part in name.split("/") if part not in ("", "."))


def _rejection(name: str) -> str | None:
    clean = _clean(name)
    if name.startswith("/") or re.match(r"[A-Za-z]:", clean):
        return "it is absolute"
    if ".." in clean.split("/"):
        return "it leaves the archive by '..'"
    if "\\" in name or any(ord(char) < 32 or ord(char) == 127 for char in name):
        return "it contains a backslash or a control character"
    if not clean:
        return "it is empty"
    try:
        size = len(clean.encode())
    except UnicodeEncodeError:
        return "it is not valid UTF-8"
    parts = clean.split("/")
    if len(parts) > _MAX_PARTS or max(len(part.encode()) for part in parts) > _MAX_PART_BYTES:
        return f"it has more than {_MAX_PARTS} parts, or one of more than {_MAX_PART_BYTES} bytes"
    return None if size <= _MAX_NAME_BYTES else f"it has {size:,} bytes of UTF-8, more than {_MAX_NAME_BYTES:,}"


class _Packer:
    """Collects files into one zip archive within the limits; its bytes depend only on names and contents."""

    def __init__(self) -> None:
        self.files: dict[str, tuple[bytes, bool]] = {}
        self._size = 0

    def add_folder(self, root: Path) -> None:
        for name, path in _walk(root, root, "", (root,)):
            self.add_file(name, path)

    def add_file(self, name: str, path: Path) -> None:
        with path.open("rb") as stream:
            self._add(name, stream, executable=bool(os.fstat(stream.fileno()).st_mode & stat.S_IXUSR))

    def add_content(self, name: str, content: bytes) -> None:
        self._add(name, io.BytesIO(content), executable=False)

    def add_package(self, path: Path, name: str | None = None) -> str:
        """Adds a file that says what to install; returns its name in the archive."""
        inside = f"{PACKAGES}/{name or path.name}"
        try:
            self.add_file(inside, path)
        except OSError as error:
            raise CodeNotFoundError(
                f"cannot read {str(path)!r}: {error.strerror}. Requirements and wheels are files here, which are sent "
                f"with the code. Check the path, which is relative to {Path.cwd()}."
            ) from None
        return inside

    def archive(
        self, script: str, requirements: str | os.PathLike[str] | None, wheels: Sequence[str | os.PathLike[str]]
    ) -> Archive:
        """Adds what to install, and ends the archive."""
        packed = [self.add_package(Path(file), "requirements.txt") for file in [requirements] if file is not None]
        if requirements is not None:
            _require_self_contained(Path(requirements), self.read(packed[0]))
        packed += [self.add_package(_wheel(Path(file))) for file in wheels]
        data = self.close()
        return Archive(
            data,
            hashlib.sha256(data).hexdigest(),
            script,
            tuple(sorted(self.files)),
            requirements=packed[0] if requirements is not None else "",
            wheels=tuple(packed[requirements is not None :]),
        )

    def add_zip(self, path: Path) -> None:
        try:
            with zipfile.ZipFile(path) as archive:
                for info in archive.infolist():
                    self._add_entry(archive, info)
        except CodeInvalidError:
            raise
        except _UNREADABLE as error:
            raise CodeInvalidError(
                f"{str(path)!r} is not a zip archive that can be read: {error}. It must be a whole, unencrypted "
                "archive. Create it again, or submit the folder itself."
            ) from error

    def _add_entry(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> None:
        if info.is_dir():
            return
        # orig_filename, since zipfile cuts `filename` at a NUL and replaces separators.
        name = check_name(info.orig_filename)
        mode = info.external_attr >> 16
        if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
            kind = "a link" if stat.S_ISLNK(mode) else "a device, pipe or socket"
            raise CodeInvalidError(
                f"the archive contains {kind}: {name!r}. An archive may contain files and folders only. "
                "Replace it by the file itself, or leave it out."
            )
        if EXCLUDED.isdisjoint(name.split("/")):
            with archive.open(info) as stream:
                self._add(name, stream, executable=bool(mode & stat.S_IXUSR))

    def _add(self, name: str, stream: IO[bytes], *, executable: bool) -> None:
        name = check_name(name)
        if name in self.files:
            raise CodeInvalidError(
                f"the archive contains {name!r} twice. Each name may occur once. Create the archive again."
            )
        if len(self.files) == MAX_FILES:
            raise CodeInvalidError(
                f"the code has more than {MAX_FILES:,} files (the last: {name!r}). An archive has at most "
                f"{MAX_FILES:,}. Keep data and environments outside the folder."
            )
        blocks = []
        # Counted while reading: the size that a zip archive declares for an entry may be wrong.
        while block := stream.read(_BLOCK):
            self._size += len(block)
            if self._size > MAX_BYTES:
                raise CodeInvalidError(
                    f"the code exceeds {MAX_BYTES // 1024**2} MiB (at {name!r}). An archive has at most "
                    f"{MAX_BYTES // 1024**2} MiB of files. Keep data outside the folder, and read them from a cache."
                )
            blocks.append(block)
        self.files[name] = (b"".join(blocks), executable)

    def read(self, name: str) -> bytes:
        return self.files[name][0]

    def close(self) -> bytes:
        self._check_folders()
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
            for name in sorted(self.files):
                data, executable = self.files[name]
                info = zipfile.ZipInfo(name, _EPOCH)
                info.create_system = 3  # Unix, on every machine: it defines the format of external_attr
                info.compress_type = zipfile.ZIP_DEFLATED
                info.external_attr = (stat.S_IFREG | (0o755 if executable else 0o644)) << 16
                archive.writestr(info, data)
        packed = buffer.getvalue()
        if self._size > max(_FREE_BYTES, _MAX_RATIO * len(packed)):
            raise CodeInvalidError(
                f"the code has {self._size:,} bytes, and packed only {len(packed):,}. An archive of more than "
                f"{_FREE_BYTES // 1024**2} MiB of files expands at most {_MAX_RATIO} times. Make files of zeros or "
                "repeated text in the script, or read them from a cache."
            )
        return packed

    def _check_folders(self) -> None:
        for name in self.files:
            folder = posixpath.dirname(name)
            while folder:
                if folder in self.files:
                    raise CodeInvalidError(
                        f"the archive contains {folder!r} as a file and as the folder of {name!r}. A name must be only "
                        "one of these. Create the archive again."
                    )
                folder = posixpath.dirname(folder)


def _walk(folder: Path, root: Path, prefix: str, above: tuple[Path, ...]) -> Iterator[tuple[str, Path]]:
    """Yields (name, path) of every file under a folder; `above` are the resolved folders on the path to it."""
    with os.scandir(folder) as entries:
        listed = sorted(entries, key=lambda entry: entry.name)
    for entry in listed:
        if entry.name in EXCLUDED:
            continue
        name = prefix + entry.name
        path = Path(entry.path)
        if entry.is_symlink():
            path = _follow(path, root, name)
        if path.is_dir():
            if (path / "pyvenv.cfg").is_file():
                # A virtual environment, of any name.
                continue
            real = path.resolve()
            if real in above:
                raise CodeInvalidError(
                    f"the link {name!r} leads to {str(real)!r}, a folder that contains the link. Links must not form a "
                    "circle. Remove the link, or submit another folder."
                )
            yield from _walk(path, root, name + "/", (*above, real))
        elif path.is_file():
            yield name, path
        else:
            raise CodeInvalidError(
                f"the folder contains {name!r}, a device, pipe or socket. Only files and folders can be submitted. "
                "Keep it outside the folder."
            )


def _follow(link: Path, root: Path, name: str) -> Path:
    try:
        target = link.resolve(strict=True)
    except (OSError, RuntimeError):
        raise CodeInvalidError(
            f"the link {name!r} leads nowhere ({os.readlink(link)!r}). A link must lead to a file or folder inside "
            f"{str(root)!r}. Remove the link."
        ) from None
    if not target.is_relative_to(root):
        raise CodeInvalidError(
            f"the link {name!r} leads out of the folder, to {str(target)!r}. A link must lead to a file or folder "
            f"inside {str(root)!r}. Replace the link by the file itself, or remove it."
        )
    return target


def _find_script(files: dict[str, tuple[bytes, bool]], script: str | None, code: Path) -> str:
    script = None if script is None else system.slashed(script)
    if script is None:
        for name in DEFAULT_SCRIPTS:
            if name in files:
                return name
        missing = f"{str(code)!r} contains neither {' nor '.join(DEFAULT_SCRIPTS)}"
    else:
        if _rejection(script) is None and _clean(script) in files:
            return _clean(script)
        missing = f"{str(code)!r} contains no script {script!r}"
    scripts = [name for name in sorted(files, key=lambda name: (name.count("/"), name)) if name.endswith(".py")]
    found = ", ".join(scripts[:5]) + (", …" if len(scripts) > 5 else "") if scripts else "none"
    raise CodeNotFoundError(
        f"{missing}. The script is a path inside the folder or archive. Python files in it: {found}. "
        "Name one with --script (in Python: script=)."
    )


def _check_syntax(source: bytes, name: str) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(source, name, "exec", dont_inherit=True)
    except SyntaxError as error:
        line = (error.text or "").strip()
        shown = f" in: {line}" if line else ""
        where = f"{name}:{error.lineno}" if error.lineno else name
        fault = f"{where}: {type(error).__name__}: {error.msg}{shown}"
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        fault = f"{name}: {error or type(error).__name__}"
    else:
        return
    version = ".".join(map(str, sys.version_info[:2]))
    raise CodeInvalidError(
        f"the script does not compile: {fault}. A script must compile with this Python ({version}). "
        "Correct the script, then submit it again."
    )
