"""show_progress.py STEPS: reports a step and a falling loss every 50 ms, without TensorFlow."""

import math
import sys
import time

import tensorflow_ignite as tfi

context = tfi.train.context()
steps = int(sys.argv[1])
print(f"attempt {context.attempt} begins", flush=True)
for step in range(1, steps + 1):
    time.sleep(0.05)
    if step % 20 == 0:
        print(f"step {step} <b>of {steps}</b>", flush=True)
    tfi.train.report(step, steps, loss=2.3 * math.exp(-step / 400) + 0.05 * math.sin(step) ** 2)
