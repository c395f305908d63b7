"""Learns handwritten digits as ``digits.py`` does, with ``fit`` of Keras instead of a loop of one's own.

    tensorflow-ignite submit --cache digits examples/digits_keras.py

The callback saves, and makes ``fit`` go on where it was interrupted when the job is started again. Uses tf_keras; a
model of Keras 3 is trained in the same way.
"""

import argparse

import tensorflow_ignite as tfi

# Before anything else of TensorFlow: the workers find each other here.
strategy = tfi.train.strategy()

import tensorflow as tf  # noqa: E402
import tf_keras as keras  # noqa: E402


def examples(features: dict[str, tf.Tensor], label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Pixels from 0 to 1, and labels, of a batch."""
    pixels = tf.reshape(tf.cast(features["pixels"], tf.float32) / 16.0, [-1, 64])
    return pixels, tf.cast(label, tf.int32)


def main() -> None:
    """Trains, then evaluates on the first worker."""
    arguments = argparse.ArgumentParser(description="Learns handwritten digits with fit of Keras.")
    arguments.add_argument("--epochs", type=int, default=30)
    arguments.add_argument("--batch-size", type=int, default=96, help="rows in a step, over all workers")
    args = arguments.parse_args()

    context = tfi.train.context(cache="digits")
    # Workers have different numbers of rows but must take the same number of steps: those with fewer repeat some.
    rows = tfi.dataset(context.cache, columns=["pixels", "label"], label="label", shuffle=True)

    with strategy.scope():
        model = keras.Sequential([keras.Input([64]), keras.layers.Dense(64, "relu"), keras.layers.Dense(10)])
        model.compile(
            keras.optimizers.Adam(0.003),
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy"],
        )

    checkpoints = tfi.train.CheckpointCallback(every_steps=50)
    model.fit(
        rows.repeat().batch(args.batch_size).map(examples),
        epochs=args.epochs,
        steps_per_epoch=context.steps_per_epoch(args.batch_size),
        callbacks=[checkpoints],
        verbose=2 if context.index == 0 else 0,
    )

    if context.index == 0:
        if checkpoints.checkpoint.resumed_from_step:
            print(f"resumed from step {checkpoints.checkpoint.resumed_from_step}", flush=True)
        test = tfi.dataset(f"{context.cache}_test", columns=["pixels", "label"], label="label").batch(512).map(examples)
        right = tf.concat([tf.argmax(model(pixels), 1, tf.int32) == label for pixels, label in test], 0)
        accuracy = float(tf.reduce_mean(tf.cast(right, tf.float32)))
        done = checkpoints.checkpoint.steps_done
        tfi.train.report(done, done, test_accuracy=accuracy)
        print(f"test accuracy={accuracy:.4f}", flush=True)


if __name__ == "__main__":
    main()
