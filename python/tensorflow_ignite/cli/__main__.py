"""``python -m tensorflow_ignite.cli``."""

import sys

from tensorflow_ignite.cli import program

sys.exit(program())
