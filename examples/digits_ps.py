"""Learns handwritten digits as ``digits.py`` does, with parameter servers.

This script runs once, in the job's client process; the workers compute steps on the rows of their own nodes, each at
its own pace, and the variables live on the parameter servers:

    tensorflow-ignite submit --cache digits --strategy parameter-server examples/digits_ps.py

When a worker is lost, the others go on. When this process or a parameter server is lost, the script starts again, and
goes on from the newest checkpoint, wherever it is started.
"""

import argparse

import tensorflow_ignite as tfi

if not tfi.train.context().in_job:
    raise SystemExit("digits_ps.py needs the workers of a job: tensorflow-ignite submit --strategy parameter-server …")

# Before anything else of TensorFlow: it waits for the workers and the parameter servers.
strategy = tfi.train.strategy()

import tensorflow as tf  # noqa: E402


def examples(features: dict[str, tf.Tensor], label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Pixels from 0 to 1, and labels, of a batch."""
    pixels = tf.reshape(tf.cast(features["pixels"], tf.float32) / 16.0, [-1, 64])
    return pixels, tf.cast(label, tf.int32)


class Perceptron(tf.Module):
    """One hidden layer; returns logits."""

    def __init__(self) -> None:
        """Makes the variables."""
        super().__init__()
        initial = tf.keras.initializers.GlorotUniform(seed=1)
        self.hidden = tf.Variable(initial([64, 64]))
        self.hidden_bias = tf.Variable(tf.zeros([64]))
        self.output = tf.Variable(initial([64, 10]))
        self.output_bias = tf.Variable(tf.zeros([10]))

    def __call__(self, pixels: tf.Tensor) -> tf.Tensor:
        """Logits ``[rows, 10]`` of pixels ``[rows, 64]``."""
        hidden = tf.nn.relu(pixels @ self.hidden + self.hidden_bias)
        return hidden @ self.output + self.output_bias


def main() -> None:
    """Schedules the steps, then evaluates in the client process."""
    arguments = argparse.ArgumentParser(description="Learns handwritten digits with parameter servers.")
    arguments.add_argument("--epochs", type=int, default=15)
    arguments.add_argument("--batch-size", type=int, default=32, help="rows in a step, on one worker")
    arguments.add_argument("--learning-rate", type=float, default=0.2)
    args = arguments.parse_args()

    context = tfi.train.context()
    steps_per_epoch = context.steps_per_epoch(args.batch_size)
    total_steps = args.epochs * steps_per_epoch

    with strategy.scope():
        model = Perceptron()
    checkpoint = tfi.train.checkpoint(every_seconds=1, model=model)
    if checkpoint.resumed_from_step:
        print(f"resumed from step {checkpoint.resumed_from_step}", flush=True)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)

    def worker_dataset() -> tf.data.Dataset:
        # Built here, run on each worker, where it reads the rows that this worker was assigned.
        rows = tfi.dataset(context.cache, columns=["pixels", "label"], label="label", shuffle=True)
        return rows.repeat().batch(args.batch_size).map(examples)

    @tf.function
    def step(iterator: tf.data.Iterator) -> tuple[tf.Tensor, tf.Tensor]:
        pixels, label = next(iterator)
        with tf.GradientTape() as tape:
            logits = model(pixels)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(label, logits))
        for variable, gradient in zip(
            model.trainable_variables, tape.gradient(loss, model.trainable_variables), strict=True
        ):
            variable.assign_sub(args.learning_rate * gradient)
        return loss, tf.reduce_mean(tf.cast(tf.argmax(logits, 1, tf.int32) == label, tf.float32))

    iterator = iter(coordinator.create_per_worker_dataset(worker_dataset))
    done = checkpoint.resumed_from_step
    while done < total_steps:
        count = min(steps_per_epoch, total_steps - done)
        results = [coordinator.schedule(step, args=(iterator,)) for _ in range(count)]
        coordinator.join()
        done += count
        loss, accuracy = (sum(figures) / len(figures) for figures in zip(*(r.fetch() for r in results), strict=True))
        tfi.train.report(done, total_steps, loss=loss, accuracy=accuracy)
        print(f"step {done}/{total_steps} loss={loss:.4f} accuracy={accuracy:.4f}", flush=True)
        checkpoint.save_if_due(done)
    if checkpoint.saved_step != done:
        checkpoint.save()

    test = tfi.dataset(f"{context.cache}_test", columns=["pixels", "label"], label="label").batch(512).map(examples)
    right = tf.concat([tf.argmax(model(pixels), 1, tf.int32) == label for pixels, label in test], 0)
    accuracy = float(tf.reduce_mean(tf.cast(right, tf.float32)))
    tfi.train.report(total_steps, total_steps, test_accuracy=accuracy)
    print(f"test accuracy={accuracy:.4f}", flush=True)


if __name__ == "__main__":
    main()
