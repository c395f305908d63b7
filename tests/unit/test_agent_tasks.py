"""What a task finds, what the agent reports about it, and in which order."""

import json
import re
import signal
from contextlib import closing
from pathlib import Path

import grpc
import pytest

from agent_harness import Agent, archive, request
from tensorflow_ignite.v1 import agent_pb2, job_pb2

AGENT_ENVIRONMENT = {"BOTH": "agent"}


def test_task_runs_the_script_with_its_arguments_untouched(agent: Agent) -> None:
    source = "import sys, helper\nprint(sys.argv[1:], __name__, helper.answer, open('data.txt').read())"
    code = {"sub/main.py": source, "helper.py": "answer = 42", "data.txt": "near"}
    task = agent.start(code, "--a=b c", "", "--help", "$X", "ü", script="sub/main.py")
    assert agent.ended(task).state == job_pb2.TASK_STATE_SUCCEEDED
    assert agent.output == "['--a=b c', '', '--help', '$X', 'ü'] __main__ 42 near\n"


def test_task_finds_its_environment_and_its_context(agent: Agent) -> None:
    source = (
        "import json, os, signal, sys\n"
        "context = json.load(open(os.environ['TENSORFLOW_IGNITE_CONTEXT']))\n"
        "print(json.dumps([dict(os.environ), context, sys.stdin.read(),"
        " signal.getsignal(signal.SIGINT) is signal.default_int_handler, os.getsid(0) == os.getpid()]))"
    )
    services = {"TF_CONFIG": "{}", "BOTH": "service", "MINE": "service"}
    users = {"environment": {"variables": {"MINE": "user", "TENSORFLOW_IGNITE_TASK": "user"}}}
    task = agent.start(source, task=agent.key(2), env=services, spec=users, context={"cache": "digits"})
    assert agent.ended(task).state == job_pb2.TASK_STATE_SUCCEEDED
    env, context, stdin, interruptible, leads = json.loads(agent.output)
    assert env["TF_CONFIG"] == "{}"
    assert (env["BOTH"], env["MINE"]) == ("service", "user")
    assert env["PYTHONUNBUFFERED"] == "1"
    assert env["TF_GRPC_REUSE_PORT"] == "true"
    assert Path(env["TMPDIR"]).is_relative_to(agent.work)
    assert env["TENSORFLOW_IGNITE_TASK"] == f"{agent.work}:{agent.job}/1/worker/2/0"
    assert (context["cache"], stdin, interruptible, leads) == ("digits", "", True, True)


def test_end_is_reported_after_the_last_output_which_is_complete(agent: Agent) -> None:
    task = agent.start("for n in range(200_000): print(n)\nprint('the end', end='')")
    status = agent.ended(task)
    expected = "".join(f"{n}\n" for n in range(200_000)) + "the end"
    limit = 1 << 20
    assert status.log_dropped_bytes == len(expected) - sum(len(e.log.data) for e in agent.events)
    assert status.log_complete
    assert agent.events[-1].status == status
    chunks = [event.log for event in agent.events if event.HasField("log")]
    assert [chunk.sequence for chunk in chunks] == list(range(len(chunks)))
    assert sum(chunk.dropped_bytes for chunk in chunks) == status.log_dropped_bytes
    assert limit - (1 << 16) <= sum(len(chunk.data) for chunk in chunks) <= limit
    assert all(len(chunk.data) <= 1 << 16 for chunk in chunks)
    gap = next(n for n, chunk in enumerate(chunks) if chunk.dropped_bytes)
    head = b"".join(chunk.data for chunk in chunks[:gap]).decode()
    tail = b"".join(chunk.data for chunk in chunks[gap:]).decode()
    assert expected.startswith(head)
    assert expected.endswith("\n" + tail)


def test_the_output_names_the_files_that_are_removed_with_the_working_directory(agent: Agent) -> None:
    source = (
        "import helper, os\nos.makedirs('logs/.hidden')\n"
        "for name in ('best.keras', 'logs/a', 'logs/.hidden/b', '.c'):\n    open(name, 'w').close()\n"
        "open(os.environ['TMPDIR'] + '/d', 'w').close()\nprint('100 %', end='')"
    )
    task = agent.start({"main.py": source, "helper.py": "", "data/rows.csv": ""}, script="main.py")
    assert agent.ended(task).state == job_pb2.TASK_STATE_SUCCEEDED
    first, rest = agent.output.split("\n", 1)
    assert first == "100 %"
    assert rest.startswith("tensorflow_ignite: 2 files of this task will be removed with its working directory: ")
    assert "directory: best.keras, logs/a. No file" in rest


