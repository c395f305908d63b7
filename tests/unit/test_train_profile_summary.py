"""The summary of a profile."""

from __future__ import annotations

import pytest

pytest.importorskip("tensorflow")

from tensorflow.tsl.profiler.protobuf import xplane_pb2

from tensorflow_ignite.train.profile_summary import summary


def trace(*events: tuple[str, int]) -> bytes:
    """A trace of the host: names of events that follow one another, and their microseconds."""
    space = xplane_pb2.XSpace()
    plane = space.planes.add(name="/host:CPU")
    line = plane.lines.add()
    begin = 0
    for number, (name, microseconds) in enumerate(events, 1):
        plane.event_metadata[number].name = name
        line.events.add(metadata_id=number, offset_ps=begin, duration_ps=microseconds * 1_000_000)
        begin += microseconds * 1_000_000
    return space.SerializeToString()


def names(found: dict[str, object]) -> list[str]:
    return [each["name"] for each in found["operations"]]  # type: ignore[attr-defined]


def test_operations_outside_a_function_are_counted_by_their_type() -> None:
    found = summary(
        trace(
            ("EagerLocalExecute: MatMul", 30),
            ("EagerLocalExecute: IteratorGetNext", 5),
            ("EagerExecute", 40),
            ("EagerLocalExecute: __inference_train_step_12", 50),
            ("dense/MatMul:MatMul", 20),
        )
    )
    assert names(found) == ["MatMul", "dense/MatMul:MatMul"]
    assert [each["share"] for each in found["operations"]] == pytest.approx([0.6, 0.4])


@pytest.mark.parametrize("event", ["IteratorGetNextOp::DoCompute", "IteratorGetNextAsOptionalOp::DoCompute"])
def test_a_step_waits_for_its_batch_also_where_keras_runs_several_steps_in_one_call(event: str) -> None:
    assert summary(trace((event, 30), ("dense/MatMul:MatMul", 10)))["input_wait"] == pytest.approx(0.75)
    assert summary(trace(("dense/MatMul:MatMul", 10)))["input_wait"] is None
