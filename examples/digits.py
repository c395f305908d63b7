"""Learns handwritten digits from the cache ``digits`` (pixels: 64 numbers from 0 to 16; label: 0 to 9).

As a job, every worker trains on the rows of its own node, and the workers average their gradients:

    tensorflow-ignite submit --cache digits examples/digits.py

When a node is lost, Ignite starts the job again on those that are left, and it goes on from the newest checkpoint,
which is in the cluster as well.

The same script runs outside a job, on all rows: ``python examples/digits.py``. Both evaluate on ``digits_test``.
"""

import argparse

import tensorflow_ignite as tfi

# Before anything else of TensorFlow: the workers find each other here.
strategy = tfi.train.strategy()

import keras  # noqa: E402
import tensorflow as tf  # noqa: E402


def examples(features: dict[str, tf.Tensor], label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Pixels from 0 to 1, and labels, of a batch."""
    pixels = tf.reshape(tf.cast(features["pixels"], tf.float32) / 16.0, [-1, 64])
    return pixels, tf.cast(label, tf.int32)


def build_model() -> keras.Model:
    """A small perceptron that returns logits."""
    return keras.Sequential([keras.Input([64]), keras.layers.Dense(64, "relu"), keras.layers.Dense(10)])


def evaluate(model: keras.Model, dataset: tf.data.Dataset) -> float:
    """The share of rows in batches whose digit is recognised."""
    right = [tf.argmax(model(pixels), 1, tf.int32) == label for pixels, label in dataset]
    return float(tf.reduce_mean(tf.cast(tf.concat(right, 0), tf.float32)))


def main() -> None:
    """Trains, then evaluates on the first worker."""
    arguments = argparse.ArgumentParser(description="Learns handwritten digits.")
    arguments.add_argument("--epochs", type=int, default=20)
    arguments.add_argument("--batch-size", type=int, default=96, help="rows in a step, over all workers")
    arguments.add_argument("--checkpoint-steps", type=int, default=50, help="steps from one checkpoint to the next")
    args = arguments.parse_args()

    context = tfi.train.context(cache="digits")
    steps_per_epoch = context.steps_per_epoch(args.batch_size)
    # Workers have different numbers of rows but must take the same number of steps: those with fewer repeat some.
    rows = tfi.dataset(context.cache, columns=["pixels", "label"], label="label", shuffle=True)
    batches = rows.repeat().batch(args.batch_size).map(examples)

    with strategy.scope():
        model = build_model()
        optimizer = keras.optimizers.Adam(0.003)
        optimizer.build(model.trainable_variables)

    # Other workers with other rows make epochs of another length. What the job began with stays its goal.
    total_steps = tf.Variable(args.epochs * steps_per_epoch, dtype=tf.int64, trainable=False)
    checkpoint = tfi.train.checkpoint(
        every_steps=args.checkpoint_steps, model=model, optimizer=optimizer, total_steps=total_steps
    )
    last = int(total_steps)
    if checkpoint.resumed_from_step and context.index == 0:
        print(f"resumed from step {checkpoint.resumed_from_step}", flush=True)

    def replica_step(pixels: tf.Tensor, label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        with tf.GradientTape() as tape:
            logits = model(pixels, training=True)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(label, logits)
            # A part of the mean over the whole batch; the parts of all workers are added up.
            loss = tf.reduce_sum(losses) / args.batch_size
        optimizer.apply_gradients(
            zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True)
        )
        right = tf.cast(tf.argmax(logits, 1, tf.int32) == label, tf.float32)
        return loss, tf.reduce_sum(right) / args.batch_size

    @tf.function
    def step(iterator: tf.data.Iterator) -> tuple[tf.Tensor, tf.Tensor]:
        loss, accuracy = strategy.run(replica_step, args=next(iterator))
        return (
            strategy.reduce(tf.distribute.ReduceOp.SUM, loss, axis=None),
            strategy.reduce(tf.distribute.ReduceOp.SUM, accuracy, axis=None),
        )

    iterator = iter(strategy.experimental_distribute_dataset(batches))
    for number in checkpoint.steps(last):
        loss, accuracy = step(iterator)
        tfi.train.report(number, last, loss=loss, accuracy=accuracy)
        if (number % steps_per_epoch == 0 or number == last) and context.index == 0:
            print(f"step {number}/{last} loss={loss:.4f} accuracy={accuracy:.4f}", flush=True)

    if context.index == 0:
        test = tfi.dataset(f"{context.cache}_test", columns=["pixels", "label"], label="label")
        accuracy = evaluate(model, test.batch(512).map(examples))
        tfi.train.report(last, last, test_accuracy=accuracy)
        print(f"test accuracy={accuracy:.4f}", flush=True)


if __name__ == "__main__":
    main()
