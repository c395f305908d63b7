"""Loads the handwritten digits of scikit-learn: every fifth into `digits_test`, the others into `digits`.

A cache that exists is left as it is, so that a cluster may be brought up again.
"""

import numpy as np

import tensorflow_ignite as tfi

# 64 pixels, then the label.
digits = np.loadtxt("/opt/tensorflow-ignite/digits.csv.gz", delimiter=",", dtype="int32")
held_out = np.arange(len(digits)) % 5 == 0
with tfi.connect() as client:
    present = client.caches()
for cache, rows in {"digits": digits[~held_out], "digits_test": digits[held_out]}.items():
    if cache in present:
        print(f"the cache {cache} exists already", flush=True)
        continue
    loaded = tfi.load(cache, {"pixels": rows[:, :64].astype("float32"), "label": rows[:, 64]}, backups=1)
    print(f"loaded {loaded} rows into the cache {cache}", flush=True)
