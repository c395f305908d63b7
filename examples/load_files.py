"""Files as people have them, and the result of a database, become caches: what a load makes of each, and what it says.

    tensorflow-ignite node &
    python load_files.py                 # asks localhost:10820; or TENSORFLOW_IGNITE_ADDRESS=HOST:PORT

Prints the columns of each cache. The caches "prices", "places", "clicks" and "orders" are made anew each time.
"""

import json
import logging
import sqlite3
import tempfile
from pathlib import Path

import tensorflow_ignite as tfi


def show(cache: str) -> None:
    """Prints a cache as it is now."""
    rows = tfi.read_table(cache, key=True).sort_by("_key").drop_columns("_key")
    print(f"{cache}: {', '.join(f'{field.name} {field.type}' for field in rows.schema)}")
    for row in rows.to_pylist():
        print(f"  {row}")


def main() -> None:
    """Loads one file of each kind."""
    # What a load has to say of a column comes as a warning.
    logging.basicConfig(format="  %(message)s")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        # As Excel writes it in much of Europe: semicolons, decimal commas, and an encoding that is not UTF-8.
        path = folder / "preise.csv"
        path.write_text("Artikel;Preis;Menge\nÄpfel;12,50;3\nBirnen;1,5;-\n", encoding="cp1252")
        try:
            tfi.load("prices", path, if_exists="replace")
        except tfi.errors.InvalidRequestError as error:
            print(f"refused: {str(error).partition(': ')[2].partition('.')[0]}")
        csv = {"delimiter": ";", "decimal_point": ",", "encoding": "cp1252", "null_values": ["", "-"]}
        tfi.load("prices", path, csv=csv, if_exists="replace")
        show("prices")

        # As pandas and R write it: the labels of rows have no name, and names may have dots. A code is no number.
        path = folder / "places.csv"
        path.write_text('"","place.name","zip"\n"r1","Adams","01220"\n"r2","Troy","12180"\n')
        tfi.load("places", path, if_exists="replace")
        tfi.load("places", path, schema={"zip": "string"}, if_exists="replace")
        show("places")

        # One JSON object in a line; nested objects and lists stay what they are.
        path = folder / "clicks.jsonl"
        clicks = [{"user": 1, "at": {"x": 3, "y": 4}, "tags": ["a"]}, {"user": 2, "at": {"x": 0, "y": 1}, "tags": []}]
        path.write_text("".join(json.dumps(click) + "\n" for click in clicks))
        tfi.load("clicks", path, if_exists="replace")
        show("clicks")

        # The result of a query of any database with Python's DB-API, or with ADBC.
        with sqlite3.connect(folder / "shop.db") as shop:
            shop.execute("CREATE TABLE orders (id INTEGER, item TEXT, price REAL)")
            shop.executemany("INSERT INTO orders VALUES (?, ?, ?)", [(1, "apple", 0.5), (2, "pear", 0.75)])
            tfi.load("orders", shop.execute("SELECT * FROM orders ORDER BY id"), key="id", if_exists="replace")
        shop.close()
        show("orders")


if __name__ == "__main__":
    main()
