"""``fs ls``, ``fs stat`` and ``fs du``: what there is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tensorflow_ignite.cli.fs.completion import complete_path
from tensorflow_ignite.cli.fs.text import directories, iso, moment, shown, size
from tensorflow_ignite.cli.options import Address, Json
from tensorflow_ignite.cli.render import count, paint, print_json

if TYPE_CHECKING:
    from tensorflow_ignite.cli.fs.places import ClusterPath
    from tensorflow_ignite.storage.files import FileInfo

__all__ = ["du", "ls", "stat"]

_ROOT = "ignite:///"
Paths = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="PATH",
        help="Paths of the cluster, its root when left out; patterns in quotes.",
        show_default=False,
        autocompletion=complete_path,
    ),
]
Exact = Annotated[bool, typer.Option("--bytes", "-b", help="Sizes as numbers of bytes.")]


def ls(
    context: typer.Context,
    paths: Paths = None,
    long: Annotated[bool, typer.Option("--long", "-l", help="Sizes and times too.")] = False,
    recursive: Annotated[
        bool, typer.Option("--recursive", "-r", "-R", help="Also what is in the directories, and in theirs.")
    ] = False,
    directory: Annotated[bool, typer.Option("--directory", "-d", help="Directories, not what is in them.")] = False,
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
    told = [(path, path.stat()) for path in chosen]
    single = [(path, info) for path, info in told if directory or info.kind == "file"]
    listed = [path for path, info in told if not directory and info.kind == "directory"]
    if json_output:
        lines = [_as_dict(path, info) for path, info in single]
        for path in listed:
            lines += [_as_dict(path, info) for info in _entries(path, recursive)]
        print_json(lines)
        return
    _print([(path.url, info) for path, info in single], long, exact)
    for number, path in enumerate(listed):
        if len(told) > 1:
            print(("\n" if single or number else "") + f"{shown(path.url)}:")
        below = "/" if path.path == "/" else path.path + "/"
        _print([(info.path.removeprefix(below), info) for info in _entries(path, recursive)], long, exact)


def stat(
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
    address: Address = None,
    json_output: Json = False,
) -> None:
    """Show what is known of files and directories of the cluster.

    \b
    Examples:
      tensorflow-ignite fs stat ignite:///models/digits.keras
      tensorflow-ignite fs stat --json 'ignite:///data/*' | jq '.[].bytes'
    """
    told = [(path, path.stat()) for path in _chosen(context, paths, address, "stat")]
    if json_output:
        print_json([_as_dict(path, info) for path, info in told])
        return
    for number, (path, info) in enumerate(told):
        if number:
            print()
        print(paint(shown(path.url), "bold"))
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
    told = [(path, path.store.files.usage(path.path)) for path in chosen]
    if json_output:
        print_json(
            [
                {"path": path.url, "bytes": usage.bytes, "files": usage.files, "directories": usage.directories}
                for path, usage in told
            ]
        )
        return
    rows = [
        [_size(usage.bytes, exact), count(usage.files, "file"), directories(usage.directories), shown(path.url)]
        for path, usage in told
    ]
    for line in _aligned(rows):
        print(line)


def _chosen(
    context: typer.Context, paths: Sequence[str] | None, address: str | None, command: str
) -> list[ClusterPath]:
    from tensorflow_ignite.cli.fs.places import Places

    return Places(context, address).in_cluster(paths or [_ROOT], command=command)


def _entries(path: ClusterPath, recursive: bool) -> Iterator[FileInfo]:
    for info in path.store.files.list(path.path):
        yield info
        if recursive and info.kind == "directory":
            yield from _entries(type(path)(path.store, info.path), recursive)


def _print(named: Sequence[tuple[str, FileInfo]], long: bool, exact: bool) -> None:
    names = [shown(name) for name, _ in named]
    texts = [
        paint(f"{name.rstrip('/')}/", "blue") if info.kind == "directory" else name
        for name, (_, info) in zip(names, named, strict=True)
    ]
    if long:
        rows = [
            ["-" if info.kind == "directory" else _size(info.bytes, exact), moment(info.modified), text]
            for text, (_, info) in zip(texts, named, strict=True)
        ]
        texts = _aligned(rows)
    for text in texts:
        print(text)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns of which all but the last stand at the right."""
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
    return [*facts, ("modified", moment(info.modified)), ("created", moment(info.created))]


def _as_dict(path: ClusterPath, info: FileInfo) -> dict[str, Any]:
    return {
        "path": path.store.url(info.path),
        "kind": info.kind,
        "bytes": info.bytes,
        "modified": iso(info.modified),
        "created": iso(info.created),
        "generation": info.generation,
    }
