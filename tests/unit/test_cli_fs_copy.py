"""What `fs cp` does with files of this machine and of other file systems: the rules of cp, and whole files only."""

from __future__ import annotations

import errno
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest
from program import LIMIT, error_of, start

from tensorflow_ignite.cli import main
from tensorflow_ignite.cli.fs import local
from tensorflow_ignite.cli.fs.local import LocalFiles, UnbufferedFile
from tensorflow_ignite.cli.fs.location import Location, matching_paths
from tensorflow_ignite.cli.fs.plan import plan_copy
from tensorflow_ignite.cli.fs.transfer import Meter, transfer
from tensorflow_ignite.cli.render import escaped, size
from tensorflow_ignite.errors import StorageError


@pytest.fixture
def memory() -> Iterator[fsspec.AbstractFileSystem]:
    filesystem = fsspec.filesystem("memory")

    def clear() -> None:
        filesystem.store.clear()
        filesystem.pseudo_dirs[:] = [""]

    clear()
    yield filesystem
    clear()


@pytest.fixture(autouse=True)
def _folder(monkeypatch, tmp_path) -> None:
    """Paths of this machine are in a folder of the test."""
    monkeypatch.chdir(tmp_path)


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


def test_a_target_that_is_a_directory_takes_the_sources_under_their_names(fs, model, tmp_path) -> None:
    (tmp_path / "there").mkdir()
    assert fs("cp", "-r", "model/a.txt", "model/variables", "there")[0] == 0
    assert fs("cp", "model/a.txt", "not/yet/there/")[0] == 0
    assert fs("cp", "model/a.txt", "not/yet/called")[0] == 0
    assert set(tree(tmp_path / "there")) == {"a.txt", "variables", "variables/deep", "variables/deep/data"}
    assert tree(tmp_path / "not")["yet/there/a.txt"] == tree(tmp_path / "not")["yet/called"] == b"a" * 10
    # Into what is there already.
    assert fs("cp", "-r", "there", "not")[0] == 0
    assert tree(tmp_path / "not" / "there") == tree(tmp_path / "there")
    # The content of a folder, without its name.
    assert fs("cp", "-r", "model/.", "there/")[0] == 0
    assert (tmp_path / "there" / "empty").is_dir()


def test_patterns_choose_files_and_a_literal_name_comes_first(fs, memory, model, tmp_path) -> None:
    assert fs("cp", "model/*.txt", "memory://some/")[0] == 0
    assert sorted(memory.store) == ["/some/100% of ünï [1].txt", "/some/a.txt"]
    assert fs("cp", "model/100% of ünï [1].txt", "one")[0] == 0
    assert (tmp_path / "one").read_bytes() == b"name"
    assert fs("cp", "model/**/data", "memory://some/*.txt", "all/")[0] == 0
    assert set(tree(tmp_path / "all")) == {"100% of ünï [1].txt", "a.txt", "data"}
    err = error_of(fs("cp", "model/*.nope", "all/"))
    assert "nothing matches model/*.nope" in err


@pytest.mark.parametrize(
    ("args", "fault"),
    [
        (["model", "copy"], "model is a directory. Directories are copied only with -r. Add -r."),
        (["nope", "copy"], "nope does not exist"),
        (["model/a.txt", "model/nothing", "copy"], "copy is no directory, and 2 sources cannot become one file"),
        (["model/a.txt", "model/a.txt"], "are the same file"),
        (["model/a.txt", "link"], "are the same file"),
        (["model/a.txt", "other/a.txt", "all/"], "would both become all/a.txt"),
        (["-r", "model", "model/variables"], "which is in it"),
        (["-r", "other", "file"], "A directory replaces no file"),
        (["-r", "other", "crash"], "A file replaces no directory"),
        (["model/a.txt", "file/"], "file is a file. A path with a slash at its end names a directory"),
        (["-r", "circle", "copy"], "is a link to a directory that it is in itself"),
        (["-r", "broken", "copy"], "is a link to a file that does not exist"),
        (["-r", "pipes", "copy"], "is neither a file nor a directory"),
        (["zip://name::./file", "copy"], "zip://name::./file cannot be opened: BadZipFile"),
    ],
)
def test_what_cp_refuses_is_refused_before_anything_is_written(fs, model, tmp_path, args, fault) -> None:
    for folder in ("other", "clash/a.txt", "crash/other/a.txt", "circle", "broken", "pipes"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "other" / "a.txt").write_bytes(b"other")
    (tmp_path / "file").write_bytes(b"file")
    (tmp_path / "link").symlink_to("model/a.txt")
    (tmp_path / "circle" / "round").symlink_to(".")
    (tmp_path / "broken" / "link").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipes" / "pipe")
    names = {path: path.lstat().st_mtime_ns for path in tmp_path.rglob("*")}
    err = error_of(fs("cp", *args))
    assert fault in err
    assert {path: path.lstat().st_mtime_ns for path in tmp_path.rglob("*")} == names


