"""What a script leaves in its working directory, which is removed with its attempt."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

# The largest number in the text, and how many names it has.
_MOST_FILES, _MOST_NAMES = 1000, 3


def describe(working: Path) -> str:
    """A line that names the files which are neither hidden nor of the job's code; empty: there are none."""
    found = list(islice(_new_files(working), _MOST_FILES))
    if not found:
        return ""
    names = ", ".join(found[:_MOST_NAMES]) + (", …" if len(found) > _MOST_NAMES else "")
    number = f"{len(found)}{' or more' if len(found) == _MOST_FILES else ''} file{'s' if len(found) > 1 else ''}"
    return (
        f"tensorflow_ignite: {number} of this task will be removed with its working directory: {names}. No file "
        "stays after its attempt. Write to ignite:///…, or to shared storage, or call tfi.train.export\n"
    )


def _new_files(working: Path) -> Iterator[str]:
    for folder, folders, files in os.walk(working):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__pycache__")))
        for name in sorted(files):
            path = Path(folder, name)
            # Files of the code have a second link.
            if not name.startswith(".") and not path.is_symlink() and path.stat().st_nlink == 1:
                # Without line breaks.
                yield repr(path.relative_to(working).as_posix())[1:-1]
