"""DuckDB and polars read a cache: whatever takes Arrow can, through any node's port, without this project's package.

    pip install duckdb polars
    tensorflow-ignite node &
    python flight_clients.py             # asks localhost:10820; or TENSORFLOW_IGNITE_ADDRESS=HOST:PORT

Prints what each of them makes of the rows. The cache "readings" is made anew each time.
"""

import os
from collections.abc import Iterator

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
from pyarrow import flight

import tensorflow_ignite as tfi

ROWS = 10_000
ADDRESS = os.environ.get("TENSORFLOW_IGNITE_ADDRESS", "localhost:10820").split(",")[0]


def rows_of(cache: str) -> pa.RecordBatchReader:
    """The rows of a cache, as they come from the nodes that own them."""
    with flight.connect(f"grpc://{ADDRESS}") as client:
        info = client.get_flight_info(flight.FlightDescriptor.for_path(cache))

    def batches() -> Iterator[pa.RecordBatch]:
        for part in info.endpoints:
            with flight.connect(part.locations[0]) as owner:
                yield from owner.do_get(part.ticket).to_reader()

    return pa.RecordBatchReader.from_batches(info.schema, batches())


def main() -> None:
    """Loads rows, and asks two programs for the same of them."""
    numbers = np.arange(ROWS)
    columns = {"sensor": numbers % 4, "celsius": numbers % 100 / 2}
    tfi.load("readings", columns, if_exists="replace")

    # Batch after batch: the rows need not fit into memory.
    readings = duckdb.from_arrow(rows_of("readings"))
    means = readings.query("readings", "SELECT sensor, avg(celsius) FROM readings GROUP BY sensor ORDER BY sensor")
    print("DuckDB:", means.fetchall())

    table = pl.from_arrow(rows_of("readings").read_all())
    print("polars:", table.group_by("sensor").agg(pl.col("celsius").mean()).sort("sensor").rows())


if __name__ == "__main__":
    main()
