"""Learns handwritten digits with numpy alone: the workers find each other in TF_CONFIG, and add gradients up in a ring.

    tensorflow-ignite submit --cache digits --strategy custom examples/ring.py
    python examples/ring.py                 # outside a job: a ring of one process, which reads all rows

Each worker reads the rows of its own node. It listens at its own address of TF_CONFIG, whose port the job holds for it,
sends to the next worker, and receives from the previous one: the all-reduce of Horovod and NCCL. In a step a worker
sends less than twice the bytes of the gradients, whatever the number of workers. Each sum is computed by one worker, so
all get the same bits. If a worker or a connection fails, the job starts all workers again, from the first step.
"""

import hashlib
import json
import os
import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

import tensorflow_ignite as tfi

EPOCHS, BATCH, RATE = 20, 96, 0.5
# A neighbour may start later, or be slow.
WAIT_SECONDS = 120.0


class Ring:
    """Adds up arrays of all workers, over one connection to the next worker and one from the previous worker."""

    def __init__(self, addresses: list[str], index: int) -> None:
        """Connects to the neighbours; raises TimeoutError if one of them is not there in time."""
        self.size, self.index = len(addresses), index
        self._neighbour = f"worker {(index - 1) % self.size}"
        if self.size == 1:
            return
        split = [address.rpartition(":") for address in addresses]
        places = [(host.strip("[]"), int(port)) for host, _, port in split]
        family, _, _, _, own = socket.getaddrinfo(*places[index], type=socket.SOCK_STREAM)[0]
        # SO_REUSEPORT, since the job has bound the port already, so that no other program takes it.
        with socket.create_server(own, family=family, reuse_port=True) as server:
            self._next = connect(places[(index + 1) % self.size])
            server.settimeout(WAIT_SECONDS)
            try:
                self._previous, _ = server.accept()
            except TimeoutError:
                raise TimeoutError(f"{self._neighbour} has not connected in time. See its log") from None
        self._previous.settimeout(WAIT_SECONDS)
        # Sends in a thread: if all workers sent first and received then, a large array would fill all buffers.
        self._sender = ThreadPoolExecutor(1)

    def sum(self, array: NDArray[np.float32]) -> NDArray[np.float32]:
        """The sum of the workers' arrays, which have one dimension."""
        total = array.copy()
        parts = np.array_split(total, self.size)  # views of it
        # In the first half each part goes around and grows to the whole sum, in the second half the sums go around.
        for step in range(2 * (self.size - 1)):
            own, other = parts[(self.index - step) % self.size], parts[(self.index - step - 1) % self.size]
            received = self._exchange(own.tobytes(), other.nbytes)
            other[:] = other + received if step < self.size - 1 else received
        return total

    def _exchange(self, sent: bytes, size: int) -> NDArray[np.float32]:
        sending = self._sender.submit(self._next.sendall, sent)
        received = bytearray()
        while len(received) < size:
            data = b""
            with suppress(TimeoutError):
                data = self._previous.recv(size - len(received))
            if not data:
                raise ConnectionError(f"{self._neighbour} has ended, or sends nothing. See its log")
            received += data
        sending.result()
        return np.frombuffer(received, np.float32)


def connect(place: tuple[str, int]) -> socket.socket:
    """Connects to a worker as soon as it listens."""
    end = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            return socket.create_connection(place, timeout=WAIT_SECONDS)
        except OSError as error:
            if time.monotonic() > end:
                raise TimeoutError(f"no worker listens at {place}. TF_CONFIG says which one; see its log") from error
            time.sleep(0.1)


def inputs(pixels: NDArray[np.float32]) -> NDArray[np.float32]:
    """Pixels from 0 to 1, and a column of ones, whose weights are the bias."""
    return np.pad(pixels / 16, ((0, 0), (0, 1)), constant_values=1)


context = tfi.train.context(cache="digits")
config = json.loads(os.environ.get("TF_CONFIG", "{}"))  # not set outside a job
ring = Ring(config["cluster"]["worker"], config["task"]["index"]) if config else Ring(["localhost:0"], 0)

# A batch is that of all workers. They take the same number of steps: those with fewer rows repeat some.
batch, columns = BATCH // ring.size, ["pixels", "label"]
rows = tfi.batches(context.cache, batch_size=batch, columns=columns, label="label", shuffle=True, epochs=None)
steps = EPOCHS * context.steps_per_epoch(BATCH)
weights = np.zeros([65, 10], np.float32)
for step, (features, label) in zip(range(1, steps + 1), rows, strict=False):
    x, y = inputs(features["pixels"]), np.eye(10, dtype=np.float32)[label]
    shares = np.exp(x @ weights)
    shares /= shares.sum(1, keepdims=True)
    loss, gradient = -np.log((shares * y).sum(1)).mean(), x.T @ (shares - y) / len(y)
    mean = ring.sum(np.append(gradient, loss)) / ring.size  # of all workers; the loss is its last number
    weights -= RATE * mean[:-1].reshape(weights.shape)
    tfi.train.report(step, steps, loss=mean[-1])

print(f"worker {ring.index} of {ring.size}: weights={hashlib.sha256(weights.tobytes()).hexdigest()[:16]}")
if ring.index == 0:
    test = tfi.batches(f"{context.cache}_test", batch_size=512, columns=columns, label="label")
    right = [np.argmax(inputs(features["pixels"]) @ weights, 1) == label for features, label in test]
    print(f"test accuracy={np.concatenate(right).mean():.4f}")
    # Not by this script; but a process that the node keeps for tasks, a spare, has it already.
    print("TensorFlow is imported:", "tensorflow" in sys.modules)
