"""Loads the handwritten digits of scikit-learn: a fifth of them into `digits_test`, the others into `digits`.

A cache that exists is left as it is, so that a cluster may be brought up again.
"""

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import tensorflow_ignite as tfi

digits = load_digits()
pixels, test_pixels, labels, test_labels = train_test_split(
    digits.data.astype("float32"),
    digits.target.astype("int32"),
    test_size=0.2,
    stratify=digits.target,
    random_state=0,
)
tables = {
    "digits": {"pixels": pixels, "label": labels},
    "digits_test": {"pixels": test_pixels, "label": test_labels},
}
with tfi.connect() as client:
    present = client.caches()
for cache, columns in tables.items():
    if cache in present:
        print(f"the cache {cache} exists already", flush=True)
    else:
        print(f"loaded {tfi.load(cache, columns, backups=1)} rows into the cache {cache}", flush=True)
