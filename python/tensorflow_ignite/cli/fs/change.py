"""``fs mv`` and ``fs rm``: each change is one step, for a directory with all that is in it too."""

from __future__ import annotations

from typing import Annotated

import typer

from tensorflow_ignite.cli.fs.completion import complete_path
from tensorflow_ignite.cli.fs.text import directories, shown, size
from tensorflow_ignite.cli.options import Address, CommandLineError, Json
from tensorflow_ignite.cli.render import count, print_json

__all__ = ["mv", "rm"]


def mv(
    context: typer.Context,
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH",
            help="Sources, then the target: paths of the cluster; patterns in quotes.",
            show_default=False,
            autocompletion=complete_path,
        ),
    ],
    address: Address = None,
    json_output: Json = False,
) -> None:
    """Rename files and directories in the cluster, or move them into a directory.

    Each is one step, however much is in it. A file replaces a file, a directory
    only an empty one.

    \b
    Examples:
      tensorflow-ignite fs mv ignite:///new ignite:///models/digits
      tensorflow-ignite fs mv 'ignite:///tmp/*.tfrecord' ignite:///data/
    """
    if len(paths) < 2:
        raise CommandLineError(
            f"mv {paths[0]!r} has no target. It moves one or more sources to a target. "
            f"For example: tensorflow-ignite fs mv {paths[0]} ignite:///other"
        )
    from tensorflow_ignite.cli.fs.places import Places
    from tensorflow_ignite.cli.fs.plan import directory_for
    from tensorflow_ignite.cli.fs.stores import ClusterStore

    places = Places(context, address)
    outside = [text for text in paths if not text.startswith("ignite:")]
    if outside:
        raise CommandLineError(
            f"{outside[0]!r} is no path of the cluster. `fs mv` renames inside the cluster. "
            "Copy between the cluster and elsewhere with fs cp, then remove the source."
        )
    sources, target = places.all(paths[:-1]), places.of(paths[-1])
    for source in sources:
        if source.store.identity != target.store.identity:
            raise CommandLineError(
                f"{source.url} and {target.url} are of two clusters. `fs mv` renames inside one. "
                "Copy with fs cp, then remove the source."
            )
        # All of them, before the first is moved.
        assert isinstance(source.store, ClusterStore)
        source.store.files.stat(source.path)
    assert isinstance(target.store, ClusterStore)
    into = directory_for(sources, target)
    if into and target.find() is None:
        target.store.make_directory(target.path)
    moved = []
    for source in sources:
        path = target.store.join(target.path, source.store.name(source.path)) if into else target.path
        target.store.files.rename(source.path, path)
        moved.append({"source": source.url, "target": target.store.url(path)})
        if not json_output:
            print(f"moved {shown(source.url)} to {shown(target.store.url(path))}")
    if json_output:
        print_json(moved)


def rm(
    context: typer.Context,
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH",
            help="Paths of the cluster; patterns in quotes.",
            show_default=False,
            autocompletion=complete_path,
        ),
    ],
    recursive: Annotated[
        bool, typer.Option("--recursive", "-r", "-R", help="Remove directories with all that is in them.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", "-f", help="What does not exist is no error.")] = False,
    address: Address = None,
    json_output: Json = False,
) -> None:
    """Remove files and directories from the cluster, and say what was removed.

    \b
    Examples:
      tensorflow-ignite fs rm ignite:///data/old.csv
      tensorflow-ignite fs rm -r ignite:///jobs/7f3a 'ignite:///tmp/*'
    """
    from tensorflow_ignite.cli.fs.places import Places
    from tensorflow_ignite.errors import StoredFileNotFoundError, StoredIsADirectoryError

    places = Places(context, address)
    chosen = []
    # Everything is looked at before the first is removed.
    for text in paths:
        try:
            for path in places.in_cluster([text], command="rm"):
                info = path.stat()
                if info.kind == "directory" and not recursive:
                    raise StoredIsADirectoryError(
                        f"{path.url} is a directory. Directories are removed only when that is asked for. Add -r."
                    )
                chosen.append((path, info))
        except StoredFileNotFoundError:
            if not force:
                raise
    removed = []
    for path, info in chosen:
        files, folders, total, within = 1, 0, info.bytes, ""
        if info.kind == "directory":
            usage = path.store.files.usage(path.path)
            files, folders, total = usage.files, usage.directories + 1, usage.bytes
            within = f"{count(files, 'file')}, {directories(folders)}, "
        path.store.files.remove(path.path, recursive=recursive, kind=info.kind)
        removed.append({"path": path.url, "kind": info.kind, "files": files, "directories": folders, "bytes": total})
        if not json_output:
            print(f"removed {shown(path.url)} ({within}{size(total)})")
    if json_output:
        print_json(removed)
