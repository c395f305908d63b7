"""The build backend: setuptools', which first checks that the jars of the package are there or can be built.

pip asks a backend for its requirements before it downloads anything. So a machine without Gradle or a JDK learns in a
second, and not after TensorFlow was downloaded, what is missing. An editable install leaves the jars to `make jars`.
The wheel of a client has neither the jars nor the extension, and is the same for every platform.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

from setuptools import build_meta as _setuptools

ROOT = Path(__file__).resolve().parent
PACKAGE = ROOT / "python" / "tensorflow_ignite"
JARS = PACKAGE / "jars"
BUILD_JARS = ["gradle", "--no-daemon", "-q", "packageJars"]
OLDEST_JDK = 11
#: The wheel is for clients: nodes and tasks run on Linux only.
FOR_CLIENTS = sys.platform != "linux" or os.environ.get("TENSORFLOW_IGNITE_FOR_CLIENTS") == "1"

build_editable = _setuptools.build_editable
build_wheel = _setuptools.build_wheel
get_requires_for_build_editable = _setuptools.get_requires_for_build_editable
prepare_metadata_for_build_editable = _setuptools.prepare_metadata_for_build_editable
prepare_metadata_for_build_wheel = _setuptools.prepare_metadata_for_build_wheel


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """What a wheel needs to be built.

    Raises:
        SystemExit: There are no jars of this state, and no Gradle or JDK to build them.
    """
    if not FOR_CLIENTS:
        require_jars_or_tools()
    return _setuptools.get_requires_for_build_wheel(config_settings)


def get_requires_for_build_sdist(config_settings: Any = None) -> list[str]:
    """As `get_requires_for_build_wheel`: a source distribution carries the jars too."""
    require_jars_or_tools()
    return _setuptools.get_requires_for_build_sdist(config_settings)


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    """Builds the jars if they are not of this state, and packs everything."""
    make_jars()
    return _setuptools.build_sdist(sdist_directory, config_settings)


def proto_digest() -> str:
    """SHA-256 over proto/, in the order of the relative paths; gradle/proto.gradle computes the same."""
    proto = ROOT / "proto"
    digest = hashlib.sha256()
    for path in sorted(proto.rglob("*.proto"), key=lambda path: path.relative_to(proto).as_posix()):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def jars_are_current() -> bool:
    """Whether there is one plugin jar that speaks the contract of proto/, and is newer than the Java sources.

    In a source distribution the times of files say nothing; its jars are those that it was made with.
    """
    jars = list(JARS.glob("tensorflow-ignite-*.jar"))
    if len(jars) != 1:
        return False
    if not (ROOT / "PKG-INFO").exists():
        sources = [path for path in (ROOT / "java" / "src" / "main").rglob("*") if path.is_file()]
        if any(path.stat().st_mtime > jars[0].stat().st_mtime for path in sources):
            return False
    with zipfile.ZipFile(jars[0]) as archive:
        return archive.read("tensorflow_ignite/proto.sha256").decode().strip() == proto_digest()


def require_jars_or_tools() -> None:
    """Checks that the jars are of this state, or can be built.

    Raises:
        SystemExit: They are not, and cannot be.
    """
    if jars_are_current():
        return
    missing = [] if shutil.which(BUILD_JARS[0]) else ["Gradle 4.4 or later (Debian: apt-get install gradle)"]
    found = _jdk()
    if found is None or found < OLDEST_JDK:
        was = "" if found is None else f", not {found} as found"
        missing.append(f"a JDK, version 17{was} (Debian: apt-get install openjdk-17-jdk-headless)")
    if missing:
        raise SystemExit(
            f"tensorflow-ignite cannot be built here: {' and '.join(missing)} is missing. The sources in {ROOT} hold "
            "no jars of their state, and these are built with Gradle and a JDK. Install what is missing and run the "
            "same command again; or install a wheel or a source distribution (*.tar.gz), which need neither."
        )


def make_jars() -> None:
    """Builds the jars, unless they are of this state.

    Raises:
        SystemExit: They cannot be built.
    """
    if jars_are_current():
        return
    require_jars_or_tools()
    if subprocess.run(BUILD_JARS, cwd=ROOT, check=False).returncode != 0 or not jars_are_current():
        raise SystemExit(
            f"Building the jars failed; Gradle's own lines above say why. They are built by one command. "
            f"Run it by hand, in {ROOT}: {' '.join(BUILD_JARS)}"
        )


def _jdk() -> int | None:
    """The main version of the JDK that Gradle would use; None: there is none."""
    home = os.environ.get("JAVA_HOME")
    javac = f"{home}/bin/javac" if home else shutil.which("javac")
    if javac is None or not os.access(javac, os.X_OK):
        return None
    answer = subprocess.run([javac, "-version"], capture_output=True, text=True, check=False)
    version = re.search(r"javac (?:1\.)?(\d+)", answer.stdout + answer.stderr)
    return int(version[1]) if version else None