@pytest.mark.parametrize(
    ("source", "workers", "kind", "says"),
    [
        ("import tensorflow as tf\nmodel.fit(x)", 2, "JOB_KIND_MULTI_WORKER_MIRRORED", True),
        ("import tensorflow as tf\nmodel.fit(x)", 1, "JOB_KIND_MULTI_WORKER_MIRRORED", False),
        ("import tensorflow as tf\nmodel.fit(x)", 2, "JOB_KIND_CUSTOM", False),
        ("import tensorflow_ignite as tfi\nmodel.fit(x)", 2, "JOB_KIND_MULTI_WORKER_MIRRORED", False),
        ("s = tf.distribute.MultiWorkerMirroredStrategy()\nmodel.fit(x)", 2, "JOB_KIND_MULTI_WORKER_MIRRORED", False),
        ("print('fit')", 2, "JOB_KIND_MULTI_WORKER_MIRRORED", False),
    ],
)
def test_the_output_of_a_script_that_knows_no_other_worker_says_so(
    agent: Agent, source: str, workers: int, kind: str, says: bool
) -> None:
    context = {"kind": kind, "workers": [{"index": index} for index in range(workers)]}
    # Each script ends at its first line.
    agent.ended(agent.start(f"raise SystemExit\n{source}", context=context))
    assert agent.output.startswith("tensorflow_ignite: warning: the script does not import") == says


def test_output_comes_while_the_task_runs_also_without_a_line_end(agent: Agent) -> None:
    agent.start("import sys, time\nprint('first')\nprint('10 %', end='')\ntime.sleep(600)")
    agent.printed("first\n10 %")


def test_new_watcher_replaces_the_old_one_and_gets_the_same_messages(tmp_path: Path) -> None:
    # An agent of its own: the watcher that takes over stays as long as the agent.
    with closing(Agent(tmp_path)) as agent:
        task = agent.start("import time\nfor n in range(3):\n    print(n)\n    time.sleep(0.15)")
        agent.ended(task)
        first = [event for event in agent.events if event.HasField("log")]
        end = agent.events[-1]
        former = agent.stream()
        next(former)
        agent.watch()
        assert agent.ended(task) == end.status
        assert [event for event in agent.events if event.HasField("log")] == first
        with pytest.raises(grpc.RpcError) as taken:
            list(former)
        assert taken.value.code() == grpc.StatusCode.ABORTED


@pytest.mark.parametrize(
    ("source", "code", "error", "traceback"),
    [
        (
            "def f():\n    raise ValueError('no such pixel')\nf()",
            1,
            "worker 0 exited with code 1: ValueError: no such pixel",
            r'Traceback \(most recent call last\):\n  File ".*/main\.py", line 3, .*\nValueError: no such pixel',
        ),
        ("def broken(:", 1, "worker 0 exited with code 1: SyntaxError: ", r".*\bdef broken\(:.*"),
        (
            "import os\nprint('last words')\nos.kill(os.getpid(), 11)",
            -signal.SIGSEGV,
            "worker 0 was ended by signal 11 (SIGSEGV)",
            r"last words\nFatal Python error: Segmentation fault\n.*line 3 in <module>",
        ),
    ],
)
def test_a_failed_task_reports_its_exit_code_and_its_traceback(
    agent: Agent, source: str, code: int, error: str, traceback: str
) -> None:
    status = agent.ended(agent.start(source))
    assert (status.state, status.exit_code) == (job_pb2.TASK_STATE_FAILED, code)
    assert status.error.startswith(error)
    assert re.fullmatch(traceback, status.traceback, re.DOTALL)
    assert "launch" not in status.traceback


RAISES = """
import os, subprocess, sys
import tensorflow_ignite as tfi
again = [sys.executable, __file__, "child"]
if len(sys.argv) == 1:
    subprocess.run(again, start_new_session=True)
    raise tfi.errors.CacheEmptyError("no row")
raise ValueError("of a child")
"""


def test_the_exception_that_ends_a_script_is_reported_as_data(agent: Agent) -> None:
    # After its traceback comes another one, which is not the cause.
    late = "import atexit\natexit.register(lambda: print('Traceback (most recent call last):\\nKeyError: 1'))\n"
    failure = agent.ended(agent.start(late + RAISES)).failure
    assert failure.kind == job_pb2.FAILURE_KIND_NO_ROWS
    assert failure.exception_class == "tensorflow_ignite.errors.CacheEmptyError"
    assert failure.exception_text == "no row"


