"""The command line: ``tensorflow-ignite``."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

__all__ = ["main", "program"]


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


def program() -> int:
    """Runs the command of this process, and ends the process before Python finalizes the interpreter.

    Threads of Arrow free objects of Python late, for example after a file that was not read to its end. While the
    interpreter is finalized, this aborts the process (apache/arrow#45214), and the exit code is lost.
    """
    code = 1

    def end() -> None:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)

    # The first that is registered is called last.
    atexit.register(end)
    try:
        code = main()
    except SystemExit as ended:
        # Shell completion raises it.
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        raise
    return code
