"""call_until_file.py FOLDER ADDRESSES CAFILE TOKEN: predicts and reads all rows until there is a file FOLDER/stop.

Writes to FOLDER/calls.json how often both went well, and each error.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

import tensorflow_ignite as tfi

folder, addresses, cafile, token = Path(sys.argv[1]), *sys.argv[2:]
me = tfi.Credentials(token=token, cafile=cafile)
options = tfi.ReadOptions(address=addresses, credentials=me)
calls = {"predictions": 0, "reads": 0}
errors: list[str] = []
with tfi.connect(addresses, credentials=me) as client:
    while not (folder / "stop").exists():
        try:
            answer = client.models.predict("times", {"x": np.ones([4, 2], np.float32)})
            assert answer["y"].tolist() == [[3.0, 3.0]] * 4, answer
            calls["predictions"] += 1
        except Exception as error:
            errors.append(f"predict: {error!r}")
        try:
            found = sorted(tfi.read_table("rows", columns=["x"], options=options).column("x").to_pylist())
            assert found == list(range(2000)), f"{len(found)} rows"
            calls["reads"] += 1
        except Exception as error:
            errors.append(f"read: {error!r}")
        (folder / "calls.new").write_text(json.dumps({**calls, "errors": errors}))
        (folder / "calls.new").replace(folder / "calls.json")
