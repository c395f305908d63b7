"""The credentials of the command line: where they come from, and which calls they are used for."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from node_api_server import running_job
from program import error_of, on_terminal
from rich.console import Console
from secured import node_api

from certificates import Authority, Certificate, make_authority
from tensorflow_ignite.cli import quickstart
from tensorflow_ignite.cli.tensorboard import _in_memory
from tensorflow_ignite.errors import ConnectionFailedError, StoredFileNotFoundError
from tensorflow_ignite.net.credentials import Credentials
from tensorflow_ignite.net.resolve import find_credentials, resolve
from tensorflow_ignite.storage.files import Files
from tensorflow_ignite.testing import LocalCluster
from tensorflow_ignite.v1 import job_pb2

SECRET = "swordfish"
BASIC = "Basic YWxpY2U6c3dvcmRmaXNo"

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def _no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith("TENSORFLOW_IGNITE_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return make_authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def certificate(authority: Authority) -> Certificate:
    return authority.issue("node", ["127.0.0.1"])


@pytest.fixture
def password_file(tmp_path: Path) -> Path:
    path = tmp_path / "password"
    path.write_text(f"{SECRET}\n")
    return path


def write_profiles(text: str) -> None:
    path = Path.home() / ".config/tensorflow-ignite/profiles.toml"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    path.chmod(0o600)


@pytest.fixture
def callers(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, ...], Credentials | None]:
    """The credentials for each cluster whose files are called; no node answers."""
    found: dict[tuple[str, ...], Credentials | None] = {}

    def at(addresses: tuple[str, ...], *, credentials: Credentials | None = None, **_: object) -> Files:
        found[addresses] = credentials
        raise ConnectionFailedError("no node answers")

    monkeypatch.setattr(Files, "at", at)
    return found


@pytest.fixture
def prompts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The prompts that a terminal has shown; each is answered with the secret."""
    shown: list[str] = []
    monkeypatch.setattr("typer.prompt", lambda text, **_: shown.append(text) or SECRET)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    return shown


