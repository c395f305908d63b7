"""A job that does nothing but report each of its ten steps a second; the script needs no TensorFlow."""

import itertools
import time

import tensorflow_ignite as tfi

STEP_SECONDS = 0.1

for step in itertools.count(1):
    tfi.train.report(step, loss=1 / step)
    time.sleep(STEP_SECONDS)
