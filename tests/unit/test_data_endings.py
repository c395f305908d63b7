"""What is due when objects have gone."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable

import pytest

from tensorflow_ignite.data.endings import Endings


class Thing:
    """Something that may be part of a cycle."""

    def __init__(self) -> None:
        self.me: Thing | None = None


def waits() -> list[threading.Thread]:
    """The threads of all endings."""
    return [thread for thread in threading.enumerate() if thread.name == "tensorflow-ignite-endings"]


def test_what_is_due_is_done_by_a_thread_soon_and_the_thread_ends_when_it_is_not_needed() -> None:
    needed, done = [True], threading.Event()
    endings = Endings(lambda: bool(needed))
    endings.watch()
    (thread,) = waits()
    thing = Thing()
    endings.when_gone(thing, done.set)
    assert not done.wait(0.05)
    del thing
    assert done.wait(10)
    endings.watch()
    assert waits() == [thread]
    needed.clear()
    endings.watch()
    thread.join(10)
    assert waits() == []
    endings.watch()
    assert waits() == []


def test_nothing_is_done_where_a_thing_happens_to_go() -> None:
    endings = Endings(lambda: False)
    lock = threading.Lock()
    done: list[str] = []

    def end() -> None:
        assert lock.acquire(timeout=1)
        done.append(threading.current_thread().name)
        lock.release()

    for circular in (False, True):
        thing = Thing()
        thing.me = thing if circular else None
        endings.when_gone(thing, end)
        # The collector may run inside of whatever holds a lock.
        with lock:
            del thing
            gc.collect()
            assert done == []
        endings.settle()
        assert done == [threading.current_thread().name]
        done.clear()


def test_who_settles_waits_for_what_is_being_done() -> None:
    endings = Endings(lambda: False)
    begun, go = threading.Event(), threading.Event()
    seen: list[str] = []

    def note(text: str) -> Callable[[], None]:
        return lambda: seen.append(text)

    def slow() -> None:
        begun.set()
        assert go.wait(10)
        seen.append("done")

    endings.when_gone(Thing(), slow)
    first = threading.Thread(target=endings.settle)
    first.start()
    assert begun.wait(10)
    second = threading.Thread(target=lambda: (endings.settle(), note("settled")()))
    second.start()
    go.set()
    first.join(10)
    second.join(10)
    assert seen == ["done", "settled"]


def test_the_end_of_the_process_ends_the_thread() -> None:
    endings = Endings(lambda: True)
    endings.watch()
    (thread,) = waits()
    endings.stop()
    assert not thread.is_alive()
    with pytest.raises(RuntimeError):
        thread.start()
