"""Network namespaces: what tests need to make them."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest


def require_namespaces() -> None:
    """Skips the test where no network namespace can be made."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("network namespaces need root and the program ip")
    probe = subprocess.run(["unshare", "--net", "true"], capture_output=True, text=True, check=False)
    if probe.returncode != 0:
        pytest.skip(f"this machine makes no network namespaces: {probe.stderr.strip()}")


def ip(*arguments: str) -> None:
    """Runs ip."""
    subprocess.run(["ip", *arguments], capture_output=True, text=True, timeout=30, check=True)


def delete(*names: str) -> None:
    """Deletes namespaces; one that is not there is no error."""
    for name in names:
        subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False, timeout=30)
