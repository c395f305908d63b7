"""The commands of `fs` against a file service on a real socket: what they do, print, and end with."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
import time
from collections.abc import Iterator

import pytest
from file_server import FileServer, Store
from program import LIMIT, error_of, on_terminal, start

from agent_harness import eventually
from tensorflow_ignite.cli import main
from tensorflow_ignite.storage.files import Files

COMMANDS = ["ls", "cp", "mv", "rm", "cat", "du", "stat", "check"]
BLOCK = 4096
# Three blocks, and not all alike.
DATA = bytes(range(256)) * 40


@pytest.fixture
def node(monkeypatch) -> Iterator[FileServer]:
    with FileServer(Store(block_bytes=BLOCK)) as server:
        monkeypatch.setenv("TENSORFLOW_IGNITE_ADDRESS", server.address)
        monkeypatch.setenv("COLUMNS", "120")
        yield server


@pytest.fixture
def files(node) -> Files:
    files = Files.at(None)
    for path in ("/jobs/1/a.txt", "/jobs/1/deep/b.bin", "/jobs/2/a.txt", "/top"):
        put(files, path)
    files.make_directory("/empty")
    return files


def put(files: Files, path: str, data: bytes = DATA) -> None:
    with files.open_writer(path, parents=True) as writer:
        writer.write(data)


def read(files: Files, path: str) -> bytes:
    with files.open_reader(path) as reader:
        return reader.read(0, reader.bytes)


def everything(files: Files, path: str = "/") -> list[str]:
    """All paths, those of directories with a slash."""
    found = []
    for info in files.list(path):
        found.append(info.path + ("/" if info.is_directory else ""))
        if info.is_directory:
            found += everything(files, info.path)
    return found


def test_without_a_command_the_help_names_them_all_and_each_has_examples(fs) -> None:
    code, out, err = fs()
    assert (code, err) == (2, "")
    for command in COMMANDS:
        assert re.search(rf"^\W*{command} ", out, re.M)
        code, shown, err = fs(command, "--help")
        assert (code, err) == (0, "")
        assert f"tensorflow-ignite fs {command}" in shown


@pytest.mark.parametrize(
    ("args", "fault"),
    [
        (["ls", "/jobs"], "`fs ls` is for files inside the cluster, whose paths begin with ignite:///."),
        (["cat", "s3://bucket/a"], "'s3://bucket/a' is no path of the cluster"),
        (["rm", "ignite:/jobs"], "Write: ignite:///jobs"),
        (["stat", "ignite:jobs"], "Write: ignite:///jobs"),
        (["ls", "ignite://host:x/jobs"], "'host:x' is not host:port"),
        (["ls", "--address", "a:b"], "address 'a:b' cannot be read"),
        (["cp", "ignite:///a"], "has no target"),
        (["mv", "ignite:///a"], "has no target"),
        (["mv", "ignite:///a", "b"], "'b' is no path of the cluster. `fs mv` renames inside the cluster"),
        (["cp", "--parallel", "0", "a", "b"], "--parallel 0 is too few"),
        (["cp", "", "ignite:///b"], "an argument is empty"),
        (["ls", "ignite:///" + "x" * 256], "each part at most 255"),
        (["rm"], "Missing argument"),
    ],
)
def test_a_wrong_command_line_exits_with_2_before_any_call(fs, node, args, fault) -> None:
    err = error_of(fs(*args), 2)
    assert fault in err
    assert node.calls == []


def test_the_address_is_of_the_url_else_of_the_option_else_of_the_environment(fs, node, files, monkeypatch) -> None:
    monkeypatch.setenv("TENSORFLOW_IGNITE_ADDRESS", "127.0.0.1:1")
    assert fs("ls", "--address", node.address)[0] == 0
    code, out, _ = fs("ls", "--address", "127.0.0.1:1", f"ignite://{node.address}/top")
    assert (code, out) == (0, f"ignite://{node.address}/top\n")
    assert main(["--address", node.address, "fs", "ls"]) == 0
    code, _, err = fs("ls")
    assert code == 1
    assert err.startswith("error: no node answers at 127.0.0.1:1")


@pytest.mark.parametrize("command", ["ls", "rm", "cat", "du", "stat"])
def test_a_missing_path_is_one_clean_error(fs, files, command) -> None:
    for path in ("ignite:///nope", "ignite:///nope/*.txt", "ignite:///top/below"):
        error_of(fs(command, path))
    if command == "cat":
        assert "/jobs is a directory" in error_of(fs("cat", "ignite:///jobs"))


def test_ls_lists_the_root_directories_files_and_patterns(fs, files) -> None:
    assert fs("ls") == (0, "empty/\njobs/\ntop\n", "")
    assert fs("ls", "ignite:///jobs/1/")[1] == "a.txt\ndeep/\n"
    assert fs("ls", "IGNITE:////jobs/2/../1/")[1] == "a.txt\ndeep/\n"
    assert fs("ls", "ignite:///top")[1] == "ignite:///top\n"
    assert fs("ls", "ignite:///empty") == (0, "", "")
    assert fs("ls", "-r", "ignite:///jobs")[1] == "1/\n1/a.txt\n1/deep/\n1/deep/b.bin\n2/\n2/a.txt\n"
    assert fs("ls", "ignite:///jobs/*/a.txt")[1] == "ignite:///jobs/1/a.txt\nignite:///jobs/2/a.txt\n"
    assert fs("ls", "-d", "ignite:///*")[1] == "ignite:///empty/\nignite:///jobs/\nignite:///top\n"
    several = "ignite:///top\n\nignite:///jobs/2:\na.txt\n\nignite:///empty:\n"
    assert fs("ls", "ignite:///jobs/2", "ignite:///top", "ignite:///empty")[1] == several


def test_ls_shows_sizes_and_times(fs, files) -> None:
    day = time.strftime("%Y-%m-%d")
    out = fs("ls", "-l", "ignite:///")[1]
    assert re.fullmatch(rf" +-  {day} [\d:]+  empty/\n +-  {day} [\d:]+  jobs/\n10\.2 kB  {day} [\d:]+  top\n", out)
    assert fs("ls", "-l", "-b", "ignite:///top")[1].startswith("10240  ")
    found = json.loads(fs("ls", "-r", "--json", "ignite:///jobs/1")[1])
    assert [(entry["path"], entry["kind"], entry["bytes"]) for entry in found] == [
        ("ignite:///jobs/1/a.txt", "file", 10240),
        ("ignite:///jobs/1/deep", "directory", 0),
        ("ignite:///jobs/1/deep/b.bin", "file", 10240),
    ]
    assert found[0]["modified"].endswith("+00:00")


def test_control_sequences_in_names_are_escaped(fs, files) -> None:
    put(files, "/odd/a\nb\x1b[31m")
    put(files, "/odd/100% of ünï #1?")
    assert fs("ls", "ignite:///odd")[1] == "100% of ünï #1?\na\\nb\\x1b[31m\n"
    assert fs("du", "ignite:///odd/100% of ünï #1?")[0] == 0


def test_stat_shows_kind_size_and_generation(fs, files) -> None:
    code, out, _ = fs("stat", "ignite:///top", "ignite:///jobs")
    assert code == 0
    assert "ignite:///top\n  kind:       file\n  size:       10,240 bytes (10.2 kB)\n  generation: 4\n" in out
    assert "\n\nignite:///jobs\n  kind:       directory\n  modified:   " in out
    found = json.loads(fs("stat", "--json", "ignite:///t*")[1])
    assert [(entry["path"], entry["generation"]) for entry in found] == [("ignite:///top", 4)]


def test_du_adds_up_what_is_below(fs, files) -> None:
    assert fs("du")[1] == "41.0 kB  4 files  5 directories  ignite:///\n"
    assert fs("du", "-b", "ignite:///jobs/*", "ignite:///empty")[1].splitlines() == [
        "20480  2 files    1 directory  ignite:///jobs/1",
        "10240   1 file  0 directories  ignite:///jobs/2",
        "    0  0 files  0 directories  ignite:///empty",
    ]
    found = json.loads(fs("du", "--json", "ignite:///top")[1])
    assert found == [{"path": "ignite:///top", "bytes": 10240, "files": 1, "directories": 0}]


def test_cat_writes_the_bytes_and_nothing_else(node, files) -> None:
    put(files, "/parts/1", b"\xff\x00one")
    put(files, "/parts/2", b"")
    put(files, "/parts/3", b"three\n")
    out, err = start("fs", "cat", "ignite:///parts/*", text=False).communicate(timeout=LIMIT)
    assert (out, err) == (b"\xff\x00onethree\n", b"")


def test_cat_ends_quietly_when_its_reader_has_ended(node, files) -> None:
    put(files, "/large", b"line\n" * 200_000)
    ran = start("fs", "cat", "ignite:///large", text=False)
    assert ran.stdout is not None
    assert ran.stdout.readline() == b"line\n"
    ran.stdout.close()
    assert ran.stderr is not None
    assert (ran.stderr.read(), ran.wait(LIMIT)) == (b"", 1)


def test_files_are_copied_inside_the_cluster_and_to_other_file_systems(fs, files, node) -> None:
    import fsspec

    assert fs("cp", "ignite:///jobs/*/a.txt", "ignite:///top", "ignite:///all/")[0] == 1  # two would be all/a.txt
    assert not files.exists("/all")
    assert fs("cp", "-r", "ignite:///jobs", f"ignite://{node.address}/copy")[0] == 0
    assert everything(files, "/copy") == [path.replace("/jobs", "/copy") for path in everything(files, "/jobs")]
    assert read(files, "/copy/1/deep/b.bin") == DATA
    memory = fsspec.filesystem("memory")
    try:
        assert fs("cp", "-r", "ignite:///jobs/1", "memory://here")[0] == 0
        assert memory.cat_file("/here/deep/b.bin") == DATA
        assert fs("cp", "-r", "memory://here", "ignite:///empty")[0] == 0
        assert everything(files, "/empty") == [
            "/empty/here/",
            *(p.replace("/jobs/1", "/empty/here") for p in everything(files, "/jobs/1")),
        ]
    finally:
        memory.store.clear()
        memory.pseudo_dirs[:] = [""]


@pytest.mark.parametrize(
    ("args", "fault"),
    [
        (["ignite:///top", "ignite:///./top"], "are the same file"),
        (["-r", "ignite:///jobs", "ignite:///jobs/1"], "which is in it"),
        (["-r", "ignite:///", "ignite:///jobs"], "which is in it"),
        (["-r", "ignite:///jobs", "ignite:///top"], "A directory replaces no file"),
        (["{file}", "ignite:///clash"], "A file replaces no directory"),
        (["{file}", "ignite:///top/x"], "/top is a file"),
        (["{file}", "ignite:///top/"], "ignite:///top is a file. A path with a slash at its end names a directory"),
    ],
)
def test_what_cp_refuses_is_refused_before_anything_is_written(fs, node, files, tmp_path, args, fault) -> None:
    file = tmp_path / "name"
    file.write_bytes(b"x")
    files.make_directory("/clash/name", parents=True)
    before = everything(files)
    writes = node.calls.count("BeginWrite")
    err = error_of(fs("cp", *(arg.format(file=file) for arg in args)))
    assert fault in err
    assert everything(files) == before
    assert node.calls.count("BeginWrite") == writes


def test_a_file_that_is_replaced_keeps_its_old_content_until_the_new_one_is_whole(fs, node, files, tmp_path) -> None:
    new = b"new" * BLOCK
    (tmp_path / "new").write_bytes(new)
    contents = []
    node.on_put = lambda extent, number: contents.append(read(files, "/top"))
    assert fs("cp", tmp_path / "new", "ignite:///top")[0] == 0
    assert set(contents) == {DATA}
    assert len(contents) == 3
    assert read(files, "/top") == new


@pytest.mark.parametrize(("to_cluster", "several"), [(True, False), (False, False), (True, True)])
def test_ctrl_c_in_the_middle_leaves_nothing_visible(node, files, tmp_path, to_cluster, several) -> None:
    reached, go_on = threading.Event(), threading.Event()

    def hold(extent: str, number: int) -> None:
        if number >= 2:
            reached.set()
            assert go_on.wait(LIMIT)

    (tmp_path / "large").write_bytes(DATA * 1000)
    (tmp_path / "other").write_bytes(DATA * 1000)
    put(files, "/large", DATA * 1000)
    before, names = everything(files), sorted(os.listdir(tmp_path))
    if to_cluster:
        node.on_put = hold
        sources = [tmp_path / name for name in (["large", "other"] if several else ["large"])]
        ran = start("fs", "cp", *sources, "ignite:///new/")
    else:
        node.on_read = hold
        ran = start("fs", "cp", "ignite:///large", tmp_path / "new")
    assert reached.wait(LIMIT)
    ran.send_signal(signal.SIGINT)
    go_on.set()
    _, err = ran.communicate(timeout=LIMIT)
    assert (ran.returncode, err) == (130, "error: interrupted\n")
    node.on_put = node.on_read = lambda extent, number: None
    assert everything(files) == sorted([*before, "/new/"] if to_cluster else before)
    assert sorted(os.listdir(tmp_path)) == names
    assert node.store.writers == {}
    assert {extent for extent, _ in node.store.blocks} == {
        extent.id for path in before if not path.endswith("/") for extent in files.extents(path)
    }


def test_mv_renames_and_moves_into_directories(fs, files) -> None:
    assert fs("mv", "ignite:///top", "ignite:///new/")[1] == "moved ignite:///top to ignite:///new/top\n"
    assert fs("mv", "ignite:///jobs", "ignite:///empty")[1] == "moved ignite:///jobs to ignite:///empty/jobs\n"
    assert fs("mv", "ignite:///empty", "ignite:///full")[0] == 0
    found = json.loads(fs("mv", "--json", "ignite:///full/jobs/?/a.txt", "ignite:///new/top")[1] or "[]")
    assert found == []  # refused: two sources, and the target is a file
    found = json.loads(fs("mv", "--json", "ignite:///full/jobs/1/*", "ignite:///new")[1])
    assert found == [
        {"source": "ignite:///full/jobs/1/a.txt", "target": "ignite:///new/a.txt"},
        {"source": "ignite:///full/jobs/1/deep", "target": "ignite:///new/deep"},
    ]
    assert everything(files) == [
        *("/full/", "/full/jobs/", "/full/jobs/1/", "/full/jobs/2/", "/full/jobs/2/a.txt"),
        *("/new/", "/new/a.txt", "/new/deep/", "/new/deep/b.bin", "/new/top"),
    ]


def test_mv_moves_nothing_when_a_source_is_missing_or_the_cluster_is_another(fs, files) -> None:
    before = everything(files)
    assert fs("mv", "ignite:///top", "ignite:///nope", "ignite:///empty")[0] == 1
    with FileServer(Store()) as other:
        err = error_of(fs("mv", "ignite:///top", f"ignite://{other.address}/top"), 2)
        assert "are of two clusters" in err
        assert fs("cp", "ignite:///top", f"ignite://{other.address}/top")[0] == 0
    assert fs("mv", "ignite:///jobs", "ignite:///jobs/1")[0] == 1
    assert everything(files) == before


def test_rm_removes_and_prints_what_it_removed(fs, files) -> None:
    assert fs("rm", "ignite:///top") == (0, "removed ignite:///top (10.2 kB)\n", "")
    code, out, _ = fs("rm", "-r", "ignite:///jobs/1", "ignite:///empty")
    assert code == 0
    assert out.splitlines() == [
        "removed ignite:///jobs/1 (2 files, 2 directories, 20.5 kB)",
        "removed ignite:///empty (0 files, 1 directory, 0 B)",
    ]
    found = json.loads(fs("rm", "-r", "--json", "ignite:///*")[1])
    assert found == [{"path": "ignite:///jobs", "kind": "directory", "files": 1, "directories": 2, "bytes": 10240}]
    assert everything(files) == []


def test_rm_removes_what_several_paths_name_once(fs, files) -> None:
    assert fs("rm", "-r", "ignite:///jobs/**", "ignite:///top", "ignite:///top", "ignite:///jobs/1")[0] == 0
    assert everything(files) == ["/empty/", "/jobs/"]


def test_rm_checks_every_path_before_it_removes_one(fs, files) -> None:
    before = everything(files)
    err = error_of(fs("rm", "ignite:///top", "ignite:///jobs"))
    assert "ignite:///jobs is a directory. Directories are removed only with -r. Add -r." in err
    assert fs("rm", "ignite:///top", "ignite:///nope")[0] == 1
    assert fs("rm", "-r", "ignite:///")[0] == 1
    assert everything(files) == before
    assert fs("rm", "-f", "ignite:///nope", "ignite:///none*")[:2] == (0, "")
    assert fs("rm", "-f", "ignite:///nope", "ignite:///top")[:2] == (0, "removed ignite:///top (10.2 kB)\n")


def test_check_reports_no_fault_of_intact_files(fs, node, files) -> None:
    put(files, "/nothing", b"")
    with files.open_writer("/begun") as writer:
        writer.write(DATA)
        writer.publish()
        writer.write(DATA)  # blocks of no file yet
        eventually(lambda: len(node.store.blocks) >= 4 * 3 + 4)
        code, out, err = fs("check")
    assert (code, err) == (0, "")
    assert re.fullmatch(r"checked \d+ blocks of 6 files on 1 node: [\d.]+ kB\n", out)


def test_check_lists_corrupt_lost_and_orphaned_blocks_with_their_files(fs, node, files) -> None:
    store = node.store
    (top,) = files.extents("/top")
    (deep,) = files.extents("/jobs/1/deep/b.bin")
    store.corrupt.add((top.id, 1))
    del store.blocks[deep.id, 0], store.blocks[deep.id, 1]
    store.blocks["f" * 32, 0] = b"x" * 1000
    store.blocks[top.id, 3] = b"behind the end"
    code, out, err = fs("check")
    assert code == 1
    assert out.splitlines() == [
        f"lost     ignite:///jobs/1/deep/b.bin: blocks 0-1 of extent {deep.id}",
        f"corrupt  ignite:///top: block 1 of extent {top.id} on {node.address}",
        f"orphan   ignite:///top: block 3 of extent {top.id}",
        f"orphan   extent {'f' * 32}: 1 block, 1.00 kB, of no file",
        "checked 12 blocks of 4 files on 1 node: 33.8 kB",
    ]
    assert err.startswith("error: 2 files of 4 cannot be read whole. ")
    code, out, err = fs("check", "--json")
    assert (code, err) == (1, "")
    found = json.loads(out)
    assert (found["files"], found["blocks"], found["nodes"]) == (4, 12, [node.address])
    assert [(fault["kind"], fault["blocks"]) for fault in found["faults"]] == [
        *(("lost", [0, 1]), ("corrupt", [1]), ("orphan", [3]), ("orphan", [0])),
    ]


def test_check_reports_no_fault_for_concurrent_changes(fs, node, files, monkeypatch) -> None:
    """Between the look at the blocks and that at the files, one is removed, one is moved and one is written."""
    check = Files.check

    def changing(self: Files):
        found = list(check(self))
        if files.exists("/top"):
            files.remove("/top")
            files.rename("/jobs/2", "/after")
            put(files, "/new")
        return iter(found)

    monkeypatch.setattr(Files, "check", changing)
    code, _, err = fs("check")
    assert (code, err) == (0, "")
    assert files.exists("/new")


def test_a_terminal_gets_colours_and_a_bar_and_a_pipe_gets_neither(node, files, tmp_path) -> None:
    terminal = {"TERM": "xterm", "NO_COLOR": ""}
    assert "\x1b[34mjobs/\x1b[0m" in on_terminal("fs", "ls", env=terminal)
    (tmp_path / "large").write_bytes(DATA * 100)
    shown = on_terminal("fs", "cp", tmp_path / "large", "ignite:///large", env=terminal)
    assert "copying" in shown
    assert shown.rfind("\x1b[?25h") > shown.rfind("\x1b[?25l")  # the cursor is shown again
    assert "copied 1 file: 1.02 MB" in shown
    ran = start("fs", "cp", tmp_path / "large", "ignite:///large", env=terminal)
    out, err = ran.communicate(timeout=LIMIT)
    assert err == ""
    assert "\x1b" not in out


def test_shells_complete_paths_of_the_cluster(complete, node, files) -> None:
    put(files, "/my file")
    program = "tensorflow-ignite fs"
    assert complete(f"{program} ls ig") == ["ignite:///"]
    assert complete(f"{program} cat ignite:///t") == ["ignite:///top"]
    assert complete(f"{program} cp /tmp/x ignite:///jobs/1/") == ["ignite:///jobs/1/a.txt", "ignite:///jobs/1/deep/"]
    # The only directory is entered.
    assert complete(f"{program} ls ignite:///jo") == ["ignite:///jobs/1/", "ignite:///jobs/2/"]
    assert complete(f"{program} stat ignite://{node.address}/t") == [f"ignite://{node.address}/top"]
    assert complete(f"{program} stat --address {node.address} ignite:///m") == ["ignite:///my file"]
    assert complete(f"{program} ls ignite:///nope/") == []
    # Bash breaks words at colons, and takes what it is given as typed.
    assert complete(f"{program} rm ignite:///t", "bash") == ["///top"]
    assert complete(f"{program} rm ignite:///m", "bash") == ["///my\\ file"]
    assert complete(f"{program} mv ignite:///top ignite:///jobs/1/d", "bash") == ["///jobs/1/deep/b.bin"]
    port = node.address.rpartition(":")[2]
    assert complete(f"{program} rm ignite://{node.address}/t", "bash") == [f"{port}/top"]
