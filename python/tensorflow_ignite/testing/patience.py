"""One factor for the limits of all waits in tests."""

from __future__ import annotations

import os

# Set it to 2 on a machine that is half as fast. The limits without it are far more than a busy machine needs.
VARIABLE = "TENSORFLOW_IGNITE_TEST_PATIENCE"


def patiently(seconds: float) -> float:
    """The limit of a wait, in seconds: ``seconds`` times the factor that the environment sets, which is 1 by default.

    Raises:
        ValueError: The variable is no number.
    """
    return seconds * float(os.environ.get(VARIABLE, "1"))
