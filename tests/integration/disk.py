"""A disk that is small enough to be filled."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

MEGABYTES = 96


@contextlib.contextmanager
def small_disk(folder: Path, megabytes: int = MEGABYTES) -> Iterator[Path]:
    """A file system of its own, where the machine lets us mount one; otherwise an ordinary folder."""
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    try:
        yield folder
    finally:
        if mounted.returncode == 0:
            subprocess.run(["umount", str(folder)], check=True)


@contextlib.contextmanager
def full(folder: Path) -> Iterator[None]:
    """Meanwhile nothing can be written there; the folder is a mount of its own."""
    filler = folder / "filler"
    try:
        with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(1 << 20))
        with filler.open("ab", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(1))
        yield
    finally:
        filler.unlink()
