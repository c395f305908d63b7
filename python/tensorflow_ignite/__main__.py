"""``python -m tensorflow_ignite`` is the command line ``tensorflow-ignite``."""

import sys

from tensorflow_ignite.cli import program

sys.exit(program())
