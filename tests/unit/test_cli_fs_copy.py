"""What `fs cp` does with files of this machine and of other file systems: the rules of cp, and whole files only."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import fsspec
import pytest

from tensorflow_ignite.cli import main
from tensorflow_ignite.cli.fs.elsewhere import LocalStore
from tensorflow_ignite.cli.fs.globs import expand
from tensorflow_ignite.cli.fs.places import Place
from tensorflow_ignite.cli.fs.plan import plan_copy
from tensorflow_ignite.cli.fs.text import shown, size
from tensorflow_ignite.cli.fs.transfer import Meter, transfer
from tensorflow_ignite.errors import StorageError


@pytest.fixture
def memory() -> Iterator[fsspec.AbstractFileSystem]:
    filesystem = fsspec.filesystem("memory")
    filesystem.store.clear()
    filesystem.pseudo_dirs[:] = [""]
    yield filesystem
    filesystem.store.clear()
    filesystem.pseudo_dirs[:] = [""]


@pytest.fixture
def cli(capsys, monkeypatch, tmp_path):
    """Runs `fs` in this process, in a folder of its own; gives its exit code, standard output and standard error."""
    monkeypatch.chdir(tmp_path)

    def run(*args: object) -> tuple[int, str, str]:
        code = main(["fs", *(str(arg) for arg in args)])
        return code, *capsys.readouterr()

    return run


def tree(folder: Path) -> dict[str, bytes | None]:
    """All that is in a folder: the content of files, None for folders."""
    return {
        str(path.relative_to(folder)): None if path.is_dir() else path.read_bytes()
        for path in sorted(folder.rglob("*"))
    }


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A folder with files, an empty folder, and names that are not easy."""
    folder = tmp_path / "model"
    (folder / "variables" / "deep").mkdir(parents=True)
    (folder / "empty").mkdir()
    (folder / "a.txt").write_bytes(b"a" * 10)
    (folder / "nothing").write_bytes(b"")
    (folder / "100% of ünï [1].txt").write_bytes(b"name")
    (folder / "variables" / "deep" / "data").write_bytes(bytes(range(256)) * 40_000)
    return folder


def test_a_folder_goes_there_and_comes_back_as_it_was(cli, memory, model, tmp_path) -> None:
    assert cli("cp", "-r", "model", "memory://models/digits")[0] == 0
    assert memory.cat_file("/models/digits/variables/deep/data") == bytes(range(256)) * 40_000
    code, out, err = cli("cp", "-r", "memory://models/digits", "back")
    assert (code, err) == (0, "")
    assert out.startswith("copied 4 files and 4 directories: 10.2 MB in ")
    assert tree(tmp_path / "back") == tree(model)


def test_a_target_that_is_a_directory_takes_the_sources_under_their_names(cli, model, tmp_path) -> None:
    (tmp_path / "there").mkdir()
    assert cli("cp", "-r", "model/a.txt", "model/variables", "there")[0] == 0
    assert cli("cp", "model/a.txt", "not/yet/there/")[0] == 0
    assert cli("cp", "model/a.txt", "not/yet/called")[0] == 0
    assert set(tree(tmp_path / "there")) == {"a.txt", "variables", "variables/deep", "variables/deep/data"}
    assert tree(tmp_path / "not")["yet/there/a.txt"] == tree(tmp_path / "not")["yet/called"] == b"a" * 10
    # Into what is there already.
    assert cli("cp", "-r", "there", "not")[0] == 0
    assert tree(tmp_path / "not" / "there") == tree(tmp_path / "there")
    # The content of a folder, without its name.
    assert cli("cp", "-r", "model/.", "there/")[0] == 0
    assert (tmp_path / "there" / "empty").is_dir()


def test_patterns_choose_files_and_a_literal_name_comes_first(cli, memory, model, tmp_path) -> None:
    assert cli("cp", "model/*.txt", "memory://some/")[0] == 0
    assert sorted(memory.store) == ["/some/100% of ünï [1].txt", "/some/a.txt"]
    assert cli("cp", "model/100% of ünï [1].txt", "one")[0] == 0
    assert (tmp_path / "one").read_bytes() == b"name"
    assert cli("cp", "model/**/data", "memory://some/*.txt", "all/")[0] == 0
    assert set(tree(tmp_path / "all")) == {"100% of ünï [1].txt", "a.txt", "data"}
    code, _, err = cli("cp", "model/*.nope", "all/")
    assert code == 1
    assert "nothing matches model/*.nope" in err


