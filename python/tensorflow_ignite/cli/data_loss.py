"""``accept-data-loss``: makes the remaining rows of a cache the whole cache."""

from __future__ import annotations

from typing import Annotated

import typer

from tensorflow_ignite.cli.options import Address, Json, complete_cache, session
from tensorflow_ignite.cli.render import count, print_json


def accept_data_loss(
    context: typer.Context,
    cache: Annotated[
        str,
        typer.Argument(metavar="CACHE", help="Name of the cache.", show_default=False, autocompletion=complete_cache),
    ],
    address: Address = None,
    json_output: Json = False,
) -> None:
    """Accept that partitions of a cache have lost all their copies: the remaining rows are the whole cache from now on.

    If Ignite itself refuses to read them (on disk, or by a loss policy), this holds for all caches of its group.

    \b
    Examples:
      tensorflow-ignite accept-data-loss images
    """
    with session(context, address) as client:
        partitions = client.accept_data_loss(cache)
    if json_output:
        print_json({"cache": cache, "partitions": list(partitions)})
    elif partitions:
        print(
            f"accepted: cache {cache} has lost {count(len(partitions), 'partition')}; its remaining rows are "
            "the whole cache from now on"
        )
    else:
        print(f"cache {cache} has lost nothing")
