"""The packages that a job brings: installed once on a node, over the interpreter, or the job fails at once."""

from __future__ import annotations

import os
import runpy
import socket
import time
import zipfile
from pathlib import Path

import pytest

from agent_harness import Agent, request
from tensorflow_ignite import errors
from tensorflow_ignite.agent import packages
from tensorflow_ignite.jobs.archive import pack
from tensorflow_ignite.testing.patience import patiently
from tensorflow_ignite.v1 import agent_pb2, job_pb2

_INSTALLER = str(packages._INSTALLER)
# A venv and pip start several interpreters.
PIP_SECONDS = patiently(120.0)


def wheel(folder: Path, name: str, requires: str = "") -> Path:
    """A wheel of one module, which holds its own name."""
    path = folder / f"{name}-1.0-py3-none-any.whl"
    info = f"{name}-1.0.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}.py", f"name = {name!r}\n")
        archive.writestr(f"{info}/METADATA", metadata + (f"Requires-Dist: {requires}\n" if requires else ""))
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return path


def start(
    agent: Agent, folder: Path, source: str, *, env: dict[str, str] | None = None, **given: object
) -> agent_pb2.TaskKey:
    """Starts a script with packages, as a submission packs them."""
    (folder / "main.py").write_text(source)
    packed = pack(folder / "main.py", **given)
    code = folder / f"{agent.job}.zip"
    code.write_bytes(packed.data)
    task = agent.key()
    message = request(task, code)
    message.spec.environment.requirements = packed.requirements
    message.spec.environment.wheels.extend(packed.wheels)
    message.spec.environment.variables.update(env or {})
    agent.reserve(task)
    agent.call("StartTask", message)
    return task


def test_wheels_are_installed_once_without_an_index_over_the_interpreter(agent: Agent, tmp_path: Path) -> None:
    given = [wheel(tmp_path, "lemon", requires="grpcio"), wheel(tmp_path, "lime", requires="lemon")]
    source = "import grpc, lemon, lime, sys, tensorflow_ignite\nprint(lemon.name, lime.name, sys.prefix)"
    # An index that must not be called.
    nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:9/"}
    task = start(agent, tmp_path, source, wheels=given, env=nowhere)
    assert agent.ended(task, PIP_SECONDS).state == job_pb2.TASK_STATE_SUCCEEDED, agent.output
    assert "installing the packages of the job" in agent.output
    first = agent.output.splitlines()[-1]
    assert first.startswith("lemon lime ")
    with agent.new_job():
        task = start(agent, tmp_path, source, wheels=given, env=nowhere)
        assert agent.ended(task, PIP_SECONDS).state == job_pb2.TASK_STATE_SUCCEEDED, agent.output
        assert agent.output == first + "\n"


def test_a_failed_installation_fails_the_task_permanently_with_the_lines_of_pip(agent: Agent, tmp_path: Path) -> None:
    (tmp_path / "needed.txt").write_text("a-package-that-is-nowhere==7\n")
    given = {"requirements": tmp_path / "needed.txt", "wheels": [wheel(tmp_path, "lemon")]}
    task = start(agent, tmp_path, "print('not reached')", **given)
    status = agent.ended(task, PIP_SECONDS)
    assert (status.state, status.failed_permanently, status.node_failed) == (job_pb2.TASK_STATE_FAILED, True, False)
    assert status.failure.kind == job_pb2.FAILURE_KIND_PACKAGES
    assert "No matching distribution found for a-package-that-is-nowhere==7" in status.error
    assert "not reached" not in agent.output
    assert not [
        path for path in (agent.work.parent / "packages").iterdir() if path.is_dir() and not (path / "bin").exists()
    ]


def test_a_stop_ends_an_installation(agent: Agent, tmp_path: Path) -> None:
    (tmp_path / "needed.txt").write_text("a-package-that-is-nowhere==7\n")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(60)
        index = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        env = {"PIP_INDEX_URL": index, "NO_PROXY": "127.0.0.1", "PIP_NO_INDEX": ""}
        task = start(agent, tmp_path, "print('not reached')", requirements=tmp_path / "needed.txt", env=env)
        # pip waits for an answer from now on.
        waiting, _ = silent.accept()
        with waiting:
            agent.stop(grace="0s")
    assert agent.ended(task, PIP_SECONDS).state == job_pb2.TASK_STATE_STOPPED
    assert not agent.living()


