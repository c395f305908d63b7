"""The client where there is no Linux: in a process without what only POSIX has, against nodes on real sockets.

Promise (code): Clients on Windows submit, load, read and copy; what needs Linux is refused.
"""

from __future__ import annotations

import ntpath
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import tcp_node
from file_server import FileServer
from node_api_server import NodeApiServer
from program import LIMIT, PYTHON
from secured import TABLE, DataEndpoint

from tensorflow_ignite.base import system
from tensorflow_ignite.cli.fs.arguments import Locations
from tensorflow_ignite.data.loading.source import Source
from tensorflow_ignite.errors import InvalidRequestError, StorageError
from tensorflow_ignite.jobs import archive, checks
from tensorflow_ignite.v1 import job_pb2

OTHER_PLATFORM = Path(__file__).with_name("other_platform.py")
#: Runs on nodes only, or imports TensorFlow.
OF_NODES = r"tensorflow_ignite\.(agent|serving|node|testing)\b|.*\.__main__|tensorflow_ignite\.cli\.quickstart"
OF_TENSORFLOW = r"tensorflow_ignite\.(data\.(row_)?dataset|storage\.tensorboard)"
COMMAND_LINE = "import sys; from tensorflow_ignite.cli import main; sys.exit(main())"


def run(code: str, *arguments: object, address: str = "") -> tuple[int, str, str]:
    """Runs a program; returns its exit code, standard output and standard error."""
    environment = {**os.environ, "PYTHONPATH": str(PYTHON), "TENSORFLOW_IGNITE_ADDRESS": address, "COLUMNS": "120"}
    command = [sys.executable, str(OTHER_PLATFORM), code, *map(str, arguments)]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False)
    return ran.returncode, ran.stdout, ran.stderr


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths as Windows writes them, in this process."""
    monkeypatch.setattr(system, "_IS_WINDOWS", True)
    monkeypatch.setattr(os.path, "splitdrive", ntpath.splitdrive)


def test_every_module_of_a_client_is_imported_and_every_command_has_help() -> None:
    code = f"""
import importlib, pkgutil, re, tensorflow_ignite
for module in pkgutil.walk_packages(tensorflow_ignite.__path__, "tensorflow_ignite."):
    if not re.match({OF_NODES + "|" + OF_TENSORFLOW!r}, module.name):
        importlib.import_module(module.name)
from tensorflow_ignite.cli import app, main
import typer.main
def texts(command, words):
    assert main([*words, "--help"]) == 0, words
    for name, below in getattr(command, "commands", {{}}).items():
        texts(below, [*words, name])
texts(typer.main.get_command(app.app), [])
"""
    code_, out, err = run(code)
    assert (code_, err) == (0, "")
    assert out.count("Usage: ") > 30


def test_one_module_alone_distinguishes_systems() -> None:
    asks = re.compile(r"sys\.platform|os\.name\b|platform\.system|hasattr\(os, ")
    sources = (PYTHON / "tensorflow_ignite").rglob("*.py")
    found = {path.relative_to(PYTHON).as_posix() for path in sources if asks.search(path.read_text(encoding="utf-8"))}
    assert found == {"tensorflow_ignite/base/system.py"}


def test_a_script_is_submitted_and_its_output_followed(script: Path) -> None:
    with NodeApiServer() as node:

        def end(job: job_pb2.Job) -> None:
            node.state.log(job.id, b"trained\n")
            node.state.update(job.id, state=job_pb2.JOB_STATE_SUCCEEDED, outcome=job_pb2.JOB_STATE_SUCCEEDED)

        node.state.on_submit = end
        code, out, err = run(COMMAND_LINE, "submit", "--cache", "images", script, "--epochs", 3, address=node.address)
    assert (code, "trained" in out) == (0, True), err
    assert [list(job.spec.args) for job in node.state.jobs.values()] == [["--epochs", "3"]]


def test_a_csv_file_is_loaded_and_rows_are_read_over_flight_and_tcp(tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_bytes(b"x,y\r\n1,a\r\n2,b\r\n")
    with DataEndpoint() as node:
        code, out, err = run(COMMAND_LINE, "load", "images", rows, address=node.address)
        assert (code, "loaded 2 rows" in out) == (0, True), err
        options = "t.ReadOptions(transport='flight')"
        read = f"import tensorflow_ignite as t; print(t.read_table('c', options={options}).num_rows)"
        assert run(read, address=node.address) == (0, f"{TABLE.num_rows}\n", "")
    node = tcp_node.Node()
    over_tcp = f"""
