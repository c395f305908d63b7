"""Following a job's history yields each event once, however its list is cut and however often it is received."""

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from tensorflow_ignite.jobs.handle import JobHandle
from tensorflow_ignite.spec import Event, Job
from tensorflow_ignite.v1 import job_pb2


def history(count: int) -> list[job_pb2.Event]:
    # All alike: only their numbers differ.
    return [job_pb2.Event(number=number, attempt=1, text="restarting") for number in range(1, count + 1)]


class WatchedJob(JobHandle):
    """A job whose watch yields these lists of events."""

    def __init__(self, lists: list[list[job_pb2.Event]]) -> None:
        self._lists = lists

    def watch(self, timeout: float | None = None) -> Iterator[Job]:
        return (Job.from_proto(job_pb2.Job(events=events)) for events in self._lists)


@given(
    kept=st.integers(5, 10),
    lengths=st.lists(st.integers(0, 40), max_size=10).map(sorted),
    lag=st.integers(0, 4),
)
def test_each_event_is_yielded_once_and_in_order(kept: int, lengths: list[int], lag: int) -> None:
    # No more new ones at once than the list keeps: events that were removed before nobody has received.
    steps = [0]
    for length in lengths:
        steps += [*range(steps[-1] + kept, length, kept), length]
    lists = []
    for length in steps:
        behind = max(length - lag, 0)
        lists += [history(length)[-kept:], history(behind)[-kept:]]  # the second from a node that lags behind
    assert list(WatchedJob(lists).events(follow=True)) == [Event.from_proto(event) for event in history(steps[-1])]


def test_after_a_gap_all_that_is_left_is_yielded() -> None:
    events = WatchedJob([history(3), history(20)[-5:]]).events(follow=True)
    assert [event.number for event in events] == [1, 2, 3, *range(16, 21)]
