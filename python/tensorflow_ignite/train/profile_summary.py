"""A profile in a few numbers: the share of waiting for input, and the operations that take the most time.

A trace (XSpace) has planes, one for the host and one for each accelerator; a plane has lines, such as threads; a line
has events, with a name, a begin and a duration. On the host, TensorFlow names the event of an operation ``NAME:TYPE``,
and of one outside a function ``EagerLocalExecute: TYPE``; other events contain the operations that they have called.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

# Operations in a summary.
_MOST = 15
_PICOSECONDS = 1e12
# The operations that fetch the batch of a step; the second one if Keras runs several steps in one call.
_INPUTS = frozenset({"IteratorGetNextOp::DoCompute", "IteratorGetNextAsOptionalOp::DoCompute"})
_HOST, _DEVICE = "/host:CPU", "/device:"
# The event of a call of a function is left out; the operations of the function are counted.
_OPERATION = re.compile(r"[^\s:]+:\w+|EagerLocalExecute: (?!__|IteratorGetNext)(?P<eager>\w+)")


def summary(trace: bytes) -> dict[str, Any]:
    """Summarizes a trace.

    Args:
        trace: The message XSpace.

    Returns:
        ``input_wait``: the share of the recorded time, 0 to 1, in which a step waited for its batch; None: no step
        fetched one. ``operations``: a list of dicts with name, device, calls, seconds over all calls, and the share of
        these seconds in the seconds of all operations of the device; operations with the most seconds first.
    """
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    space = xplane_pb2.XSpace.FromString(trace)
    waits: list[tuple[int, int]] = []
    first, last = 2**63, 0
    operations: list[dict[str, Any]] = []
    for plane in space.planes:
        if plane.name != _HOST and not plane.name.startswith(_DEVICE):
            continue
        names = {number: data.name.partition("#")[0] for number, data in plane.event_metadata.items()}
        totals: dict[str, list[float]] = defaultdict(lambda: [0, 0.0])
        for line in plane.lines:
            for event in line.events:
                name = names[event.metadata_id]
                begin = line.timestamp_ns * 1000 + event.offset_ps
                end = begin + event.duration_ps
                first, last = min(first, begin), max(last, end)
                if name in _INPUTS:
                    waits.append((begin, end))
                elif operation := name if plane.name != _HOST else _operation(name):
                    totals[operation][0] += 1
                    totals[operation][1] += event.duration_ps / _PICOSECONDS
        operations += _most(plane.name.removeprefix("/host:").removeprefix(_DEVICE), totals)
    return {
        "input_wait": _covered(waits) / (last - first) if waits else None,
        "operations": sorted(operations, key=lambda each: -each["seconds"])[:_MOST],
    }


def _operation(event: str) -> str:
    """The name of the operation whose event of the host this is; empty: it is of none."""
    found = _OPERATION.fullmatch(event)
    return (found["eager"] or event) if found else ""


def _most(device: str, totals: dict[str, list[float]]) -> list[dict[str, Any]]:
    whole = sum(seconds for _, seconds in totals.values()) or 1.0
    return [
        {"name": name, "device": device, "calls": int(calls), "seconds": seconds, "share": seconds / whole}
        for name, (calls, seconds) in totals.items()
    ]


def _covered(intervals: Iterable[tuple[int, int]]) -> int:
    """The length of the union of intervals."""
    length, reached = 0, 0
    for begin, end in sorted(intervals):
        length += max(0, end - max(begin, reached))
        reached = max(reached, end)
    return length
