"""read_ids.py FOLDER CACHE EPOCHS [held]: writes the ids of the rows that it may read, one file an epoch.

Held, it begins later epochs when there is a file FOLDER/go. No TensorFlow.
"""

import json
import sys
import time
from pathlib import Path

from tensorflow_ignite.data.options import RowArguments
from tensorflow_ignite.data.plan import make_plan
from tensorflow_ignite.data.request import make_request
from tensorflow_ignite.data.transport import flight
from tensorflow_ignite.train import context

folder, cache, epochs = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
here = context(cache=cache)
asked = make_request(RowArguments(cache, columns=["id"]))
for epoch in range(epochs):
    while epoch and "held" in sys.argv and not (folder / "go").exists():
        time.sleep(0.05)
    plan = make_plan(asked)
    ids: list[int] = []
    for endpoint in plan.endpoints:
        for batch in flight.BatchStream(endpoint, plan.subject):
            ids += batch.column("id").to_pylist()
    part = folder / f"{here.role}-{here.index}-{epoch}.part"
    part.write_text(json.dumps(ids))
    part.replace(part.with_suffix(".json"))
