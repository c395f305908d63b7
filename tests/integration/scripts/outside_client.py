"""outside_client.py ADDRESS CACHE [wait]: counts the rows of a cache on workers beside them, as a client outside."""

import sys
import time

import tensorflow_ignite as tfi

address, cache = sys.argv[1:3]
with tfi.connect(address) as client, client.parameter_servers(cache, ps=2) as job:
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

    taken = [coordinator.schedule(step, args=(iterator,)) for _ in range(60)]
    coordinator.join()
    seen = {int(number) for result in taken for number in result.fetch()}
    print("rows", int(total.numpy()), len(seen), len(tfi.train.context().assignment), flush=True)
    if sys.argv[3:] == ["wait"]:
        time.sleep(300)
