"""Too many files, and too deep."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from arena import Arena
from jobs import cli

from tensorflow_ignite.storage.files import Files

FILES = 1_000
LEVELS = 1_000


def test_thousands_of_files_in_a_directory(arena: Arena) -> None:
    files = Files.at(arena.addresses)
    files.make_directory("/many")

    def write(number: int) -> None:
        with files.open_writer(f"/many/{number}") as writer:
            writer.write(b"x")

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(write, range(FILES)))
    assert len(files.list("/many")) == FILES
    files.remove("/many", recursive=True)


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
