"""``python -m tensorflow_ignite.node``."""

import sys

from tensorflow_ignite.node.host import main

sys.exit(main())
