"""Writes the software bill of materials, Python and Java together, as CycloneDX 1.6 in JSON: ``make sbom``.

The same state gives the same file, byte for byte: its serial number comes from what it lists, and it holds no time.
"""

from __future__ import annotations

import json
import re
import sys
import uuid
from pathlib import Path
from typing import Any

import inventory
from inventory import Component

_SCOPES = {"bundled": "required", "runtime": "required", "node": "required", "build": "excluded"}


def bill() -> dict[str, Any]:
    """The bill as JSON values."""
    # Another platform's build of a tool has the same coordinates: one component with several hashes.
    merged: dict[str, Component] = {}
    for component in [*inventory.jars(), *inventory.packages()]:
        before = merged.get(component.purl)
        hashes = (*before.sha256, *component.sha256) if before else component.sha256
        merged[component.purl] = Component(**{**component.__dict__, "sha256": tuple(sorted(set(hashes)))})
    components = [_component(merged[purl]) for purl in sorted(merged)]
    version = re.search(r'(?m)^version = "(.+)"$', (inventory.ROOT / "pyproject.toml").read_text())
    assert version is not None
    listed = json.dumps(components, sort_keys=True)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, listed)}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": "tensorflow-ignite",
                "name": "tensorflow-ignite",
                "version": version[1],
                "purl": f"pkg:pypi/tensorflow-ignite@{version[1]}",
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            }
        },
        "components": components,
    }


def _component(component: Component) -> dict[str, Any]:
    group, _, name = component.name.rpartition(":")
    return {
        "type": "library",
        "bom-ref": component.purl,
        **({"group": group} if group else {}),
        "name": name,
        "version": component.version,
        "scope": _SCOPES[component.scope],
        "purl": component.purl,
        # The interpreter decides which of several files of a package is installed, so they are listed as properties.
        **(
            {"hashes": [{"alg": "SHA-256", "content": component.sha256[0]}]}
            if len(component.sha256) == 1
            else {"properties": [{"name": "file:sha256", "value": sha} for sha in component.sha256]}
        ),
        "licenses": [{"expression": " OR ".join(component.licences)}]
        if all(re.fullmatch(r"[\w.+-]+( (AND|OR|WITH) [\w.+-]+)*", licence) for licence in component.licences)
        else [{"license": {"name": licence}} for licence in component.licences],
    }


def main() -> None:
    """Writes the bill to the file named."""
    path = Path(sys.argv[1])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(bill(), indent=1) + "\n")
    print(path)


if __name__ == "__main__":
    main()
