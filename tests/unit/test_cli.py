"""The command line against a node API on a real socket: what it prints, where, and with which exit code."""

import inspect
import re
import subprocess
import sys
import types

import pytest
import typer.main
from node_api_server import running_job
from program import LIMIT, error_of, start

from tensorflow_ignite.cli.app import app, program_for
from tensorflow_ignite.v1 import job_pb2

COMMANDS = [
    *("submit", "ps", "describe", "events", "logs", "attach", "stop", "rm"),
    *("predict", "load", "fs", "node", "nodes", "doctor", "token", "quickstart"),
]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples(cli, command) -> None:
    code, out, err = cli(command, "--help")
    assert (code, err) == (0, "")
    assert "Examples:" in out
    # Nothing is cut off at 80 columns.
    assert "…" not in out
    assert f"tensorflow-ignite {command}" in out
    assert re.search(rf"^\W*{command} ", cli("--help")[1], re.M)


def test_no_line_of_an_example_is_broken_at_80_columns() -> None:
    commands = [typer.main.get_command(app)]
    for command in commands:
        commands += getattr(command, "commands", {}).values()
        examples = inspect.cleandoc(command.help or "").partition("Examples:")[2].splitlines()
        # The help has a blank on either side.
        assert [line for line in examples if len(line) > 78] == []
    assert len(commands) > 30


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["ps"], {"ps"}),
        (["--address", "ps", "accept-data-loss", "rows"], {"accept-data-loss"}),
        (["--user=nodes", "submit", "ps"], {"submit"}),
        (["--version", "ps"], set(COMMANDS)),
        (["pss", "ps"], set(COMMANDS)),
        (["fs", "ls"], set(COMMANDS)),
        (["--help"], set(COMMANDS)),
    ],
)
def test_a_call_builds_its_command_alone(arguments, names) -> None:
    built = set(typer.main.get_command(program_for(arguments)).commands)
    assert names <= built
    assert len(names) > 1 or built == names


def test_the_package_runs_as_a_module() -> None:
    for arguments, code, text in (
        (["--version"], 0, "tensorflow-ignite "),
        ([], 2, "Usage: tensorflow-ignite"),
        (["ps", "--no-such-option"], 2, "--no-such-option"),
    ):
        command = [sys.executable, "-m", "tensorflow_ignite", *arguments]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
        assert (ran.returncode, text in ran.stdout + ran.stderr) == (code, True)


@pytest.mark.parametrize("arguments", ["ps", "ps --json", "describe 7f3a", "--help"])
def test_output_may_be_closed(node, arguments) -> None:
    node.state.add(running_job())
    command = f"{sys.executable} -m tensorflow_ignite.cli {arguments} >&-"
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=LIMIT, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_ctrl_c_before_the_command_is_loaded_is_no_traceback(cli, monkeypatch) -> None:
    class Interrupted:
        def find_spec(self, name, path, target=None):
            if name == "tensorflow_ignite.cli.app":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "tensorflow_ignite.cli.app")
    monkeypatch.setattr(sys, "meta_path", [Interrupted(), *sys.meta_path])
    assert cli("ps") == (130, "", "error: interrupted\n")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_commands(complete, shell) -> None:
    (line,) = complete("tensorflow-ignite des", shell)
    assert "describe" in line


def test_shells_complete_jobs_caches_and_choices(complete, node) -> None:
    node.state.add(running_job())
    assert complete("tensorflow-ignite describe 7f", "bash") == ["7f3a0000"]
    assert complete("tensorflow-ignite logs 8", "bash") == []
    assert complete("tensorflow-ignite submit --cache ", "bash") == ["empty", "images"]
    assert complete("tensorflow-ignite submit --cache images --set workers.p", "bash") == ["workers.per_node="]
    assert complete("tensorflow-ignite load e", "bash") == ["empty"]
    assert complete("tensorflow-ignite tensorboard 7f", "bash") == ["7f3a0000"]
    assert complete("tensorflow-ignite submit --strategy p", "bash") == ["parameter-server"]
    assert complete("tensorflow-ignite load --if-exists ", "bash") == ["error", "replace", "append"]
    assert complete("tensorflow-ignite submit --set roun", "bash") == [
        "rounds",
        "rounds.every=",
        "rounds.when_rows=",
        "rounds.replay=",
    ]


