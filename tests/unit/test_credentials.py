"""Where credentials come from, and that they go nowhere."""

from __future__ import annotations

import copy
import json
import os
import pickle
import pwd
import traceback
from pathlib import Path
from typing import Any

import pytest

import tensorflow_ignite as tfi
from tensorflow_ignite import errors
from tensorflow_ignite.net import credentials, profile
from tensorflow_ignite.net.credentials import Credentials
from tensorflow_ignite.net.resolve import find_credentials, resolve

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


def test_the_class_is_public_and_its_repr_has_no_secret() -> None:
    mine = tfi.Credentials(token=SECRET, key_password=SECRET)
    assert SECRET not in f"{mine} {mine!r} {[mine]} {mine.__dict__ and ''}"
    for refuse in (pickle.dumps, lambda value: pickle.dumps({"a": value})):
        with pytest.raises(TypeError, match="cannot be pickled"):
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
def test_invalid_credentials_are_refused_and_not_repeated(wrong: dict[str, object]) -> None:
    with pytest.raises(errors.InvalidRequestError) as caught:
        find_credentials(wrong, HERE)
    assert SECRET not in "".join(traceback.format_exception_only(caught.value))


def test_a_password_beyond_ascii_travels_as_utf_8() -> None:
    assert Credentials("me", "pässword").authorization == "Basic bWU6cMOkc3N3b3Jk"


def test_the_first_source_that_gives_anything_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert find_credentials(None, HERE) is None
    profiles('[default]\ntoken = "of-profile"\n')
    assert find_credentials(None, HERE) == Credentials(token="of-profile")
    monkeypatch.setenv("IGNITE_DATASET_USERNAME", "older")
    monkeypatch.setenv("IGNITE_DATASET_PASSWORD", SECRET)
    assert find_credentials(None, HERE) == Credentials(token="of-profile")
    assert find_credentials(None, HERE, data=True) == Credentials("older", SECRET)
    monkeypatch.setenv("TENSORFLOW_IGNITE_TOKEN", "of-environment")
    assert (
        find_credentials(None, HERE, data=True) == find_credentials(None, HERE) == Credentials(token="of-environment")
    )
    task(monkeypatch, tmp_path)
    assert find_credentials(None, HERE) == Credentials(token=TASK_TOKEN)
    assert find_credentials(("me", SECRET), HERE) == Credentials("me", SECRET)


