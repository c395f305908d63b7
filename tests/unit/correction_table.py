"""The data and the page of the corrections of TensorFlow, Keras and tf_keras, made of their table.

`python tests/unit/correction_table.py WHEEL...` writes the digests of the versions in constraints.txt, and the page.
Each of these versions is installed, or is one of the wheels (`pip download --no-deps keras==VERSION`). Of a wheel with
another version the page says which corrections find the same code. Nothing is imported, only parsed.
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import zipfile
from collections.abc import Callable, Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

from tensorflow_ignite.corrections import source
from tensorflow_ignite.corrections.table import CORRECTIONS, NONE_REPORTED

ROOT = Path(__file__).parents[2]
DATA = ROOT / "python/tensorflow_ignite/corrections/tried.json"
PAGE = ROOT / "docs/corrections.md"
BEGIN, END = "<!-- corrections: made of python/tensorflow_ignite/corrections -->\n", "<!-- corrections end -->\n"
PACKAGES = ("keras", "tf_keras", "tensorflow")
# Returns the source of a module; None: there is none.
Read = Callable[[str], str | None]


def code() -> dict[str, set[str]]:
    """By module, the names of what all corrections change or rely on."""
    found: dict[str, set[str]] = {}
    for correction in CORRECTIONS:
        for change in correction.changes:
            for module, names in change.by_module().items():
                found.setdefault(module, set()).update(names)
    return found


def pinned() -> dict[str, list[str]]:
    """By package, the versions in constraints.txt."""
    pins = re.findall(r"^(keras|tf-keras|tensorflow)==([\w.]+)", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    return {package: [version for name, version in pins if name.replace("-", "_") == package] for package in PACKAGES}


def installed(package: str) -> tuple[str, Read]:
    """The version of a package that is installed, and the sources of its modules."""
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parents[1]
    names = (package, f"{package}-cpu")
    version = next(each.version for name in names for each in metadata.distributions(name=name))
    return version, lambda module: _first(folder, module)


def _first(folder: Path | zipfile.Path, module: str) -> str | None:
    base = module.replace(".", "/")
    for name in (f"{base}.py", f"{base}/__init__.py"):
        path = folder.joinpath(name)
        if path.is_file():
            return importlib.util.decode_source(path.read_bytes())
    return None


def wheel(path: str) -> tuple[str, str, Read]:
    """The package and the version of a wheel, and the sources of its modules."""
    package, version = Path(path).name.split("-")[:2]
    folder = zipfile.Path(path)
    return package, version, lambda module: _first(folder, module)


def digests_of(package: str, read: Read) -> tuple[dict[str, str], dict[str, str]]:
    """The digests of the files of a version, by module, and those of its code, by module and name."""
    files, found = {}, {}
    for module, names in code().items():
        if module.partition(".")[0] == package:
            text = read(module) or ""
            files[module] = source.digest(text)
            found.update({f"{module}:{name}": value for name, value in source.digests(text, sorted(names)).items()})
    return files, found


def data(wheels: Iterable[str]) -> dict[str, Any]:
    versions = pinned()
    sources = {(package, version): read for package, version, read in map(wheel, wheels)}
    for package in PACKAGES:
        version, read = installed(package)
        sources[package, version] = read
    made: dict[str, Any] = {"versions": versions, "files": {}, "code": {}, "same": {}}
    for package in PACKAGES:
        for version in versions[package]:
            if (package, version) not in sources:
                sys.exit(f"{package} {version} is missing. Give its wheel: pip download --no-deps {package}=={version}")
            files, found = digests_of(package, sources[package, version])
            missing = sorted(name for name, value in found.items() if not value)
            if missing:
                sys.exit(f"{package} {version} has no {', '.join(missing)}")
            _add(made["files"], files)
            _add(made["code"], found)
    for (package, version), read in sorted(sources.items()):
        if version not in versions[package]:
            _, found = digests_of(package, read)
            made["same"].setdefault(package, {})[version] = [
                each.name for each in CORRECTIONS if _has_same_code(each, package, found, made["code"])
            ]
    return made


def _add(into: dict[str, list[str]], values: dict[str, str]) -> None:
    for name, value in values.items():
        if value not in into.setdefault(name, []):
            into[name].append(value)


def _code_of(correction: Any, package: str) -> list[str]:
    return [
        f"{module}:{name}"
        for change in correction.changes
        for module, names in change.by_module().items()
        for name in names
        if module.partition(".")[0] == package
    ]


def _has_same_code(correction: Any, package: str, found: dict[str, str], tried: dict[str, list[str]]) -> bool:
    own = _code_of(correction, package)
    return bool(own) and all(found[name] in tried[name] for name in own)


def table() -> str:
    """The corrections, one in a line, in the order of their names."""
    tried = json.loads(DATA.read_text())
    lines = ["| name | without it | reported | corrects |", "| --- | --- | --- | --- |"]
    for each in sorted(CORRECTIONS, key=lambda correction: correction.name):
        packages = []
        for package in PACKAGES:
            if _code_of(each, package):
                others = tried["same"].get(package, {})
                same = [version for version in others if each.name in others[version]]
                packages.append(package + (f" ({', '.join(same)})" if same else ""))
        lines.append(f"| `{each.name}` | {each.without} | {_link(each.issue)} | {', '.join(packages)} |")
    return "\n".join(lines) + "\n"


def versions() -> str:
    """The versions with which the corrections were tried, in one line."""
    tried = json.loads(DATA.read_text())["versions"]
    return ", ".join(f"{package} {' and '.join(tried[package])}" for package in PACKAGES)


def _link(issue: str) -> str:
    if issue == NONE_REPORTED:
        return ""
    project, number = re.fullmatch(r"https://github\.com/[\w-]+/([\w-]+)/issues/(\d+)", issue).groups()  # type: ignore[union-attr]
    return f"[{project}#{number}]({issue})"


def generated() -> str:
    """The part of the page that is made of the table."""
    return f"{BEGIN}Tried with {versions()}.\n\n{table()}{END}"


def write(wheels: Iterable[str]) -> None:
    """Writes the data, and puts the table into the page."""
    DATA.write_text(json.dumps(data(wheels), indent=1) + "\n")
    source.tried.cache_clear()
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(f"{before}{generated()}{rest.partition(END)[2]}")


if __name__ == "__main__":
    write(sys.argv[1:])
