"""What we depend on, read from the two lists of what is pinned: constraints.txt (Python) and jars.txt (Java)."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONSTRAINTS = ROOT / "constraints.txt"
JARS = ROOT / "dependencies" / "jars.txt"

# What a licence is called by those who use it, beside its SPDX name.
_NAMES = {
    "Apache-2.0": r"(the )?apache( software)?( license)?(,? v(ersion )?| |-)?(2(\.0)?)?",
    # The text of Bouncy Castle's is that of the MIT.
    "MIT": r"(the )?mit( license)?|mit-license|bouncy castle licen[cs]e",
    "BSD-2-Clause": r"bsd[ -]2[ -]clause( license)?|simplified bsd( license)?",
    "BSD-3-Clause": r"(the |new )?bsd( license)?|(revised|modified) bsd( license)?|bsd[ -]3[ -]clause( license)?"
    r"|3-clause bsd license|bsd license 3|go license",
    "MPL-2.0": r"mozilla public license 2\.0 \(mpl 2\.0\)|mpl 2\.0",
    "ISC": r"isc license( \(iscl\))?|isc",
    "EPL-1.0": r"eclipse public license( -)? v? ?1\.0",
    "MPL-2.0 OR EPL-1.0": r"mpl 2\.0 or epl 1\.0",
    # The terms of the interfaces of JSR 107, which every Ignite carries: free to use and to hand on as they are.
    "LicenseRef-JSR-107": r"jsr-000107 jcache 2\.9 public review - updated specification license",
}
# Packages whose metadata name no licence, or its whole text; read from the files that they bring.
_STATED_IN_FILES = {"namex": "Apache-2.0"}


@dataclass(frozen=True, kw_only=True)
class Component:
    """One package or jar.

    Attributes:
        scope: bundled, node or build for jars; runtime or build for packages.
        licences: SPDX expressions of which one is enough.
        sha256: Of the file, or of each file of which one is installed.
    """

    kind: str
    name: str
    version: str
    scope: str
    licences: tuple[str, ...]
    sha256: tuple[str, ...]

    @property
    def purl(self) -> str:
        """Its package URL."""
        return f"pkg:{self.kind}/{self.name.replace(':', '/')}@{self.version}"


@dataclass(frozen=True, kw_only=True)
class Pin:
    """One requirement of constraints.txt; `marker` says for which interpreters, and is empty for all."""

    name: str
    version: str
    marker: str
    sha256: tuple[str, ...]


def pins(path: Path = CONSTRAINTS) -> list[Pin]:
    """Every requirement, in the order of the file.

    Raises:
        ValueError: A line that is neither a pin nor a hash.
    """
    found: list[Pin] = []
    for line in re.sub(r"\\\n\s*", "", path.read_text()).splitlines():
        if not line or line.startswith("#"):
            continue
        pin = re.fullmatch(r"([\w.-]+)==([\w.+!]+)\s*(?:;\s*(.*?))?((?:\s*--hash=sha256:[0-9a-f]{64})*)", line)
        if pin is None:
            raise ValueError(f"{path.name} has a line that pins nothing: {line[:100]!r}. Write it anew: make lock")
        hashes = tuple(re.findall(r"sha256:(\w+)", pin[4]))
        found.append(Pin(name=_normal(pin[1]), version=pin[2], marker=(pin[3] or "").strip(), sha256=hashes))
    return found


def jars(path: Path = JARS) -> list[Component]:
    """Every jar and tool of Gradle's."""
    found = []
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            sha, scope, coordinates, _, *licences = line.split(" ", 4)
            group, name, version = coordinates.split(":")
            names = tuple(map(spdx, "".join(licences).split(" | "))) if licences else ()
            found.append(
                Component(
                    kind="maven",
                    name=f"{group}:{name}",
                    version=version,
                    scope=scope,
                    licences=names,
                    sha256=(sha,),
                )
            )
    return found


def packages() -> list[Component]:
    """Every pinned package that is installed beside this interpreter, as it was pinned."""
    runtime = set(_needed_by("tensorflow-ignite"))
    found = []
    for pin in pins():
        try:
            metadata = importlib.metadata.metadata(pin.name)
        except importlib.metadata.PackageNotFoundError:
            continue
        if metadata["Version"] == pin.version:
            found.append(
                Component(
                    kind="pypi",
                    name=pin.name,
                    version=pin.version,
                    scope="runtime" if pin.name in runtime else "build",
                    licences=_licences(pin.name, metadata),
                    sha256=pin.sha256,
                )
            )
    return found


def spdx(stated: str) -> str:
    """The SPDX name of a licence, or what it was called."""
    stated = stated.strip()
    return next((name for name, names in _NAMES.items() if re.fullmatch(names, stated, re.IGNORECASE)), stated)


def _licences(name: str, metadata: importlib.metadata.PackageMetadata) -> tuple[str, ...]:
    expression = metadata.get("License-Expression")
    if expression:
        return (expression,)
    stated = (metadata.get("License") or "").strip()
    # Some put the whole text there; what they are classified as is shorter.
    if stated and "\n" not in stated and len(stated) < 60:
        return (spdx(stated),)
    classifiers = [line.rpartition(" :: ")[2] for line in metadata.get_all("Classifier") or []]
    licences = tuple(
        spdx(line) for line in classifiers if line.endswith("License") or "License (" in line or "MPL" in line
    )
    return licences or ((_STATED_IN_FILES[name],) if name in _STATED_IN_FILES else ())


def _needed_by(name: str) -> Iterator[str]:
    """The packages that it needs without its extras, and theirs."""
    seen = {name}
    waiting = [name]
    while waiting:
        try:
            requirements = importlib.metadata.requires(waiting.pop()) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        for requirement in requirements:
            needed = _normal(re.match(r"[\w.-]+", requirement)[0])  # type: ignore[index]
            if "extra ==" not in requirement and needed not in seen:
                seen.add(needed)
                waiting.append(needed)
                yield needed


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
