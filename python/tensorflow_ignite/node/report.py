"""The events of a node on its standard output: for each, one line of JSON for programs, or a line of text."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from typing import TextIO


class Report:
    """Prints events. With json_output nothing but JSON goes to standard output: other output goes to stderr."""

    def __init__(self, *, json_output: bool) -> None:
        """Redirects standard output when it is for programs."""
        self._json = json_output
        self._out: TextIO = sys.stdout
        if json_output:
            sys.stdout.flush()
            self._out = os.fdopen(os.dup(1), "w", encoding="utf-8")
            os.dup2(2, 1)

    def event(self, name: str, human: str, **fields: object) -> None:
        """Prints one event; an error of the reader's end is ignored."""
        text = json.dumps({"event": name, **fields}) if self._json else human
        with contextlib.suppress(OSError):
            print(text, file=self._out, flush=True)

    def error(self, text: str) -> None:
        """Prints an error on standard error."""
        with contextlib.suppress(OSError):
            print(f"tensorflow-ignite node: {text}", file=sys.stderr, flush=True)
