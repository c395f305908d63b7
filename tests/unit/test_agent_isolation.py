"""What a task may see and use: its own directories, a stated environment, and as much of the machine as is its.

Promise (security): No secret is in a command line or an environment.
Promise (security): A task inherits a fixed list of variables, and none of the node's own.
"""

import asyncio
import contextlib
import json
import os
import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from agent_harness import LAUNCHER, SECRET, Agent, Clock, eventually
from tensorflow_ignite.agent.inherited import USUAL, inherited
from tensorflow_ignite.agent.limits import TIME_GRACE_SECONDS, LimitMonitor
from tensorflow_ignite.v1 import agent_pb2, job_pb2

TOKEN = "task.job.1.worker.0.0.the-token-of-this-task"
NODES_SECRETS = {
    "TENSORFLOW_IGNITE_USERNAME": "node",
    "TENSORFLOW_IGNITE_PASSWORD": "hidden-1",
    "TENSORFLOW_IGNITE_TOKEN": "hidden-2",
    "TENSORFLOW_IGNITE_TLS_KEY_PASSWORD": "hidden-3",
    "IGNITE_DATASET_PASSWORD": "hidden-4",
    "AWS_SECRET_ACCESS_KEY": "hidden-5",
    "TF_TOKEN_app_terraform_io": "hidden-6",
    "NVIDIA_API_KEY": "hidden-7",
    "GRPC_PROXY": "http://user:hidden-8@proxy:3128",
    "https_proxy": "http://user:hidden-9@proxy:3128",
    "DATABASE_URL": "hidden-10",
}
FOR_TASKS = {
    "LANG": "C.UTF-8",
    "LD_LIBRARY_PATH": "/opt/lib",
    "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
    "TF_NUM_INTRAOP_THREADS": "2",
    "OMP_NUM_THREADS": "3",
}
AGENT_ENVIRONMENT = {**NODES_SECRETS, **FOR_TASKS}


def run(agent: Agent, source: str, **fields: object) -> job_pb2.TaskStatus:
    """Runs a script to its end."""
    return agent.ended(begin(agent, source, **fields))


def begin(agent: Agent, source: str, **fields: object) -> agent_pb2.TaskKey:
    return agent.start({"main.py": source, "data/a.txt": "shipped"}, context={"token": TOKEN}, **fields)