@pytest.mark.parametrize(
    ("args", "fault"),
    [
        (["model", "copy"], "model is a directory. Directories are copied only when that is asked for. Add -r."),
        (["nope", "copy"], "nope does not exist"),
        (["model/a.txt", "nope", "all/"], "nope does not exist"),
        (["model/a.txt", "model/nothing", "copy"], "copy is no directory, and 2 sources cannot become one file"),
        (["model/a.txt", "model/a.txt"], "are the same file"),
        (["model/a.txt", "link"], "are the same file"),
        (["model/a.txt", "other/a.txt", "all/"], "would both become all/a.txt"),
        (["-r", "model", "model/variables"], "which is in it"),
        (["-r", "other", "file"], "A directory replaces no file"),
        (["other/a.txt", "clash"], "A file replaces no directory"),
        (["-r", "other", "crash"], "A file replaces no directory"),
        (["model/a.txt", "file/"], "file is a file. A path with a slash at its end names a directory"),
        (["model/a.txt/", "copy"], "model/a.txt is a file. A path with a slash at its end names a directory"),
        (["-r", "circle", "copy"], "is a link to a directory that it is in itself"),
        (["-r", "broken", "copy"], "is a link to a file that does not exist"),
        (["-r", "pipes", "copy"], "is neither a file nor a directory"),
    ],
)
def test_what_cp_refuses_is_refused_before_anything_is_written(cli, model, tmp_path, args, fault) -> None:
    for folder in ("other", "clash/a.txt", "crash/other/a.txt", "circle", "broken", "pipes"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "other" / "a.txt").write_bytes(b"other")
    (tmp_path / "file").write_bytes(b"file")
    (tmp_path / "link").symlink_to("model/a.txt")
    (tmp_path / "circle" / "round").symlink_to(".")
    (tmp_path / "broken" / "link").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipes" / "pipe")
    names = {path: path.lstat().st_mtime_ns for path in tmp_path.rglob("*")}
    code, out, err = cli("cp", *args)
    assert (code, out) == (1, "")
    assert err.startswith("error: ")
    assert fault in err
    assert {path: path.lstat().st_mtime_ns for path in tmp_path.rglob("*")} == names


def test_links_are_followed_and_modes_of_what_is_replaced_are_kept(cli, model, tmp_path) -> None:
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "folder").symlink_to(model / "variables")
    (tmp_path / "linked" / "file").symlink_to(model / "a.txt")
    assert cli("cp", "-r", "linked", "copy")[0] == 0
    assert set(tree(tmp_path / "copy")) == {"file", "folder", "folder/deep", "folder/deep/data"}
    assert not (tmp_path / "copy" / "file").is_symlink()
    script = tmp_path / "script"
    script.write_bytes(b"old")
    script.chmod(0o750)
    (tmp_path / "shortcut").symlink_to(script)
    assert cli("cp", "model/a.txt", "shortcut")[0] == 0
    assert (script.read_bytes(), script.stat().st_mode & 0o777) == (b"a" * 10, 0o750)
    assert (tmp_path / "shortcut").is_symlink()


def test_pipes_and_devices_that_are_named_are_read_and_written(tmp_path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "python")}
    command = [sys.executable, "-m", "tensorflow_ignite.cli", "fs", "cp", "/dev/stdin", str(tmp_path / "copy")]
    ran = subprocess.run(command, input=b"piped" * 100_000, env=environment, capture_output=True, timeout=20)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert (tmp_path / "copy").read_bytes() == b"piped" * 100_000
    assert main(["fs", "cp", str(tmp_path / "copy"), "/dev/null"]) == 0
    assert not Path("/dev/null").is_file()


def test_json_tells_programs_what_was_copied(cli, model) -> None:
    import json

    told = json.loads(cli("cp", "--json", "-r", "model", "copy")[1])
    assert (told["files"], told["directories"], told["bytes"]) == (4, 4, 10_240_014)
    assert told["seconds"] > 0


