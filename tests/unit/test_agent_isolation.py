"""What a task may see and use: its own directories, a stated environment, and as much of the machine as is its."""

import contextlib
import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest
from google.protobuf import json_format

from agent_harness import SECRET, Agent, archive, eventually, request
from tensorflow_ignite.agent.inherited import USUAL, inherited
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


_numbers = itertools.count()


@pytest.fixture(scope="module")
def one_agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    with closing(Agent(tmp_path_factory.mktemp("agent"), env={**NODES_SECRETS, **FOR_TASKS})) as running:
        yield running


@pytest.fixture
def agent(one_agent: Agent) -> Iterator[Agent]:
    """The one agent, with a job for this test."""
    one_agent.job = f"job-{next(_numbers)}"
    yield one_agent
    one_agent.stop(grace="0s")
    assert not one_agent.living()


def run(agent: Agent, source: str, limits: dict[str, object] | None = None, **more: object) -> job_pb2.TaskStatus:
    """Runs a script to its end."""
    return agent.ended(begin(agent, source, limits, **more))


def begin(agent: Agent, source: str, limits: dict[str, object] | None = None, **more: object) -> agent_pb2.TaskKey:
    task = agent.key()
    agent.reserve(task)
    message = request(task, archive(agent.directory / "c.zip", {"main.py": source, "data/a.txt": "shipped"}))
    message.context.token = TOKEN
    json_format.ParseDict({"limits": limits or {}, **more}, message)
    agent.call("StartTask", message)
    return task


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
    modes, secret, umask, shipped, listed, beside, own = json.loads(agent.output)
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
            agent.call("Heartbeat", agent_pb2.HeartbeatRequest(), secret=SECRET + "x")
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


def test_task_that_wants_too_much_memory_gets_an_error_that_names_the_limit(agent: Agent) -> None:
    status = run(agent, "held = bytearray(1 << 30)", {"memoryBytes": str(512 << 20)})
    assert status.error == (
        "worker 0 exited with code 1: MemoryError; a process of a task may use 0.50 GiB of memory "
        "(taskMemoryMegabytes); make the script use less, or raise taskMemoryMegabytes in the service's configuration"
    )
    assert not status.failed_permanently


def test_processes_that_use_too_much_memory_together_are_killed(agent: Agent) -> None:
    source = (
        "import subprocess, sys, time\n"
        "child = 'held = bytearray(b\"x\") * (60 << 20)\\nimport time\\nprint(1, flush=True)\\ntime.sleep(600)'\n"
        "for _ in range(3): subprocess.Popen([sys.executable, '-c', child], stdout=subprocess.PIPE).stdout.readline()\n"
        "time.sleep(600)"
    )
    status = run(agent, source, {"memoryBytes": str(150 << 20)})
    assert status.state == job_pb2.TASK_STATE_FAILED
    assert re.match(r"worker 0 was killed: its 4 processes used 0\.\d\d GiB of memory together; a task ", status.error)
    assert not agent.living()


def test_task_with_too_many_processes_is_killed_with_all_of_them(agent: Agent) -> None:
    source = "import subprocess, time\nfor _ in range(6): subprocess.Popen(['sleep', '600'])\ntime.sleep(600)"
    status = run(agent, source, {"processes": 4})
    # The agent may look while they still start.
    assert re.search(
        r"worker 0 was killed: it had [567] processes; a task may have 4 at a time \(taskProcesses\)", status.error
    )
    assert not agent.living()


def test_task_within_its_limits_ends_well(agent: Agent) -> None:
    limits = {"memoryBytes": str(1 << 30), "processes": 4, "openFiles": 64, "cpuTime": "60s", "runTime": "60s"}
    source = "import subprocess\nsubprocess.run(['sleep', '1.2'], check=True)\nprint(len(bytearray(100 << 20)))"
    assert run(agent, source, limits).state == job_pb2.TASK_STATE_SUCCEEDED


def test_task_that_opens_too_many_files_gets_an_error_with_the_limit(agent: Agent) -> None:
    status = run(agent, "held = [open('/dev/null') for _ in range(100)]", {"openFiles": 64})
    assert "Too many open files" in status.error
    assert "a process of a task may have 64 open files (taskOpenFiles)" in status.error


def test_processor_time_that_is_over_ends_a_task_for_good(agent: Agent) -> None:
    status = run(agent, "while True: pass", {"cpuTime": "0.5s"})
    assert "SIGXCPU" in status.error
    assert "0.5 s of processor time (taskCpuHours)" in status.error
    assert status.failed_permanently


@pytest.mark.full
def test_time_that_is_over_ends_a_task_for_good_after_it_could_save(agent: Agent) -> None:
    source = (
        "import signal, sys, time\n"
        "def end(*_):\n    print('saved'); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, end)\nprint('up')\ntime.sleep(600)"
    )
    status = run(agent, source, {"runTime": "8s"})
    assert (status.state, status.failed_permanently) == (job_pb2.TASK_STATE_FAILED, True)
    assert status.error.startswith("worker 0 was ended: it ran for 8 s; a task may run for 8 s (taskTimeLimitHours)")
    assert agent.output == "up\nsaved\n"


def test_limit_cannot_be_raised_by_the_task(agent: Agent) -> None:
    source = (
        "import resource\n"
        "print(resource.getrlimit(resource.RLIMIT_NOFILE), resource.getrlimit(resource.RLIMIT_DATA),"
        " resource.getrlimit(resource.RLIMIT_CORE)[0])"
    )
    assert run(agent, source, {"openFiles": 64, "memoryBytes": str(1 << 30)}).exit_code == 0
    assert agent.output == f"(64, 64) ({1 << 30}, {1 << 30}) 1\n"


def test_bad_start_of_the_launcher_runs_nothing(tmp_path: Path) -> None:
    launcher = Path(sys.modules["tensorflow_ignite.agent"].__file__ or "").with_name("launch.py")
    command = [
        sys.executable,
        "-IS",
        str(launcher),
        f"{os.getpid()},NO=1:1",
        "/bin/sh",
        "-c",
        f"touch {tmp_path}/x",
    ]
    assert subprocess.run(command, check=False, capture_output=True).returncode != 0
    assert not (tmp_path / "x").exists()