@pytest.mark.parametrize("nobody", [{}, Credentials()])
def test_empty_credentials_are_anonymous_whatever_else_is_set(
    nobody: object, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    profiles('[default]\ntoken = "of-profile"\n')
    monkeypatch.setenv("TENSORFLOW_IGNITE_TOKEN", "of-environment")
    task(monkeypatch, tmp_path)
    found = find_credentials(nobody, HERE, data=True)
    assert found == Credentials()
    assert (found.encrypted, found.authorization) == (False, None)
    assert credentials.stored(credentials.store(found)) == found


def test_every_variable_is_read(tmp_path: Path) -> None:
    names = ["USERNAME", "PASSWORD", "CERTFILE", "KEYFILE", "KEY_PASSWORD", "CAFILE"]
    env = {f"TENSORFLOW_IGNITE_{name}": name.lower() for name in names}
    expected = Credentials("username", "password", "certfile", "keyfile", "key_password", "cafile", tls=True)
    assert credentials.from_environment({**env, "TENSORFLOW_IGNITE_TLS": "True"}) == expected
    file = tmp_path / "secret"
    file.write_text(f"{SECRET}\n")
    assert credentials.from_environment({"TENSORFLOW_IGNITE_TOKEN_FILE": str(file)}) == Credentials(token=SECRET)
    given = {"TENSORFLOW_IGNITE_USERNAME": "me", "TENSORFLOW_IGNITE_PASSWORD_FILE": str(file)}
    assert credentials.from_environment(given) == Credentials("me", SECRET)
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
        assert credentials.without_credentials({**env, "HOME": "/h"}) == {"HOME": "/h"}


@pytest.mark.parametrize(
    ("content", "text"), [(b"", "is empty"), (b"\xff", "no text"), (b"x" * 100_000, "more than 65536 bytes")]
)
def test_a_file_without_a_secret_is_an_error(tmp_path: Path, content: bytes, text: str) -> None:
    file = tmp_path / "secret"
    file.write_bytes(content)
    with pytest.raises(errors.InvalidRequestError, match=f"{file} .*{text}.*by --token-file"):
        credentials.read_secret(file, "--token-file")
    with pytest.raises(errors.InvalidRequestError, match="cannot be read"):
        credentials.read_secret(tmp_path / "missing", "--token-file")


def test_a_task_presents_its_token_to_its_own_cluster_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TENSORFLOW_IGNITE_CAFILE", "/ca.pem")
    task(monkeypatch, tmp_path)
    assert find_credentials(None, HERE) == Credentials(token=TASK_TOKEN, cafile="/ca.pem")
    assert find_credentials(None, ("other:1",)) == Credentials(cafile="/ca.pem")


def test_a_task_without_a_token_takes_its_environment_and_no_profile_of_the_nodes_user(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = profiles('[default]\ntoken = "of-the-operator"\n')
    task(monkeypatch, tmp_path, token="")
    assert find_credentials(None, HERE) is None
    monkeypatch.setenv("TENSORFLOW_IGNITE_PROFILES", str(path))
    assert find_credentials(None, HERE) == Credentials(token="of-the-operator")
    monkeypatch.setenv("TENSORFLOW_IGNITE_TOKEN", "mine")
    assert find_credentials(None, HERE) == Credentials(token="mine")


def test_a_task_shows_its_token_in_no_context(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    task(monkeypatch, tmp_path)
    here = tfi.train.context()
    assert (here.in_job, here.job_id) == (True, "7f3a")
    assert TASK_TOKEN not in f"{here!r} {vars(here)}"
    assert TASK_TOKEN.encode() not in pickle.dumps(here)


def test_a_profile_gives_an_address_and_credentials_and_the_default_one_those_for_its_own_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "p").write_text(SECRET)
    profiles(
        '[default]\naddress = "near:1,near:2"\ntoken = "t"\n'
        '[far]\naddress = "far:3"\nusername = "me"\npassword_file = "~/p"\ncafile = "~/ca.pem"\n'
    )
    assert resolve() == ("near:1", "near:2")
    assert find_credentials(None, ("near:2",)) == Credentials(token="t")
    assert find_credentials(None, ("stranger:1",)) is None
    monkeypatch.setenv("TENSORFLOW_IGNITE_PROFILE", "default")
    assert find_credentials(None, ("stranger:1",)) == Credentials(token="t")
    monkeypatch.setenv("TENSORFLOW_IGNITE_PROFILE", "far")
    assert resolve() == ("far:3",)
    assert find_credentials(None, ("far:3",)) == Credentials("me", SECRET, cafile=str(tmp_path / "ca.pem"))
    monkeypatch.setenv("TENSORFLOW_IGNITE_ADDRESS", "named:4")
    assert resolve() == ("named:4",)


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660])
def test_a_file_of_profiles_that_others_can_open_is_refused(mode: int) -> None:
    path = profiles(f'[default]\ntoken = "{SECRET}"\n', mode)
    with pytest.raises(errors.InvalidRequestError, match=f"has mode {mode:o}.*chmod 600 {path}") as caught:
        find_credentials(None, HERE)
    assert SECRET not in str(caught.value)


def test_a_profiles_file_of_another_owner_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    profiles("[default]\n")
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(errors.InvalidRequestError, match=r"belongs to the user .*, and you are 12345"):
        profile.load()


@pytest.mark.parametrize(
    ("text", "given"),
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
def test_unreadable_profiles_are_reported_without_their_secrets(text: str, given: str) -> None:
    profiles(text)
    with pytest.raises(errors.InvalidRequestError, match=given) as caught:
        profile.load()
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_a_requested_profile_must_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(errors.InvalidRequestError, match="there is no file of profiles"):
        profile.load("far")
    profiles("[near]\n")
    assert profile.load() is None
    with pytest.raises(errors.InvalidRequestError, match=r"no profile 'far' .*The file has: 'near'"):
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
    assert find_credentials(None, HERE) is None
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
    assert find_credentials(None, HERE) is None
