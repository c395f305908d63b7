"""One cluster for all integration tests, and a check after every test that it left nothing behind."""

from __future__ import annotations

import contextlib
import gc
import os
import runpy
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path

import psutil
import pytest

import node_logs
from local_nodes import GIVES_UP_AFTER_A_MINUTE, LEASE_SECONDS
from tensorflow_ignite.testing import LeakError, LocalCluster, node_configuration
from tensorflow_ignite.testing.leaks import marked_processes
from tensorflow_ignite.testing.patience import patiently

# What a test started may still be on its way out when the test returns.
_LEAVING_SECONDS = patiently(60.0)
_LEAVING_BY_ITSELF_SECONDS = 0.5
_POLL = 0.05
_ID_LENGTH = 500
# The Python that TensorFlow generates; it removes the files when its process ends.
_OF_TENSORFLOW = "__autograph_generated_file"

# Bytes for what all tests together load into the nodes that they shake.
_ROOM = 4 << 30

# What every Python runs first that tests start.
_STARTUP = str(Path(__file__).parent / "startup")

_shared: list[LocalCluster] = []


def pytest_configure(config: pytest.Config) -> None:
    """Gives the session a temporary folder of its own, so that what is left in it is ours; pytest keeps its place."""
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())
    folder = tempfile.TemporaryDirectory(prefix="tensorflow-ignite-tests-")
    config.add_cleanup(folder.cleanup)
    os.environ["TMPDIR"] = tempfile.tempdir = folder.name
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if _STARTUP not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([_STARTUP, *filter(None, paths)])
        runpy.run_path(f"{_STARTUP}/sitecustomize.py")
    # Shells let commands in the background ignore Ctrl-C, and these pass that on to what they start.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # No test calls in the name of the user who runs it.
    os.environ["TENSORFLOW_IGNITE_PROFILES"] = ""
    # The nodes of most tests run few tasks, which the import of TensorFlow at their start would only delay.
    os.environ.setdefault("TENSORFLOW_IGNITE_TASKS_WARM_PROCESSES", "0")
    # Tests run beside others, which would leave tasks of a low priority little time.
    os.environ.setdefault("TENSORFLOW_IGNITE_TASKS_NICE", "0")
    node_logs.observe()
    # Those of a test that was interrupted.
    config.add_cleanup(node_logs.forget)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Names a long argument by its length; pytest would repeat it in each report."""
    if isinstance(val, str | bytes) and len(val) > _ID_LENGTH:
        return f"{argname} of {len(val)}"
    return None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keeps the logs of the nodes of a failed test in build/reports."""
    report = yield
    if report.failed:
        node_logs.keep(item.config.rootpath / "build/reports/nodes", item.nodeid)
    if report.when == "teardown":
        node_logs.forget()
    return report


