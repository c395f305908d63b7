"""Each event of a job's history is told once, however its list is cut and however often it is seen."""

from datetime import datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from tensorflow_ignite.history import EventLog
from tensorflow_ignite.spec import Event

BEGIN = datetime(2026, 3, 1, tzinfo=timezone.utc)


def history(number: int) -> list[Event]:
    return [Event(BEGIN + timedelta(seconds=i), 1, "running", f"event {i}") for i in range(number)]


@given(
    kept=st.integers(5, 10),
    lengths=st.lists(st.integers(0, 40), max_size=10).map(sorted),
    lag=st.integers(0, 4),
)
def test_each_event_is_told_once_and_in_order(kept: int, lengths: list[int], lag: int) -> None:
    # No more new ones at once than the list holds: what was dropped unseen cannot be told.
    steps = [0]
    for length in lengths:
        steps += [*range(steps[-1] + kept, length, kept), length]
    log = EventLog()
    told: list[Event] = []
    for length in steps:
        told += log.fresh(history(length)[-kept:])
        behind = max(length - lag, 0)
        assert log.fresh(history(behind)[-kept:]) == ()  # a node that lags behind
    assert told == history(steps[-1])


def test_after_a_gap_all_that_is_left_is_told() -> None:
    log = EventLog()
    log.fresh(history(3))
    assert list(log.fresh(history(20)[-5:])) == history(20)[-5:]
