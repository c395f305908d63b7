"""What a store loses: nothing when its memory is full, blocks and no names when all nodes that held them are gone.

Promise (training): A training resumes at its newest whole checkpoint, or says that none is left.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest
from jobs import cli, kill_at_once
from waiting import await_true

from tensorflow_ignite import errors, train
from tensorflow_ignite.storage.files import Files
from tensorflow_ignite.testing import LocalCluster
from tensorflow_ignite.testing.patience import patiently

pytestmark = pytest.mark.full

tf = pytest.importorskip("tensorflow")

LIMIT = patiently(180)  # seconds; what takes longer hangs
ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "java" / "config" / "tensorflow-ignite.xml"
BLOCK = 64 << 10
MIB = 1 << 20


def config(tmp_path: Path, properties: dict[str, object]) -> Path:
    """The configuration of a node, with properties of the service."""
    bean = '<bean class="io.tensorflowignite.TensorFlowService"'
    given = "".join(f'<property name="{name}" value="{value}"/>' for name, value in properties.items())
    path = tmp_path / "node.xml"
    path.write_text(CONFIG.read_text().replace(f"{bean}/>", f"{bean}>{given}</bean>"))
    return path


def write(files: Files, path: str, data: bytes) -> None:
    with files.open_writer(path, parents=True, block_bytes=BLOCK) as writer:
        writer.write(data)


def read(files: Files, path: str) -> bytes:
    with files.open_reader(path) as reader:
        return reader.read(0, reader.bytes)


def content(number: int) -> bytes:
    return bytes([number]) * (8 * BLOCK)


def lost_by_check(address: str) -> list[str]:
    """The paths of the files that `fs check` finds damaged, each once."""
    done = cli("fs", "check", "--json", address=address)
    report = json.loads(done.stdout)
    assert done.returncode == (1 if report["faults"] else 0)
    assert {fault["kind"] for fault in report["faults"]} <= {"lost"}
    return sorted({fault["path"].removeprefix("ignite://") for fault in report["faults"]})


def assert_lost(files: Files, address: str, paths: list[str]) -> None:
    """Names are all there; a file is whole or is damaged, and a check knows which."""
    assert [info.path for info in files.list("/lost")] == paths
    damaged = []
    for number, path in enumerate(paths):
        try:
            assert read(files, path) == content(number)
        except errors.DataLossError as error:
            damaged.append(str(error).split()[0])
    assert damaged
    assert [path for path in lost_by_check(address) if path in paths] == damaged
    for number, path in enumerate(paths):
        write(files, path, content(number))
    assert not set(lost_by_check(address)).intersection(paths)


def test_a_full_memory_is_an_error_and_loses_neither_nodes_nor_files() -> None:
    with LocalCluster(nodes=2, data_region_bytes=128 * MIB) as cluster:
        files = Files.at(tuple(cluster.addresses))
        write(files, "/before", content(1))
        with pytest.raises(errors.StorageFullError, match=r"data region 'tensorflow-ignite' of node .* Remove files"):
            write(files, "/large", bytes(200 * MIB))
        assert len(cluster.nodes) == 2
        assert [info.name for info in files.list("/")] == ["before"]
        assert read(files, "/before") == content(1)
        # What was written in vain is freed.
        await_true(
            lambda: sum(len(held.numbers) for held in files.check()) == 8, "blocks are missing or too many", LIMIT
        )
        write(files, "/after", bytes(20 * MIB))
        assert files.stat("/after").bytes == 20 * MIB


def test_without_backups_a_killed_node_takes_its_blocks_and_no_names(tmp_path: Path) -> None:
    with LocalCluster(nodes=2, config=config(tmp_path, {"storage.backups": 0})) as cluster:
        files = Files.at(tuple(cluster.addresses))
        paths = [f"/lost/{number}" for number in range(4)]
        for number, path in enumerate(paths):
            write(files, path, content(number))
        cluster.kill_node(cluster.nodes[1])
        cluster.await_settled()
        address = cluster.address
        assert_lost(files, address, paths)

        def losses() -> dict[str, int]:
            (node,) = json.loads(cli("nodes", "--json", address=address).stdout)
            return {loss["cache"]: len(loss["partitions"]) for loss in node["losses"]}

        await_true(lambda: list(losses()) == ["tensorflow-ignite-blocks"], f"other losses: {losses()}", LIMIT)
        assert losses()["tensorflow-ignite-blocks"] > 100
        assert "has lost" in cli("nodes", address=address).stdout
        found = cli("doctor", "--json", "--only", "cluster", address=address)
        (finding,) = [each for each in json.loads(found.stdout)["findings"] if each["step"] == "losses"]
        assert finding["outcome"] == "failed", finding
        assert cli("accept-data-loss", "tensorflow-ignite-blocks", address=address).returncode == 0
        assert losses() == {}


def test_with_two_backups_two_nodes_killed_at_once_take_nothing(nodes: LocalCluster) -> None:
    files = Files.at(tuple(nodes.addresses))
    write(files, "/kept", content(1))
    kill_at_once(nodes, nodes.nodes[1:])
    assert read(files, "/kept") == content(1)
    files.remove("/kept")


class Ledger:
    """What was written before two of three nodes were killed, what of it is lost, and the node that is left."""

    def __init__(self, files: Files, address: str, content: dict[str, bytes]) -> None:
        self.files = files
        self.address = address
        self.content = content
        self.lost = [path for path in content if not self.is_whole(path)]

    def is_whole(self, path: str) -> bool:
        """Reads the file; a whole one must have the bytes that were written."""
        try:
            found = read(self.files, path)
        except errors.DataLossError:
            return False
        assert found == self.content[path]
        return True

    def newest_whole(self, directory: str) -> int:
        """The newest step whose checkpoint is whole; 0: none."""
        numbers = [number for number in range(1, 1 + STEPS) if f"{directory}/ckpt-{number}.index" in self.content]
        parts = ("index", "data-00000-of-00001")
        return max(
            (each for each in numbers if not any(f"{directory}/ckpt-{each}.{part}" in self.lost for part in parts)),
            default=0,
        )


STEPS = 3


def train_to(directory: str, last: int) -> int:
    """Trains with a checkpoint after each step; returns the step that the training began behind."""
    weight = tf.Variable(tf.zeros([50_000]))
    checkpoint = train.checkpoint(every_steps=1, directory=directory, weight=weight)
    assert (weight.numpy() == checkpoint.resumed_from_step).all()
    for _ in checkpoint.steps(last):
        weight.assign_add(tf.ones_like(weight))
    return checkpoint.resumed_from_step


@pytest.fixture(scope="module")
def survivor() -> Iterator[Ledger]:
    """One of three nodes, after the others were killed at once. The files have one backup."""
    with LocalCluster(nodes=3) as cluster:
        # The first one may still hold what now belongs to those that have joined it since.
        *others, last = cluster.nodes
        address = str(last.address)
        files = Files.at(tuple(cluster.addresses))
        for number in range(4):
            write(files, f"/lost/{number}", content(number))
        for number in range(16):
            train_to(f"ignite://{address}/trained/{number}", STEPS)
            # A directory with one checkpoint has nothing to fall back on.
            train_to(f"ignite://{address}/begun/{number}", 1)
        paths = [
            entry.path
            for root in ("/trained", "/begun")
            for directory in files.list(root)
            for entry in files.list(directory.path)
        ]
        written = {path: read(files, path) for path in paths}
        kill_at_once(cluster, others)
        yield Ledger(Files.at((address,)), address, written)


def test_two_nodes_killed_at_once_take_the_blocks_that_only_they_held(survivor: Ledger) -> None:
    assert_lost(survivor.files, survivor.address, [f"/lost/{number}" for number in range(4)])


def test_a_lost_block_is_data_loss_in_every_library(survivor: Ledger) -> None:
    path = survivor.lost[0]
    url = f"ignite://{survivor.address}{path}"
    with pytest.raises(tf.errors.DataLossError, match=f"{path} cannot be read: .* is lost, and a file needs it"):
        tf.io.gfile.GFile(url, "rb").read()
    with pytest.raises(OSError, match=f"{path} cannot be read") as caught, fsspec.open(url, "rb") as file:
        file.read()
    assert isinstance(caught.value, errors.DataLossError)
    done = cli("fs", "cat", url, address=None)
    assert done.returncode == 1
    assert f"{path} cannot be read" in " ".join(done.stderr.split())


def test_a_training_resumes_at_its_newest_whole_checkpoint_or_says_that_none_is_left(survivor: Ledger) -> None:
    # What says which checkpoints there are, and who may write them, is on every node.
    assert {path.rpartition(".")[2].rpartition("/")[2] for path in survivor.lost} == {"data-00000-of-00001"}
    assert any(f"ckpt-{STEPS}." in path or path.startswith("/begun") for path in survivor.lost)
    steps = {}
    for directory in sorted({path.rpartition("/")[0] for path in survivor.content}):
        expected = survivor.newest_whole(directory)
        url = f"ignite://{survivor.address}{directory}"
        if expected:
            assert train_to(url, STEPS + 2) == expected, directory
            # The next one begins behind the new checkpoints, not behind a newer number that is lost.
            assert train_to(url, STEPS + 2) == STEPS + 2, directory
        else:
            before = survivor.files.list(directory)
            with pytest.raises(errors.DataLossError, match=r"no checkpoint in .* is whole .*ckpt-1: .* is lost"):
                train_to(url, STEPS)
            assert [entry.name for entry in before] == [entry.name for entry in survivor.files.list(directory)]
        steps[directory] = expected
    assert any(steps.values())
