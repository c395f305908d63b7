"""Builds what is published, twice, and compares: ``make release``.

The source distribution is made of the tracked files of the working tree and the jars that Gradle builds from them. The
wheel is made of the source distribution, where neither Gradle nor a JDK can be called, and so is the wheel for clients,
which has no jars and runs everywhere. The jars for Maven are a zip archive in the layout of a repository, without
signatures. All are built in two folders; their bytes must be equal. auditwheel proves the platform in the wheel's name.
dist/ then has these files, the software bill of materials, and their SHA-256.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
# What TensorFlow's own wheels need is later.
PLATFORM = f"manylinux_2_17_{platform.machine()}"


class ReleaseError(Exception):
    """The release breaks one of its promises."""


def main(auditwheel: str) -> None:
    """Builds into dist/."""
    with tempfile.TemporaryDirectory(prefix="release-") as folder:
        # Folders of different lengths: a path that is written into a file makes a difference.
        folders = [Path(folder) / name for name in ("first", "the-second-build")]
        for copy in folders:
            _copy_sources(copy / "sources")
        built = [_build(copy) for copy in folders]
        for one, other in zip(*built, strict=True):
            if one.read_bytes() != other.read_bytes():
                files = ", ".join(_differences(one, other)) or "the archive itself"
                raise ReleaseError(
                    f"Two builds of {one.name} differ: {files}. The same sources must give the same bytes. Remove what "
                    "changes from build to build, such as a time."
                )
        sdist, wheel, for_clients, for_maven = built[0]
        _prove_platform(wheel, auditwheel)
        shutil.rmtree(DIST, ignore_errors=True)
        DIST.mkdir()
        for path in (sdist, wheel, for_clients, for_maven):
            shutil.copy2(path, DIST / path.name)
    bill = DIST / f"{sdist.name.removesuffix('.tar.gz')}.cdx.json"
    subprocess.run([sys.executable, ROOT / "dependencies" / "sbom.py", bill], check=True, stdout=subprocess.DEVNULL)
    files = sorted(path for path in DIST.iterdir())
    sums = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)
    (DIST / "SHA256SUMS").write_text(sums)
    for path in files:
        print(f"{path.relative_to(ROOT)}  {path.stat().st_size / 1e6:.1f} MB")


def _copy_sources(sources: Path) -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (sources / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, sources / name)


def _build(folder: Path) -> tuple[Path, Path, Path, Path]:
    """Builds all in a new folder: the source distribution, the wheel, the wheel for clients, the jars for Maven."""
    sources, out = folder / "sources", folder / "out"
    out.mkdir()
    epoch = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()
    environment = {**os.environ, "SOURCE_DATE_EPOCH": epoch, "PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C.UTF-8"}
    command = "import build_backend, sys; print(build_backend.build_sdist(sys.argv[1]))"
    made = subprocess.run(
        [sys.executable, "-c", command, out], cwd=sources, env=environment, check=False, capture_output=True, text=True
    )
    if made.returncode != 0:
        raise ReleaseError(f"The source distribution was not built: {made.stderr[-4000:]}")
    (sdist,) = out.glob("*.tar.gz")
    _normalize(sdist, int(epoch))
    for_maven = _pack_jars(sources, out / f"{sdist.name.removesuffix('.tar.gz')}-maven.zip")
    # In front of everything on the PATH: a source distribution that needs them is a defect.
    forbidden = folder / "forbidden"
    forbidden.mkdir()
    for name in ("gradle", "java", "javac"):
        (forbidden / name).write_text(f"#!/bin/sh\necho '{name} must not be needed here' >&2\nexit 1\n")
        (forbidden / name).chmod(0o755)
    environment.update(PATH=f"{forbidden}{os.pathsep}{os.environ['PATH']}", JAVA_HOME=str(forbidden))
    wheel = _build_wheel(sdist, environment, "--config-settings", f"--build-option=--plat-name={PLATFORM}")
    _require_parts(wheel)
    for_clients = _build_wheel(sdist, {**environment, "TENSORFLOW_IGNITE_FOR_CLIENTS": "1"})
    if not for_clients.name.endswith("-py3-none-any.whl"):
        raise ReleaseError(
            f"The wheel for clients is {for_clients.name}. It runs on every platform, so its name ends in "
            "-py3-none-any.whl. See FOR_CLIENTS in setup.py."
        )
    return sdist, wheel, for_clients, for_maven


def _pack_jars(sources: Path, bundle: Path) -> Path:
    """Builds the jars for Maven, and packs their repository."""
    made = subprocess.run(
        ["gradle", "--no-daemon", "-q", "mavenRepository"], cwd=sources, check=False, capture_output=True, text=True
    )
    if made.returncode != 0:
        raise ReleaseError(f"The jars for Maven were not built: {made.stderr[-4000:]}")
    repository = sources / "build/maven"
    with zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(repository.rglob("*")):
            if path.is_file():
                info = zipfile.ZipInfo(path.relative_to(repository).as_posix(), (1980, 1, 1, 0, 0, 0))
                info.external_attr, info.compress_type = 0o644 << 16, zipfile.ZIP_DEFLATED
                archive.writestr(info, path.read_bytes())
    return bundle


def _build_wheel(sdist: Path, environment: dict[str, str], *options: str) -> Path:
    before = set(sdist.parent.glob("*.whl"))
    made = subprocess.run(
        [
            *(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"),
            *("--no-cache-dir", *options, "--wheel-dir", sdist.parent, sdist),
        ],
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )
    if made.returncode != 0:
        raise ReleaseError(f"The wheel was not built of the source distribution: {made.stderr[-4000:]}")
    (wheel,) = set(sdist.parent.glob("*.whl")) - before
    return wheel


def _normalize(sdist: Path, epoch: int) -> None:
    """Writes the archive anew: sorted, of nobody, with one time."""
    with tarfile.open(sdist) as archive:
        members = [
            (member, archive.extractfile(member).read() if member.isfile() else b"")  # type: ignore[union-attr]
            for member in sorted(archive.getmembers(), key=lambda member: member.name)
        ]
    with (
        sdist.open("wb") as raw,
        gzip.GzipFile("", "wb", 9, raw, mtime=epoch) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for member, content in members:
            plain = tarfile.TarInfo(member.name)
            plain.type, plain.size, plain.mtime = member.type, len(content), epoch
            plain.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            archive.addfile(plain, io.BytesIO(content))


def _require_parts(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for part in (
        r"tensorflow_ignite/jars/tensorflow-ignite-.*\.jar",
        r"tensorflow_ignite/jars/ignite-core-.*\.jar",
        r"tensorflow_ignite/jars/add-opens\.txt",
        r"tensorflow_ignite/config/tensorflow-ignite-secured\.xml",
        r"tensorflow_ignite/examples/digits\.py",
        r"tensorflow_ignite/storage/tf/_plugin\.abi3\.so",
        r"tensorflow_ignite-.*/licenses/LICENSE",
    ):
        if not any(re.fullmatch(part, name) for name in names):
            raise ReleaseError(
                f"{wheel.name} lacks {part}. A wheel carries everything that a node and a client need. "
                "Was there a C compiler and Python's headers? See setup.py."
            )


def _prove_platform(wheel: Path, auditwheel: str) -> None:
    shown = subprocess.run([auditwheel, "show", wheel], check=True, capture_output=True, text=True).stdout
    found = re.search(r'following platform\s+tag:\s+"manylinux_(\d+)_(\d+)_\w+"', shown)
    allowed = re.fullmatch(r"manylinux_(\d+)_(\d+)_\w+", PLATFORM)
    assert allowed is not None
    if found is None or tuple(map(int, found.groups())) > tuple(map(int, allowed.groups())):
        raise ReleaseError(
            f"{wheel.name} does not run where its name says:\n{shown}\nIts name allows glibc {allowed[1]}.{allowed[2]}"
            ". Remove the later symbols from the extension: storage/tf/python_calls.c."
        )


def _differences(one: Path, other: Path) -> list[str]:
    if one.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(one) as archive, zipfile.ZipFile(other) as again:
            return [name for name in archive.namelist() if archive.read(name) != again.read(name)]

    def contents(path: Path) -> dict[str, bytes]:
        with tarfile.open(path) as archive:
            files = [member for member in archive.getmembers() if member.isfile()]
            return {member.name: archive.extractfile(member).read() for member in files}  # type: ignore[union-attr]

    first, second = contents(one), contents(other)
    return sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except ReleaseError as broken:
        raise SystemExit(f"make release: {broken}") from None
