"""Where credentials come from, and that they go nowhere."""

from __future__ import annotations

import copy
import json
import os
import pickle
import pwd
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import pytest

import tensorflow_ignite as tfi
from tensorflow_ignite import credentials, errors, profile
from tensorflow_ignite.addresses import parse_addresses
from tensorflow_ignite.credentials import Credentials, find

SECRET = "swordfish"
HERE = ("h:1",)
TASK_TOKEN = "task.7f3a.1.WORKER.0.0.c2VjcmV0"


@pytest.fixture(autouse=True)
def _nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith(("TENSORFLOW_IGNITE_", "IGNITE_DATASET_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))


def profiles(text: str, mode: int = 0o600) -> Path:
    """Writes the file of profiles where it is looked for."""
    path = Path.home() / ".config/tensorflow-ignite/profiles.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def task(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, token: str = TASK_TOKEN) -> None:
    """Makes this process a task of a job, beside the node at h:1."""
    path = tmp_path / "context.json"
    path.write_text(json.dumps({"jobId": "7f3a", "attempt": 1, "nodeAddress": "h:1", "token": token}))
    monkeypatch.setenv("TENSORFLOW_IGNITE_CONTEXT", str(path))


# What they are


def test_it_is_public_and_says_nothing_of_what_it_holds() -> None:
    mine = tfi.Credentials(token=SECRET, key_password=SECRET)
    assert SECRET not in f"{mine} {mine!r} {[mine]} {mine.__dict__ and ''}"
    for refuse in (pickle.dumps, lambda value: pickle.dumps({"a": value})):
        with pytest.raises(TypeError, match="not pickled"):
            refuse(mine)
    assert copy.deepcopy({"a": mine})["a"] is mine
    assert copy.copy(mine) is mine


@pytest.mark.parametrize(
    "wrong",
    [
        {"token": f"{SECRET} x"},
        {"token": f"{SECRET}\n"},
        {"token": f"{SECRET}ä"},
        {"token": SECRET, "username": "me", "password": SECRET},
        {"username": "a:b", "password": SECRET},
        {"username": SECRET},
        {"password": SECRET.encode()},
        {"token": 5},
        {"cafile": "ca.pem", "tls": "yes"},
        {"secret": SECRET},
    ],
)
def test_what_cannot_be_credentials_is_refused_and_not_repeated(wrong: dict[str, object]) -> None:
    with pytest.raises(errors.InvalidRequestError) as caught:
        find(wrong, HERE)
    assert SECRET not in "".join(traceback.format_exception_only(caught.value))


def test_a_password_beyond_ascii_travels_as_utf_8() -> None:
    assert Credentials("me", "pässword").authorization == "Basic bWU6cMOkc3N3b3Jk"


# Where they come from


def test_the_first_source_that_gives_anything_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert find(None, HERE) is None
    profiles('[default]\ntoken = "of-profile"\n')
    assert find(None, HERE) == Credentials(token="of-profile")
    monkeypatch.setenv("IGNITE_DATASET_USERNAME", "older")
    monkeypatch.setenv("IGNITE_DATASET_PASSWORD", SECRET)
    assert find(None, HERE) == Credentials(token="of-profile")
    assert find(None, HERE, data=True) == Credentials("older", SECRET)
    monkeypatch.setenv("TENSORFLOW_IGNITE_TOKEN", "of-environment")
    assert find(None, HERE, data=True) == find(None, HERE) == Credentials(token="of-environment")
    task(monkeypatch, tmp_path)
    assert find(None, HERE) == Credentials(token=TASK_TOKEN)
    assert find(("me", SECRET), HERE) == Credentials("me", SECRET)


@pytest.mark.parametrize("nobody", [{}, Credentials()])
def test_empty_credentials_are_nobody_whatever_else_there_is(
    nobody: object, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    profiles('[default]\ntoken = "of-profile"\n')
    monkeypatch.setenv("TENSORFLOW_IGNITE_TOKEN", "of-environment")
    task(monkeypatch, tmp_path)
    found = find(nobody, HERE, data=True)
    assert found == Credentials()
    assert (found.encrypted, found.authorization) == (False, None)
    assert credentials.kept(credentials.keep(found)) == found


def test_every_variable_is_read(tmp_path: Path) -> None:
    names = ["USERNAME", "PASSWORD", "CERTFILE", "KEYFILE", "KEY_PASSWORD", "CAFILE"]
    env = {f"TENSORFLOW_IGNITE_{name}": name.lower() for name in names}
    expected = Credentials("username", "password", "certfile", "keyfile", "key_password", "cafile", tls=True)
    assert credentials.from_environment({**env, "TENSORFLOW_IGNITE_TLS": "True"}) == expected
    file = tmp_path / "secret"
    file.write_text(f"{SECRET}\n")
    assert credentials.from_environment({"TENSORFLOW_IGNITE_TOKEN_FILE": str(file)}) == Credentials(token=SECRET)
    told = {"TENSORFLOW_IGNITE_USERNAME": "me", "TENSORFLOW_IGNITE_PASSWORD_FILE": str(file)}
    assert credentials.from_environment(told) == Credentials("me", SECRET)
    assert credentials.from_environment({"TENSORFLOW_IGNITE_TLS": "false"}) is None
    with pytest.raises(errors.InvalidRequestError, match="TENSORFLOW_IGNITE_TLS='perhaps'"):
        credentials.from_environment({"TENSORFLOW_IGNITE_TLS": "perhaps"})


def test_another_program_gets_the_same_from_its_environment_with_no_secret_in_it(tmp_path: Path) -> None:
    def write(secret: str) -> str:
        path = tmp_path / str(len(list(tmp_path.iterdir())))
        path.write_text(secret)
        return str(path)

    for mine in (
        Credentials("me", SECRET, "c", "k", None, "a"),
        Credentials(certfile="c", key_password=SECRET),
        Credentials(token=SECRET, tls=True),
    ):
        env = credentials.as_environment(mine, write)
        assert SECRET not in str(env)
        assert credentials.from_environment(env) == mine
        assert credentials.without_own({**env, "HOME": "/h"}) == {"HOME": "/h"}


@pytest.mark.parametrize(
    ("content", "text"), [(b"", "is empty"), (b"\xff", "no text"), (b"x" * 100_000, "more than 65536 bytes")]
)
def test_a_file_that_holds_no_secret_is_told(tmp_path: Path, content: bytes, text: str) -> None:
    file = tmp_path / "secret"
    file.write_bytes(content)
    with pytest.raises(errors.InvalidRequestError, match=f"{file} .*{text}.*by --token-file"):
        credentials.read_secret(file, "--token-file")
    with pytest.raises(errors.InvalidRequestError, match="cannot be read"):
        credentials.read_secret(tmp_path / "missing", "--token-file")


# Tasks


def test_a_task_says_who_it_is_to_its_own_cluster_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TENSORFLOW_IGNITE_CAFILE", "/ca.pem")
    task(monkeypatch, tmp_path)
    assert find(None, HERE) == Credentials(token=TASK_TOKEN, cafile="/ca.pem")
    assert find(None, ("other:1",)) == Credentials(cafile="/ca.pem")


def test_a_task_without_a_token_takes_its_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    task(monkeypatch, tmp_path, token="")
    assert find(None, HERE) is None
    monkeypatch.setenv("TENSORFLOW_IGNITE_TOKEN", "mine")
    assert find(None, HERE) == Credentials(token="mine")


def test_the_profiles_of_whoever_started_the_node_are_not_for_tasks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = profiles('[default]\ntoken = "of-the-operator"\n')
    task(monkeypatch, tmp_path, token="")
    assert find(None, HERE) is None
    monkeypatch.setenv("TENSORFLOW_IGNITE_PROFILES", str(path))
    assert find(None, HERE) == Credentials(token="of-the-operator")


def test_a_task_shows_its_token_in_no_context(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    task(monkeypatch, tmp_path)
    here = tfi.train.context()
    assert (here.in_job, here.job_id) == (True, "7f3a")
    assert TASK_TOKEN not in f"{here!r} {vars(here)}"
    assert TASK_TOKEN.encode() not in pickle.dumps(here)


# Profiles


def test_a_profile_gives_an_address_and_credentials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "p").write_text(SECRET)
    profiles(
        '[default]\naddress = "near:1,near:2"\ntoken = "t"\n'
        '[far]\naddress = "far:3"\nusername = "me"\npassword_file = "~/p"\ncafile = "~/ca.pem"\n'
    )
    assert parse_addresses() == ("near:1", "near:2")
    monkeypatch.setenv("TENSORFLOW_IGNITE_PROFILE", "far")
    assert parse_addresses() == ("far:3",)
    assert find(None, ("far:3",)) == Credentials("me", SECRET, cafile=str(tmp_path / "ca.pem"))
    monkeypatch.setenv("TENSORFLOW_IGNITE_ADDRESS", "named:4")
    assert parse_addresses() == ("named:4",)


def test_a_default_profile_with_an_address_is_for_its_own_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    profiles('[default]\naddress = "near:1,near:2"\ntoken = "t"\n')
    assert find(None, ("near:2",)) == Credentials(token="t")
    assert find(None, ("stranger:1",)) is None
    monkeypatch.setenv("TENSORFLOW_IGNITE_PROFILE", "default")
    assert find(None, ("stranger:1",)) == Credentials(token="t")


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660])
def test_a_file_of_profiles_that_others_can_open_is_refused(mode: int) -> None:
    path = profiles(f'[default]\ntoken = "{SECRET}"\n', mode)
    with pytest.raises(errors.InvalidRequestError, match=f"has mode {mode:o}.*chmod 600 {path}") as caught:
        find(None, HERE)
    assert SECRET not in str(caught.value)


def test_a_file_of_profiles_that_is_somebody_elses_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    profiles("[default]\n")
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(errors.InvalidRequestError, match=r"belongs to the user .*, and you are 12345"):
        profile.load()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"[default]\ntoken = {SECRET}\n", "is no TOML"),
        (f'token = "{SECRET}"\n', "a value outside a section"),
        (f'[default]\npassphrase = "{SECRET}"\n', "'passphrase'"),
        (f'[default]\npassword = "{SECRET}"\n', "password without a user"),
        ("[default]\naddress = 5\n", "address of the profile 'default'"),
        ('[default]\naddress = "h:x"\n', "not host:port"),
        ('[default]\ntoken_file = "/nowhere"\n', "/nowhere cannot be read"),
        ("[default]\ntls = 1\n", "tls of the credentials is a int"),
    ],
)
def test_profiles_that_cannot_be_read_are_told_without_their_secrets(text: str, told: str) -> None:
    profiles(text)
    with pytest.raises(errors.InvalidRequestError, match=told) as caught:
        profile.load()
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_a_profile_that_is_asked_for_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(errors.InvalidRequestError, match="there is no file of profiles"):
        profile.load("far")
    profiles("[near]\n")
    assert profile.load() is None
    with pytest.raises(errors.InvalidRequestError, match=r"no profile 'far' .*It has: 'near'"):
        profile.load("far")
    monkeypatch.setenv("TENSORFLOW_IGNITE_PROFILES", "/nowhere/profiles")
    with pytest.raises(errors.InvalidRequestError, match=r"/nowhere/profiles, which TENSORFLOW_IGNITE_PROFILES names"):
        profile.load()
    monkeypatch.setenv("TENSORFLOW_IGNITE_PROFILES", "")
    assert profile.load() is None


