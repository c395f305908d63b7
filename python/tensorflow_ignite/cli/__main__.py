"""``python -m tensorflow_ignite.cli``."""

import sys

from tensorflow_ignite.cli import main

sys.exit(main())