def test_without_a_node_no_job_is_completed(complete, monkeypatch) -> None:
    monkeypatch.setenv("TENSORFLOW_IGNITE_ADDRESS", "127.0.0.1:1")
    assert complete("tensorflow-ignite describe 7f", "bash") == []
    assert complete("tensorflow-ignite submit --cache i", "bash") == []


@pytest.mark.parametrize(
    ("args", "fault"),
    [
        (["bogus"], "No such command 'bogus'"),
        (["ps", "--bogus"], "No such option: --bogus"),
        (["submit"], "Missing argument"),
        (["doctor", "--only", "weather"], "--only 'weather' is no section"),
        (["doctor", "--only", "machine", "--port", "x"], "--port 'x' cannot be read"),
        (["doctor", "--only", "machine", "--discovery", "h:0"], "--discovery '0' cannot be read"),
        (["doctor", "--only", "cluster", "--thin", "a:b"], "'a:b' cannot be read"),
        (["submit", "train.py"], "the option --cache is missing. A job"),
        (["submit", "train.py", "--cache", "x"], "--cache is missing (the one after 'train.py' goes to the script)"),
        (
            ["submit", "--cache", "x", "--strategy", "solo", "train.py"],
            "strategy.kind 'solo' does not exist. It is one of",
        ),
        (["submit", "--cache", "x", "--set", "restart.on_join=dance", "train.py"], "restart.on_join 'dance' does not"),
        (["submit", "--cache", "x", "--env", "A", "train.py"], "--env 'A' is not NAME=VALUE"),
        (
            ["submit", "--cache", "x", "--env", "A=1", "--env", "A=2", "train.py"],
            "environment.variables.A is given twice",
        ),
        (
            ["submit", "--cache", "x", "--name", "a", "--set", "name=b", "train.py"],
            "name is given twice: --name, and --set",
        ),
        (["submit", "--cache", "x", "--set", "strategy.servers=two", "train.py"], "strategy.servers is 'two'"),
        (["submit", "nowhere.yaml"], "the job file nowhere.yaml cannot be read"),
        (["--address", "a:b", "ps"], "address 'a:b' cannot be read"),
        (["logs", "--task", "Boss:0", "7f3a"], "--task 'Boss:0' names no task"),
        (["logs", "--attempt", "0", "7f3a"], "Attempts count from 1"),
        (["stop", "--timeout", "0", "7f3a"], "--timeout 0 is not a time"),
        (["profile", "--seconds", "61", "7f3a"], "seconds=61.0 is no length of a profile"),
        (["load", "images", "a.csv", "--if-exists", "dance"], "--if-exists 'dance' does not exist. Choices are error"),
        (["load", "images", "a.csv", "--affinity", "a"], "--affinity a needs --key"),
        (["load", "images", "a.csv", "--backups", "-1"], "--backups -1 must be at least 0"),
        (["load", "images", "a.csv", "--schema", "price"], "--schema 'price' is not COLUMN=TYPE"),
        (["load", "images", "a.csv", "--partitions", "0"], "--partitions 0 at least 1"),
    ],
)
def test_a_wrong_command_line_ends_with_2(cli, node, args, fault) -> None:
    err = error_of(cli(*args), 2)
    assert fault in err
    assert node.calls == []


@pytest.mark.parametrize(
    ("args", "fault"),
    [
        (["submit", "--cache", "nope", "{script}"], "There is no cache 'nope'"),
        (["submit", "--cache", "empty", "{script}"], "The cache 'empty' is empty"),
        (["submit", "--cache", "images", "no.py"], "cannot read 'no.py'"),
        (["submit", "--cache", "images", "--script", "no.py", "{folder}"], "contains no script 'no.py'"),
        (["describe", "nope"], "There is no job 'nope'"),
        (["stop", "7f3a"], "Job 7f3a0000 is over"),
        (
            ["load", "images", "none.csv", "--schema", "price=money"],
            "schema={'price': 'money'} is no type. Give a type",
        ),
        (["load", "images", "none.csv"], "there is no file 'none.csv' to load"),
        (["load", "images", "{script}"], "train.py' is not known; files end with .npz, .csv"),
    ],
)
def test_a_failed_command_exits_with_1_and_prints_one_clean_error(cli, node, script, args, fault) -> None:
    node.state.add(running_job(state=job_pb2.JOB_STATE_SUCCEEDED))
    err = error_of(cli(*(arg.format(script=script, folder=script.parent) for arg in args)))
    assert fault in err


