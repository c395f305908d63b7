"""read_batches.py FOLDER CACHE EPOCHS UNEVEN: writes the ids of the rows of its batches, one file an epoch.

Fails where TensorFlow is imported.
"""

import json
import sys
from pathlib import Path

import tensorflow_ignite as tfi

folder, cache, epochs, uneven = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
here = tfi.train.context(cache=cache)
batches = tfi.batches(here.cache, batch_size=7, columns=["id", "name"], label="name", shuffle=True, uneven=uneven)
for epoch in range(epochs):
    ids: list[int] = []
    for row, name, *weights in batches:
        real = weights[0] > 0 if weights else slice(None)
        found = row["id"][real].tolist()
        assert name[real].tolist() == [b"row %d" % number for number in found]
        ids += found
    (folder / f"{here.role}-{here.index}-{epoch}.json").write_text(json.dumps(ids))
assert "tensorflow" not in sys.modules
