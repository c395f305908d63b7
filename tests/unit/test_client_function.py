"""A function as the code of a job, and a job as a notebook shows it."""

from __future__ import annotations

import io
import linecache
import re
import subprocess
import sys
import threading
import traceback
import zipfile
from pathlib import Path
from typing import Any

import pytest
from node_api_server import running_job

import tensorflow_ignite as tfi
from tensorflow_ignite.errors import CodeInvalidError, InvalidRequestError
from tensorflow_ignite.jobs.archive import Archive
from tensorflow_ignite.jobs.display import html
from tensorflow_ignite.jobs.function import pack_function
from tensorflow_ignite.spec import Job
from tensorflow_ignite.v1 import job_pb2

FACTOR = 6


def _multiply(number: int) -> int:
    return number * FACTOR


def announce(number: int, texts: list[str]) -> None:
    print(_multiply(number), texts)


def fail() -> None:
    raise ValueError("on purpose")


def run(archive: Archive, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs the script of an archive as a task does: this module cannot be imported there."""
    with zipfile.ZipFile(io.BytesIO(archive.data)) as packed:
        packed.extractall(folder)
    command = [sys.executable, str(folder / archive.script)]
    return subprocess.run(command, cwd="/", capture_output=True, text=True, timeout=60, check=False)


def test_a_function_is_called_with_its_arguments_and_what_its_file_defines(tmp_path: Path) -> None:
    archive = pack_function(announce, [7, ["a", "ü"]])
    assert archive.script == "submitted_announce.py"
    ran = run(archive, tmp_path)
    assert (ran.stdout, ran.stderr) == ("42 ['a', 'ü']\n", "")


def test_the_traceback_of_a_function_shows_its_lines(tmp_path: Path) -> None:
    ran = run(pack_function(fail, []), tmp_path)
    assert ran.returncode == 1
    assert re.search(r', in fail\n +raise ValueError\("on purpose"\)\n', ran.stderr)


def test_tracebacks_of_the_script_itself_show_the_lines_of_a_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = "/tmp/ipykernel_0/12.py"
    text = "def train():\n    try:\n        1 / 0\n    except ArithmeticError:\n        traceback.print_exc()\n"
    monkeypatch.setitem(linecache.cache, cell, (len(text), None, text.splitlines(True), cell))
    defined = {"__name__": "__main__", "traceback": traceback}
    exec(compile(text, cell, "exec"), defined)
    ran = run(pack_function(defined["train"], []), tmp_path)  # type: ignore[arg-type]
    assert f'File "{cell}", line 3, in train\n    1 / 0\n' in ran.stderr


def test_another_version_of_python_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tensorflow_ignite.jobs.function.sys", type("Old", (), {"version_info": (3, 9)}))
    monkeypatch.setattr("tensorflow_ignite.jobs.function._is_installed", lambda module: False)
    ran = run(pack_function(announce, [1, []]), tmp_path)
    assert ran.returncode == 1
    here = "{}.{}".format(*sys.version_info[:2])
    assert f"the function announce was submitted from Python 3.9, and this node has {here}" in ran.stderr


def test_a_function_may_have_the_name_of_a_module_that_it_imports(tmp_path: Path) -> None:
    def random() -> None:
        import random

        print(random.__name__)

    assert run(pack_function(random, []), tmp_path).stdout == "random\n"


def test_a_submitted_function_gives_the_job_its_name(node: Any) -> None:
    with tfi.connect() as client:
        jobs = [client.submit(announce, cache="images", args=[1, []], name=name) for name in (None, "mine")]
        assert client.caches() == ["empty", "images"]
    specs = [node.state.jobs[job.id].spec for job in jobs]
    assert [spec.name for spec in specs] == ["announce", "mine"]
    assert [(spec.script, list(spec.args)) for spec in specs] == [("submitted_announce.py", [])] * 2


def test_arguments_are_a_list_also_of_one(node: Any) -> None:
    with tfi.connect() as client:
        for args in (7, "seven"):
            with pytest.raises(InvalidRequestError, match=r"is not a list.*Pass args=\[\.\.\.\]"):
                client.submit(announce, cache="images", args=args)  # type: ignore[arg-type]


def test_what_cannot_be_sent_is_an_error_with_what_to_do() -> None:
    lock = threading.Lock()

    def uses_a_lock() -> None:
        lock.acquire()

    with pytest.raises(CodeInvalidError, match=r"the function uses_a_lock cannot be sent .*inside the function"):
        pack_function(uses_a_lock, [])


def test_a_job_is_a_table_with_its_progress_and_no_markup_of_its_own() -> None:
    message = running_job(cause="<script>")
    message.spec.name = "<b>"
    message.attempts[0].tasks[0].status.progress.metrics["<i>"] = 1.0
    shown = html(Job.from_proto(message))
    assert '<progress value="10" max="40"></progress> step 10/40' in shown
    assert "<td>worker 1</td><td>running</td><td>1,234</td><td>step 11/40 loss=0.25</td>" in shown
    assert not re.search(r"<(script|i|b)>(?!7f3a0000)", shown)
    assert html(Job.from_proto(job_pb2.Job(id="7f3a0000"))).count("<table") == 1