def test_task_inherits_listed_variables_and_none_of_the_nodes_secrets(agent: Agent) -> None:
    assert run(agent, "import json, os\nprint(json.dumps(dict(os.environ)))").state == job_pb2.TASK_STATE_SUCCEEDED
    env = json.loads(agent.output)
    assert {name: env.get(name) for name in FOR_TASKS} == FOR_TASKS
    assert not NODES_SECRETS.keys() & env.keys()
    assert "hidden" not in agent.output
    given = {"TMPDIR", "TF_CPP_MIN_LOG_LEVEL", "TF_GRPC_REUSE_PORT", "PYTHONPATH"}
    given |= {"PYTHONUNBUFFERED", "PYTHONFAULTHANDLER", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"}
    given |= {"TF_FORCE_GPU_ALLOW_GROWTH", "XLA_PYTHON_CLIENT_PREALLOCATE"}
    own = {f"TENSORFLOW_IGNITE_{name}" for name in ("CONTEXT", "PROGRESS", "COMMAND", "TASK")}
    # LC_CTYPE is what Python itself sets in the C locale.
    assert env.keys() <= inherited(os.environ, ()).keys() | FOR_TASKS.keys() | given | own | {"LC_CTYPE"}


def test_variables_that_the_configuration_names_are_inherited_but_never_the_nodes_own(agent: Agent) -> None:
    named = ["AWS_*", "DATABASE_URL", "TENSORFLOW_IGNITE_*", "IGNITE_DATASET_PASSWORD"]
    assert run(agent, "import os\nprint(*sorted(os.environ.values()), sep='\\n')", inheritedEnv=named).exit_code == 0
    assert sorted(re.findall(r"hidden-\d+", agent.output)) == ["hidden-10", "hidden-5"]


def test_documented_list_is_the_one_that_holds() -> None:
    text = (Path(__file__).parents[2] / "docs/tasks.md").read_text()
    listed = text.partition("<!-- inherited -->")[2].partition("<!-- end -->")[0]
    assert sorted(re.findall(r"`([^`]+)`", listed)) == sorted(USUAL)


def test_task_works_in_a_directory_of_its_own_with_the_code_in_reach(agent: Agent) -> None:
    source = (
        "import json, os, subprocess, sys\n"
        "open('made', 'w').close(); open('data/made', 'w').close(); os.mkdir('folder')\n"
        "modes = [os.stat(p).st_mode & 0o777 for p in ('.', os.environ['TMPDIR'], 'made', 'folder')]\n"
        "secret = os.stat(os.environ['TENSORFLOW_IGNITE_CONTEXT']).st_mode & 0o777\n"
        "child = subprocess.run(['sh', '-c', 'umask'], capture_output=True, text=True).stdout.strip()\n"
        "assert os.path.dirname(__file__) == os.getcwd() == sys.path[0]\n"
        "beside = sorted(os.listdir('../../../../code/data'))\n"
        "print(json.dumps([modes, secret, child, open('data/a.txt').read(), sorted(os.listdir('.')), beside,"
        " sorted(os.listdir('data'))]))"
    )
    assert run(agent, source).exit_code == 0
    printed, left = agent.output.splitlines()
    assert "2 files of this task will be removed with its working directory: made, data/made." in left
    modes, secret, umask, shipped, listed, beside, own = json.loads(printed)
    assert modes == [0o700, 0o700, 0o600, 0o700]
    assert secret == 0o600
    assert umask in ("0077", "077")
    assert shipped == "shipped"
    assert listed == ["data", "folder", "made", "main.py"]
    assert (own, beside) == (["a.txt", "made"], ["a.txt"])
    (task,) = agent.work.glob("job-*/1/worker/0/0")
    above = [folder for folder in task.parents if folder.is_relative_to(agent.work)]
    assert {folder.stat().st_mode & 0o777 for folder in [task, *above]} == {0o700}


def test_agents_secret_and_tasks_token_stand_in_no_command_line_environment_or_log(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with closing(Agent(tmp_path)) as agent:
        begin(
            agent,
            "import subprocess, sys, time\nsubprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
            "print('up')\ntime.sleep(600)",
        )
        agent.printed("up")
        eventually(lambda: len(agent.living()) == 2)
        with contextlib.suppress(Exception):
            agent.call("Heartbeat", agent_pb2.HeartbeatRequest(), f"Bearer {SECRET}x")
        for pid in (agent.process.pid, *(process.pid for process in agent.living())):
            for name in ("cmdline", "environ"):
                found = Path(f"/proc/{pid}/{name}").read_bytes().decode()
                assert SECRET not in found
                assert TOKEN not in found
        texts = {path.name: path.read_text(errors="replace") for path in agent.work.rglob("*") if path.is_file()}
        assert [name for name, text in texts.items() if TOKEN in text] == ["context.json"]
        assert not [name for name, text in texts.items() if SECRET in text]
    found = capfd.readouterr()
    assert SECRET not in found.out + found.err + agent.output
    assert TOKEN not in found.out + found.err + agent.output


def test_agent_listens_on_loopback_alone(agent: Agent) -> None:
    sockets = psutil.Process(agent.process.pid).net_connections()
    listening = [socket.laddr for socket in sockets if socket.status == psutil.CONN_LISTEN]
    # An IPv4 address, whether or not the socket is one of IPv6.
    addresses = [(address.ip.removeprefix("::ffff:"), address.port) for address in listening]
    assert addresses == [("127.0.0.1", agent.ready.port)]


PROCESSES_WITH_MEMORY = """
import subprocess, sys, time
child = "held = bytearray(b'x') * (60 << 20); import time; print(1, flush=True); time.sleep(600)"
for _ in range(3):
    subprocess.Popen([sys.executable, "-c", child], stdout=subprocess.PIPE).stdout.readline()
time.sleep(600)
"""
MANY_PROCESSES = "import subprocess, time\nfor _ in range(6): subprocess.Popen(['sleep', '600'])\ntime.sleep(600)"


@pytest.mark.parametrize(
    ("source", "limits", "error"),
    [
        (
            "held = bytearray(1 << 30)",
            {"memoryBytes": str(512 << 20)},
            r"worker 0 exited with code 1: MemoryError; a process of a task may use 0\.50 GiB of memory "
            r"\(tasks.memoryMegabytes\); make the script use less, or raise tasks.memoryMegabytes in the service's "
            "configuration",
        ),
        (
            "held = [open('/dev/null') for _ in range(100)]",
            {"openFiles": 64},
            r".*Too many open files.*; a process of a task may have 64 open files \(tasks.openFiles\);.*",
        ),
        ("while True: pass", {"cpuTime": "0.5s"}, r".*SIGXCPU.*0\.5 s of processor time \(tasks.cpuHours\).*"),
        (
            PROCESSES_WITH_MEMORY,
            {"memoryBytes": str(150 << 20)},
            r"worker 0 was killed: its 4 processes used 0\.\d\d GiB of memory together; a task .*",
        ),
        # The agent may look while they still start.
        (
            MANY_PROCESSES,
            {"processes": 4},
            r"worker 0 was killed: it had [567] processes; a task may have 4 at a time \(tasks.processes\);.*",
        ),
    ],
    ids=["memory", "files", "processor-time", "memory-together", "processes"],
)
def test_a_task_beyond_a_limit_ends_with_all_its_processes_and_an_error_that_names_the_limit(
    agent: Agent, source: str, limits: dict[str, object], error: str
) -> None:
    status = run(agent, source, limits=limits)
    assert status.state == job_pb2.TASK_STATE_FAILED
    assert re.fullmatch(error, status.error)
    is_script = "exited with code" in status.error
    assert (status.failure.kind == job_pb2.FAILURE_KIND_LIMIT) == (not is_script)
    # Processor time that is over would be over again.
    assert status.failed_permanently == ("cpuTime" in limits)
    assert not agent.living()


def test_limits_are_checked_twice_a_second_and_time_that_is_over_ends_a_task_permanently_after_it_could_save() -> None:
    clock, looked_at = Clock(), []
    rules = agent_pb2.TaskLimits(processes=4, memory_bytes=1 << 30)
    rules.run_time.FromSeconds(8)
    monitor = LimitMonitor("worker 0", rules, lambda: looked_at.append(clock.seconds) or set(), clock)
    for passed in (0.25, 0.5, 0.75, 1.0, 7.75):
        clock.seconds = 1000.0 + passed
        assert asyncio.run(monitor.breach()) is None
    assert looked_at == [1000.5, 1001.0, 1007.75]
    clock.seconds = 1008.25
    breach = asyncio.run(monitor.breach())
    assert breach is not None
    assert breach.text.startswith("worker 0 was ended: it ran for 8 s; a task may run for 8 s (tasks.timeLimitHours)")
    assert (breach.permanent, breach.grace) == (True, TIME_GRACE_SECONDS)


def test_a_task_within_its_limits_ends_well_and_cannot_raise_them(agent: Agent) -> None:
    source = (
        "import resource\n"
        "print(resource.getrlimit(resource.RLIMIT_NOFILE), resource.getrlimit(resource.RLIMIT_DATA),"
        " resource.getrlimit(resource.RLIMIT_CORE)[0], len(bytearray(100 << 20)))"
    )
    limits = {"memoryBytes": str(1 << 30), "processes": 4, "openFiles": 64, "cpuTime": "60s", "runTime": "60s"}
    assert run(agent, source, limits=limits).state == job_pb2.TASK_STATE_SUCCEEDED
    assert agent.output == f"(64, 64) ({1 << 30}, {1 << 30}) 1 {100 << 20}\n"


def test_the_launcher_runs_nothing_with_a_limit_that_there_is_not_or_after_the_end_of_its_agent(tmp_path: Path) -> None:
    for agents, code in ((f"{os.getpid()},NO=1:1", 1), ("1", 125)):
        command = [sys.executable, "-IS", LAUNCHER, agents, "/bin/sh", "-c", f"touch {tmp_path}/x"]
        assert subprocess.run(command, check=False, capture_output=True).returncode == code
        assert not (tmp_path / "x").exists()
