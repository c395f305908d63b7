"""read_changing.py FOLDER CACHE EPOCHS UNEVEN SNAPSHOT: the ids of each epoch of a worker, while others write them.

Writes WORKER-EPOCH.json after each epoch, and begins epoch N when there is a file FOLDER/go-N.
"""

import json
import sys
import time
from pathlib import Path

import tensorflow_ignite as tfi

folder, cache, epochs, uneven, snapshot = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4], sys.argv[5]
here = tfi.train.context()
rows = tfi.dataset(cache, columns=["id"], uneven=uneven, snapshot=snapshot if snapshot != "none" else False)
for epoch in range(epochs):
    while not (folder / f"go-{epoch}").exists():
        time.sleep(0.02)
    ids: list[int] = []
    for batch in rows.batch(16):
        ids += batch["id"].numpy().tolist()
    part = folder / f"{here.index}-{epoch}.part"
    part.write_text(json.dumps(ids))
    part.replace(part.with_suffix(".json"))
    tfi.train.report(epoch + 1)
