"""``fs cat``: what is in files of the cluster."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from tensorflow_ignite.cli.fs.completion import complete_path
from tensorflow_ignite.cli.options import Address

__all__ = ["cat"]


def cat(
    context: typer.Context,
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH",
            help="Files of the cluster; patterns in quotes.",
            show_default=False,
            autocompletion=complete_path,
        ),
    ],
    address: Address = None,
) -> None:
    """Write files of the cluster to standard output, one behind the other.

    \b
    Examples:
      tensorflow-ignite fs cat ignite:///data/train.csv | head
      tensorflow-ignite fs cat 'ignite:///data/part-*.csv' > all.csv
    """
    from tensorflow_ignite.cli.fs.places import Places

    for path in Places(context, address).in_cluster(paths, command="cat"):
        with path.store.reading(path.path) as pieces:
            for piece in pieces:
                # Where Python's output is not buffered, a pipe takes a part.
                rest = memoryview(piece)
                while rest:
                    rest = rest[sys.stdout.buffer.write(rest) :]
    sys.stdout.buffer.flush()