def test_a_home_that_is_closed_to_this_process_has_no_profiles(monkeypatch: pytest.MonkeyPatch) -> None:
    path = profiles(f'[default]\ntoken = "{SECRET}"\n')
    opened = os.open

    def refuse(file: Any, *args: Any, **options: Any) -> int:
        if file == path:
            raise PermissionError(13, "Permission denied")
        return opened(file, *args, **options)

    monkeypatch.setattr(os, "open", refuse)
    assert profile.load() is None
    assert find(None, HERE) is None
    with pytest.raises(errors.InvalidRequestError, match="cannot be read"):
        profile.load("default")
    monkeypatch.setenv("TENSORFLOW_IGNITE_PROFILES", str(path))
    with pytest.raises(errors.InvalidRequestError, match="cannot be read"):
        profile.load()


def test_a_user_without_a_home_has_no_profiles(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def unknown(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "~/.config/tensorflow-ignite/profiles.toml"
    path.parent.mkdir(parents=True)
    path.write_text(f'[default]\ntoken = "{SECRET}"\n')
    path.chmod(0o600)
    assert profile.load() is None
    assert find(None, HERE) is None


def test_credentials_load_nothing_heavy() -> None:
    code = "import sys, tensorflow_ignite as tfi; tfi.Credentials(token='t'); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"grpc", "pyarrow", "google.protobuf", "tensorflow"} & set(loaded)
