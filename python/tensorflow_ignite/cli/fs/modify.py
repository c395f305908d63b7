"""``fs mv`` and ``fs rm``: each change is atomic, also of a directory with all that is in it."""

from __future__ import annotations

from typing import Annotated

import typer

from tensorflow_ignite.cli.errors import CommandLineError
from tensorflow_ignite.cli.fs.completion import path_argument
from tensorflow_ignite.cli.options import Address, Json
from tensorflow_ignite.cli.render import count, escaped, print_json, size


def mv(
    context: typer.Context,
    paths: Annotated[list[str], path_argument("Sources, then the target: paths of the cluster; patterns in quotes.")],
    address: Address = None,
    json_output: Json = False,
) -> None:
    """Rename files and directories in the cluster, or move them into a directory.

    Each move is atomic, also the move of a large directory. A file replaces a
    file, a directory only an empty directory.

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
    from tensorflow_ignite.cli.fs.arguments import Locations
    from tensorflow_ignite.cli.fs.plan import is_directory_target

    locations = Locations(context, address)
    outside = [text for text in paths if text.partition(":")[0].lower() != "ignite"]
    if outside:
        raise CommandLineError(
            f"{outside[0]!r} is no path of the cluster. `fs mv` renames inside the cluster. "
            "Copy between the cluster and elsewhere with fs cp, then remove the source."
        )
    sources, target = locations.expand(paths[:-1]), locations.parse(paths[-1])
    for source in sources:
        if source.filesystem_id != target.filesystem_id:
            raise CommandLineError(
                f"{source.url} and {target.url} are of two clusters. `fs mv` renames inside one. "
                "Copy with fs cp, then remove the source."
            )
        # All of them, before the first is moved.
        source.files.stat(source.path)
    into = is_directory_target(sources, target)
    if into and target.find() is None:
        target.make_directory()
    moved = []
    for source in sources:
        renamed = target.child(source.name) if into else target
        target.files.rename(source.path, renamed.path)
        moved.append({"source": source.url, "target": renamed.url})
        if not json_output:
            print(f"moved {escaped(source.url)} to {escaped(renamed.url)}")
    if json_output:
        print_json(moved)


def rm(
    context: typer.Context,
    paths: Annotated[list[str], path_argument("Paths of the cluster; patterns in quotes.")],
    recursive: Annotated[
        bool, typer.Option("--recursive", "-r", "-R", help="Remove directories with all that is in them.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", "-f", help="A path that does not exist is no error.")] = False,
    address: Address = None,
    json_output: Json = False,
) -> None:
    """Remove files and directories from the cluster, and print what was removed.

    \b
    Examples:
      tensorflow-ignite fs rm ignite:///data/old.csv
      tensorflow-ignite fs rm -r ignite:///jobs/7f3a 'ignite:///tmp/*'
    """
    from tensorflow_ignite.cli.fs.arguments import Locations
    from tensorflow_ignite.errors import StoredFileNotFoundError, StoredIsADirectoryError
    from tensorflow_ignite.storage.paths import is_in

    locations = Locations(context, address)
    chosen = []
    # Every path is checked before the first is removed.
    for text in paths:
        try:
            for path in locations.in_cluster([text], command="rm"):
                info = path.files.stat(path.path)
                if info.kind == "directory" and not recursive:
                    raise StoredIsADirectoryError(
                        f"{path.url} is a directory. Directories are removed only with -r. Add -r."
                    )
                chosen.append((path, info))
        except StoredFileNotFoundError:
            if not force:
                raise
    removed = []
    gone: dict[object, set[str]] = {}
    for path, info in chosen:
        before = gone.setdefault(path.filesystem_id, set())
        if is_in(path.path, before):
            continue
        before.add(path.path)
        files, folders, total, within = 1, 0, info.bytes, ""
        if info.kind == "directory":
            usage = path.files.usage(path.path)
            files, folders, total = usage.files, usage.directories + 1, usage.bytes
            within = f"{count(files, 'file')}, {count(folders, 'directory')}, "
        path.files.remove(path.path, recursive=recursive, kind=info.kind)
        removed.append({"path": path.url, "kind": info.kind, "files": files, "directories": folders, "bytes": total})
        if not json_output:
            print(f"removed {escaped(path.url)} ({within}{size(total)})")
    if json_output:
        print_json(removed)
