"""Spares: what a script finds in one is what it finds after a start by Python; and nothing of them is left.

Promise (processes): A script finds in a spare what it finds after a start by Python.
Promise (processes): A spare that cannot be used costs a task only time.
Promise (processes): A spare is used for one task, and has no secret before.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from agent_harness import Agent, eventually, is_alive
from tensorflow_ignite.agent import memory
from tensorflow_ignite.agent.spare_key import SpareKey, late_variables, sets_early_variables
from tensorflow_ignite.jobs.function import pack_function
from tensorflow_ignite.v1 import agent_pb2, job_pb2

# TensorFlow of these tests: a module that is imported as fast as others, and says so.
TENSORFLOW = """
import os, sys, time
{more}
print("imported", flush=True)
class keras:
    Model = None
"""
PROGRAM = "spare_process.py"
# The import lasts until a task waits for the spare, which a file says, and then until another file is there.
WAITS_FOR_A_TASK = """
import select
sockets = [int(fd) for fd in os.listdir("/proc/self/fd") if os.path.islink(f"/proc/self/fd/{{fd}}")]
sockets = [fd for fd in sockets if os.readlink(f"/proc/self/fd/{{fd}}").startswith("socket:")]
while not select.select(sockets, [], [], 0)[0]:
    sum(range(10000))
open({taken!r}, "w").close()
while not os.path.exists({go!r}):
    sum(range(10000))
"""
# No spare is started because of a time that has passed.
NO_TIMES = "from tensorflow_ignite.agent import spares; spares.START_SECONDS = spares.FIRST_BACK_OFF_SECONDS = 600.0"

_numbers = itertools.count()


def module(directory: Path, more: str = "") -> dict[str, str]:
    """The environment of an agent whose tasks import this TensorFlow."""
    package = directory / "packages"
    (package / "tensorflow").mkdir(parents=True, exist_ok=True)
    (package / "tensorflow" / "__init__.py").write_text(TENSORFLOW.format(more=more))
    path = os.pathsep.join([str(package), os.environ.get("PYTHONPATH", "")])
    return {"PYTHONPATH": path}


def spares(agent: Agent) -> list[psutil.Process]:
    return [process for process in agent.living() if is_spare(process)]


def is_spare(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return any(argument.endswith(PROGRAM) for argument in process.cmdline())
    return False


def info(agent: Agent) -> job_pb2.AgentInfo:
    return agent.call("Heartbeat", agent_pb2.HeartbeatRequest()).info


def await_spares(agent: Agent, count: int = 1) -> list[psutil.Process]:
    """Waits until spares are ready; returns them."""
    eventually(lambda: info(agent).warm_processes == count)
    return spares(agent)


@pytest.fixture(scope="module")
def one_agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    directory = tmp_path_factory.mktemp("agent")
    with closing(Agent(directory, env={**module(directory), "PASSED": "agent"}, warm=1, before=NO_TIMES)) as running:
        yield running


@pytest.fixture
def agent(one_agent: Agent) -> Iterator[Agent]:
    """The one agent with a spare, and a job for this test."""
    one_agent.job = f"job-{next(_numbers)}"
    await_spares(one_agent)
    yield one_agent
    one_agent.stop(grace="0s")


@pytest.fixture
def start_agent(tmp_path: Path) -> Iterator[object]:
    agents: list[Agent] = []

    def start(more: str = "", **options: object) -> Agent:
        agents.append(Agent(tmp_path, env=module(tmp_path, more), warm=1, before=NO_TIMES, **options))
        return agents[-1]

    yield start
    for agent in reversed(agents):
        agent.close()


def begin(agent: Agent, source: str | dict[str, str], *args: str, **more: object) -> agent_pb2.TaskKey:
    # The code of an attempt is unpacked once.
    agent.job = f"job-{next(_numbers)}"
    return agent.start(source, *args, **more)


def run(agent: Agent, source: str, *args: str, **more: object) -> job_pb2.TaskStatus:
    """Runs a script to its end."""
    return agent.ended(begin(agent, source, *args, **more))


def both(agent: Agent, source: str, *args: str, **more: object) -> list[tuple[job_pb2.TaskStatus, str]]:
    """Runs a script in a spare, and then after a start by Python; returns statuses and outputs without their paths."""
    await_spares(agent)
    results = []
    # Code that names a variable which TensorFlow reads at its import is started by Python.
    for beside in ("", "import os\nos.environ['TF_CPP_MIN_LOG_LEVEL'] = '0'"):
        task = begin(agent, {"main.py": source, "beside.py": beside}, *args, **more)
        status = agent.ended(task)
        results.append((status, re.sub(r"0x[0-9a-f]+|pid=\d+|job-\d+", "X", agent.output)))
    (warm, _), (cold, _) = results
    assert (warm.warm, cold.warm) == (True, False)
    return results


def test_a_script_finds_in_a_spare_what_it_finds_after_a_start(agent: Agent) -> None:
    source = """