@dataclass
class Faulty(LocalStore):
    """This machine's files, of which one can be read in part only."""

    fails_at: str
    reached: threading.Event

    @contextmanager
    def reading(self, path: str) -> Iterator[Iterator[bytes]]:
        with super().reading(path) as pieces:

            def some() -> Iterator[bytes]:
                yield next(pieces)
                if path.endswith(self.fails_at):
                    self.reached.set()
                    raise OSError(errno.EIO, "disk is broken")
                # Only the failure of the other ends this file.
                while True:
                    assert self.reached.wait(20)
                    yield b"more"

            yield some()


def test_the_first_failure_stops_all_and_leaves_no_half_file(tmp_path) -> None:
    for name in ("bad", "endless", "endless2"):
        (tmp_path / name).write_bytes(b"x" * 100)
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "endless").write_bytes(b"before")
    store = Faulty("bad", threading.Event())
    sources = [Place(store, str(tmp_path / name)) for name in ("endless", "endless2", "bad")]
    plan = plan_copy(sources, Place(LocalStore(), str(tmp_path / "there")), recursive=False)
    with Meter("copying", 3, 300) as meter, pytest.raises((StorageError, OSError), match="disk is broken"):
        transfer(plan, 3, meter)
    assert tree(tmp_path / "there") == {"endless": b"before"}


def test_what_the_system_refuses_is_one_error_of_ours(cli, model, monkeypatch, tmp_path) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    code, _, err = cli("cp", "model/a.txt", "copy")
    assert code == 1
    assert err.startswith("error: ")
    assert "copy cannot be read or written: No space left on device." in err
    assert set(tree(tmp_path)) == {"model", *(f"model/{name}" for name in tree(model))}


def test_a_file_system_without_its_package_is_told(cli, model) -> None:
    code, _, err = cli("cp", "model/a.txt", "sftp://host/a.txt")
    assert code == 2
    assert "'sftp://host/a.txt' cannot be reached" in err
    assert cli("cp", "model/a.txt", "bogus://host/a.txt")[0] == 2


@dataclass
class Node:
    """An entry of a tree in memory."""

    path: str
    is_directory: bool


def test_patterns_match_as_those_of_a_shell() -> None:
    files = ["/a/1.txt", "/a/2.txt", "/a/b/3.txt", "/a/b/c/4.txt", "/d/[x].txt", "/d/x.txt"]
    nodes = {path: Node(path, False) for path in files}
    for path in files:
        for depth in range(1, path.count("/")):
            directory = "/".join(path.split("/")[: depth + 1])
            nodes[directory] = Node(directory, True)

    def matched(pattern: str) -> list[str]:
        found = expand(
            pattern,
            lambda directory: [
                node for path, node in nodes.items() if path.rpartition("/")[0] == directory.rstrip("/")
            ],
            nodes.get,
        )
        return [node.path for node in found]

    assert matched("/*") == ["/a", "/d"]
    assert matched("/a/?.txt") == ["/a/1.txt", "/a/2.txt"]
    assert matched("/*/*.txt") == ["/a/1.txt", "/a/2.txt", "/d/[x].txt", "/d/x.txt"]
    assert matched("/*/b/3.txt") == ["/a/b/3.txt"]
    assert matched("/**/*.txt") == sorted(files)
    assert matched("/a/**/4.txt") == ["/a/b/c/4.txt"]
    assert matched("/a/**") == ["/a/1.txt", "/a/2.txt", "/a/b", "/a/b/3.txt", "/a/b/c", "/a/b/c/4.txt"]
    assert matched("/d/[[]x].txt") == ["/d/[x].txt"]
    assert matched("/d/[x].txt") == ["/d/x.txt"]
    assert matched("/none/*") == []


def test_sizes_and_names_are_shown_in_few_signs() -> None:
    sizes = {0: "0 B", 999: "999 B", 1_000: "1.00 kB", 12_345: "12.3 kB", 999_499: "999 kB", 999_500: "1.00 MB"}
    assert {count: size(count) for count in sizes} == sizes
    assert size(2_140_000_000) == "2.14 GB"
    assert shown("ünï 1%") == "ünï 1%"
    assert shown("a\nb\x1b[31m") == "a\\nb\\x1b[31m"
