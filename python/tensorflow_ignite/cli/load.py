"""``load``: loads files into a cache, as rows."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer

from tensorflow_ignite.cli.credentials import address_of, resolve_credentials
from tensorflow_ignite.cli.errors import CommandLineError
from tensorflow_ignite.cli.options import Address, Json, complete_cache, one_of, option
from tensorflow_ignite.cli.render import count, escaped, print_json

_IF_EXISTS = ("error", "replace", "append")
# Short names of options of pyarrow.csv.
_CSV = {
    "delimiter": "delimiter",
    "quote": "quote_char",
    "escape": "escape_char",
    "decimal": "decimal_point",
    "encoding": "encoding",
    "nulls": "null_values",
    "header": "autogenerate_column_names",
    "names": "column_names",
    "skip": "skip_rows",
    "block": "block_size",
}


def load(
    context: typer.Context,
    cache: Annotated[
        str,
        typer.Argument(metavar="CACHE", help="Name of the cache.", show_default=False, autocompletion=complete_cache),
    ],
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            help="Files of one format (.csv, .tsv, .parquet, .arrow, .feather, .json, .jsonl, .npz, .tfrecord), "
            "folders, patterns, or URLs.",
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
    csv: Annotated[
        list[str] | None,
        option(
            "--csv",
            "NAME=VALUE",
            f"How CSV files are written: {', '.join(_CSV)}. The values of nulls and names are lists with commas.",
        ),
    ] = None,
    no_sql: Annotated[bool, typer.Option("--no-sql", help="SQL does not know the cache; it loads faster.")] = False,
    address: Address = None,
    json_output: Json = False,
) -> None:
    """Load files into a cache, which is made if it does not exist: all their rows or, into a new cache, none.

    With --if-exists replace, the old cache is removed first: it is gone if the load fails.

    \b
    Examples:
      tensorflow-ignite load images train.npz --backups 1
      tensorflow-ignite load trips 'trips/*.parquet' --key id --affinity driver
      tensorflow-ignite load prices prices.csv --if-exists append --json
      tensorflow-ignite load prices prices.csv --schema price=float32
      tensorflow-ignite load preise preise.csv \\
        --csv delimiter=';' decimal=, encoding=cp1252 nulls=NA,-
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
    files, options = _csv_options(files, csv)
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
    rows = open_input(files, types or None, csv=options)
    node = resolve.node(address_of(context, address))
    credentials = resolve_credentials(context, (node,))
    before = signal.signal(signal.SIGINT, _interrupt)
    try:
        with Meter(cache) as meter:
            done = load_rows(command, rows, address=node, progress=meter.show, credentials=credentials)
    finally:
        signal.signal(signal.SIGINT, before)
    columns = {field.name: str(field.type) for field in done.schema}
    if json_output:
        figures = {"rows": done.rows, "bytes": done.bytes, "seconds": round(done.seconds, 3)}
        print_json({"cache": cache, **figures, "columns": columns, "notes": done.notes})
        return
    speed = done.bytes / 1e6 / max(done.seconds, 1e-9)
    print(
        f"loaded {count(done.rows, 'row')} into cache {cache}: {done.bytes / 1e6:,.1f} MB in {done.seconds:.1f} s, "
        f"{speed:,.0f} MB/s"
    )
    width = max(map(len, columns))
    for name, kind in columns.items():
        print(f"  {escaped(name):<{width}}  {kind}")
    for name, note in done.notes.items():
        print(f"note: column {escaped(name)} {escaped(note)}")


def _csv_options(files: list[str], settings: list[str] | None) -> tuple[list[str], dict[str, Any]]:
    """The files, and options of pyarrow.csv: from `--csv`, and from the words after it that are no files."""
    if not settings:
        return files, {}
    # A shell takes `--csv delimiter=; decimal=,` apart: the second setting stands among the files.
    more = [word for word in files if word.partition("=")[0] in _CSV and "=" in word and not Path(word).exists()]
    options: dict[str, Any] = {}
    for setting in (*settings, *more):
        name, equals, value = setting.partition("=")
        if not equals or name not in _CSV:
            raise CommandLineError(
                f"--csv {setting!r} is not NAME=VALUE with one of the names {', '.join(_CSV)}. For example: "
                "--csv delimiter=';'"
            )
        options[_CSV[name]] = _csv_value(name, value)
    return [word for word in files if word not in more], options


def _csv_value(name: str, value: str) -> Any:
    if name == "header":
        if value not in ("yes", "no"):
            raise CommandLineError(f"--csv header={value} is neither yes nor no. Without names in its first line: no.")
        return value == "no"
    if name in ("skip", "block"):
        if not value.isdecimal():
            raise CommandLineError(f"--csv {name}={value} is no number. For example: --csv skip=2 block=8000000")
        return int(value)
    if name in ("quote", "escape") and not value:
        return False
    if name == "names":
        return value.split(",")
    if name == "nulls":
        # Fields without a text are null, too.
        return ["", *value.split(",")]
    return "\t" if value == "\\t" else value


def _parse_type(item: str) -> tuple[str, str]:
    name, equals, kind = item.rpartition("=")
    if not equals or not name or not kind:
        raise CommandLineError(f"--schema {item!r} is not COLUMN=TYPE. For example: --schema price=float32")
    return name, kind


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Says at once that the interrupt has arrived: the node needs some seconds to end the load."""
    print("interrupted: the node ends the load, and removes the cache if it is new", file=sys.stderr, flush=True)
    signal.default_int_handler(number, frame)
