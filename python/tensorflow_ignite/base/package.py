"""Where this package is on disk."""

from __future__ import annotations

from pathlib import Path

#: The folder of ``tensorflow_ignite``.
PACKAGE = Path(__file__).resolve().parents[1]
