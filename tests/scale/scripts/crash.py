"""crash.py ATTEMPTS FILE: reports a step in each attempt, is killed by SIGKILL in each one before the last.

An attempt lasts a little longer than the service's healthy time: its crash is the first one that counts. The last one
stays until the file is there.
"""

import os
import signal
import sys
import time

import tensorflow_ignite as tfi

HEALTHY_SECONDS = 2.0

attempts, attempt = int(sys.argv[1]), tfi.train.context().attempt
print(f"attempt {attempt} of {attempts}", flush=True)
tfi.train.report(attempt, attempts)
if attempt < attempts:
    time.sleep(HEALTHY_SECONDS)
    os.kill(os.getpid(), signal.SIGKILL)
while not os.path.exists(sys.argv[2]):
    time.sleep(0.5)
