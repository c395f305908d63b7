"""What a node tells on its standard output: one line of JSON for programs, or a line for people, for each event."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from typing import TextIO


class Report:
    """Writes events. With json_output nothing but JSON goes to standard output, whatever else prints there."""

    def __init__(self, *, json_output: bool) -> None:
        """Takes standard output over when it is for programs."""
        self._json = json_output
        self._out: TextIO = sys.stdout
        if json_output:
            sys.stdout.flush()
            self._out = os.fdopen(os.dup(1), "w", encoding="utf-8")
            os.dup2(2, 1)

    def event(self, name: str, human: str, **fields: object) -> None:
        """Tells one event; a reader that has gone is no reason to stop."""
        text = json.dumps({"event": name, **fields}) if self._json else human
        with contextlib.suppress(OSError):
            print(text, file=self._out, flush=True)

    def error(self, text: str) -> None:
        """Tells on standard error what went wrong."""
        with contextlib.suppress(OSError):
            print(f"tensorflow-ignite node: {text}", file=sys.stderr, flush=True)
