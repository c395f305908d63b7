"""``fs cat``: writes files of the cluster to standard output."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from tensorflow_ignite.cli.fs.completion import path_argument
from tensorflow_ignite.cli.options import Address


def cat(
    context: typer.Context,
    paths: Annotated[list[str], path_argument("Files of the cluster; patterns in quotes.")],
    address: Address = None,
) -> None:
    """Write files of the cluster to standard output, one after the other.

    \b
    Examples:
      tensorflow-ignite fs cat ignite:///data/train.csv | head
      tensorflow-ignite fs cat 'ignite:///data/part-*.csv' > all.csv
    """
    from tensorflow_ignite.cli.fs.arguments import Locations
    from tensorflow_ignite.cli.fs.local import UnbufferedFile

    with UnbufferedFile(sys.stdout.fileno(), "w", closefd=False) as output:
        for location in Locations(context, address).in_cluster(paths, command="cat"):
            with location.read() as pieces:
                for piece in pieces:
                    output.write(piece)