import gc, json, os, resource, signal, stat, subprocess, sys, tempfile, threading
import tensorflow
main = sys.modules["__main__"]
umask = os.umask(0); os.umask(umask)
kinds = [getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")]
show = {
    "argv": sys.argv, "orig_argv": sys.orig_argv, "path": sys.path, "flags": str(sys.flags), "name": __name__,
    "file": __file__, "globals": sorted(globals()), "spec": str(__spec__), "package": str(__package__),
    "loader": type(__loader__).__name__, "builtins": type(__builtins__).__name__, "main": main.__dict__ is globals(),
    "cached": str(__cached__), "annotations": __annotations__, "doc": __doc__,
    "cwd": os.getcwd(), "umask": umask, "limits": [resource.getrlimit(kind) for kind in kinds],
    "session": os.getsid(0) == os.getpid() == os.getpgrp(), "stdin": sys.stdin.read(),
    "same output": os.path.samestat(os.fstat(1), os.fstat(2)), "append": os.read in (), "tty": sys.stdout.isatty(),
    "buffering": [sys.stdout.line_buffering, sys.stdout.write_through, sys.stdout.encoding, sys.stderr.errors],
    "descriptors": sorted(os.listdir("/proc/self/fd")),
    "signals": [str(signal.getsignal(number)) for number in sorted(signal.valid_signals())],
    "mask": sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, ()))),
    "tempdir": tempfile.gettempdir() == os.environ["TMPDIR"], "threads": threading.active_count(),
    "thread": threading.current_thread() is threading.main_thread(), "gc": gc.isenabled(),
    "nice": os.getpriority(os.PRIO_PROCESS, 0), "executable": sys.executable, "prefix": sys.prefix,
    "command": open("/proc/self/cmdline").read().rstrip("\\0").split("\\0"),
    "environment": dict(os.environ),
    "of a child": sorted(subprocess.run(["env"], capture_output=True, text=True, check=True).stdout.splitlines()),
    "warnings": sys.warnoptions, "hook": sys.excepthook is sys.__excepthook__,
    "level": len(__import__("inspect").stack()) < 3, "package": "tensorflow_ignite" in sys.modules,
}
print(json.dumps(show))
"""
    limits = {"memoryBytes": str(4 << 30), "openFiles": 200, "cpuTime": "50s"}
    (_, warm), (_, cold) = both(agent, source, "--a=b c", "", "ü", limits=limits, env={"TF_CONFIG": "{}"})
    assert warm.startswith("imported\n")
    first, second = json.loads(warm.splitlines()[-1]), json.loads(cold.splitlines()[-1])
    assert {key: (first[key], second[key]) for key in first if first[key] != second[key]} == {}
    assert first["limits"] == second["limits"]
    assert first["environment"]["TENSORFLOW_IGNITE_TASK"].endswith("X/1/worker/0/0")


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("print('done')", 0),
        ("def f():\n    raise ValueError('no such pixel')\nf()", 1),
        ("try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise RuntimeError('after') from e", 1),
        ("def broken(:", 1),
        ("raise SystemExit", 0),
        ("raise SystemExit(7)", 7),
        ("import sys\nsys.exit('a reason')", 1),
        ("import atexit, sys\natexit.register(print, 'at the end')\nsys.exit(3)", 3),
        ("import atexit\natexit.register(print, 'at the end')\n1/0", 1),
        ("raise KeyboardInterrupt", -signal.SIGINT),
        ("class Mine(KeyboardInterrupt): pass\nraise Mine", 1),
        ("import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(9)", -signal.SIGINT),
        ("import os, signal, time\nos.kill(os.getpid(), signal.SIGTERM)\ntime.sleep(9)", -signal.SIGTERM),
        ("import os\nos._exit(9)", 9),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", -signal.SIGSEGV),
        ("import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.3), print('thread'))).start()", 0),
        ("import sys\nsys.excepthook = lambda *e: print('hook', e[0].__name__, e[2].tb_frame.f_code.co_name)\n1/0", 1),
        ("import sys\nsys.stdout.write('no line end')", 0),
        ("import asyncio\nasync def f():\n    raise OSError('in a coroutine')\nasyncio.run(f())", 1),
    ],
)
def test_a_script_ends_in_a_spare_as_after_a_start(agent: Agent, source: str, code: int) -> None:
    (warm, printed), (cold, expected) = both(agent, source)
    assert (warm.exit_code, cold.exit_code) == (code, code)
    assert (warm.state, warm.error) == (cold.state, cold.error)
    # What the spare has printed at its import comes first.
    assert without_own_frame(printed.removeprefix("imported\n")) == without_own_frame(expected)
    if "SIGSEGV" not in source:
        assert PROGRAM not in printed


def without_own_frame(output: str) -> list[str]:
    """Lines without what differs after a fatal signal: faulthandler lists C extensions, and the frame of the spare."""
    lines = output.partition("\nExtension modules:")[0].strip().splitlines()
    return [line for line in lines if not line.endswith("in <module>") or PROGRAM not in line]


def test_classes_of_a_script_are_pickled_and_its_processes_find_them(agent: Agent) -> None:
    source = """
