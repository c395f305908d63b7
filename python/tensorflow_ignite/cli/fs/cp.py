"""``fs cp``: files into the cluster, out of it, and inside it."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from tensorflow_ignite.cli.errors import CommandLineError
from tensorflow_ignite.cli.fs.completion import path_argument
from tensorflow_ignite.cli.options import Address, Json
from tensorflow_ignite.cli.render import count, print_json, size


def cp(
    context: typer.Context,
    paths: Annotated[
        list[str],
        path_argument("Sources, then the target: paths of the cluster, of this machine, or URLs; patterns in quotes."),
    ],
    recursive: Annotated[
        bool, typer.Option("--recursive", "-r", "-R", help="Copy directories with all that is in them.")
    ] = False,
    parallel: Annotated[int, typer.Option("--parallel", metavar="NUMBER", help="How many files to copy at once.")] = 8,
    address: Address = None,
    json_output: Json = False,
) -> None:
    """Copy files into the cluster, out of it, or inside it.

    A target that is a directory, or ends with a slash, takes the sources under
    their names; any other becomes the copy of the one source. Directories that
    are missing are made. A file appears whole at its end, or not at all, and
    replaces the file that was there.

    \b
    Examples:
      tensorflow-ignite fs cp train.csv ignite:///data/
      tensorflow-ignite fs cp -r model/ ignite:///models/digits
      tensorflow-ignite fs cp 'ignite:///jobs/7f3a*/logs/*/*.log' .
      tensorflow-ignite fs cp -r s3://bucket/images ignite:///images
      tar c photos | tensorflow-ignite fs cp /dev/stdin ignite:///photos.tar
    """
    if len(paths) < 2:
        raise CommandLineError(
            f"cp {paths[0]!r} has no target. It copies one or more sources to a target. "
            f"For example: tensorflow-ignite fs cp {paths[0]} ignite:///data/"
        )
    if parallel < 1:
        raise CommandLineError(f"--parallel {parallel} is too few. At least 1 file is copied at a time. Use 1 or more.")
    from tensorflow_ignite.cli.fs.arguments import Locations
    from tensorflow_ignite.cli.fs.plan import plan_copy
    from tensorflow_ignite.cli.fs.transfer import Meter, transfer

    begin = time.monotonic()
    locations = Locations(context, address)
    plan = plan_copy(locations.expand(paths[:-1]), locations.parse(paths[-1]), recursive=recursive)
    try:
        with Meter("copying", len(plan.files), plan.bytes) as meter:
            transfer(plan, parallel, meter)
    except KeyboardInterrupt:
        raise typer.Abort from None  # some versions of typer would say nothing
    seconds = time.monotonic() - begin
    if json_output:
        made = {"files": len(plan.files), "directories": len(plan.directories)}
        print_json({**made, "bytes": meter.bytes, "seconds": round(seconds, 3)})
        return
    speed = size(int(meter.bytes / max(seconds, 1e-9)))
    made_text = f" and {count(len(plan.directories), 'directory')}" if plan.directories else ""
    print(f"copied {count(len(plan.files), 'file')}{made_text}: {size(meter.bytes)} in {seconds:.1f} s, {speed}/s")
