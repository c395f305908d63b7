"""show_task.py FOLDER: writes what a task of a custom job finds to FOLDER/ROLE-INDEX.json; needs no TensorFlow."""

import json
import os
import sys
from pathlib import Path

import fsspec

import tensorflow_ignite as tfi

here = tfi.train.context()
own = here.own_assignment
found = {
    "node": here.node_address,
    "partitions": own.partitions if own else None,
    "chief": here.is_chief,
    "config": json.loads(os.environ["TF_CONFIG"]),
    "earlier": [os.environ[name] for name in ("TF_CLUSTER", "TF_WORKERS", "TF_CHIEF_SERVER")],
    "env": {name: value for name, value in os.environ.items() if name.startswith("TEST_")},
    "tensorflow": "tensorflow" in sys.modules,
    "visible": os.environ["CUDA_VISIBLE_DEVICES"],
}
with fsspec.open(f"ignite:///jobs/{here.job_id}/{here.role}-{here.index}", "w") as file:
    file.write("written by a task")
(Path(sys.argv[1]) / f"{here.role}-{here.index}.json").write_text(json.dumps(found))
print("done")
