"""stay.py FILE: stays until the file is there. It imports nothing that is slow to load: 180 of it run at once."""

import os
import sys
import time

while not os.path.exists(sys.argv[1]):
    time.sleep(0.5)
