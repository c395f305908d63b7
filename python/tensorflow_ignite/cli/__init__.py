"""The command line: ``tensorflow-ignite``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command.

    Args:
        argv: The arguments without the program's name; None: the arguments of this process.

    Returns:
        The exit code: 0 done, 1 refused or failed, 2 a wrong command line, 130 interrupted; ``submit`` and ``attach``
        give the job's own.
    """
    try:
        from tensorflow_ignite.cli.app import run
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        return 130
    return run(argv)