@pytest.mark.parametrize(
    "command", [["ps"], ["describe", "7f3a"], ["events", "-f", "7f3a"], ["attach", "7f3a"], ["nodes"]]
)
def test_a_missing_node_is_reported(cli, command) -> None:
    err = error_of(cli("--address", "127.0.0.1:1", *command))
    assert err.startswith("error: no node answers at 127.0.0.1:1 (connection refused).")


def test_the_address_of_the_command_wins_over_that_of_the_program(cli, node, monkeypatch) -> None:
    monkeypatch.setenv("TENSORFLOW_IGNITE_ADDRESS", "127.0.0.1:1")
    assert cli("--address", node.address, "ps")[0] == 0
    assert cli("--address", "127.0.0.1:2", "ps", "--address", node.address)[0] == 0
    assert cli("--address", node.address, "ps", "--address", "127.0.0.1:2")[0] == 1


def test_a_traceback_is_shown_only_on_request(node) -> None:
    quiet = start("describe", "nope").communicate(timeout=LIMIT)
    loud = start("describe", "nope", env={"TENSORFLOW_IGNITE_DEBUG": "1"}).communicate(timeout=LIMIT)
    assert "Traceback" not in quiet[1]
    assert "Traceback" in loud[1]


@pytest.mark.parametrize("command", [["ps"], ["--help"], ["describe", "--json", "{job}"]])
def test_a_full_disk_behind_standard_output_is_one_clean_error(node, command) -> None:
    job = node.state.add(running_job())
    with open("/dev/full", "w") as full:
        process = start("--address", node.address, *(part.format(job=job.id) for part in command), stdout=full)
        _, err = process.communicate(timeout=LIMIT)
    assert (process.returncode, err.count("\n")) == (1, 1), err
    assert err.startswith("error: No space left on device. ")


def test_node_passes_every_option_on(cli, monkeypatch) -> None:
    given = {}
    module = types.ModuleType("tensorflow_ignite.node")
    module.run_node = lambda config, **options: given.update(options, config=config) or 5
    monkeypatch.setitem(sys.modules, "tensorflow_ignite.node", module)
    code, _, _ = cli(
        *("node", "--config", "n.xml", "--name", "a", "--port", "0", "--jvm-arg=-Xmx2g", "--jvm-arg=-ea", "--json"),
        *("--start-timeout", "300", "--activate-at", "3"),
    )
    assert code == 5
    assert given == {
        "start_timeout": 300.0,
        "activate_at": 3,
        "config": "n.xml",
        "name": "a",
        "host": None,
        "port": "0",
        "discovery": None,
        "python": None,
        "work_directory": None,
        "json_output": True,
        "jvm_args": ["-Xmx2g", "-ea"],
    }


#: A thread of Arrow calls Python while the interpreter is finalized.
READS_ON = """
import io, sys, time
import pyarrow as pa
from pyarrow import csv
from tensorflow_ignite import cli

class Slow(io.RawIOBase):
    count = 0
    def readable(self):
        return True
    def read(self, size=-1):
        self.count += 1
        if self.count > 2:
            time.sleep(0.2)
        return b"1,2\\n" * (size // 4)

class Late:
    def __del__(self, sleep=time.sleep):
        sleep(1)

def main():
    global reader, late
    reader, late = csv.open_csv(pa.PythonFile(Slow(), mode="r"), csv.ReadOptions(block_size=1024)), Late()
    print("done", end="")
    return 3

cli.main = main
sys.exit(cli.program())
"""


def test_the_exit_code_is_that_of_the_command_although_threads_still_run() -> None:
    ended = subprocess.run([sys.executable, "-c", READS_ON], capture_output=True, text=True, timeout=LIMIT, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (3, "done", "")


def test_the_completion_of_shells_exits_with_0() -> None:
    command = [sys.executable, "-m", "tensorflow_ignite", "--show-completion", "bash"]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "complete" in shown.stdout


def test_a_signal_before_the_command_runs_is_an_interrupt(cli, monkeypatch) -> None:
    def interrupted(program: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(typer.main, "get_command", interrupted)
    assert cli("ps") == (130, "", "error: interrupted\n")