@pytest.mark.parametrize(
    ("source", "kind", "exception"),
    [
        ("raise ConnectionResetError('by peer')", job_pb2.FAILURE_KIND_PEER, "ConnectionResetError"),
        (
            "import os, traceback\nimport tensorflow_ignite\n"
            "try: 1 / 0\nexcept ZeroDivisionError: traceback.print_exc(); os._exit(3)",
            job_pb2.FAILURE_KIND_SCRIPT,
            "ZeroDivisionError",
        ),
        ("import os\nos.kill(os.getpid(), 11)", job_pb2.FAILURE_KIND_SIGNAL, ""),
    ],
    ids=["without-the-package", "without-the-hook", "signal"],
)
def test_a_script_that_records_no_exception_is_understood_by_its_output_and_its_signal(
    agent: Agent, source: str, kind: int, exception: str
) -> None:
    found = agent.ended(agent.start(source)).failure
    assert (found.kind, found.exception_class) == (kind, exception)


def test_progress_is_reported(agent: Agent) -> None:
    task = agent.start(
        "import os, time\n"
        "path = os.environ['TENSORFLOW_IGNITE_PROGRESS']\n"
        'open(path + \'.new\', \'w\').write(\'{"step": "7", "metrics": {"loss": 0.5}}\')\n'
        "os.replace(path + '.new', path)\n"
        "time.sleep(600)"
    )
    progress = agent.await_events(
        lambda events: next((e.status.progress for e in events if e.status.progress.step), None)
    )
    assert (progress.step, dict(progress.metrics)) == (7, {"loss": 0.5})
    agent.stop()
    assert agent.ended(task).progress == progress


def test_a_planned_end_reaches_every_task_and_the_end_of_a_task_is_announced_before_its_signal(agent: Agent) -> None:
    source = (
        "import json, os, signal, time\n"
        "path = os.environ['TENSORFLOW_IGNITE_COMMAND']\n"
        "show = lambda: open(path).read() if os.path.exists(path) else ''\n"
        "signal.signal(signal.SIGTERM, lambda *_: (print('signal at', json.loads(show())), os._exit(0)))\n"
        "last = None\n"
        "while True:\n"
        "    now, last = show(), last\n"
        "    if now != last:\n"
        "        last = now\n"
        "        print(json.loads(now or '{}'), flush=True)\n"
        "    time.sleep(0.01)\n"
    )
    agent.start(source)
    agent.printed("{}")
    agent.call("PlanEnd", agent_pb2.PlanEndRequest(job_id=agent.job, attempt=1, step=9, agreed=True))
    agent.printed("{'save': True, 'step': '9', 'agreed': True}")
    # A task that is started later, such as a replaced client process.
    later = agent.start(source, task=agent.key(1))
    agent.await_events(lambda events: [e for e in events if e.key == later and b"'step': '9'" in e.log.data])
    agent.stop(grace="10s")
    assert len(re.findall("signal at .*'stop': True", agent.output)) == 2
    with pytest.raises(grpc.RpcError) as refused:
        agent.call("PlanEnd", agent_pb2.PlanEndRequest(job_id=agent.job, attempt=1))
    assert refused.value.code() == grpc.StatusCode.ABORTED


def test_starting_a_task_again_changes_nothing(agent: Agent) -> None:
    task = agent.start("import time\nprint('once')\ntime.sleep(600)")
    agent.printed("once")
    agent.start("print('twice')", task=task)
    assert len(agent.living()) == 1
    agent.stop()
    assert agent.output == "once\n"


def test_task_without_a_port_is_not_started(agent: Agent) -> None:
    agent.reserve(agent.key(0))
    code = archive(agent.directory / "c.zip", {"main.py": ""})
    for task in (agent.key(1), agent.key(0, attempt=2)):
        with pytest.raises(grpc.RpcError) as refused:
            agent.call("StartTask", request(task, code))
        assert refused.value.code() == grpc.StatusCode.FAILED_PRECONDITION


def test_one_incarnation_at_a_time_on_one_port(agent: Agent) -> None:
    first = agent.start("import time\ntime.sleep(600)")
    second = agent.key(incarnation=1)
    assert agent.reserve(second) == agent.reserve(first)
    with pytest.raises(grpc.RpcError) as refused:
        agent.start("", task=second)
    assert refused.value.code() == grpc.StatusCode.FAILED_PRECONDITION


