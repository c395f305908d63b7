"""pyignite: the same caches through Ignite's thin client for Python, read by scans; and caches written by put_all."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np
from pyignite import Client, GenericObjectMeta
from pyignite.datatypes import BoolObject, ByteArrayObject, DateObject, DoubleObject, IntObject, String

import rows
from answer import Pass, serve

LARGE_PAGE = 20
SMALL_PAGE = 1_024
WHOLE_CACHE = -1
# A pass over every large row would take half a minute, and the rate is the same.
LARGE_PARTITIONS = (0, 1)
LARGE_PUTS = 100
SMALL_PUTS = 10_000
# Not shown: these rows are counted.
TABLE_BYTES = 50


class Digit(
    metaclass=GenericObjectMeta,
    type_name="PyigniteDigit",
    schema=OrderedDict([("pixels", ByteArrayObject), ("label", IntObject)]),
):
    """A small row that is put."""


class Order(
    metaclass=GenericObjectMeta,
    type_name="PyigniteOrder",
    schema=OrderedDict(
        [
            ("customer", String),
            ("amount", DoubleObject),
            ("items", IntObject),
            ("paid", BoolObject),
            ("time", DateObject),
        ]
    ),
):
    """A row of a table that is put."""


class Image(metaclass=GenericObjectMeta, type_name="PyigniteImage", schema=OrderedDict([("data", ByteArrayObject)])):
    """A large row that is put: an object, as ``tfi.load`` makes one of it."""


def scan(client: Client, name: str, column: str, page: int, partitions: Sequence[int]) -> Pass:
    """A pass over partitions of a cache: over a column of its objects, or over its values where no column is named."""

    def one_pass() -> tuple[int, int, int]:
        count = read = total = 0
        for partition in partitions:
            with client.get_cache(name).scan(page_size=page, partitions=partition) as found:
                for _, value in found:
                    data = np.frombuffer(getattr(value, column) if column else value, np.uint8)
                    count, read, total = count + 1, read + len(data), total + rows.total(data)
        return count, read, total

    return one_pass


def put(client: Client, values: Sequence[Any], kind: str, size: int, at_once: int) -> Pass:
    """A pass that makes a new cache and writes values of this size into it."""
    names = (f"pyignite_put_{kind}_{number}" for number in itertools.count())

    def one_pass() -> tuple[int, int, None]:
        cache = client.create_cache(next(names))
        for first in range(0, len(values), at_once):
            cache.put_all({first + index: value for index, value in enumerate(values[first : first + at_once])})
        return len(values), len(values) * size, None

    return one_pass


def main() -> None:
    """Connects, then answers."""
    options = rows.parser(__doc__)
    options.add_argument("--port", type=int, required=True, help="where the node takes thin clients")
    args = options.parse_args()
    large_puts = [Image(data=rows.large_row().tobytes())] * min(LARGE_PUTS, args.large)
    pixels, labels = rows.small_rows(min(SMALL_PUTS, args.small))
    small_puts = [Digit(pixels=row.tobytes(), label=int(label)) for row, label in zip(pixels, labels, strict=True)]
    columns = {name: column.tolist() for name, column in rows.table_rows(len(small_puts)).items()}
    orders = [Order(**dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)]
    client = Client(timeout=60)
    with client.connect("127.0.0.1", args.port):
        serve(
            {
                "pyignite_1mb": scan(client, "large", "", LARGE_PAGE, LARGE_PARTITIONS),
                "pyignite_small": scan(client, "small", "pixels", SMALL_PAGE, [WHOLE_CACHE]),
                "pyignite_put_1mb": put(client, large_puts, "1mb", rows.LARGE_BYTES, rows.LARGE_BATCH),
                "pyignite_put_small": put(client, small_puts, "small", rows.SMALL_BYTES, SMALL_PAGE),
                "pyignite_put_small_table": put(client, orders, "small_table", TABLE_BYTES, SMALL_PAGE),
            }
        )


if __name__ == "__main__":
    main()
