"""Ray Serve with the model: prints where it answers over HTTP, and serves until its input ends.

Requests are put together to batches of the size and delay that nodes of the cluster have. Needs an environment with
ray[serve] 2.60 and tensorflow.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import numpy as np
import ray_start
from ray import serve

import predict_model

# As `ServedModel` has them.
BATCH_ROWS = 256
DELAY_SECONDS = 0.002
MOST_REQUESTS = 4_096


@serve.deployment(max_ongoing_requests=MOST_REQUESTS, ray_actor_options={"num_cpus": 1})
class Model:
    """A replica; it answers as TensorFlow Serving does."""

    def __init__(self, path: str) -> None:
        """Loads the model, and calls it once."""
        self._model = predict_model.load(path)
        self._model.predict_on_batch(np.zeros([1, predict_model.PIXELS], np.float32))

    @serve.batch(max_batch_size=BATCH_ROWS, batch_wait_timeout_s=DELAY_SECONDS)
    async def predict(self, rows: list[np.ndarray]) -> list[Any]:
        """The scores of each row."""
        return list(self._model.predict_on_batch(np.stack(rows)))

    async def __call__(self, request: Any) -> dict[str, Any]:
        """Answers a request of one row."""
        (row,) = (await request.json())["instances"]
        scores = await self.predict(np.asarray(row, np.float32))
        return {"predictions": [scores.tolist()]}


def main() -> None:
    """Serves."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("port", type=int)
    options.add_argument("--model", required=True, help="a file of Keras")
    options.add_argument("--replicas", type=int, default=1)
    given = options.parse_args()
    # What Ray prints must not get between the answers.
    answers, sys.stdout = sys.stdout, sys.stderr
    with ray_start.started(256 << 20):
        serve.start(http_options={"host": "127.0.0.1", "port": given.port, "access_log": False})
        serve.run(
            Model.options(num_replicas=given.replicas).bind(given.model), logging_config={"enable_access_log": False}
        )
        answers.write(json.dumps({"ready": ["/"]}) + "\n")
        answers.flush()
        sys.stdin.read()
        serve.shutdown()


if __name__ == "__main__":
    main()