def test_a_user_calls_with_a_password_from_a_file_or_the_environment(
    cli: Cli, password_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with node_api(required=BASIC) as node:
        options = ["--address", node.address, "--user", "alice"]
        assert cli(*options, "--password-file", password_file, "ps")[0] == 0
        assert set(node.headers) == {BASIC}
        monkeypatch.setenv("TENSORFLOW_IGNITE_PASSWORD", SECRET)
        assert cli(*options, "nodes")[0] == 0
    with node_api(required="other") as node:
        err = error_of(cli("--address", node.address, "--user", "alice", "ps"))
        assert err.startswith("error: The caller is not known")
        assert SECRET not in err


def test_a_token_file_wins_over_the_user_of_the_environment(
    cli: Cli, password_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENSORFLOW_IGNITE_USERNAME", "bob")
    monkeypatch.setenv("TENSORFLOW_IGNITE_PASSWORD", "other")
    with node_api(required=f"Bearer {SECRET}") as node:
        assert cli("--token-file", password_file, "ps", "--address", node.address)[0] == 0


def test_files_of_tls_complete_the_credentials(
    cli: Cli, authority: Authority, certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENSORFLOW_IGNITE_TOKEN", SECRET)
    alice = authority.issue("alice")
    files = ["--certfile", alice.certificate, "--keyfile", alice.key, "--cafile", authority.certificate]
    with node_api(certificate, clients=authority, required=f"Bearer {SECRET}") as node:
        assert cli("--address", node.address, *files, "ps")[0] == 0
        assert set(node.callers) == {b"alice"}


def test_a_profile_gives_the_address_and_the_credentials(
    cli: Cli, authority: Authority, certificate: Certificate
) -> None:
    with node_api(certificate, required=BASIC) as node:
        write_profiles(
            f'[far]\naddress = "{node.address}"\ncafile = "{authority.certificate}"\n'
            f'username = "alice"\npassword = "{SECRET}"\n'
        )
        assert cli("--profile", "far", "ps")[0] == 0
        code, _, err = cli("--profile", "near", "ps")
        assert (code, "no profile 'near'" in err) == (2, True)
        # The profile's user with another name is another user, whose password is unknown.
        code, _, err = cli("--profile", "far", "--user", "bob", "ps")
        assert (code, "no password of bob is known" in err) == (2, True)


@pytest.mark.parametrize("command", [["fs", "ls"], ["tensorboard", "--logdir"]], ids=["files", "tensorboard"])
def test_the_default_profiles_secret_is_not_for_the_cluster_that_a_url_names(
    cli: Cli,
    callers: dict[tuple[str, ...], Credentials | None],
    monkeypatch: pytest.MonkeyPatch,
    command: list[str],
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    write_profiles(f'[default]\naddress = "mine:1"\ntoken = "{SECRET}"\n')
    for url in ("ignite://other:2/", "ignite:///"):
        cli("--cafile", "ca", *command, url)
    ours = Credentials(token=SECRET, cafile="ca")
    assert callers.pop(("other:2",)) == Credentials(cafile="ca")
    assert set(callers) <= {("mine:1",), None}
    assert list(callers.values()) == [ours]


def test_the_default_profiles_secret_is_not_for_the_cluster_that_rows_are_loaded_into(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[tuple[str | None, Credentials | None]] = []

    def load_rows(*_: object, address: str | None, credentials: Credentials | None, **__: object) -> None:
        called.append((address, credentials))
        raise ConnectionFailedError("no node answers")

    monkeypatch.setattr("tensorflow_ignite.data.loading.load.load_rows", load_rows)
    write_profiles(f'[default]\naddress = "mine:1"\ntoken = "{SECRET}"\n')
    (tmp_path / "rows.csv").write_text("x\n1\n")
    monkeypatch.setenv("IGNITE_DATASET_HOST", "other")
    cli("--cafile", "ca", "load", "rows", tmp_path / "rows.csv")
    cli("--cafile", "ca", "load", "rows", tmp_path / "rows.csv", "--address", "mine:1")
    assert called == [
        ("other:10820", Credentials(cafile="ca")),
        ("mine:1", Credentials(token=SECRET, cafile="ca")),
    ]


def test_a_password_is_asked_for_once_for_all_clusters(
    cli: Cli, callers: dict[tuple[str, ...], Credentials | None], prompts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def at(addresses: tuple[str, ...], *, credentials: Credentials | None = None, **_: object) -> Files:
        callers[addresses] = credentials
        return Files(addresses, 0.1, False, None)

    def no_such_file(_: Files, path: str) -> None:
        raise StoredFileNotFoundError(path)

    monkeypatch.setattr(Files, "at", at)
    monkeypatch.setattr(Files, "stat", no_such_file)
    cli("--user", "alice", "fs", "cp", "ignite://127.0.0.1:1/a", "ignite://127.0.0.1:2/b")
    alice = Credentials("alice", SECRET)
    assert callers == {("127.0.0.1:1",): alice, ("127.0.0.1:2",): alice}
    assert prompts == ["Password of alice"]


def test_a_profile_without_credentials_means_no_credentials(
    cli: Cli, callers: dict[tuple[str, ...], Credentials | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENSORFLOW_IGNITE_TOKEN", "of-the-environment")
    with node_api() as node:
        write_profiles(f'[default]\ntoken = "{SECRET}"\n[laboratory]\naddress = "{node.address}"\n')
        assert cli("--profile", "laboratory", "ps")[0] == 0
        monkeypatch.delenv("TENSORFLOW_IGNITE_TOKEN")
        assert cli("--profile", "laboratory", "ps")[0] == 0
        assert set(node.headers) == {None}
        cli("--profile", "laboratory", "fs", "ls", "ignite:///")
        assert callers == {(node.address,): Credentials()}


def test_tensorboard_gets_the_credentials_of_the_command_line(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[dict[str, str]] = []
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    monkeypatch.setattr(os, "execve", lambda program, arguments, environment: started.append(environment))
    write_profiles(f'[default]\ntoken = "{SECRET}"\n[laboratory]\naddress = "near:1"\n')
    cli("--profile", "laboratory", "tensorboard", "--logdir", "/tmp")
    with monkeypatch.context() as other:
        other.setenv("TENSORFLOW_IGNITE_PROFILE", "laboratory")
        cli("--cafile", "ca", "tensorboard", "--logdir", "/tmp")
    used = []
    for environment in started:
        assert SECRET not in str(environment)
        monkeypatch.setattr(os, "environ", environment)
        used.append((resolve(env=environment), find_credentials(None, resolve(env=environment), env=environment)))
    assert used == [(("near:1",), None), (("near:1",), Credentials(cafile="ca"))]


def test_tensorboard_shows_the_job_of_its_first_argument_and_passes_other_options_on(
    cli: Cli, node: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    monkeypatch.setattr(os, "execve", lambda program, arguments, environment: commands.append(arguments[3:]))
    monkeypatch.setattr(Files, "exists", lambda files, path: path.endswith("7f3a0001"))
    for name in ("7f3a0001", "8e000001"):
        node.state.add(running_job(name))
    for arguments in ("7f3a --port 0 --reload_interval 1", "digits", "--port=0 -- --bind_all", "-- --bind_all"):
        code, out, err = cli("tensorboard", *arguments.split(" "))
        assert (code, out, "does not exist yet" in err) == (0, "", not arguments.startswith("7f3a"))
    code, _, err = cli("tensorboard", "none")
    assert (code, "There is no job 'none'" in err) == (1, True)
    code, _, err = cli("tensorboard", "7f3a", "--logdir", "/tmp")
    assert (code, "both a job (7f3a) and --logdir /tmp" in err) == (2, True)
    assert commands == [
        ["--logdir=ignite:///jobs/7f3a0001", "--port=0", "--reload_interval", "1"],
        ["--logdir=ignite:///jobs/8e000001"],
        ["--logdir=ignite:///jobs", "--port=0", "--bind_all"],
        ["--logdir=ignite:///jobs", "--bind_all"],
    ]


def test_the_help_and_the_tab_key_ask_for_no_password(
    cli: Cli, complete: Callable[..., list[str]], prompts: list[str]
) -> None:
    assert cli("--user", "alice", "ps", "--help")[0] == 0
    for words in ("fs ls ignite://127.0.0.1:1/", "fs ls ignite:///", "logs "):
        assert complete(f"tensorflow-ignite --address 127.0.0.1:1 --user alice {words}") == []
    assert prompts == []


def test_another_program_gets_a_secret_in_a_file_in_memory() -> None:
    path = _in_memory(SECRET)
    descriptor = int(path.rpartition("/")[2])
    try:
        # It can be read more than once.
        code = f"print(open({path!r}).read(), open({path!r}).read())"
        command = [sys.executable, "-c", code]
        ran = subprocess.run(command, pass_fds=[descriptor], capture_output=True, text=True, check=True)
        assert ran.stdout.split() == [SECRET, SECRET]
    finally:
        os.close(descriptor)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--user", "alice", "--token-file", "t"], "--user and --token-file are both given"),
        (["--password-file", "p"], "--password-file is given without --user"),
        (["--user", "alice"], "no terminal to ask"),
        (["--token-file", "/nowhere"], "/nowhere cannot be read"),
        (["--cafile", "/nowhere"], "cafile /nowhere"),
        (["--keyfile", "k"], "a key without a certificate"),
    ],
)
def test_options_that_exclude_each_other_are_an_error(cli: Cli, options: list[str], text: str) -> None:
    code, out, err = cli("--address", "127.0.0.1:1", *options, "ps")
    assert code in (1, 2)
    assert out == ""
    assert text in err
    assert SECRET not in err


def test_a_password_is_asked_for_on_a_terminal_and_not_shown() -> None:
    with node_api(required=BASIC) as node:
        command = ["--address", node.address, "--user", "alice", "ps"]
        shown = on_terminal(*command, answers={"Password of alice: ": SECRET})
    assert "Password of alice" in shown
    assert "no jobs" in shown
    assert SECRET not in shown


def test_a_token_is_shown_once_with_the_configuration_for_the_nodes(cli: Cli) -> None:
    code, out, _ = cli("token", "etl")
    assert code == 0
    token, digest = re.search(r"\n  ([\w-]{43})\n", out), re.search(r'<entry key="etl" value="([0-9a-f]{64})"/>', out)
    assert token is not None
    assert digest is not None
    assert hashlib.sha256(token[1].encode()).hexdigest() == digest[1]
    # The property of the bean: its group, and the setter there.
    group, name = re.findall(r'<property name="(\w+)\.(\w+)"><map>', out)[0]
    bean = Path(__file__).parents[2] / f"java/src/main/java/io/tensorflowignite/{group.title()}Configuration.java"
    assert f" set{name.title()}(Map<" in bean.read_text()
    assert token[1] not in cli("token", "etl")[1]
    # The bean refuses such a name.
    assert cli("token", "_etl")[0] == 2


def test_a_token_is_written_into_a_new_file_of_the_users_own(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "token"
    code, out, _ = cli("token", "etl", "--output", path, "--json")
    printed = json.loads(out)
    assert (code, set(printed)) == (0, {"name", "sha256"})
    assert path.stat().st_mode & 0o777 == 0o600
    assert hashlib.sha256(path.read_text().strip().encode()).hexdigest() == printed["sha256"]
    with node_api(required=f"Bearer {path.read_text().strip()}") as node:
        assert cli("--token-file", path, "--address", node.address, "ps")[0] == 0
    code, _, err = cli("token", "etl", "--output", path)
    assert (code, "File exists" in err) == (2, True)
    assert cli("token", "no name")[0] == 2


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user has a cluster, by TLS and with a token."""
    monkeypatch.setenv("TENSORFLOW_IGNITE_CAFILE", "/nowhere/ca.pem")
    write_profiles(f'[default]\ntoken = "{SECRET}"\n')


@pytest.mark.usefixtures("elsewhere")
def test_a_local_cluster_is_called_without_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    with node_api() as node:
        node.nodes = [job_pb2.Node(id="n", address=node.address, agent=job_pb2.AgentInfo(pid=1))]
        started = [SimpleNamespace(node_id="n", address=node.address, suspended=False)]
        monkeypatch.setattr(LocalCluster, "nodes", started)
        LocalCluster(nodes=1)._await_agents(20)
        assert set(node.headers) == {None}


@pytest.mark.usefixtures("elsewhere")
def test_the_quickstart_calls_its_cluster_without_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[Credentials] = []

    def load(*_: object, credentials: Credentials, **__: object) -> int:
        loaded.append(credentials)
        return 1

    def stop(*_: object) -> None:
        raise quickstart.QuickstartError("the test has enough")

    monkeypatch.setattr(quickstart, "load", load)
    monkeypatch.setattr(quickstart, "_follow", stop)
    with node_api() as node:
        cluster = SimpleNamespace(start=lambda: None, nodes=[], address=node.address, addresses=[node.address])
        with pytest.raises(quickstart.QuickstartError, match="the test has enough"):
            quickstart._train(cluster, Console(quiet=True))  # type: ignore[arg-type]
        assert set(node.headers) == {None}
    assert loaded == [Credentials(), Credentials()]


def doctor(cli: Cli, address: str, *options: object) -> tuple[int, dict[str, dict[str, str]]]:
    """The exit code, and findings by their step."""
    code, out, _ = cli("--address", address, *options, "doctor", "--only", "cluster", "--json")
    return code, {finding["step"]: finding for finding in json.loads(out)["findings"]}


def test_the_doctor_reports_when_a_certificate_expires_and_whether_callers_must_authenticate(
    cli: Cli, authority: Authority, certificate: Certificate, password_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trust = ["--cafile", authority.certificate]
    with node_api(certificate, required=f"Bearer {SECRET}") as node:
        _, found = doctor(cli, node.address, *trust, "--token-file", password_file)
        assert found["encryption"]["outcome"] == found["authentication"]["outcome"] == "ok"
        assert re.search(r"by TLS; the certificate of .* holds for \d{4,} more days", found["encryption"]["text"])
        assert found["authentication"]["text"] == "callers must authenticate"
        code, found = doctor(cli, node.address)
        assert (code, found["address"]["outcome"]) == (1, "failed")
        assert "the node speaks TLS, and this client does not" in found["address"]["text"]
        assert "--cafile" in found["address"]["remedy"]
        code, found = doctor(cli, node.address, *trust)
        assert (code, found["address"]["outcome"]) == (1, "failed")
        assert "--token-file" in found["address"]["remedy"]
    alice = authority.issue("alice")
    shown = ["--certfile", alice.certificate, "--keyfile", alice.key, *trust]
    with node_api(certificate, clients=authority) as node:
        _, found = doctor(cli, node.address, *shown)
        assert found["authentication"]["outcome"] == "ok"
        assert found["authentication"]["text"] == "callers without a certificate are rejected"
        assert set(node.callers) == {b"alice"}
    # A node that lets the handshake pass, and refuses the call.
    with node_api(certificate) as node:
        monkeypatch.setattr(node, "required", f"Bearer {SECRET}")
        monkeypatch.setenv("TENSORFLOW_IGNITE_TOKEN", SECRET)
        _, found = doctor(cli, node.address, *shown)
        assert found["authentication"]["text"] == "callers must authenticate"
        monkeypatch.setattr(node, "required", None)
        _, found = doctor(cli, node.address, *shown)
        assert found["authentication"]["text"].startswith("callers need not authenticate")


def test_the_doctor_warns_of_an_open_cluster_that_other_machines_reach(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    with node_api() as node:
        _, found = doctor(cli, node.address)
        assert found["encryption"]["outcome"] == found["authentication"]["outcome"] == "ok"
        outside = job_pb2.Node(id="n", address="node9.invalid:10820")
        monkeypatch.setattr(node, "nodes", [outside])
        _, found = doctor(cli, node.address)
        assert found["encryption"]["outcome"] == found["authentication"]["outcome"] == "warning"
        assert "node9.invalid:10820" in found["authentication"]["text"]
        assert "tensorflow-ignite token" in found["authentication"]["remedy"]
