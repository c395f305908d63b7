"""Lists every package and jar with its licence, and fails on a licence that nobody has agreed to: ``make licences``."""

from __future__ import annotations

import re
import sys

import inventory
from inventory import Component

# Of what is built with, packed or installed beside us. None of these asks anything of who uses us, but for notices.
ALLOWED = frozenset(
    {
        "0BSD",
        "Apache-2.0",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "CC0-1.0",
        "EPL-1.0",
        "EPL-2.0",
        "ISC",
        "LicenseRef-JSR-107",
        "MIT",
        "MIT-0",
        "MIT-CMU",
        "MPL-2.0",
        "PSF-2.0",
        "Unlicense",
        "Zlib",
    }
)


def is_allowed(component: Component) -> bool:
    """Whether one of its licences, with all parts of it, is among the allowed ones."""
    return any(_expression_allowed(licence) for licence in component.licences)


def refused() -> list[Component]:
    """Every component that no allowed licence covers."""
    return [component for component in [*inventory.jars(), *inventory.packages()] if not is_allowed(component)]


def _expression_allowed(expression: str) -> bool:
    choices = re.split(r"\s+OR\s+", expression.replace("(", "").replace(")", ""))
    return any(all(part in ALLOWED for part in re.split(r"\s+AND\s+", choice)) for choice in choices)


def main() -> int:
    """Prints the list; 1 when a licence is not allowed."""
    for component in [*inventory.jars(), *inventory.packages()]:
        licences = " | ".join(component.licences) or "unknown"
        print(f"{component.kind:5} {component.name} {component.version} ({component.scope}): {licences}")
    faults = refused()
    for component in faults:
        print(
            f"{component.name} {component.version} has the licence {' | '.join(component.licences) or 'unknown'}. Only "
            "licences that dependencies/licences.py allows may be depended on. Read it, then allow it or do without.",
            file=sys.stderr,
        )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
