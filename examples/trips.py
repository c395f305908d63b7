"""Rows of a cache without any job: load them, choose some inside the cluster, and see what they become.

    tensorflow-ignite node &
    python trips.py                      # asks localhost:10820; or TENSORFLOW_IGNITE_ADDRESS=HOST:PORT

Prints what each step reads. The cache "trips" is made anew each time.
"""

import datetime
import decimal

import numpy as np
import pyarrow as pa
import tensorflow as tf

import tensorflow_ignite as tfi

ROWS = 1_000


def made_up_trips() -> pa.Table:
    """Trips with a text, an amount of money, a time, a list that differs in length, and nulls in one column."""
    numbers = np.arange(ROWS)
    begin = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
    return pa.table(
        {
            "id": pa.array(numbers),
            "driver": pa.array([f"driver {number % 7}" for number in numbers]),
            "fare": pa.array([decimal.Decimal(int(number)) / 4 for number in numbers], pa.decimal128(10, 2)),
            "at": pa.array([begin + datetime.timedelta(minutes=int(number)) for number in numbers]),
            "stops": pa.array([list(range(number % 3)) for number in numbers], pa.list_(pa.int32())),
            "rating": pa.array([None if number % 5 == 0 else number % 6 for number in numbers], pa.int32()),
            "picture": pa.array([bytes([number % 256]) * 16 for number in numbers], pa.binary()),
        }
    )


def main() -> None:
    """Does what docs/data.md describes."""
    # Rows of one driver share a partition; "id" and "driver" together are the key, and both stay columns.
    loaded = tfi.load("trips", made_up_trips(), key="id", affinity="driver", if_exists="replace")
    print(f"loaded {loaded} rows")

    # Whole batches are cut in C++. A null is an error unless one says what becomes of it.
    trips = tfi.dataset("trips", nulls="mask", schema={"picture": tf.TensorSpec([4, 4], tf.uint8)})
    for name, spec in trips.element_spec.items():
        print(f"  {name}: {spec}")
    print("rows in batches:", [int(batch["id"].shape[0]) for batch in trips.batch(300)])

    # Chosen inside the cluster, with bound parameters, before anything is copied.
    dear = tfi.dataset("trips", columns=["fare"], where="fare >= ? AND driver = ?", parameters=[200, "driver 3"])
    fares = np.concatenate([batch["fare"].numpy() for batch in dear.batch(64)])
    print(f"{len(fares)} trips of driver 3 cost 200 or more, {fares.mean():.2f} on average")
    twice = tfi.dataset("trips", sql="SELECT id, fare * 2 AS twice FROM Trips WHERE id < ?", parameters=[3])
    print("twice:", sorted(float(row["twice"]) for row in twice))

    # The same order for the same seed, another one in each epoch.
    shuffled = tfi.dataset("trips", columns=["id"], shuffle=True, seed=7)
    epochs = [[int(row["id"]) for row in shuffled.take(4)] for _ in range(2)]
    print("two epochs begin with", *epochs)

    # Exact types and nulls, as an Arrow table.
    table = tfi.read_table("trips", columns=["fare", "rating"])
    unrated, money = table["rating"].null_count, table.schema.field("fare").type
    print(f"{table.num_rows} rows, {unrated} without a rating; fares are {money}")


if __name__ == "__main__":
    main()
