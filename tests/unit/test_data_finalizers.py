"""What is due when objects have gone."""

from __future__ import annotations

import gc
import threading

from tensorflow_ignite.data.finalizers import FinalizerQueue


class Thing:
    """Something that may be part of a cycle."""

    def __init__(self) -> None:
        self.me: Thing | None = None


def waits() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "tensorflow-ignite-finalizers"]


def test_a_thread_runs_due_finalizers_soon_and_ends_when_there_are_none() -> None:
    needed, done = [True], threading.Event()
    finalizers = FinalizerQueue(lambda: bool(needed))
    finalizers.ensure_running()
    (thread,) = waits()
    obj = Thing()
    finalizers.on_collect(obj, done.set)
    assert not done.is_set()
    del obj
    assert done.wait(10)
    finalizers.ensure_running()
    assert waits() == [thread]
    needed.clear()
    finalizers.ensure_running()
    thread.join(10)
    assert waits() == []
    finalizers.ensure_running()
    assert waits() == []


def test_nothing_is_done_where_a_thing_happens_to_go() -> None:
    finalizers = FinalizerQueue(lambda: False)
    lock = threading.Lock()
    done: list[str] = []

    def end() -> None:
        assert lock.acquire(timeout=1)
        done.append(threading.current_thread().name)
        lock.release()

    for circular in (False, True):
        obj = Thing()
        obj.me = obj if circular else None
        finalizers.on_collect(obj, end)
        # The collector may run inside of whatever holds a lock.
        with lock:
            del obj
            gc.collect()
            assert done == []
        finalizers.drain()
        assert done == [threading.current_thread().name]
        done.clear()


def test_settle_waits_for_the_finalizer_that_runs() -> None:
    finalizers = FinalizerQueue(lambda: False)
    begun, go = threading.Event(), threading.Event()
    seen: list[str] = []

    def slow() -> None:
        begun.set()
        assert go.wait(10)
        seen.append("done")

    finalizers.on_collect(Thing(), slow)
    first = threading.Thread(target=finalizers.drain)
    first.start()
    assert begun.wait(10)
    second = threading.Thread(target=lambda: (finalizers.drain(), seen.append("settled")))
    second.start()
    go.set()
    first.join(10)
    second.join(10)
    assert seen == ["done", "settled"]


def test_the_end_of_the_process_ends_the_thread() -> None:
    finalizers = FinalizerQueue(lambda: True)
    finalizers.ensure_running()
    (thread,) = waits()
    finalizers.stop()
    assert not thread.is_alive()
