"""``fs ls``, ``fs stat`` and ``fs du``: what files and directories exist, and their sizes and times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tensorflow_ignite.cli.fs.completion import path_argument
from tensorflow_ignite.cli.options import Address, Json
from tensorflow_ignite.cli.render import count, escaped, local_time, paint, print_json, size, utc_time

if TYPE_CHECKING:
    from tensorflow_ignite.cli.fs.location import Location
    from tensorflow_ignite.storage.info import FileInfo

_ROOT = "ignite:///"
Paths = Annotated[list[str] | None, path_argument("Paths of the cluster, its root when left out; patterns in quotes.")]
Exact = Annotated[bool, typer.Option("--bytes", "-b", help="Sizes as numbers of bytes.")]


def ls(
    context: typer.Context,
    paths: Paths = None,
    long: Annotated[bool, typer.Option("--long", "-l", help="Sizes and times too.")] = False,
    recursive: Annotated[
        bool, typer.Option("--recursive", "-r", "-R", help="Also the contents of the directories, at any depth.")
    ] = False,
    directory: Annotated[bool, typer.Option("--directory", "-d", help="Directories, not their contents.")] = False,
    exact: Exact = False,
    address: Address = None,
    json_output: Json = False,
) -> None:
    """List files of the cluster: the entries of directories, by name.

    \b
    Examples:
      tensorflow-ignite fs ls
      tensorflow-ignite fs ls -l ignite:///jobs/7f3a/checkpoints
      tensorflow-ignite fs ls -d 'ignite:///jobs/*/checkpoints'
      tensorflow-ignite fs ls -r --json ignite:///models | jq -r '.[].path'
    """
    chosen = _chosen(context, paths, address, "ls")
    found = [(path, path.files.stat(path.path)) for path in chosen]
    single = [(path, info) for path, info in found if directory or info.kind == "file"]
    listed = [path for path, info in found if not directory and info.kind == "directory"]
    if json_output:
        lines = [_as_dict(path, info) for path, info in single]
        for path in listed:
            lines += [_as_dict(path, info) for info in _entries(path, recursive)]
        print_json(lines)
        return
    _print([(path.url, info) for path, info in single], long, exact)
    for number, path in enumerate(listed):
        if len(found) > 1:
            print(("\n" if single or number else "") + f"{escaped(path.url)}:")
        below = "/" if path.path == "/" else path.path + "/"
        _print([(info.path.removeprefix(below), info) for info in _entries(path, recursive)], long, exact)


def stat(
    context: typer.Context,
    paths: Annotated[list[str], path_argument("Paths of the cluster; patterns in quotes.")],
    address: Address = None,
    json_output: Json = False,
) -> None:
    """Show kind, size and times of files and directories of the cluster.

    \b
    Examples:
      tensorflow-ignite fs stat ignite:///models/digits.keras
      tensorflow-ignite fs stat --json 'ignite:///data/*' | jq '.[].bytes'
    """
    found = [(path, path.files.stat(path.path)) for path in _chosen(context, paths, address, "stat")]
    if json_output:
        print_json([_as_dict(path, info) for path, info in found])
        return
    for number, (path, info) in enumerate(found):
        if number:
            print()
        print(paint(escaped(path.url), "bold"))
        for name, value in _facts(info):
            print(f"  {name + ':':<12}{value}")


def du(
    context: typer.Context,
    paths: Paths = None,
    exact: Exact = False,
    address: Address = None,
    json_output: Json = False,
) -> None:
    """Add up the files of the cluster below each path: their bytes, without copies on other nodes.

    \b
    Examples:
      tensorflow-ignite fs du
      tensorflow-ignite fs du 'ignite:///jobs/*'
    """
    chosen = _chosen(context, paths, address, "du")
    found = [(path, path.files.usage(path.path)) for path in chosen]
    if json_output:
        print_json(
            [
                {"path": path.url, "bytes": usage.bytes, "files": usage.files, "directories": usage.directories}
                for path, usage in found
            ]
        )
        return
    rows = [
        [
            _size(usage.bytes, exact),
            count(usage.files, "file"),
            count(usage.directories, "directory"),
            escaped(path.url),
        ]
        for path, usage in found
    ]
    for line in _aligned(rows):
        print(line)


def _chosen(context: typer.Context, paths: Sequence[str] | None, address: str | None, command: str) -> list[Location]:
    from tensorflow_ignite.cli.fs.arguments import Locations

    return Locations(context, address).in_cluster(paths or [_ROOT], command=command)


def _entries(path: Location, recursive: bool) -> Iterator[FileInfo]:
    """A directory's entries; recursively, each directory is followed by its own, however deep they are nested."""
    listed = [iter(path.files.list(path.path))]
    while listed:
        for info in listed[-1]:
            yield info
            if recursive and info.kind == "directory":
                listed.append(iter(path.files.list(info.path)))
                break
        else:
            listed.pop()


def _print(named: Sequence[tuple[str, FileInfo]], long: bool, exact: bool) -> None:
    names = [escaped(name) for name, _ in named]
    texts = [
        paint(f"{name.rstrip('/')}/", "blue") if info.kind == "directory" else name
        for name, (_, info) in zip(names, named, strict=True)
    ]
    if long:
        rows = [
            ["-" if info.kind == "directory" else _size(info.bytes, exact), local_time(info.modified), text]
            for text, (_, info) in zip(texts, named, strict=True)
        ]
        texts = _aligned(rows)
    for text in texts:
        print(text)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of columns, all but the last aligned to the right."""
    if not rows:
        return []
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    return [
        "  ".join([*(cell.rjust(width) for cell, width in zip(row[:-1], widths, strict=True)), row[-1]]) for row in rows
    ]


def _size(number: int, exact: bool) -> str:
    return str(number) if exact else size(number)


def _facts(info: FileInfo) -> list[tuple[str, str]]:
    facts: list[tuple[str, str]] = [("kind", info.kind)]
    if info.kind == "file":
        facts += [("size", f"{info.bytes:,} bytes ({size(info.bytes)})"), ("generation", str(info.generation))]
    return [*facts, ("modified", local_time(info.modified)), ("created", local_time(info.created))]


def _as_dict(path: Location, info: FileInfo) -> dict[str, Any]:
    return {
        "path": path.at(info.path).url,
        "kind": info.kind,
        "bytes": info.bytes,
        "modified": utc_time(info.modified),
        "created": utc_time(info.created),
        "generation": info.generation,
    }
