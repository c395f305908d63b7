"""outside_client.py ADDRESS CACHE [wait|go-on] [CREDENTIALS]: counts the rows of a cache, as a client outside.

The rows are counted on workers beside them. Afterwards it waits, or schedules steps without an end. CREDENTIALS is
JSON of the arguments of Credentials.
"""

import json
import sys
import time

import tensorflow_ignite as tfi

address, cache = sys.argv[1:3]
action = sys.argv[3] if len(sys.argv) > 3 else ""
credentials = tfi.Credentials(**json.loads(sys.argv[4])) if len(sys.argv) > 4 else None
client = tfi.connect(address, credentials=credentials)
with (
    client,
    client.parameter_servers(cache, servers=2, access=tfi.Access(allow_plaintext=credentials is not None)) as job,
):
    print("job", job.id, flush=True)
    strategy = tfi.train.strategy()

    import tensorflow as tf

    with strategy.scope():
        total = tf.Variable(0, dtype=tf.int64)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    rows = coordinator.create_per_worker_dataset(lambda: tfi.dataset(cache, columns=["id"]).repeat().batch(16))
    iterator = iter(rows)

    @tf.function
    def step(iterator: tf.data.Iterator) -> tf.Tensor:
        """Adds the rows of a batch."""
        ids = next(iterator)["id"]
        total.assign_add(tf.cast(tf.size(ids), tf.int64))
        return ids

    # Steps go to workers that are free: a slow one may take none of the first sixty.
    seen: set[int] = set()
    every = sum(worker.rows for worker in tfi.train.context().assignment)
    for _ in range(50):
        taken = [coordinator.schedule(step, args=(iterator,)) for _ in range(60)]
        coordinator.join()
        seen |= {int(number) for result in taken for number in result.fetch()}
        if len(seen) == every:
            break
    print("rows", int(total.numpy()), len(seen), len(tfi.train.context().assignment), flush=True)
    if action == "wait":
        time.sleep(300)
    while action == "go-on":
        coordinator.schedule(step, args=(iterator,))
        coordinator.join()