@pytest.mark.parametrize(
    "bad",
    [
        agent_pb2.TaskKey(job_id="../job", attempt=1, role=job_pb2.ROLE_WORKER),
        agent_pb2.TaskKey(job_id="job", attempt=0, role=job_pb2.ROLE_WORKER),
        agent_pb2.TaskKey(job_id="job", attempt=1),
    ],
)
def test_key_that_could_name_another_place_is_refused(agent: Agent, bad: agent_pb2.TaskKey) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        agent.reserve(bad)
    assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize(
    ("files", "script", "reason"),
    [
        ({"../escaped.py": ""}, "main.py", "leaves the archive's directory"),
        ({"main.py": ""}, "other.py", "'other.py' is not in the job's code"),
        ({"main.py": ""}, "../../main.py", "is not in the job's code"),
    ],
)
def test_task_that_cannot_be_started_is_reported_as_failed(
    agent: Agent, files: dict[str, str], script: str, reason: str
) -> None:
    status = agent.ended(agent.start(files, script=script))
    assert status.state == job_pb2.TASK_STATE_FAILED
    assert status.exit_code == 1
    assert status.failed_permanently
    assert status.error.startswith("worker 0 could not be started: ")
    assert reason in status.error
    assert not list(agent.work.rglob("escaped.py"))


def test_missing_archive_is_reported(agent: Agent) -> None:
    task = agent.start("", codeArchive=str(agent.directory / "nowhere.zip"))
    assert "is not on this node" in agent.ended(task).error


def test_attempt_is_unpacked_once_for_all_its_tasks(agent: Agent) -> None:
    code = archive(agent.directory / "c.zip", {"main.py": "import os\nprint(os.stat('main.py').st_ino)"})
    tasks = [agent.key(0), agent.key(1), agent.key(0, role=job_pb2.ROLE_PS)]
    agent.reserve(*tasks)
    for task in tasks:
        agent.call("StartTask", request(task, code))
    for task in tasks:
        assert agent.ended(task).state == job_pb2.TASK_STATE_SUCCEEDED
    assert len(set(agent.output.split())) == 1


def test_reserved_ports_differ_and_only_the_task_can_take_its_own(agent: Agent) -> None:
    keys = [agent.key(n) for n in range(20)]
    ports = agent.reserve(*keys)
    assert len(set(ports)) == 20
    assert agent.reserve(*reversed(keys)) == ports[::-1]
    source = (
        "import socket, sys\ns = socket.socket(socket.AF_INET6)\n"
        "s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, int(sys.argv[2]))\n"
        "s.bind(('::', int(sys.argv[1])))\ns.listen()\n"
        "c = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\ns.accept()[0].sendall(b'met')\nprint(c.recv(9))"
    )
    allowed = agent.start(source, str(ports[0]), "1")
    assert agent.ended(allowed).state == job_pb2.TASK_STATE_SUCCEEDED
    assert agent.output == "b'met'\n"
    denied = agent.start(source, str(ports[1]), "0", task=keys[1])
    assert "Address already in use" in agent.ended(denied).error


@pytest.mark.full
def test_the_memory_of_a_task_and_of_what_it_starts_is_reported(agent: Agent) -> None:
    child = "memory = bytearray(b'x') * (96 << 20); import time; time.sleep(600)"
    agent.start(
        f"import subprocess, sys, time\nsubprocess.Popen([sys.executable, '-c', {child!r}])\n"
        "memory = bytearray(b'x') * (64 << 20)\ntime.sleep(600)"
    )
    # The first sample may be earlier than the memory.
    agent.await_events(lambda events: any(e.status.memory_bytes > 160 << 20 for e in events))


def test_a_request_for_a_profile_reaches_its_task_alone(agent: Agent) -> None:
    source = (
        "import json, os, time\n"
        "path = os.environ['TENSORFLOW_IGNITE_COMMAND']\n"
        "while not os.path.exists(path):\n"
        "    time.sleep(0.01)\n"
        "profile = json.load(open(path))['profile']\n"
        "print(profile['profileId'], profile['seconds'], profile['name'], flush=True)\n"
        "time.sleep(600)"
    )
    agent.start(source)
    second = agent.start(source, task=agent.key(1))
    profile = agent_pb2.TaskProfile(key=second, profile_id="7e5", seconds=2.5, name="worker-1")
    agent.call("ProfileTask", profile)
    agent.printed("7e5 2.5 worker-1")
    assert agent.output == "7e5 2.5 worker-1\n"
    agent.stop()
    with pytest.raises(grpc.RpcError, match="does not run here") as refused:
        agent.call("ProfileTask", profile)
    assert refused.value.code() == grpc.StatusCode.NOT_FOUND
