"""Promises of what we depend on: pinned byte for byte, from the registries, with licences that were agreed to."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement

try:
    import tomllib
except ModuleNotFoundError:  # before Python 3.11; pytest brings it along there
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "dependencies"))

import inventory  # noqa: E402
import licences  # noqa: E402
import sbom  # noqa: E402


def test_every_package_is_pinned_with_the_hashes_of_its_files_and_once_for_each_python() -> None:
    pins = inventory.pins()
    assert len(pins) > 50
    assert not [pin for pin in pins if not pin.sha256]
    for python in ("3.10", "3.11", "3.12"):
        environment = {"python_version": python, "python_full_version": f"{python}.0", "sys_platform": "linux"}
        names = [pin.name for pin in pins if not pin.marker or Marker(pin.marker).evaluate(environment)]
        assert len(names) == len(set(names))
        assert set(_asked_for(environment)) <= set(names)


@pytest.mark.full
@pytest.mark.parametrize(("platform", "extra"), [("win_amd64", "cpu"), ("macosx_12_0_arm64", "tensorflow")])
def test_each_dependency_of_a_client_has_wheels_for_windows_and_macos(
    platform: str, extra: str, tmp_path: Path
) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *project["optional-dependencies"][extra]]
    # pip evaluates markers for this Python, not for the platform; pyignite is built without a compiler.
    target = {"sys_platform": "win32" if "win_" in platform else "darwin", "python_version": "3.11"}
    chosen = [
        f"{requirement.name}{requirement.specifier}"
        for requirement in map(Requirement, asked)
        if requirement.name != "pyignite" and (not requirement.marker or requirement.marker.evaluate(target))
    ]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--only-binary=:all:"]
    command = [*pip, "--target", str(tmp_path), "--platform", platform, "--python-version", "3.11", *chosen]
    resolved = subprocess.run(command, capture_output=True, text=True, check=False)
    assert resolved.returncode == 0, resolved.stderr


def test_a_line_that_pins_nothing_is_not_overlooked(tmp_path: Path) -> None:
    for line in ("numpy>=2", "numpy", "https://example.org/numpy.whl", "-r other.txt", "--find-links /opt"):
        (tmp_path / "list.txt").write_text(line + "\n")
        with pytest.raises(ValueError, match="make lock"):
            inventory.pins(tmp_path / "list.txt")


def test_every_jar_is_listed_with_its_requested_version_and_a_checksum_that_is_verified() -> None:
    jars = inventory.jars()
    assert all(re.fullmatch(r"[0-9a-f]{64}", jar.sha256[0]) for jar in jars)
    assert {jar.scope for jar in jars} == {"bundled", "node", "build"}
    versions = (ROOT / "gradle" / "versions.gradle").read_text()
    listed = {(jar.name, jar.version) for jar in jars}
    for script in (ROOT / "gradle").glob("*.gradle"):
        for name, key in re.findall(r'^ +\w+ "([\w.]+:[\w-]+):\$versions\.(\w+)', script.read_text(), re.MULTILINE):
            version = re.search(rf"{key}: '(.+)'", versions)
            assert version is not None
            assert (name, version[1]) in listed, name
    # They are verified before anything is compiled with them or packed.
    script = (ROOT / "gradle" / "dependencies.gradle").read_text()
    assert "[generateProto, protoImports, compileJava, mergeServices].each { it.dependsOn checkJars }" in script
    assert "apply from: 'gradle/dependencies.gradle'" in (ROOT / "build.gradle").read_text()


def test_every_licence_is_one_that_was_agreed_to() -> None:
    assert len([*inventory.jars(), *inventory.packages()]) > 100
    assert licences.refused() == []


@pytest.mark.parametrize(
    ("offered", "allowed"),
    [
        (("GPL-3.0-only",), False),
        (("Apache-2.0 AND AGPL-3.0-only",), False),
        ((), False),
        (("LGPL-2.1-only", "Apache-2.0"), True),
        (("Apache-2.0 OR GPL-2.0-only",), True),
        (("BSD-3-Clause AND 0BSD AND MIT AND Zlib AND CC0-1.0",), True),
    ],
)
def test_licence_needs_one_choice_all_of_whose_parts_are_allowed(offered: tuple[str, ...], allowed: bool) -> None:
    component = inventory.Component(kind="pypi", name="x", version="1", scope="build", licences=offered, sha256=("0",))
    assert licences.is_allowed(component) is allowed


def test_no_jar_or_wheel_or_program_is_kept_among_the_sources() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git checkout: what is tracked cannot be listed")
    built = re.compile(r"\.(jar|whl|egg|so|dll|dylib|exe|class|pyc|zip|gz|tgz)$")
    assert [name for name in listed.stdout.splitlines() if built.search(name)] == []


def test_everything_comes_from_the_registries() -> None:
    scripts = [ROOT / "build.gradle", *(ROOT / "gradle").glob("*.gradle")]
    text = "".join(script.read_text() for script in scripts)
    # Nothing comes from the repository to which the plugin jar is written.
    text = re.sub(r"(?ms)^publishing \{$.*?^\}$", "", text)
    assert re.findall(r"repositories \{\s*(.*?)\s*\}", text, re.DOTALL) == ["mavenCentral()"]
    assert not re.search(r"flatDir|mavenLocal|fileTree\([^)]*jar|(url|maven) *[({=]|https?://", text)
    lists = (ROOT / "constraints.txt").read_text() + (ROOT / "dependencies" / "python.in").read_text()
    assert not re.search(r"https?://|file:|git\+|^-", lists, re.MULTILINE)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *(line for extra in project["optional-dependencies"].values() for line in extra)]
    assert not [line for line in asked if Requirement(line).url]
    install = (ROOT / "Makefile").read_text().partition("$(INSTALLED): ")[2].partition("@touch")[0]
    assert "--require-hashes --only-binary :all:" in install
    assert "--extra-index-url" not in install


def test_bill_of_materials_names_each_dependency_once_with_its_version_hash_and_licence() -> None:
    bill = sbom.bill()
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    purls = [component["purl"] for component in bill["components"]]
    assert len(purls) == len(set(purls))
    assert any(purl.startswith("pkg:maven/org.apache.ignite/ignite-core@") for purl in purls)
    assert any(purl.startswith("pkg:pypi/grpcio@") for purl in purls)
    for component in bill["components"]:
        assert component["version"]
        assert component["licenses"]
        assert component.get("hashes") or component.get("properties")
        assert component["scope"] in ("required", "excluded")
    assert json.dumps(sbom.bill()) == json.dumps(bill)


def _asked_for(environment: dict[str, str]) -> list[str]:
    """The packages that an interpreter needs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    lines = [*project["dependencies"], *extras["cpu"], *extras["tensorflow"], *extras["dev"], *extras["examples"]]
    lines += [line for line in (ROOT / "dependencies" / "python.in").read_text().splitlines() if line[0] != "#"]
    asked = [each for each in map(Requirement, lines) if each.marker is None or each.marker.evaluate(environment)]
    return [re.sub(r"[-_.]+", "-", requirement.name).lower() for requirement in asked]
