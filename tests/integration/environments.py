"""Environments with packages that only some tests need; each is made once, in build/."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from tensorflow_ignite.testing.patience import patiently

ROOT = Path(__file__).parents[2]
SECONDS = patiently(480)


def python_with(name: str, *, alone: bool = False) -> Path:
    """An interpreter with this package and those of NAME-requirements.txt, over the packages of this interpreter."""
    requirements = Path(__file__).with_name(f"{name}-requirements.txt")
    home = ROOT / "build" / name
    python, stamp = home / "bin" / "python", home / "installed.txt"
    if not stamp.exists() or stamp.read_text() != requirements.read_text():
        shutil.rmtree(home, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True, timeout=SECONDS)
        pip = [sys.executable, "-m", "pip", "--quiet", "--python", python, "install", "--requirement", requirements]
        subprocess.run(pip, check=True, timeout=SECONDS)
        (packages,) = home.glob("lib/python*/site-packages")
        below = [ROOT / "python"] if alone else [ROOT / "python", sysconfig.get_path("purelib")]
        # Its own packages come first.
        (packages / "below.pth").write_text("".join(f"{path}\n" for path in below))
        stamp.write_text(requirements.read_text())
    return python
