"""Jobs on a cluster with mutual TLS, tokens and rules: they run, open what they may, and leave no secret behind.

Promise (security): A task opens what its job names, and nothing else.
Promise (security): A job leaves no secret behind.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from jobs import LIMIT, SCRIPTS, read
from secured_cluster import Secured, secured_cluster, token
from waiting import await_true

import tensorflow_ignite as tfi
from tensorflow_ignite import Credentials, errors
from tensorflow_ignite.spec import Job
from tensorflow_ignite.storage.files import Files

SCRIPT = SCRIPTS / "guarded.py"
NAMES = ["alice", "bob"]
RULES = ["alice submit,watch", "alice read,write *", "alice files /*", "bob watch", "bob read own"]


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with secured_cluster(tmp_path_factory.mktemp("secured"), 2, NAMES, RULES) as started:
        address, alice = started.cluster.address, started.who(token("alice"))
        for cache in ("own", "named", "salaries"):
            tfi.load(cache, {"x": np.arange(40)}, partitions=64, address=address, credentials=alice)
        yield started


def run(secured: Secured, folder: Path, *arguments: str) -> Job:
    """A job of alice's, to its end."""
    with secured.connect("alice") as client:
        job = client.submit(
            SCRIPT,
            cache="own",
            restart=tfi.Restart(max_crashes=0),
            access=tfi.Access(caches=["named"], directories=["ignite:///models/trips"], allow_plaintext=True),
            args=[str(folder), *arguments],
        )
        return job.wait(LIMIT, raise_on_failure=False)


@pytest.mark.full
def test_a_task_opens_what_its_job_names_and_nothing_else_while_it_runs(secured: Secured, tmp_path: Path) -> None:
    job = run(secured, tmp_path)
    assert job.state == "succeeded", job.cause
    assert job.owner == "alice"
    for index in range(2):
        found = read(tmp_path, f"guarded-{index}.json")
        secret = found.pop("token")
        assert found.pop("rows")[1] == 40
        assert found.pop("joined") == 40
        assert found == {
            "jobs": [job.id],
            "salaries": "PermissionDeniedError",
            "salaries joined": "PermissionDeniedError",
            "named directory": "nothing",
            "another model": "PermissionDeniedError",
            "elsewhere": "PermissionDeniedError",
            "stop": "PermissionDeniedError",
            "submit": "PermissionDeniedError",
        }
        with pytest.raises(errors.UnauthenticatedError):
            tfi.read_table(
                "own", options=tfi.ReadOptions(address=secured.cluster.address, credentials=secured.who(secret))
            )
    with Files.at((secured.cluster.address,), credentials=secured.who(token("alice"))).open_reader(
        f"/jobs/{job.id}/checkpoints/of-1"
    ) as reader:
        assert reader.read(0, 10) == b"kept"


@pytest.mark.full
@pytest.mark.parametrize("ending", ["succeeded", "failed"])
def test_a_job_leaves_no_secret_behind(secured: Secured, tmp_path: Path, ending: str) -> None:
    job = run(secured, tmp_path, *(["fail"] if ending == "failed" else []))
    assert job.state == ending
    tokens = [read(tmp_path, f"guarded-{index}.json")["token"] for index in range(2)]
    # Of a task's token the last part is the secret; the others say whose it is.
    secrets = [token(name) for name in NAMES] + [each.rsplit(".", 1)[1] for each in tokens]
    alice = secured.who(token("alice"))
    files = Files.at((secured.cluster.address,), credentials=alice)
    with secured.connect("alice") as client:
        handle = client.job(job.id)
        left = {
            "description": json.dumps(handle.refresh().to_dict(), default=str),
            "output": "\n".join(line.text for line in handle.logs()),
        }
    assert "has looked around" in left["output"]
    assert ("broken on purpose" in left["description"]) == (ending == "failed")
    # Output becomes files soon after the end.
    await_true(lambda: files.exists(f"/jobs/{job.id}/logs"), "no output was stored", LIMIT)
    folders = [f"/jobs/{job.id}"]
    while folders:
        for entry in files.list(folders.pop()):
            if entry.kind == "directory":
                folders.append(entry.path)
                continue
            with files.open_reader(entry.path) as reader:
                left[entry.path] = reader.read(0, reader.bytes).decode(errors="replace")
    for folder, _, names in os.walk(secured.cluster.directory):
        for path in (Path(folder, name) for name in names):
            # What runs may remove it.
            with contextlib.suppress(FileNotFoundError):
                if path.is_file():
                    left[str(path)] = path.read_text(errors="replace")
    for name, text in left.items():
        for secret in secrets:
            assert secret not in text, name


