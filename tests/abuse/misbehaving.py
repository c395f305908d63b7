"""misbehaving.py FOLDER: saves a model whose functions do what no function should, when they get a number above 0."""

import sys
from pathlib import Path
from typing import Any

import tensorflow as tf

_ROWS = tf.TensorSpec([None], tf.float32, "x")
# Numbers of a mebibyte.
_MEBIBYTE = 1 << 18


class Misbehaving(tf.Module):  # type: ignore[misc]
    """A model of which one function doubles, and the others harm their process."""

    def __init__(self, never: str) -> None:
        """Takes the path of a file that never exists."""
        super().__init__()
        self.never = never
        self.kept = tf.Variable(tf.zeros([0]), shape=tf.TensorShape([None]), validate_shape=False)

    @tf.function(input_signature=[_ROWS])  # type: ignore[misc]
    def doubles(self, x: Any) -> dict[str, Any]:
        return {"y": 2 * x}

    @tf.function(input_signature=[_ROWS])  # type: ignore[misc]
    def sleeps(self, x: Any) -> dict[str, Any]:
        def waits(_: Any) -> Any:
            return tf.logical_and(tf.reduce_max(x) > 0, tf.equal(tf.size(tf.io.matching_files(self.never)), 0))

        (turns,) = tf.while_loop(waits, lambda turn: [turn + 1], [tf.constant(0)])
        # Else TensorFlow leaves the loop out.
        return {"y": x + 0 * tf.cast(turns, tf.float32)}

    @tf.function(input_signature=[_ROWS])  # type: ignore[misc]
    def crashes(self, x: Any) -> dict[str, Any]:
        def abort() -> Any:
            with tf.control_dependencies([tf.raw_ops.Abort(error_msg="as requested")]):
                return tf.identity(x)

        return {"y": tf.cond(tf.reduce_max(x) > 0, abort, lambda: tf.identity(x))}

    @tf.function(input_signature=[_ROWS])  # type: ignore[misc]
    def leaks(self, x: Any) -> dict[str, Any]:
        count = tf.cast(tf.reduce_max(x), tf.int32) * _MEBIBYTE
        self.kept.assign(tf.concat([self.kept, tf.ones([count])], 0))
        return {"y": x + 0 * tf.cast(tf.size(self.kept), tf.float32)}

    @tf.function(input_signature=[_ROWS])  # type: ignore[misc]
    def fills(self, x: Any) -> dict[str, Any]:
        """Needs a number of mebibytes, and releases them."""
        filled = tf.random.stateless_uniform([tf.cast(tf.reduce_max(x), tf.int32), _MEBIBYTE], [1, 2])
        return {"y": x + 0 * tf.reduce_sum(tf.sort(filled))}

    @tf.function(input_signature=[_ROWS])  # type: ignore[misc]
    def answers(self, x: Any) -> dict[str, Any]:
        """Returns a number of mebibytes for each row."""
        count = tf.cast(tf.reduce_max(x), tf.int32) * _MEBIBYTE
        return {"y": tf.reshape(x, [-1, 1]) + tf.zeros([1, count])}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "text")])  # type: ignore[misc]
    def lengths(self, text: Any) -> dict[str, Any]:
        return {"y": tf.strings.length(text)}


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    module = Misbehaving(str(folder / "never"))
    names = ("sleeps", "crashes", "leaks", "fills", "answers", "lengths")
    functions = {name: getattr(module, name) for name in names}
    tf.saved_model.save(module, str(folder), signatures={"serving_default": module.doubles, **functions})