def test_links_are_followed_and_modes_of_what_is_replaced_are_kept(fs, model, tmp_path) -> None:
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "folder").symlink_to(model / "variables")
    (tmp_path / "linked" / "file").symlink_to(model / "a.txt")
    assert fs("cp", "-r", "linked", "copy")[0] == 0
    assert set(tree(tmp_path / "copy")) == {"file", "folder", "folder/deep", "folder/deep/data"}
    assert not (tmp_path / "copy" / "file").is_symlink()
    script = tmp_path / "script"
    script.write_bytes(b"old")
    script.chmod(0o750)
    (tmp_path / "shortcut").symlink_to(script)
    assert fs("cp", "model/a.txt", "shortcut")[0] == 0
    assert (script.read_bytes(), script.stat().st_mode & 0o777) == (b"a" * 10, 0o750)
    assert (tmp_path / "shortcut").is_symlink()


def test_pipes_and_devices_that_are_named_are_read_and_written(tmp_path) -> None:
    ran = start("fs", "cp", "/dev/stdin", tmp_path / "copy", stdin=subprocess.PIPE, text=False)
    _, err = ran.communicate(b"piped" * 100_000, timeout=LIMIT)
    assert (ran.returncode, err) == (0, b"")
    assert (tmp_path / "copy").read_bytes() == b"piped" * 100_000
    assert main(["fs", "cp", str(tmp_path / "copy"), "/dev/null"]) == 0
    assert not Path("/dev/null").is_file()


class FaultyFile(UnbufferedFile):
    """A file that can be read in part only when it is called ``bad``; others have no end."""

    failed = threading.Event()

    def read(self, size: int = -1) -> bytes:
        if self.tell() == 0:
            return super().read(size)
        if str(self.name).endswith("bad"):
            self.failed.set()
            raise OSError(errno.EIO, "disk is broken")
        # Only the failure of the other ends this file.
        assert self.failed.wait(20)
        return b"more"


def test_the_first_failure_stops_all_and_leaves_no_half_file(tmp_path, monkeypatch) -> None:
    for name in ("bad", "endless", "endless2"):
        (tmp_path / name).write_bytes(b"x" * 100)
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "endless").write_bytes(b"before")
    sources = [Location(LocalFiles(), str(tmp_path / name)) for name in ("endless", "endless2", "bad")]
    plan = plan_copy(sources, Location(LocalFiles(), str(tmp_path / "there")), recursive=False)
    monkeypatch.setattr(local, "UnbufferedFile", FaultyFile)
    with Meter("copying", 3, 300) as meter, pytest.raises(StorageError, match="disk is broken"):
        transfer(plan, 3, meter)
    assert tree(tmp_path / "there") == {"endless": b"before"}


def test_an_error_of_the_operating_system_is_one_error_of_ours(fs, model, monkeypatch, tmp_path) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    err = error_of(fs("cp", "model/a.txt", "copy"))
    assert "copy cannot be read or written: No space left on device." in err
    assert set(tree(tmp_path)) == {"model", *(f"model/{name}" for name in tree(model))}


def test_a_url_of_a_missing_package_is_an_error_of_the_command_line(fs, model) -> None:
    err = error_of(fs("cp", "model/a.txt", "sftp://host/a.txt"), 2)
    assert "'sftp://host/a.txt' cannot be reached" in err
    assert fs("cp", "model/a.txt", "bogus://host/a.txt")[0] == 2


def test_patterns_match_as_those_of_a_shell(memory) -> None:
    files = ["/a/1.txt", "/a/2.txt", "/a/b/3.txt", "/a/b/c/4.txt", "/d/[x].txt", "/d/x.txt"]
    for path in files:
        memory.pipe_file(path, b"")

    def matched(pattern: str) -> list[str]:
        return matching_paths(Location(memory, pattern))

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


def test_sizes_are_short_and_names_are_escaped() -> None:
    sizes = {0: "0 B", 999: "999 B", 1_000: "1.00 kB", 12_345: "12.3 kB", 999_499: "999 kB", 999_500: "1.00 MB"}
    assert {count: size(count) for count in sizes} == sizes
    assert size(2_140_000_000) == "2.14 GB"
    assert escaped("ünï 1%") == "ünï 1%"
    assert escaped("a\nb\x1b[31m") == "a\\nb\\x1b[31m"
