"""Models that misbehave, callers that do, and who is beside them.

Promise (prediction): A model that never answers, ends or needs too much memory costs its node nothing else.
"""

from __future__ import annotations

import contextlib
import functools
import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import psutil
import pytest
from arena import MIB, Arena
from meanwhile import repeating
from streams import OWN_CONNECTION
from thin_client import thin_client
from waiting import await_true

import tensorflow_ignite as tfi
from tensorflow_ignite.models import tensors
from tensorflow_ignite.models.deployments import ModelProcess
from tensorflow_ignite.testing.leaks import marked_processes
from tensorflow_ignite.v1 import predict_pb2, predict_pb2_grpc

SECONDS = 120.0
# Of the process that misbehaves; TensorFlow alone needs about a GB.
MEMORY = 1500 * MIB
SLOW_CLIENTS = 1_000
# As the default of the setting for the priority of what runs beside a node.
NICE = 10
GETS = 2_000
# Before each call of those that go on meanwhile.
PAUSE_SECONDS = 0.02


class Served:
    """A model that misbehaves on one node, and a good one on both."""

    def __init__(self, arena: Arena, client: tfi.Client) -> None:
        self.arena = arena
        self.client = client
        self.http = [node.http_address for node in client.nodes()]

    def process(self) -> ModelProcess:
        (found,) = next(each for each in self.client.models.deployments() if each.name == "bad").processes
        return found

    def call(self, signature: str, value: float, *, node: int = 0, seconds: float = SECONDS) -> grpc.StatusCode:
        with grpc.insecure_channel(self.arena.addresses[node], OWN_CONNECTION) as channel:
            request = predict_pb2.PredictRequest(
                model="bad", signature=signature, inputs=[tensors.to_tensor("x", np.float32([value]))]
            )
            try:
                predict_pb2_grpc.ModelServiceStub(channel).Predict(request, timeout=seconds)
            except grpc.RpcError as error:
                # Shown if the test fails.
                print(error.code(), error.details())
                return error.code()
        return grpc.StatusCode.OK

    def post(self, body: bytes, model: str = "good", node: int = 0) -> tuple[int, str]:
        request = urllib.request.Request(f"http://{self.http[node]}/v1/models/{model}:predict", body)
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    @contextlib.contextmanager
    def good_answers(self) -> Iterator[list[float]]:
        """The seconds of calls to the good model by both nodes meanwhile, of which none fails."""
        seconds: list[float] = []
        request = predict_pb2.PredictRequest(model="good", inputs=[tensors.to_tensor("x", np.float32([1, 2]))])
        with contextlib.ExitStack() as stack:
            channels = [
                stack.enter_context(grpc.insecure_channel(address, OWN_CONNECTION)) for address in self.arena.addresses
            ]

            def call(channel: grpc.Channel) -> None:
                began = time.monotonic()
                predict_pb2_grpc.ModelServiceStub(channel).Predict(request, timeout=SECONDS)
                seconds.append(time.monotonic() - began)

            with repeating(*(functools.partial(call, channel) for channel in channels), pause=PAUSE_SECONDS):
                yield seconds
                await_true(lambda: len(seconds) > 10, "the good model does not answer", SECONDS)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model; TensorFlow stays out of this process."""
    folder = tmp_path_factory.mktemp("models") / "misbehaving"
    subprocess.run([sys.executable, Path(__file__).with_name("misbehaving.py"), folder], check=True, timeout=SECONDS)
    return folder


@pytest.fixture(scope="module")
def served(arena: Arena, saved: Path) -> Iterator[Served]:
    """Both models, until the end of these tests."""
    with tfi.connect(",".join(arena.addresses)) as client:
        for name in ("good", "bad"):
            client.models.add(name, saved)
        client.models.deploy("good")
        client.models.deploy("bad", replicas=1, memory=MEMORY)
        yield Served(arena, client)
        for name in ("good", "bad"):
            client.models.undeploy(name)
        await_true(
            lambda: not any("serving.process" in each.command for each in marked_processes(arena.cluster.directory)),
            "model processes are left",
            SECONDS,
        )


@pytest.mark.parametrize(
    ("signature", "value", "reason"),
    [("crashes", 1, "signal 6"), ("leaks", 200, "MiB that its requests may use, and a request lacked memory")],
)
def test_a_model_that_crashes_or_leaks_ends_alone_and_is_named(
    served: Served, signature: str, value: float, reason: str
) -> None:
    before = served.process().restarts
    with served.good_answers():
        codes = set()
        deadline = time.monotonic() + SECONDS
        while served.process().state == "serving" and served.process().restarts == before:
            assert time.monotonic() < deadline, codes
            codes.add(served.call(signature, value, node=len(codes) % 2))
        await_true(
            lambda: served.process().state == "serving" and served.process().restarts > before,
            "it is not started again",
            SECONDS,
        )
    assert reason in served.process().error
    assert codes <= {grpc.StatusCode.OK, grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED}
    assert served.call("", 1) == grpc.StatusCode.OK


def test_a_request_that_needs_more_memory_than_the_process_fails_alone(served: Served) -> None:
    before = served.process()
    with served.good_answers():
        assert served.call("fills", 6_000) == grpc.StatusCode.RESOURCE_EXHAUSTED
        # More than an answer may have on a node with this heap.
        assert served.call("answers", 100) == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert served.process().pid == before.pid
    assert served.call("", 1) == grpc.StatusCode.OK


def test_calls_to_a_model_that_sleeps_are_refused_or_late_and_hold_nothing_of_others(served: Served) -> None:
    with served.good_answers() as seconds, ThreadPoolExecutor(100) as pool:
        began = time.monotonic()
        calls = [pool.submit(served.call, "sleeps", 1, node=number % 2, seconds=3.0) for number in range(100)]
        codes = {call.result() for call in calls}
        assert time.monotonic() - began < SECONDS / 4
        # A node whose clock is first cancels the call at its deadline.
        late = {grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED}
        assert codes <= {*late, grpc.StatusCode.RESOURCE_EXHAUSTED}
    assert sorted(seconds)[len(seconds) // 2] < 1
    # It is ended 30 s later, since it does not answer: the tests after this one need it.
    served.client.models.undeploy("bad")
    served.client.models.deploy("bad", replicas=1, memory=MEMORY)
    assert served.call("", 1) == grpc.StatusCode.OK


def test_a_thousand_clients_that_send_slowly_and_bodies_that_nobody_should_send(served: Served) -> None:
    host, _, port = served.http[0].rpartition(":")
    body = json.dumps({"instances": [1, 2]}).encode()
    with contextlib.ExitStack() as stack:
        slow = [stack.enter_context(socket.create_connection((host, int(port)), SECONDS)) for _ in range(SLOW_CLIENTS)]
        head = b"POST /v1/models/good:predict HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n"
        for connection in slow:
            connection.sendall(head)
        for part in (b"{", b" ", b" "):
            for connection in slow:
                connection.sendall(part)
            assert served.post(body) == (200, '{"predictions":[2.0,4.0]}')
        with served.good_answers():
            for bad, status, text in (
                (b" " * (100 << 20), 413, "at most 33,554,432"),
                (b'{"instances": [1e999]}', 400, "1e999"),
                # As objects on the heap they would be many times the body.
                (b'{"signature_name": "lengths", "instances": [' + b'"a",' * 4_000_000 + b'"a"]}', 429, "16th"),
                (b'{"signature_name": "answers", "instances": [30]}', 429, "16th"),
            ):
                assert served.post(bad)[0] == status
                assert text in served.post(bad)[1]
        # They are still there.
        for connection in slow:
            connection.sendall(b" ")


def test_answers_that_nobody_reads_fill_no_heap(served: Served) -> None:
    host, _, port = served.http[0].rpartition(":")
    # More than the kernel takes for a connection, and less than a node with this heap makes at a time.
    body = b'{"signature_name": "answers", "instances": [6]}'
    request = b"POST /v1/models/good:predict HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    with contextlib.ExitStack() as stack:
        for _ in range(30):
            connection = stack.enter_context(socket.socket())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect((host, int(port)))
            connection.sendall(request)
        with served.good_answers():
            await_true(lambda: served.post(body)[0] == 429, "there is room for answers that nobody reads", SECONDS)
            # A small one has room.
            assert served.post(b'{"instances": [1]}')[0] == 200
    await_true(lambda: served.post(body)[0] == 200, "the memory of answers is not released", SECONDS)


def test_the_application_keeps_its_latency_beside_predictions(served: Served) -> None:
    for each in served.client.models.deployments():
        for process in each.processes:
            psutil.Process(process.pid).nice(NICE)
    alone = _latency(served.arena)
    rows: Any = np.ones([512], np.float32)
    # Both processes of the good model are busy.
    batch = functools.partial(served.client.models.predict, "good", {"x": rows}, timeout=SECONDS)
    with served.good_answers(), repeating(*[batch] * 4, pause=PAUSE_SECONDS):
        beside = _latency(served.arena)
    # The rule for trainings, and some time for a machine that others use too.
    assert beside < 2 * alone + 0.005, f"{1e3 * alone:.2f} ms alone, {1e3 * beside:.2f} ms beside predictions"


def _latency(arena: Arena) -> float:
    """The 90th percentile of the seconds of puts and gets of an application."""
    seconds = []
    with arena.cache("application"), thin_client(arena.cluster.nodes[0].pid) as client:
        cache = client.get_or_create_cache("application")
        for key in range(GETS):
            began = time.monotonic()
            cache.put(key % 100, key)
            assert cache.get(key % 100) == key
            seconds.append(time.monotonic() - began)
    return sorted(seconds)[GETS * 9 // 10]