@pytest.fixture(scope="session")
def tolerant(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A configuration of nodes: a machine that stalls for seconds, as those of tests do, costs no node and no task."""
    config = tmp_path_factory.mktemp("tolerant") / "node.xml"
    config.write_text(node_configuration(node=GIVES_UP_AFTER_A_MINUTE, timeouts={"leaseSeconds": 60}))
    return config


@pytest.fixture(scope="session")
def cluster(tolerant: Path) -> Iterator[LocalCluster]:
    """Three nodes, shared by all tests: do not stop, kill or freeze them, and make caches of your own."""
    with LocalCluster(nodes=3, config=tolerant) as started:
        _shared.append(started)
        yield started
        _shared.remove(started)


@pytest.fixture(scope="session")
def shaken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """A cluster whose nodes tests stop, kill and start, two at once too; each makes it three again before it begins."""
    config = tmp_path_factory.mktemp("shaken") / "node.xml"
    config.write_text(node_configuration(storage={"backups": 2}, timeouts={"leaseSeconds": LEASE_SECONDS}))
    # Their caches stay: Ignite may lose a node when a cache is destroyed whose partitions are on their way.
    with LocalCluster(nodes=3, config=config, data_region_bytes=_ROOM) as started:
        _shared.append(started)
        yield started
        _shared.remove(started)


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """A cluster whose nodes wait a minute for one that stands still: a slow test resumes it in time."""
    config = tmp_path_factory.mktemp("patient") / "node.xml"
    config.write_text(node_configuration(node=GIVES_UP_AFTER_A_MINUTE, timeouts={"leaseSeconds": LEASE_SECONDS}))
    with LocalCluster(nodes=3, config=config) as started:
        _shared.append(started)
        yield started
        _shared.remove(started)


@pytest.fixture(autouse=True)
def _leaves_nothing(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test that leaves a process, a thread, a port, a task, or one of our files in the temporary folder."""
    # Fixtures of the session, and of the module, come before this one: what they start is there already.
    for shared in {"cluster", "shaken", "patient"} & set(request.fixturenames):
        request.getfixturevalue(shared)
    # The nodes that a test starts in a cluster that was there before it belong to that cluster.
    older = node_logs.running()
    before = _things(older)
    yield
    _clear_pools()
    begin = time.monotonic()
    while (left := _things(older).keys() - before.keys()) and time.monotonic() < begin + _LEAVING_SECONDS:
        # An error holds the frames that it went through, and these hold it: what it kept is garbage, not left behind.
        # Most things are gone in a moment by themselves, and beside TensorFlow a collection takes longer than that.
        if time.monotonic() > begin + _LEAVING_BY_ITSELF_SECONDS:
            gc.collect()
        time.sleep(_POLL)
        # TensorFlow may end an iterator after its test has ended; the stream's end then starts the pool's timer again.
        _clear_pools()
    if left:
        found = _things(older)
        for child in psutil.Process().children():
            if ("process", child.pid, child.create_time()) in left:
                child.kill()
                child.wait(_LEAVING_SECONDS)
        raise LeakError(request.node.nodeid, sorted(found.get(key, str(key)) for key in left))


def _clear_pools() -> None:
    """Frees the segments that stay warm for seconds after a stream, and ends the threads that wait for that."""
    if "tensorflow_ignite.data.transport.segments" in sys.modules:
        sys.modules["tensorflow_ignite.data.transport.segments"].pool().clear()
    if "tensorflow_ignite.storage.files" in sys.modules:
        for files in list(sys.modules["tensorflow_ignite.storage.files"]._files.values()):
            files._memory.clear()


def _things(clusters: Sequence[LocalCluster]) -> dict[object, str]:
    """Everything of ours that lives now, by an identity that is never used again, with its description."""
    things: dict[object, str] = {}
    nodes = [node for cluster in clusters for node in cluster.nodes]
    for child in _children():
        if child.pid not in {node.process.pid for node in nodes}:
            things["process", child.pid, child.create_time()] = f"process {child.pid}: {child.name()}"
    for thread in threading.enumerate():
        # Python's note of a thread of TensorFlow's pools that has logged something; nobody started one.
        if isinstance(thread, threading._DummyThread):
            continue
        if thread.name not in {f"events of {node.name}" for node in nodes}:
            things[thread] = f"thread {thread.name}"
    for inode, port in _listening():
        things["port", inode] = f"port {port}"
    for shared in _shared:
        for process in marked_processes(shared.directory):
            if process.task is not None:
                things["task", process.pid, process.task] = str(process)
    for path in Path(tempfile.gettempdir()).iterdir():
        if not path.name.startswith(_OF_TENSORFLOW):
            things["file", path] = f"file {path}"
    return things


# Every test asks for these twice. Tables of all processes and of all connections would take 10 ms of a processor each.


def _children() -> list[psutil.Process]:
    """The processes that this one has started and that have not been waited for."""
    if not os.path.exists(f"/proc/self/task/{os.getpid()}/children"):
        return psutil.Process().children()
    found: set[int] = set()
    # The kernel may leave one out while another one ends.
    for _ in range(2):
        for thread in os.listdir("/proc/self/task"):
            with contextlib.suppress(OSError):
                found.update(map(int, Path(f"/proc/self/task/{thread}/children").read_text().split()))
    children = []
    for pid in found:
        with contextlib.suppress(psutil.NoSuchProcess):
            children.append(psutil.Process(pid))
    return children


def _listening() -> Iterator[tuple[str, int]]:
    """The inode and the port of each listening socket of this process."""
    for descriptor in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            name = os.readlink(f"/proc/self/fd/{descriptor}")
            if name.startswith("socket:"):
                with socket.socket(fileno=os.dup(int(descriptor))) as copy:
                    internet = copy.family in (socket.AF_INET, socket.AF_INET6)
                    if internet and copy.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                        yield name, copy.getsockname()[1]
