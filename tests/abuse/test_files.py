"""Too many files, and too deep."""

from __future__ import annotations

from arena import Arena
from jobs import cli

from tensorflow_ignite.storage.files import Files

LEVELS = 1_000


def test_a_directory_of_a_thousand_levels(arena: Arena) -> None:
    files = Files.at(arena.addresses)
    path = "/d" * LEVELS
    files.make_directory(path, parents=True)
    with files.open_writer(f"{path}/f") as writer:
        writer.write(b"x")
    for command in (("ls", "-r"), ("du",), ("check",), ("rm", "-r")):
        done = cli("fs", *command, *(["ignite:///d"] if command != ("check",) else []), address=arena.address)
        assert done.returncode == 0, done.stderr[-2000:]
    assert not files.exists("/d")
