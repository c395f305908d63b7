"""``load``: loads files into a cache, as rows."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from tensorflow_ignite.cli.credentials import address_of, resolve_credentials
from tensorflow_ignite.cli.errors import CommandLineError
from tensorflow_ignite.cli.options import Address, Json, complete_cache, one_of, option
from tensorflow_ignite.cli.render import count, print_json

_IF_EXISTS = ("error", "replace", "append")


def load(
    context: typer.Context,
    cache: Annotated[
        str,
        typer.Argument(metavar="CACHE", help="Name of the cache.", show_default=False, autocompletion=complete_cache),
    ],
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="Files of one format (.npz, .csv, .parquet, .arrow, .feather), folders of them, or patterns.",
            show_default=False,
        ),
    ],
    key: Annotated[str | None, option("--key", "COLUMN", "The column of the keys; else rows are numbered.")] = None,
    affinity: Annotated[
        str | None, option("--affinity", "COLUMN", "Keep rows with the same value of it in one partition; needs --key.")
    ] = None,
    backups: Annotated[int, option("--backups", "NUMBER", "Copies of each partition on other nodes.")] = 0,
    partitions: Annotated[
        int | None, option("--partitions", "NUMBER", "Partitions; else Ignite's default, 1,024.")
    ] = None,
    replicated: Annotated[bool, typer.Option("--replicated", help="Keep every row on every node.")] = False,
    if_exists: Annotated[
        str,
        option(
            "--if-exists", "WHAT", f"When the cache exists: {', '.join(_IF_EXISTS)}.", autocompletion=one_of(_IF_EXISTS)
        ),
    ] = _IF_EXISTS[0],
    schema: Annotated[
        list[str] | None,
        option("--schema", "COLUMN=TYPE", "The type of a column, such as float32, string, timestamp[ms]; repeatable."),
    ] = None,
    no_sql: Annotated[bool, typer.Option("--no-sql", help="SQL does not know the cache; it loads faster.")] = False,
    address: Address = None,
    json_output: Json = False,
) -> None:
    """Load files into a cache, which is made if it does not exist: all their rows or, into a new cache, none.

    \b
    Examples:
      tensorflow-ignite load images train.npz --backups 1
      tensorflow-ignite load trips 'trips/*.parquet' --key id --affinity driver
      tensorflow-ignite load prices prices.csv --if-exists append --json
      tensorflow-ignite load prices prices.csv --schema price=float32
    """
    if if_exists not in _IF_EXISTS:
        raise CommandLineError(
            f"--if-exists {if_exists!r} does not exist. Choices are {', '.join(_IF_EXISTS)}. Name one of them."
        )
    if affinity is not None and key in (None, affinity):
        raise CommandLineError(
            f"--affinity {affinity} needs --key with another column. A key is made of both columns, and each row "
            "needs its own key. Add --key COLUMN."
        )
    if backups < 0 or (partitions is not None and partitions < 1):
        raise CommandLineError(
            f"--backups {backups} must be at least 0, --partitions {partitions} at least 1. Use such numbers."
        )
    types = dict(map(_parse_type, schema or []))
    # gRPC's own lines on stderr would stand between our errors.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    from tensorflow_ignite.data.loading.inputs import open_input
    from tensorflow_ignite.data.loading.load import EXISTING, load_rows
    from tensorflow_ignite.data.loading.meter import Meter
    from tensorflow_ignite.net import resolve
    from tensorflow_ignite.v1 import data_pb2

    command = data_pb2.LoadCommand(
        cache=cache,
        key_column=key or "",
        affinity_column=affinity or "",
        backups=backups,
        replicated=replicated,
        partitions=partitions or 0,
        existing=EXISTING[if_exists],
        without_sql=no_sql,
    )
    rows = open_input(files, types or None)
    node = resolve.node(address_of(context, address))
    credentials = resolve_credentials(context, (node,))
    before = signal.signal(signal.SIGINT, _interrupt)
    try:
        with Meter(cache) as meter:
            done = load_rows(command, rows, address=node, progress=meter.show, credentials=credentials)
    finally:
        signal.signal(signal.SIGINT, before)
    if json_output:
        print_json({"cache": cache, "rows": done.rows, "bytes": done.bytes, "seconds": round(done.seconds, 3)})
        return
    speed = done.bytes / 1e6 / max(done.seconds, 1e-9)
    print(
        f"loaded {count(done.rows, 'row')} into cache {cache}: {done.bytes / 1e6:,.1f} MB in {done.seconds:.1f} s, "
        f"{speed:,.0f} MB/s"
    )


def _parse_type(item: str) -> tuple[str, str]:
    name, equals, kind = item.rpartition("=")
    if not equals or not name or not kind:
        raise CommandLineError(f"--schema {item!r} is not COLUMN=TYPE. For example: --schema price=float32")
    return name, kind


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Says at once that the interrupt has arrived: the node needs some seconds to end the load."""
    print("interrupted: the node ends the load, and removes the cache if it is new", file=sys.stderr, flush=True)
    signal.default_int_handler(number, frame)
