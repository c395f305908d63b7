"""``fs``: the files inside the cluster, from a shell."""

from __future__ import annotations

from collections.abc import Callable

import typer

from tensorflow_ignite.cli.fs import cat, check, cp, listing, modify

app = typer.Typer(no_args_is_help=True)


@app.callback()
def fs() -> None:
    """List, copy, move, remove and check files inside the cluster.

    A path of the cluster is ignite:///path, or ignite://HOST:PORT/path for
    a certain cluster. For cp, any other argument is a file of this machine,
    or a URL of another file system that fsspec knows (s3://, gs://, memory://).
    Patterns (*, ?, **) in quotes choose many files.

    \b
    Examples:
      tensorflow-ignite fs ls -l
      tensorflow-ignite fs cp -r model/ ignite:///models/digits
      tensorflow-ignite fs cat 'ignite:///jobs/7f3a*/logs/*/worker-0.0.log' | tail
      tensorflow-ignite fs rm -r 'ignite:///jobs/*/checkpoints'
      tensorflow-ignite fs check
    """


_COMMANDS: tuple[Callable[..., None], ...] = (
    listing.ls,
    cp.cp,
    modify.mv,
    modify.rm,
    cat.cat,
    listing.du,
    listing.stat,
    check.check,
)
for _command in _COMMANDS:
    app.command()(_command)
