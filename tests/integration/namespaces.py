"""Network namespaces: what tests need to make them."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest


def require_namespaces(*programs: str) -> None:
    """Skips the test where no network namespace can be made, or one of the programs is not installed."""
    missing = [program for program in ("ip", *programs) if shutil.which(program) is None]
    if os.geteuid() != 0 or missing:
        pytest.skip(f"network namespaces need root and the programs {', '.join(['ip', *programs])}")
    probe = subprocess.run(["unshare", "--net", "true"], capture_output=True, text=True, check=False)
    if probe.returncode != 0:
        pytest.skip(f"this machine makes no network namespaces: {probe.stderr.strip()}")


def ip(*arguments: str) -> None:
    ran = subprocess.run(["ip", *arguments], capture_output=True, text=True, timeout=30, check=False)
    assert ran.returncode == 0, f"ip {' '.join(arguments)}: {ran.stderr}"


def delete(*names: str) -> None:
    """Deletes namespaces; one that is not there is no error."""
    for name in names:
        subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False, timeout=30)
