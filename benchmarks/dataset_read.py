"""This project's own contender: its dataset in each of its ways, and its load."""

from __future__ import annotations

import itertools
from typing import Any, Literal, NamedTuple

import numpy as np
import tensorflow as tf

import rows
import tensorflow_ignite as tfi
from answer import Pass, serve
from touch import consumed, consumed_in_graph


class Way(NamedTuple):
    """How one contender reads."""

    transport: Literal["shared", "tcp", "flight"]
    snapshot: bool = False

    def dataset(self, cache: str, address: str, **arguments: Any) -> tf.data.Dataset:
        """Its dataset."""
        options = tfi.ReadOptions(transport=self.transport, memory=8 << 30, address=address)
        return tfi.dataset(cache, snapshot=self.snapshot, options=options, **arguments)


WAYS = {
    "local": Way(transport="shared"),
    "later": Way(transport="shared", snapshot=True),
    "remote": Way(transport="tcp"),
    "flight": Way(transport="flight"),
}
LARGE_LOADS = 100


def read_large(cache: str, address: str, way: Way) -> Pass:
    """A pass over one epoch of plain byte[] of one length."""
    schema = {"value": tf.TensorSpec([rows.LARGE_BYTES], tf.uint8)}
    dataset = way.dataset(cache, address, schema=schema).batch(rows.LARGE_BATCH).prefetch(2)
    return consumed(lambda: dataset, lambda batch: batch["value"])


def read_small(cache: str, address: str, way: Way) -> Pass:
    """A pass over one epoch of objects."""
    dataset = way.dataset(cache, address).batch(rows.SMALL_BATCH).prefetch(4)
    return consumed(lambda: dataset, _pixels)


def read_small_in_graph(cache: str, address: str, way: Way) -> Pass:
    """The same, the loop over its batches being TensorFlow's."""
    return consumed_in_graph(way.dataset(cache, address).batch(rows.SMALL_BATCH).prefetch(4), _pixels)


def _pixels(batch: dict[str, tf.Tensor]) -> tf.Tensor:
    return batch["pixels"]


def loop_over_zeros(count: int, in_graph: bool) -> Pass:
    """What the loop itself costs: as many batches of small rows, all of them tensors that are there already."""
    pixels, label = tf.zeros([rows.SMALL_BATCH, rows.SMALL_BYTES], tf.uint8), tf.zeros([rows.SMALL_BATCH], tf.int32)
    zeros = tf.data.Dataset.from_tensors({"pixels": pixels, "label": label})
    batches = zeros.repeat(-(-count // rows.SMALL_BATCH))
    one_pass = consumed_in_graph(batches, _pixels) if in_graph else consumed(lambda: batches, _pixels)

    def unchecked() -> tuple[int, int, None]:
        seen, size, _ = one_pass()
        return seen, size, None

    return unchecked


def load(columns: dict[str, np.ndarray], kind: str, address: str) -> Pass:
    """A pass that makes a new cache, with an SQL table, and writes columns into it."""
    names = (f"load_{kind}_{number}" for number in itertools.count())
    count = len(next(iter(columns.values())))
    size = sum(column.nbytes for column in columns.values())

    def one_pass() -> tuple[int, int, None]:
        tfi.load(next(names), columns, address=address)
        return count, size, None

    return one_pass


def main() -> None:
    """Builds the datasets, then answers."""
    options = rows.parser(__doc__)
    options.add_argument("--address", required=True, help="host:port of the node")
    options.add_argument("--sweep", type=int, nargs="*", default=[], metavar="PARTITIONS")
    args = options.parse_args()
    passes: dict[str, Pass] = {}
    for name, way in WAYS.items():
        passes[f"{name}_1mb"] = read_large("large", args.address, way)
        passes[f"{name}_small"] = read_small("small", args.address, way)
        passes[f"{name}_small_graph"] = read_small_in_graph("small", args.address, way)
    passes["loop_small"] = loop_over_zeros(args.small, in_graph=False)
    passes["loop_small_graph"] = loop_over_zeros(args.small, in_graph=True)
    for partitions in args.sweep:
        for kind, read in (("1mb", read_large), ("small", read_small)):
            cache = f"sweep_{kind}_{partitions}"
            passes[cache] = read(cache, args.address, WAYS["local"])
    large = np.repeat(rows.large_row()[None], min(LARGE_LOADS, args.large), axis=0)
    pixels, labels = rows.small_rows(args.small)
    passes["load_1mb"] = load({"data": large}, "1mb", args.address)
    passes["load_small"] = load({"pixels": pixels, "label": labels}, "small", args.address)
    passes["load_small_table"] = load(rows.table_rows(args.small), "small_table", args.address)
    serve(passes)


if __name__ == "__main__":
    main()
