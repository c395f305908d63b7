"""Promises of the build: what is generated, listed twice or packed agrees with its source.

Promise (code): Importing `tensorflow_ignite` loads no TensorFlow, JVM, gRPC or Arrow.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

try:
    import tomllib
except ModuleNotFoundError:  # before Python 3.11; pytest brings it along there
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "tensorflow_ignite"
sys.path[:0] = [str(ROOT / "proto"), str(ROOT / "dependencies")]

import generate  # noqa: E402
import inventory  # noqa: E402


def test_generated_python_matches_proto() -> None:
    assert generate.differences() == []


def test_a_changed_contract_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proto = tmp_path / "tensorflow_ignite" / "v1"
    proto.mkdir(parents=True)
    for path in (ROOT / "proto" / "tensorflow_ignite" / "v1").glob("*.proto"):
        (proto / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(generate, "PROTO", tmp_path)
    assert generate.differences() == []
    text = (proto / "job.proto").read_text()
    (proto / "job.proto").write_text(text.replace("string request_id = 1;", "string request_name = 1;", 1))
    assert "tensorflow_ignite/v1/job_pb2.py" in generate.differences()
    assert "tensorflow_ignite/v1/proto.sha256" in generate.differences()


def test_a_clone_without_gradle_and_jdk_says_so_before_anything_is_downloaded(tmp_path: Path) -> None:
    for name in ("build_backend.py", "pyproject.toml"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    environment = {"PATH": str(tmp_path), "JAVA_HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    # The first thing that pip calls.
    command = [sys.executable, "-c", "import build_backend; build_backend.get_requires_for_build_wheel()"]
    built = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert built.returncode == 1
    assert built.stderr.startswith("tensorflow-ignite cannot be built here: Gradle 4.4 or later")
    assert "and a JDK, version 17 (Debian:" in built.stderr


def test_the_wheel_for_clients_is_for_every_platform_and_needs_neither_gradle_nor_a_compiler(tmp_path: Path) -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git checkout: what is tracked cannot be listed")
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file() and not name.startswith("tests/"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tmp_path / name)
    (tmp_path / "python/tensorflow_ignite/jars").mkdir()
    (tmp_path / "python/tensorflow_ignite/jars/tensorflow-ignite-0.1.0.jar").write_bytes(b"of nodes")
    environment = {"PATH": "", "TENSORFLOW_IGNITE_FOR_CLIENTS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    code = "import build_backend as b; b.get_requires_for_build_wheel(); b.build_wheel('dist')"
    command = [sys.executable, "-c", code]
    built = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {"tensorflow_ignite/examples/digits.py", "tensorflow_ignite/v1/job_pb2.py"} <= set(names)
    assert not [name for name in names if name.endswith((".jar", ".so"))]


@pytest.mark.parametrize(
    ("package", "modules", "made_with"),
    [
        ("protobuf", "*_pb2.py", r"(?m)^# Protobuf Python Version: (.+)$"),
        ("grpcio", "*_pb2_grpc.py", r"GRPC_GENERATED_VERSION = '(.+)'"),
    ],
)
def test_generated_python_runs_on_the_oldest_package_that_is_allowed(
    package: str, modules: str, made_with: str
) -> None:
    oldest = _lower_bound(package)
    for module in (PACKAGE / "v1").glob(modules):
        (version,) = re.findall(made_with, module.read_text())
        assert _version(version) <= oldest, module.name


def test_java_and_python_speak_the_same_protobuf() -> None:
    versions = (ROOT / "gradle" / "versions.gradle").read_text()
    java = re.search(r"protobuf: '(\d+)\.(\d+\.\d+)'", versions)
    gencode = re.search(r"^# Protobuf Python Version: \d+\.(.+)$", (PACKAGE / "v1" / "job_pb2.py").read_text(), re.M)
    assert java is not None
    assert gencode is not None
    # A release of protobuf has one minor version, behind a major version for each language.
    assert java[2] == gencode[1]


def test_tested_versions_are_allowed_ones() -> None:
    allowed = {name: bounds for requirement in _requirements() for name, bounds in [_split(requirement)]}
    for pin in inventory.pins():
        tested = _version(pin.version)
        for operator, version in re.findall(r"(>=|<|==)([\d.*]+)", allowed.get(pin.name, "")):
            if operator == ">=":
                assert tested >= _version(version), pin
            elif operator == "<":
                assert tested < _version(version), pin
            else:
                assert tested[: len(_version(version))] == _version(version), pin


@pytest.mark.parametrize(
    ("code", "light"),
    [
        ("import tensorflow_ignite, tensorflow_ignite.errors; tensorflow_ignite.Credentials(token='t')", ()),
        ("from tensorflow_ignite.cli import main; main(['--help'])", ("typer", "rich")),
    ],
    ids=["package", "help"],
)
def test_the_package_its_errors_and_the_help_of_its_commands_load_nothing_heavy(
    code: str, light: tuple[str, ...]
) -> None:
    heavy = {"tensorflow", "keras", "jpype", "grpc", "pyarrow", "google.protobuf", "numpy", "typer", "rich", "psutil"}
    command = [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules, file=sys.stderr)"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, cwd=PACKAGE.parent)
    assert not (heavy - {*light}) & {*ran.stderr.split()}


def _requirements() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    return [*project["dependencies"], *(requirement for extra in extras.values() for requirement in extra)]


def _split(requirement: str) -> tuple[str, str]:
    name = re.match(r"[A-Za-z0-9_.-]+", requirement)
    assert name is not None
    return _normal(name[0]), requirement[name.end() :]


def _normal(name: str) -> str:
    return name.lower().replace("_", "-")


def _lower_bound(package: str) -> tuple[int, ...]:
    bounds = dict(_split(requirement) for requirement in _requirements())[package]
    bound = re.search(r">=([\d.]+)", bounds)
    assert bound is not None
    return _version(bound[1])


def _version(text: str) -> tuple[int, ...]:
    """The numbers of a version; 1.76 and 1.76.0 are the same one."""
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
