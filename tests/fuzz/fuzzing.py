"""Sends messages that nobody should send to a node, and keeps what it answers."""

from __future__ import annotations

import collections
import random
import re
import socket
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import grpc
import messages
import psutil

# What a node may take for one call: it is busy with others.
CALL_SECONDS = 30.0
THREADS = 8
_GARBAGE_EVERY = 200
_OPTIONS = (("grpc.max_receive_message_length", -1), ("grpc.use_local_subchannel_pool", 1))
#: Answers that say that something was not foreseen.
UNCLEAR = frozenset({grpc.StatusCode.UNKNOWN, grpc.StatusCode.INTERNAL})
#: Answers of a node that is gone, or stuck.
DOWN = frozenset({grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED})
_GARBAGE: Sequence[Callable[[random.Random], bytes]] = (
    lambda rng: rng.randbytes(rng.randrange(1, 2_000)),
    lambda rng: b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    lambda rng: b"\x16\x03\x01" + rng.randbytes(300),
    lambda rng: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + rng.randbytes(rng.randrange(1, 500)),
    lambda rng: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0" + _frame(rng) * rng.randrange(1, 50),
)


def _frame(rng: random.Random) -> bytes:
    """An HTTP/2 frame of any type, on any stream, whose length is true."""
    body = rng.randbytes(rng.randrange(60))
    head = len(body).to_bytes(3, "big") + bytes([rng.randrange(11), rng.randrange(256)])
    return head + rng.randrange(2**31).to_bytes(4, "big") + body


@dataclass
class Summary:
    """What came of a run."""

    messages: int = 0
    answers: collections.Counter[tuple[str, str, str]] = field(default_factory=collections.Counter)
    unclear: list[str] = field(default_factory=list)
    slowest: tuple[float, str] = (0.0, "")
    memory: tuple[int, int] = (0, 0)

    def __str__(self) -> str:
        statuses: collections.Counter[str] = collections.Counter()
        for (_, status, _), count in self.answers.items():
            statuses[status] += count
        return "\n".join(
            (
                f"messages          {self.messages:,}",
                f"calls             {sum(statuses.values()):,}",
                f"distinct answers  {len(self.answers):,}",
                f"by status         {', '.join(f'{name} {count:,}' for name, count in statuses.most_common())}",
                f"slowest call      {self.slowest[0]:.1f} s, {self.slowest[1]}",
                f"node's memory     {self.memory[0] >> 20:,} MiB before, {self.memory[1] >> 20:,} MiB after",
                f"unclear           {len(self.unclear):,}",
                *(f"  {line[:400]}" for line in self.unclear[:20]),
            )
        )


def fuzz(address: str, pid: int, count: int, seed: int) -> Summary:
    """Sends ``count`` messages to every method of a node, and garbage to its port; the same for the same seed."""
    summary = Summary()
    before = psutil.Process(pid).memory_info().rss
    lock = threading.Lock()
    counts = [count // THREADS + (number == 0) * (count % THREADS) for number in range(THREADS)]
    with ThreadPoolExecutor(THREADS) as pool:
        senders = [pool.submit(_send, address, part, f"{seed}/{i}", summary, lock) for i, part in enumerate(counts)]
    # A sender that failed would otherwise mean fewer messages, unnoticed.
    for sender in senders:
        sender.result()
    summary.memory = (before, psutil.Process(pid).memory_info().rss)
    return summary


def _send(address: str, count: int, seed: str, summary: Summary, lock: threading.Lock) -> None:
    rng = random.Random(seed)
    targets = messages.targets()
    weights = [target.weight for target in targets]
    sent = calls = 0
    with grpc.insecure_channel(address, options=_OPTIONS) as channel:
        while sent < count:
            target = rng.choices(targets, weights)[0]
            requests = target.make(rng)
            begin = time.monotonic()
            status, text = _call(channel, target, requests)
            seconds = time.monotonic() - begin
            sent += len(requests)
            calls += 1
            with lock:
                summary.messages += len(requests)
                summary.answers[target.method, status.name, _shape(text)] += 1
                summary.slowest = max(summary.slowest, (seconds, target.method))
                # What a node cannot do now it says with a code.
                if status in UNCLEAR or (status in DOWN and "[code=" not in text):
                    summary.unclear.append(f"{target.method}: {status.name}: {text}")
            if calls % _GARBAGE_EVERY == 0:
                garbage(address, rng)


def _call(channel: grpc.Channel, target: messages.Target, requests: list[bytes]) -> tuple[grpc.StatusCode, str]:
    method = getattr(channel, target.kind)(target.method, None, None)
    argument = iter(requests) if target.kind.startswith("stream") else requests[0]
    try:
        answer = method(argument, timeout=CALL_SECONDS)
        if target.kind.endswith("stream"):
            for _ in answer:
                pass
    except grpc.RpcError as error:
        return error.code(), error.details() or ""
    return grpc.StatusCode.OK, ""


def _shape(text: str) -> str:
    """A text without what differs from one message to the next."""
    return re.sub(r"'[^']*'|\"[^\"]*\"|[0-9a-f]{8,}|\d+", "*", text)[:80]


def garbage(address: str, rng: random.Random) -> None:
    """Opens a connection, says something that is no call, and leaves it."""
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=CALL_SECONDS) as connection:
        try:
            connection.sendall(rng.choice(_GARBAGE)(rng))
            connection.settimeout(0.05)
            connection.recv(1_000)
        except OSError:
            # It has been closed on us, or has nothing to say.
            pass