def test_an_interpreter_that_a_node_does_not_have_fails_the_task_permanently(agent: Agent) -> None:
    status = agent.ended(agent.start("", spec={"environment": {"python": "/nowhere/bin/python"}}), PIP_SECONDS)
    assert status.failed_permanently
    assert "/nowhere/bin/python is not a program on this node" in status.error


def test_environments_that_nobody_has_used_for_a_week_are_removed(tmp_path: Path) -> None:
    installer = runpy.run_path(_INSTALLER)

    def left() -> set[str]:
        installer["_remove_old"](str(tmp_path), str(tmp_path / "new"))
        return {path.name for path in tmp_path.iterdir() if path.is_dir()}

    (tmp_path / "killed").mkdir()
    week_ago = time.time() - installer["SECONDS_TO_KEEP"] - 60
    for name in ("old", "used", "new"):
        (tmp_path / name).mkdir()
        done = tmp_path / name / installer["_DONE"]
        done.touch()
        if name != "new":
            os.utime(done, (week_ago, week_ago))
    task = packages.Packages(job_pb2.JobSpec(), tmp_path, tmp_path)
    task._lock = os.open(f"{tmp_path}/used.lock", os.O_RDWR | os.O_CREAT)
    packages.fcntl.flock(task._lock, packages.fcntl.LOCK_SH)
    assert left() == {"new", "used"}
    task.release()
    assert left() == {"new"}


def test_requirements_and_wheels_are_packed_with_the_code(tmp_path: Path) -> None:
    main, needed = tmp_path / "main.py", tmp_path / "needed.txt"
    main.write_text("")
    needed.write_text("lemon\n")
    packed = pack(main, requirements=needed, wheels=[wheel(tmp_path, "lemon")])
    assert packed.requirements == ".tensorflow-ignite/requirements.txt"
    assert packed.wheels == (".tensorflow-ignite/lemon-1.0-py3-none-any.whl",)
    assert set(packed.files) == {"main.py", packed.requirements, *packed.wheels}
    with pytest.raises(errors.CodeNotFoundError, match="Requirements and wheels are files here"):
        pack(main, requirements=tmp_path / "missing.txt")
    # The second name is that of a file which a browser has downloaded twice.
    for no_wheel in (needed, tmp_path / "m-1.0-py3-none-any (1).whl"):
        with pytest.raises(errors.CodeInvalidError, match="not the name of a wheel"):
            pack(main, wheels=[no_wheel])
    with pytest.raises(errors.CodeInvalidError, match=r"the wheels in environment\.wheels"):
        pack(wheel(tmp_path, "lime"))


_NAMES_FILES = [
    "-r other.txt",
    "-rother.txt",
    "--constraint=../c.txt",
    "-e .",
    "--editable lib",
    "./lib[x]",
    "dist/a-1.0-py3-none-any.whl",
    "a-1.0.tar.gz",
    "-f wheels",
]
_STANDS_ALONE = [
    "lemon==1 # of a/b",
    "lemon==1 \\\n  --hash=sha256:ab",
    "lemon[a,b]>=1,<2 ; sys_platform == 'a/b'",
    "-r https://host/y.txt",
    "-e git+https://host/x.git#egg=x",
    "git+ssh://git@host/x",
    "a @ file:///on/every/node",
    "/on/every/node/a-1.0-py3-none-any.whl",
    "-c /etc/constraints.txt",
    "--index-url https://host/simple",
]


def test_requirements_name_no_file_that_is_not_sent(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("")
    needed = tmp_path / "needed.txt"
    for line in _NAMES_FILES:
        for content in (line.encode(), f"lemon\r\n{line}\r\n".encode(), f"lemon\n{line}".encode("utf-16")):
            needed.write_bytes(content)
            with pytest.raises(errors.CodeInvalidError, match="names a file or folder of this machine"):
                pack(tmp_path / "main.py", requirements=needed)
    needed.write_text("\n".join(_STANDS_ALONE))
    assert pack(tmp_path / "main.py", requirements=needed).requirements
