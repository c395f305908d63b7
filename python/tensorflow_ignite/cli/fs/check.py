"""``fs check``: verifies that the nodes hold all blocks as they were written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from tensorflow_ignite.cli.options import Address, Json
from tensorflow_ignite.cli.render import count, escaped, paint, print_json, size

if TYPE_CHECKING:
    from tensorflow_ignite.cli.fs.location import Location
    from tensorflow_ignite.storage.verification import Fault

_COLOURS = {"corrupt": "red", "lost": "red", "orphan": "yellow"}


def check(
    context: typer.Context,
    cluster: Annotated[
        str, typer.Argument(metavar="CLUSTER", help="ignite:///, or ignite://HOST:PORT/ for another.")
    ] = "ignite:///",
    address: Address = None,
    json_output: Json = False,
) -> None:
    """Check every block of every file against its checksum, on the nodes that hold them.

    Lists files with a block that is corrupt (not what was written) or lost
    (no node holds it), and orphans: blocks of no file, which only use memory.
    Files that are being written or removed count as neither. The exit code is 1
    when anything is wrong.

    \b
    Examples:
      tensorflow-ignite fs check
      tensorflow-ignite fs check --json | jq -r '.faults[].path'
    """
    from tensorflow_ignite.cli.fs.arguments import Locations
    from tensorflow_ignite.cli.fs.transfer import Meter
    from tensorflow_ignite.errors import FileCorruptError, FileLostError
    from tensorflow_ignite.storage.verification import verify

    root = Locations(context, address).in_cluster([cluster], command="check")[0]
    with Meter("checking", 0, root.files.usage("/").bytes) as meter:
        found = verify(root.files, meter.add)
    if json_output:
        print_json(
            {
                "files": found.files,
                "blocks": found.blocks,
                "bytes": found.bytes,
                "nodes": list(found.addresses),
                "faults": [{**vars(fault), "path": fault.path and root.at(fault.path).url} for fault in found.faults],
            }
        )
    else:
        for fault in found.faults:
            print(_line(root, fault))
        print(
            f"checked {count(found.blocks, 'block')} of {count(found.files, 'file')} on "
            f"{count(len(found.addresses), 'node')}: {size(found.bytes)}"
        )
    damaged = {fault.path for fault in found.faults if fault.kind != "orphan"}
    if damaged and not json_output:
        kind = FileLostError if any(fault.kind == "lost" for fault in found.faults) else FileCorruptError
        raise kind(
            f"{count(len(damaged), 'file')} of {found.files:,} cannot be read whole. A block is lost when every "
            "node that held it has left: with one backup when two nodes leave at once. Write the files "
            "again, or remove them: tensorflow-ignite fs rm"
        )
    if found.faults:
        raise typer.Exit(1)


def _line(root: Location, fault: Fault) -> str:
    kind = paint(f"{fault.kind:<7}", _COLOURS[fault.kind])
    if fault.path is None:
        return f"{kind}  extent {fault.extent}: {count(len(fault.blocks), 'block')}, {size(fault.bytes)}, of no file"
    node = f" on {fault.address}" if fault.address else ""
    word = "block" if len(fault.blocks) == 1 else "blocks"
    return f"{kind}  {escaped(root.at(fault.path).url)}: {word} {_ranges(fault.blocks)} of extent {fault.extent}{node}"


def _ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers as text, consecutive ones as a range: ``"0-3, 7"``."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in ranges)