import multiprocessing, pickle, os
class Row:
    def __init__(self, x): self.x = x
def double(row): return Row(2 * row.x), os.environ["TENSORFLOW_IGNITE_TASK"], os.getcwd()
if __name__ == "__main__":
    assert pickle.loads(pickle.dumps(Row(3))).x == 3
    for method in ("fork", "spawn"):  # the socket of "forkserver" needs a shorter path than tests have
        with multiprocessing.get_context(method).Pool(2) as pool:
            rows = pool.map(double, [Row(1), Row(2)])
            print(method, [row.x for row, _, _ in rows], {mark for _, mark, _ in rows}, {cwd for *_, cwd in rows})
"""
    (warm, printed), (cold, expected) = both(agent, source)
    assert (warm.exit_code, cold.exit_code) == (0, 0)
    assert printed.removeprefix("imported\n") == expected
    assert printed.count("[2, 4]") == 2


def test_a_server_of_a_parameter_server_job_takes_a_spare(agent: Agent) -> None:
    status = agent.ended(agent.start("print('script')", task=agent.key(role=job_pb2.ROLE_PS), isServer=True))
    assert (status.warm, status.exit_code) == (True, 1)
    # Without TF_CONFIG it ends at once, and says so.
    assert "TF_CONFIG names no task of a cluster" in status.traceback


@pytest.mark.parametrize(
    "files",
    [
        {"main.py": "print('cold')", "random.py": ""},
        {"main.py": "print('cold')", "sitecustomize.py": "print('customized')"},
        {"sub/main.py": "print('cold')", "sub/tensorflow.py": "", "script": "sub/main.py"},
        {"main.py": "import os\nos.environ['TF_ENABLE_ONEDNN_OPTS'] = '0'\nprint('cold')"},
        {"main.py": "import helper\nprint('cold')", "helper.py": "import os\nos.environ.update(OMP_NUM_THREADS='1')"},
    ],
)
def test_a_script_that_would_find_other_modules_or_variables_is_started_without_a_spare(
    agent: Agent, files: dict[str, str]
) -> None:
    files = dict(files)
    script = files.pop("script", "main.py")
    task = begin(agent, files, script=script)
    status = agent.ended(task)
    assert (status.warm, status.exit_code) == (False, 0)
    assert "cold\n" in agent.output
    # A job whose code does not fit costs other jobs no spare: the next one is started without a pause.
    await_spares(agent)


def test_other_variables_make_another_key_and_the_next_spares_have_it(agent: Agent) -> None:
    (before,) = spares(agent)
    env = {"PASSED": str(next(_numbers)), "WANDB_API_KEY": "hidden"}
    source = "import os\nprint(os.environ['PASSED'], os.environ['WANDB_API_KEY'])"
    assert not run(agent, source, spec={"environment": {"variables": env}}).warm
    assert agent.output == f"{env['PASSED']} hidden\n"
    eventually(lambda: not is_alive(before.pid))
    (after,) = await_spares(agent)
    assert after.environ()["PASSED"] == env["PASSED"]
    # No secret is in a spare, and no other variable of a task.
    assert "hidden" not in str(after.environ())
    assert not {"TF_CONFIG", "TENSORFLOW_IGNITE_CONTEXT"} & after.environ().keys()
    assert run(agent, source, spec={"environment": {"variables": env}}).warm
    assert agent.output == f"imported\n{env['PASSED']} hidden\n"
    run(agent, "")


def test_a_spare_waits_without_work_has_no_terminal_and_leads_a_session(agent: Agent) -> None:
    (spare,) = spares(agent)
    keeper = spare.parent()
    assert keeper.ppid() == agent.process.pid
    assert os.getsid(spare.pid) == spare.pid
    eventually(lambda: spare.status() == psutil.STATUS_SLEEPING)
    before = [process.num_ctx_switches().voluntary for process in (spare, keeper)]
    used = [process.cpu_times()[:2] for process in (spare, keeper)]
    # Heartbeats are no work for it.
    for _ in range(10):
        info(agent)
    assert [process.num_ctx_switches().voluntary for process in (spare, keeper)] == before
    assert [process.cpu_times()[:2] for process in (spare, keeper)] == used
    assert 1 << 20 < info(agent).warm_bytes < spare.memory_info().rss


def test_the_next_spare_is_started_after_the_first_step_of_a_task(start_agent: object) -> None:
    agent = start_agent()
    await_spares(agent)
    source = (
        "import os, sys, time\n"
        "path = os.environ['TENSORFLOW_IGNITE_PROGRESS']\n"
        "while not os.path.exists(sys.argv[1]): time.sleep(0.01)\n"
        "with open(path + '.new', 'w') as f: f.write('{\"step\": \"1\"}')\n"
        "os.replace(path + '.new', path)\n"
        "time.sleep(600)"
    )
    go = agent.directory / "go"
    script = agent.script(begin(agent, source, str(go)))
    # A heartbeat starts a spare where one may be started.
    assert info(agent).warm_processes == 0
    assert not spares(agent)
    go.touch()
    await_spares(agent)
    assert is_alive(script)


@pytest.mark.parametrize("stopped", [False, True])
def test_a_task_waits_for_a_spare_that_still_imports_until_it_is_stopped(
    start_agent: object, tmp_path: Path, stopped: bool
) -> None:
    taken, go = tmp_path / "taken", tmp_path / "go"
    agent = start_agent(WAITS_FOR_A_TASK.format(taken=str(taken), go=str(go)))
    (spare,) = eventually(lambda: spares(agent))
    task = begin(agent, "print('runs')")
    eventually(taken.exists)
    assert not agent.output
    if stopped:
        agent.stop(grace="0s")
        assert agent.ended(task).state == job_pb2.TASK_STATE_STOPPED
        assert not is_alive(spare.pid)
        assert not agent.output
    else:
        go.touch()
        status = agent.ended(task)
        assert (status.warm, status.pid) == (True, spare.pid)
        assert agent.output == "imported\nruns\n"


@pytest.mark.full
@pytest.mark.parametrize("broken", ["dead", "stopped", "changed"])
def test_a_spare_that_cannot_be_used_costs_a_task_nothing_but_time(
    start_agent: object, tmp_path: Path, broken: str, capfd: pytest.CaptureFixture[str]
) -> None:
    agent = start_agent()
    (spare,) = await_spares(agent)
    if broken == "dead":
        # The agent may not know it yet.
        spare.kill()
    elif broken == "stopped":
        spare.suspend()
    else:
        (tmp_path / "packages" / "tensorflow" / "__init__.py").write_text(TENSORFLOW.format(more="print('new')"))
    status = run(agent, "import tensorflow\nprint('runs')")
    assert (status.warm, status.exit_code, status.error) == (False, 0, "")
    assert agent.output == f"{'new' if broken == 'changed' else ''}\nimported\nruns\n".lstrip()
    assert not is_alive(spare.pid)
    agent.close()
    error = capfd.readouterr().err
    # The agent may have noticed its end before the task.
    noticed = broken == "dead" and "has ended: " in error
    assert noticed or "was not used, its task is started without: " in error
    assert ("the next spare is started after 600 s" in error) == (broken != "changed")


def test_a_spare_that_fails_is_not_started_in_a_loop(start_agent: object, capfd: pytest.CaptureFixture[str]) -> None:
    agent = start_agent("raise ImportError('no such library')")
    assert not run(agent, "print('runs')").warm
    assert agent.output == "runs\n"
    logged: list[str] = []
    eventually(lambda: logged.append(capfd.readouterr().err) or "is started after 600 s" in "".join(logged))
    # Each heartbeat would start the next one.
    for _ in range(10):
        info(agent)
    agent.close()
    logged.append(capfd.readouterr().err)
    assert "".join(logged).count("ImportError: no such library") == 1


@pytest.mark.parametrize("killed", ["agent", "keeper", "spare"])
def test_nothing_of_a_spare_outlives_its_killed_agent_or_keeper(start_agent: object, killed: str) -> None:
    agent = start_agent()
    (spare,) = await_spares(agent)
    keeper = spare.parent()
    {"agent": psutil.Process(agent.process.pid), "keeper": keeper, "spare": spare}[killed].kill()
    eventually(lambda: not is_alive(spare.pid) and not is_alive(keeper.pid))


def test_the_next_agent_ends_a_spare_and_its_keeper_that_stand_still(start_agent: object) -> None:
    first = start_agent()
    (spare,) = await_spares(first)
    keeper = spare.parent()
    first.process.send_signal(signal.SIGSTOP)
    keeper.suspend()
    spare.suspend()
    first.process.kill()
    first.process.wait()
    assert is_alive(spare.pid)
    second = start_agent()
    assert not is_alive(spare.pid)
    assert not is_alive(keeper.pid)
    assert await_spares(second)


def test_a_signal_for_all_processes_of_a_node_ends_no_spare_and_not_the_task_that_takes_it(agent: Agent) -> None:
    (spare,) = spares(agent)
    spare.terminate()
    status = run(agent, "print('runs')")
    assert (status.warm, status.pid, status.exit_code) == (True, spare.pid, 0)


def test_a_task_in_a_spare_has_its_keeper_and_its_lease(agent: Agent) -> None:
    task = begin(agent, "import time\nprint('up')\ntime.sleep(600)")
    agent.printed("up")
    script, keeper = agent.script(task), agent.keeper(task)
    agent.extend_lease(0.3)
    assert agent.ended(task).node_failed
    eventually(lambda: not is_alive(script) and not is_alive(keeper.pid))


def test_a_key_has_all_variables_but_late_ones_and_secrets() -> None:
    code = Path("/work/code")
    environment = {
        "PYTHONPATH": "/work/code:/site",
        "TF_CONFIG": "{}",
        "TENSORFLOW_IGNITE_CONTEXT": "/c",
        "IGNITE_DATASET_HOST": "h",
        "TMPDIR": "/t",
        "API_KEY": "s",
        "TF_ENABLE_ONEDNN_OPTS": "1",
        "MINE": "x",
    }
    key = SpareKey.of("/python", environment, code)
    assert dict(key.variables) == {"PYTHONPATH": "/site", "TF_ENABLE_ONEDNN_OPTS": "1", "MINE": "x"}
    assert late_variables(environment).keys() == environment.keys() - {"TF_ENABLE_ONEDNN_OPTS", "MINE"}
    others = [{**environment, "MINE": "y"}, {**environment, "PYTHONPATH": "/work/code:/other"}]
    assert len({key, *(SpareKey.of("/python", other, code) for other in others)}) == 3
    assert SpareKey.of("/other", environment, code) != key
    moved = {**environment, "PYTHONPATH": "/work/later:/site", "TF_CONFIG": '{"task": 1}', "API_KEY": "t"}
    assert SpareKey.of("/python", moved, Path("/work/later")) == key


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import os\nos.environ['TF_CPP_MIN_LOG_LEVEL'] = '0'", "TF_CPP_MIN_LOG_LEVEL"),
        ("import os\nos.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'", ""),
        ('import os\nos.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")', ""),
        ("import os\nos.environ['TF_CPP_MIN_LOG_LEVEL'] = level", "TF_CPP_MIN_LOG_LEVEL"),
        ("import os\nos.environ.update(KERAS_BACKEND='jax')", "KERAS_BACKEND"),
        ("import os\nos.putenv('PYTHONHASHSEED', '0')", "PYTHONHASHSEED"),
        ("from dotenv import load_dotenv", "dotenv"),
        ("import os\nos.environ['CUDA_VISIBLE_DEVICES'] = ''\nprint(os.environ['TF_CONFIG'])", ""),
        ("TF_WEIGHTS = 3", ""),
    ],
)
def test_scripts_that_set_variables_of_the_import_are_known(tmp_path: Path, text: str, found: str) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "module.py").write_text(text)
    assert sets_early_variables(tmp_path) == found


def test_functions_that_set_variables_of_the_import_are_known_in_whichever_cell_they_are(tmp_path: Path) -> None:
    cells = {"__name__": "__main__"}
    exec("import os\ndef choose(name):\n    os.environ['KERAS_BACKEND'] = name", cells)
    exec("def train():\n    choose('jax')", cells)
    with zipfile.ZipFile(io.BytesIO(pack_function(cells["train"], ()).data)) as packed:
        packed.extractall(tmp_path)
    assert sets_early_variables(tmp_path) == "KERAS_BACKEND"


def test_examples_may_take_spares_and_the_one_without_tensorflow_does_not(tmp_path: Path) -> None:
    found = {}
    for script in (Path(__file__).parents[2] / "examples").glob("*.py"):
        # A script is sent alone.
        (tmp_path / "script.py").write_bytes(script.read_bytes())
        found[script.name] = sets_early_variables(tmp_path)
    assert found.pop("jax_digits.py")
    assert set(found.values()) == {""}


def test_available_memory_is_that_of_the_host_or_less() -> None:
    assert 0 < memory.available_bytes() <= psutil.virtual_memory().total
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as child:
        assert 0 < memory.resident_bytes(child.pid) < 1 << 30
        child.kill()
    assert memory.resident_bytes(child.pid) == 0