from tensorflow_ignite.data.transport import choice, flight
from tensorflow_ignite.v1 import data_pb2
endpoint = flight.Endpoint({node.endpoint.address!r}, data_pb2.ReadCommand(cache="c"))
stream = choice.open_stream(endpoint, "c", "tcp", keep=lambda size: True)
print(sum(batch.num_rows for batch in stream))
"""
    try:
        assert run(over_tcp) == (0, "50000\n", "")
        code, _, err = run(over_tcp.replace('"tcp"', '"shared"'))
        assert (code, "Shared memory is a memfd of Linux" in err, 'transport="flight"' in err) == (1, True, True)
    finally:
        node.stop()


@pytest.mark.full
def test_files_are_copied_both_ways_listed_and_removed(tmp_path: Path) -> None:
    content = b"a\nb\r\n" * 1_000_000
    (tmp_path / "a.bin").write_bytes(content)
    with FileServer() as node:
        for command in (
            ("cp", tmp_path / "a.bin", "ignite:///a.bin"),
            ("cp", "ignite:///a.bin", f"file://{tmp_path}/copy/b.bin"),
            ("cat", "ignite:///a.bin"),
            ("check",),
            ("rm", "ignite:///a.bin"),
        ):
            code, _, err = run(COMMAND_LINE, "fs", *command, address=node.address)
            assert (code, err) == (0, ""), command
        assert list(node.store.entries) == ["/"]
    assert (tmp_path / "copy/b.bin").read_bytes() == content


@pytest.mark.parametrize("command", ["node", "quickstart"])
def test_nodes_are_refused_with_the_reason_and_the_remedy(command: str) -> None:
    code, out, err = run(COMMAND_LINE, command)
    assert (code, out) == (1, "")
    assert re.match(r"error: .* needs Linux, and this is win32\. .*container or in WSL", err)


def test_a_cluster_for_tests_is_refused_and_the_doctor_examines_the_cluster_alone() -> None:
    code, _, err = run("import tensorflow_ignite as t; t.testing.LocalCluster()")
    assert (code, "UnsupportedPlatformError: tensorflow_ignite.testing.LocalCluster needs Linux" in err) == (1, True)
    code, out, _ = run(COMMAND_LINE, "doctor", "--only", "machine")
    assert (code, "this machine is a client" in out) == (0, True)


@pytest.mark.parametrize(
    ("text", "path", "name", "names_directory"),
    [
        ("C:\\data\\a.csv", "C:/data/a.csv", "a.csv", False),
        ("data\\", "data", "data", True),
        ("E:\\", "E:/", "", True),
        ("file:///C:/data/a.csv", "C:/data/a.csv", "a.csv", False),
        ("file:///data", "/data", "data", False),
    ],
)
@pytest.mark.usefixtures("windows")
def test_paths_of_windows_have_drives_and_backslashes(text: str, path: str, name: str, names_directory: bool) -> None:
    found = Locations.parse(object.__new__(Locations), text)
    assert (found.path, found.name, found.names_directory) == (path, name, names_directory)
    assert Source.of("C:\\rows\\*.csv") == (Source(), "C:/rows/*.csv")


@pytest.mark.parametrize("name", ["..\\..\\start.bat", "a:b", "NUL", "con.txt", "what?", "end.", "C:"])
@pytest.mark.usefixtures("windows")
def test_names_of_the_cluster_that_windows_takes_for_other_files_are_refused(name: str) -> None:
    folder = Locations.parse(object.__new__(Locations), "D:\\copy")
    with pytest.raises(StorageError, match=r"cannot be the name of a file in D:/copy"):
        folder.child(name)
    assert folder.child("console.txt").path == "D:/copy/console.txt"


@pytest.mark.usefixtures("windows")
def test_scripts_are_named_with_backslashes_and_directories_of_tasks_are_those_of_linux(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/fit.py").write_text("pass\n")
    assert archive.pack(tmp_path, "src\\fit.py").script == "src/fit.py"
    assert checks.directory("/shared/checkpoints") == "/shared/checkpoints"
    with pytest.raises(InvalidRequestError, match="relative path"):
        checks.directory("C:/checkpoints")


def test_profiles_are_in_the_folder_of_settings_and_need_no_mode(tmp_path: Path) -> None:
    path = tmp_path / "tensorflow-ignite/profiles.toml"
    path.parent.mkdir()
    path.write_text('[default]\naddress = "near:1"\n', encoding="utf-8")
    path.chmod(0o666)
    code = f"""
import os
os.environ["APPDATA"] = {str(tmp_path)!r}
del os.environ["TENSORFLOW_IGNITE_PROFILES"]
from tensorflow_ignite.net import profile
print(profile.load().address)
"""
    assert run(code) == (0, "near:1\n", "")


def test_json_has_all_characters_in_every_encoding_of_standard_output() -> None:
    code = """
import sys
sys.stdout.reconfigure(encoding="cp1252", errors="replace")
from tensorflow_ignite.cli.render import print_json
print_json("\u6570")
"""
    assert run(code) == (0, '"\\u6570"\n', "")
