"""Jobs on a cluster with mutual TLS, tokens and rules: they run, open what they may, and leave no secret behind."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from jobs import LIMIT, SCRIPTS, read
from waiting import await_true

import tensorflow_ignite as tfi
from certificates import make_authority
from tensorflow_ignite import Credentials, errors
from tensorflow_ignite.spec import Job
from tensorflow_ignite.storage.files import Files
from tensorflow_ignite.testing import LocalCluster, node_configuration

SCRIPT = SCRIPTS / "guarded.py"
NAMES = ["alice", "bob"]
RULES = ["alice submit,watch", "alice read,write *", "alice files /*", "bob watch", "bob read own"]


def token(name: str) -> str:
    """Of somebody."""
    return f"the-token-of-{name}-which-nobody-else-may-see"


@dataclass(frozen=True)
class Secured:
    """A cluster, and how one calls it."""

    cluster: LocalCluster
    files: dict[str, str]

    def who(self, secret: str | None) -> Credentials:
        """The credentials of somebody with a token."""
        return Credentials(token=secret, **self.files)

    def connect(self, name: str) -> tfi.Client:
        """Calls as somebody."""
        return tfi.connect(self.cluster.address, credentials=self.who(token(name)))


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("secured")
    authority = make_authority(folder / "authority")
    node, mine = authority.issue("node", ["127.0.0.1"]), authority.issue("client")
    digests = {name: hashlib.sha256(token(name).encode()).hexdigest() for name in NAMES}
    config = folder / "node.xml"
    config.write_text(node_configuration(tokens=digests, access=RULES, clientCertificates="required", tls="required"))
    pems = {"CERTIFICATE": node.certificate, "KEY": node.key, "CA": authority.certificate}
    files = {
        "cafile": str(authority.certificate),
        "certfile": str(mine.certificate),
        "keyfile": str(mine.key),
    }
    alice = Credentials(token=token("alice"), **files)
    with LocalCluster(
        2,
        config=config,
        environment={f"TENSORFLOW_IGNITE_TLS_{name}": str(path) for name, path in pems.items()},
        credentials=alice,
    ) as cluster:
        for cache in ("own", "named", "salaries"):
            tfi.load(cache, {"x": np.arange(40)}, partitions=64, address=cluster.address, credentials=alice)
        yield Secured(cluster, files)


def run(secured: Secured, folder: Path, *arguments: str) -> Job:
    """A job of alice's, to its end."""
    with secured.connect("alice") as client:
        job = client.submit(
            SCRIPT,
            cache="own",
            more_caches=["named"],
            more_directories=["ignite:///models/trips"],
            args=[str(folder), *arguments],
            max_crashes=0,
            allow_plaintext=True,
        )
        return job.wait(LIMIT, raise_on_failure=False)


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
            tfi.read_table("own", address=secured.cluster.address, credentials=secured.who(secret))
    with Files.at((secured.cluster.address,), credentials=secured.who(token("alice"))).open_reader(
        f"/jobs/{job.id}/checkpoints/of-1"
    ) as reader:
        assert reader.read(0, 10) == b"kept"


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
    for path in secured.cluster.directory.rglob("*"):
        if path.is_file():
            left[str(path)] = path.read_text(errors="replace")
    for name, text in left.items():
        for secret in secrets:
            assert secret not in text, name


def test_rules_decide_which_callers_submit_watch_and_read(secured: Secured) -> None:
    address, bob = secured.cluster.address, secured.who(token("bob"))
    with secured.connect("bob") as client:
        assert len(client.nodes()) == 2
        with pytest.raises(errors.PermissionDeniedError, match="bob"):
            client.submit(SCRIPT, cache="own", allow_plaintext=True)
    assert tfi.read_table("own", address=address, credentials=bob).num_rows == 40
    with pytest.raises(errors.PermissionDeniedError, match="salaries"):
        tfi.read_table("salaries", address=address, credentials=bob)
    with pytest.raises(errors.PermissionDeniedError):
        tfi.load("more", {"x": np.arange(3)}, address=address, credentials=bob)
    with pytest.raises(errors.PermissionDeniedError):
        Files.at((address,), credentials=bob).list("/")
    with pytest.raises(errors.UnauthenticatedError):
        tfi.connect(address, credentials=secured.who(None))


def test_a_cluster_that_encrypts_wants_to_hear_that_tensorflow_does_not(secured: Secured) -> None:
    with secured.connect("alice") as client, pytest.raises(errors.InvalidRequestError, match="allow_plaintext"):
        client.submit(SCRIPT, cache="own")
