"""read_batches.py FOLDER CACHE EPOCHS: writes the ids of the rows of its batches, one file for each way and epoch.

Fails where TensorFlow is imported.
"""

import json
import sys
from pathlib import Path

import tensorflow_ignite as tfi

folder, cache, epochs = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
here = tfi.train.context(cache=cache)
for uneven in ("repeat", "drop", "pad"):
    batches = tfi.batches(here.cache, batch_size=7, columns=["id", "name"], label="name", shuffle=True, uneven=uneven)
    for epoch in range(epochs):
        ids: list[int] = []
        for row, name, *weights in batches:
            real = weights[0] > 0 if weights else slice(None)
            found = row["id"][real].tolist()
            assert name[real].tolist() == [b"row %d" % number for number in found]
            ids += found
        (folder / f"{here.role}-{here.index}-{uneven}-{epoch}.json").write_text(json.dumps(ids))
assert "tensorflow" not in sys.modules