def test_rules_decide_which_callers_submit_watch_and_read(secured: Secured) -> None:
    address, bob = secured.cluster.address, secured.who(token("bob"))
    with secured.connect("alice") as client, pytest.raises(errors.InvalidRequestError, match="allow_plaintext"):
        client.submit(SCRIPT, cache="own")
    with secured.connect("bob") as client:
        assert len(client.nodes()) == 2
        with pytest.raises(errors.PermissionDeniedError, match="bob"):
            client.submit(SCRIPT, cache="own", access=tfi.Access(allow_plaintext=True))
    assert tfi.read_table("own", options=tfi.ReadOptions(address=address, credentials=bob)).num_rows == 40
    with pytest.raises(errors.PermissionDeniedError, match="salaries"):
        tfi.read_table("salaries", options=tfi.ReadOptions(address=address, credentials=bob))
    with pytest.raises(errors.PermissionDeniedError):
        tfi.load("more", {"x": np.arange(3)}, address=address, credentials=bob)
    with pytest.raises(errors.PermissionDeniedError):
        Files.at((address,), credentials=bob).list("/")
    with pytest.raises(errors.UnauthenticatedError):
        tfi.connect(address, credentials=secured.who(None))


@pytest.mark.full
def test_a_client_outside_the_cluster_reads_rows_with_the_credentials_that_it_connects_with(secured: Secured) -> None:
    alice = {**secured.files, "token": token("alice")}
    address = secured.cluster.address
    tfi.load("outside", {"id": np.arange(60)}, partitions=64, address=address, credentials=Credentials(**alice))
    command = [sys.executable, SCRIPTS / "outside_client.py", address, "outside", "", json.dumps(alice)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=True)
    assert done.stdout.splitlines()[-1].split()[2:] == ["60", "2"]


_FORBIDDEN = """
import numpy as np
import tensorflow_ignite as tfi
from tensorflow_ignite.errors import PermissionDeniedError
from tensorflow_ignite.storage.files import Files


def refused(call):
    try:
        call()
    except PermissionDeniedError:
        return True
    return False


rows = {"x": np.arange(3)}
assert refused(lambda: tfi.load("salaries", rows, if_exists="append"))
assert refused(lambda: tfi.load("own", rows, if_exists="append"))
assert refused(lambda: tfi.load("another", rows))
assert refused(lambda: Files.at(None).list("/models"))


def predict(batch):
    return {"twice": 2 * batch["x"]}
"""


@pytest.mark.full
def test_a_task_that_predicts_reads_its_model_and_writes_into_its_output_cache_alone(
    secured: Secured, tmp_path: Path
) -> None:
    keras = pytest.importorskip("keras")
    model = keras.Sequential([keras.Input([1], name="x"), keras.layers.Dense(1, name="y")])
    model.save(tmp_path / "line.keras")
    (tmp_path / "score.py").write_text(_FORBIDDEN)
    alice = secured.who(token("alice"))
    with secured.connect("alice") as client:
        client.models.add("line", tmp_path / "line.keras")
        # TensorFlow connects no tasks with each other, so nobody has to accept plain text.
        for into, arguments in {"lines": {"model": "line"}, "scores": {"script": tmp_path / "score.py"}}.items():
            job = client.predict(cache="own", into=into, restart=tfi.Restart(max_crashes=0), **arguments).wait(LIMIT)
            assert (job.state, job.owner) == ("succeeded", "alice")
            assert (
                tfi.read_table(
                    into, options=tfi.ReadOptions(address=secured.cluster.address, credentials=alice)
                ).num_rows
                == 40
            )
    with (
        secured.connect("bob") as client,
        pytest.raises(errors.PermissionDeniedError, match="'bob' lacks the permission"),
    ):
        client.predict("line", cache="own", into="of_bob")
