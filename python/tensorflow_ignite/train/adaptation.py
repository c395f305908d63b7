"""Preprocessing layers learn from rows once for a job: on the first worker, from the rows of all workers.

Keras' own ``adapt`` would learn from the rows of each worker alone. In a job the package replaces it for datasets of
:func:`tensorflow_ignite.dataset`: the first worker lets a copy of the layer learn from all rows, writes its state into
a file, and notifies the others; then every worker sets the state of its layer from the file. So the rows are read once,
all layers are equal although the cache may be written meanwhile, and a later attempt finds the state in the file.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import hashlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from types import ModuleType
from typing import Any

from tensorflow_ignite import errors, task
from tensorflow_ignite.data import agreement, whole_rows
from tensorflow_ignite.data.epochs import input_totals
from tensorflow_ignite.data.request import ALL, ASSIGNED, Request
from tensorflow_ignite.errors import DataLossError, InvalidRequestError, TensorFlowIgniteError
from tensorflow_ignite.task import Task
from tensorflow_ignite.train import equal_state, fits, layer_state, row_steps
from tensorflow_ignite.train.adapted_files import AdaptedFile
from tensorflow_ignite.train.checkpoint import find_directory
from tensorflow_ignite.train.evaluation import training_has_ended
from tensorflow_ignite.train.marks import keeps_rows, marks_of
from tensorflow_ignite.train.progress import announce

_log = logging.getLogger("tensorflow_ignite.train")
# The shortest time that work without steps may continue after a sign of life.
_ANNOUNCED_SECONDS = 60.0
_POLL_SECONDS = 1.0
_SECONDS_TO_SAY = 10.0
_NAME = "adapt"
_BEGINS = "-begins"
_REMEDY = (
    "All workers let the same layers learn, in the same order. Call adapt on every worker, outside of conditions on "
    "its index. A set has another order in each process: sort it before a loop that calls adapt"
)
# Of the files: a version of this package with another one lets layers learn again.
_FORMAT = 3
# Reported by the first worker in place of an identity: its layer has not learned.
_FAILED = 0
# Whether `adapt` of a layer runs within ours: it is the original then.
_is_within: ContextVar[bool] = ContextVar("tensorflow_ignite_within_adapt", default=False)
# Whether layers learn together from any rows, not only from rows of caches.
_is_for_all: ContextVar[bool] = ContextVar("tensorflow_ignite_adapt_for_all", default=False)

#: Learns from rows: the arguments of `adapt` are a layer, rows, and others.
_Adapt = Callable[..., Any]


def learn_from_any(layer: Any, rows: Any) -> None:
    """As :func:`tensorflow_ignite.train.adapt`."""
    if not callable(getattr(layer, "adapt", None)):
        raise InvalidRequestError(
            f"{type(layer).__name__} cannot learn from rows. This needs a layer with a method adapt: Normalization, "
            "Discretization, StringLookup, IntegerLookup, TextVectorization or FeatureSpace. Give one of these"
        )
    token = _is_for_all.set(True)
    try:
        if hasattr(layer, "preprocessors") or (layer_state.is_of_keras(layer) and not layer_state.has_own_state(layer)):
            layer.adapt(rows)
        else:
            _adapt(type(layer).adapt, layer, rows, (), {})
    finally:
        _is_for_all.reset(token)


def correct_layer(module: ModuleType, name: str) -> None:
    """Makes ``adapt`` of layers of a class, by its name, learn for the whole job."""
    kind: Any = getattr(module, name)
    original = kind.adapt
    layer_state.note_arguments(kind)

    @functools.wraps(original)
    def adapt(self: Any, data: Any, *arguments: Any, **named: Any) -> Any:
        return _adapt(original, self, data, arguments, named)

    kind.adapt = adapt


def correct_feature_space(module: ModuleType) -> None:
    """Makes ``adapt`` of a FeatureSpace use the rows of all workers; its layers learn one by one, like other layers."""
    kind: Any = getattr(module, "FeatureSpace")  # noqa: B009
    original = kind.adapt

    @functools.wraps(original)
    def adapt(self: Any, dataset: Any, *arguments: Any, **named: Any) -> Any:
        requests = _requests(dataset)
        _require_end(self, dataset, requests, None)
        if not _is_shared(requests):
            return original(self, dataset, *arguments, **named)
        _require_whole(task.current(), dataset, requests)
        with whole_rows.reading(requests):
            return original(self, dataset, *arguments, **named)

    kind.adapt = adapt


def _adapt(original: _Adapt, layer: Any, rows: Any, arguments: Sequence[Any], named: dict[str, Any]) -> Any:
    if _is_within.get():
        return original(layer, rows, *arguments, **named)
    requests = _requests(rows)
    steps = named.get("steps", arguments[-1] if arguments else None)
    _require_end(layer, rows, requests, steps)
    here = task.current()
    if not _is_shared(requests):
        result = _within(lambda: original(layer, rows, *arguments, **named))
        if here.in_job:
            equal_state.note_adapted(layer)
        return result
    _require_whole(here, rows, requests)
    if not layer_state.is_known(layer):
        if not requests:
            raise InvalidRequestError(
                f"what {type(layer).__name__} learns cannot be given to other workers. A layer that is none of Keras' "
                "own says what it knows. Give it the methods state_dict() and load_state_dict(state)"
            )
        # What it has learned cannot be given to others. They read the same rows.
        with whole_rows.reading(requests):
            result = _within(lambda: original(layer, rows, *arguments, **named))
        equal_state.note_adapted(layer)
        return result
    if not _is_for_all.get() or not layer_state.has_own_state(layer):
        _warn_of_own_adapt(here, layer)
    place, number = fits.next_adapted()
    file = AdaptedFile(here, find_directory(None), place)
    # In the job's own files: it is over with the attempt.
    failure = AdaptedFile(here, "", f"{place}-failed-{here.attempt}")
    identity = _Identity(layer, requests, rows, arguments, named)
    if here.is_chief:
        with _reporting(here, failure, identity, number):
            state = _learn_once(here, file, identity, lambda: _learn(original, layer, rows, requests, arguments, named))
    elif here.own_assignment is not None:
        state = _await_first_worker(here, file, failure, identity, number)
    else:
        state = _await_training(here, file, identity)
    layer_state.put(layer, state)
    equal_state.note_adapted(layer)
    if hasattr(layer, "_is_adapted"):
        layer._is_adapted = True
    return None


def _warn_of_own_adapt(here: Task, layer: Any) -> None:
    """A script's own `adapt` has called Keras' `adapt`: only the latter learns for all workers together."""
    if layer_state.has_own_adapt(layer) and here.num_workers > 1:
        _log.warning(
            "tensorflow_ignite: layer %r (%s) has an adapt of its own. All workers get the state that Keras' adapt "
            "learns. If the layer also learns from the rows by itself, it learns from other rows on each worker. Then "
            "give it state_dict() and load_state_dict(state), and call tfi.train.adapt(layer, rows)",
            layer_state.name_of(layer),
            type(layer).__name__,
        )


class _Identity:
    """Identifies a layer, its options, and the rows from which it learns.

    Attributes:
        layer: Name of the layer, for messages.
        of_layer: Identifies its class, its options, and the name that a script has given to it.
        whole: Identifies the rows too.
    """

    def __init__(
        self, layer: Any, requests: Sequence[Request], rows: Any, arguments: Sequence[Any], named: dict[str, Any]
    ) -> None:
        self.layer = layer_state.name_of(layer)
        self.of_layer = _hash(layer_state.identity(layer))
        # Not which partitions: these move, and an evaluator reads all.
        selected = [
            (
                *(request.cache, request.columns, request.key, request.where, request.sql, request.parameters),
                *(request.since, request.keys, request.nulls, request.on_mismatch, request.deletions),
            )
            for request in requests
        ]
        options = (arguments, sorted(named.items()), fits.current_round())
        spec = getattr(rows, "element_spec", None)
        self.whole = _hash(repr((_FORMAT, self.of_layer, selected, spec, row_steps.steps_of(rows), options)))

    @property
    def number(self) -> int:
        """The identity as a number of 63 bits, which is not `_FAILED`."""
        return int(self.whole[:16], 16) >> 1 | 1


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _name(event: str = "") -> str:
    """Under which the workers agree; with an event, that the first one begins to learn."""
    return f"{_NAME}-{fits.current_round()}{event}"


def _requests(rows: Any) -> list[Request]:
    """The requests of the datasets of caches from which rows come; none for other rows."""
    found = {request.name: request for request in marks_of(rows, whole_rows.REQUEST)}
    return sorted(found.values(), key=lambda request: (request.cache, request.columns, request.where))


def _is_shared(requests: Sequence[Request]) -> bool:
    """Whether all workers learn the same from these rows; partitions with numbers are a choice of the script."""
    here = task.current()
    if not here.in_job or here.rules is None or here.rules.predicts:
        return False
    named = any(request.partitions not in (ASSIGNED, ALL) for request in requests)
    return _is_for_all.get() or (bool(requests) and not named)


def _require_end(layer: Any, rows: Any, requests: Sequence[Request], steps: Any) -> None:
    import tensorflow as tf

    if not requests or steps is not None or not isinstance(rows, tf.data.Dataset):
        return
    if int(rows.cardinality()) == tf.data.INFINITE_CARDINALITY:
        follows = any(request.follow for request in requests)
        reason, remedy = (
            ("are followed", "Leave follow=True out")
            if follows
            else ("are repeated", "Call adapt with the dataset before its repeat()")
        )
        raise InvalidRequestError(
            f"layer {layer_state.name_of(layer)!r} would learn without an end: its rows {reason}. A layer learns from "
            f"rows that have an end, and from each row once. {remedy}, or give it rows.take(batches)"
        )


def _require_whole(here: Task, rows: Any, requests: Sequence[Request]) -> None:
    """Refuses rows that cannot be read for all workers, or would stay so for the training."""
    assigned = [request for request in requests if request.partitions == ASSIGNED and here.num_workers > 1]
    for request in assigned:
        if request.rows >= 0:
            raise InvalidRequestError(
                f"a layer cannot learn from a dataset of cache {request.cache!r} with exact=True: TensorFlow would end "
                f"it after the {request.rows} rows of this worker. A layer learns from the rows of all workers. Give "
                "adapt a dataset without exact="
            )
    if assigned and keeps_rows(rows, whole_rows.REQUEST):
        raise InvalidRequestError(
            f"a layer cannot learn from a dataset of cache {assigned[0].cache!r} after its cache(), or snapshot(): it "
            "learns from the rows of all workers, and TensorFlow would keep these for the training of this worker. "
            "Give adapt the dataset before its cache(); tfi.dataset(snapshot=True) keeps rows in memory as well"
        )


def _within(call: Callable[[], Any]) -> Any:
    token = _is_within.set(True)
    try:
        return call()
    finally:
        _is_within.reset(token)


def _learn_once(here: Task, file: AdaptedFile, identity: _Identity, learn: Callable[[], Any]) -> Any:
    """On the first worker: the state from the file, or else what the layer learns now."""
    try:
        found = file.kept()
    except DataLossError as error:
        found = None
        _log.warning("tensorflow_ignite: %s is written anew, since it cannot be read: %s", file.path, error)
    if found is not None and found["identity"] == identity.whole:
        print(
            f"tensorflow_ignite: layer {identity.layer!r} has what attempt {found['attempt']} of job {found['job']} "
            f"has learned, and reads no row ({file.path})",
            flush=True,
        )
        if found.get("used_by") == here.job_id:
            file.share(found)
        else:
            file.write({**found, "used_by": here.job_id})
        return found["state"]
    state = learn()
    # As the others read it.
    written = {
        "identity": identity.whole,
        "layer": identity.of_layer,
        "name": identity.layer,
        "job": here.job_id,
        "attempt": here.attempt,
        # The job whose first worker has checked that it is the state of its rows.
        "used_by": here.job_id,
        "state": state,
    }
    try:
        file.write(written)
    except TypeError as error:
        raise InvalidRequestError(
            f"what layer {identity.layer!r} has learned cannot be saved: its state has {error}. A state has None, "
            "booleans, numbers, texts and numpy arrays, in lists and dicts with texts as keys. Leave the rest out of it"
        ) from error
    return state


def _learn(
    original: _Adapt,
    layer: Any,
    rows: Any,
    requests: Sequence[Request],
    arguments: Sequence[Any],
    named: dict[str, Any],
) -> Any:
    """The state that a copy of the layer learns from all rows.

    The copy learns in a thread of its own, outside of the scope of a strategy: in the scope, all workers make each
    variable together, but the other workers do not learn.
    """
    states: list[Any] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            copied = layer_state.copy_of(layer)
            _within(lambda: original(copied, rows, *arguments, **named))
            states.append(layer_state.get(copied))
        except BaseException as error:
            errors.append(error)

    with whole_rows.reading(requests):
        thread = threading.Thread(target=run, name="tensorflow-ignite-adapt", daemon=True)
        thread.start()
        before = -1
        while thread.is_alive():
            thread.join(_POLL_SECONDS)
            now = input_totals.totals().rows
            if now != before:
                before = now
                announce(_ANNOUNCED_SECONDS, force=False)
    if errors:
        raise errors[0]
    return states[0]


@contextlib.contextmanager
def _reporting(here: Task, failure: AdaptedFile, identity: _Identity, number: int) -> Iterator[None]:
    """On the first worker: reports to the other workers that the block begins, and whether it has failed."""
    if here.own_assignment is None or here.num_workers < 2:
        yield
        return
    agreement.report(_name(_BEGINS), number, identity.number)
    try:
        yield
    except Exception as error:
        with contextlib.suppress(TensorFlowIgniteError):
            failure.write({"kind": type(error).__name__, "text": str(error)})
            agreement.report(_name(), number, _FAILED)
        raise
    agreement.report(_name(), number, identity.number)


def _await_first_worker(here: Task, file: AdaptedFile, failure: AdaptedFile, identity: _Identity, number: int) -> Any:
    """On the other workers: the state that the first worker has learned."""
    with _waiting(here, identity, announces=False) as pause:
        agreement.exchange(_name(_BEGINS), number, identity.number, pause)
    with _waiting(here, identity, announces=True) as pause:
        first, *_ = agreement.exchange(_name(), number, identity.number, pause)
    if first == _FAILED:
        raise _error_of(failure.shared() or {"kind": "", "text": "its output has the error"}, identity)
    found = file.shared()
    if found is None or found["identity"] != identity.whole:
        other = "another one" if found is None else f"layer {found['name']!r}"
        raise TensorFlowIgniteError(
            f"{here.task} lets layer {identity.layer!r} learn as call {number} of adapt, and worker 0 {other}, or with "
            f"other options or from other rows. {_REMEDY}"
        )
    return found["state"]


def _error_of(failure: Any, identity: _Identity) -> Exception:
    """The error of the first worker, with its class if that is one of Python or of this package."""
    kind = getattr(errors, failure["kind"], None) or getattr(builtins, failure["kind"], None)
    text = (
        f"layer {identity.layer!r} could not learn on worker 0, which does so for all workers: {failure['kind']}: "
        f"{failure['text']}"
    )
    if isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, UnicodeError):
        return kind(text)
    return TensorFlowIgniteError(text)


def _await_training(here: Task, file: AdaptedFile, identity: _Identity) -> Any:
    """On an evaluator, and tasks of other roles that read no rows: what the training has learned."""
    with _waiting(here, identity, announces=True) as pause:
        while True:
            ended = training_has_ended(here)
            found = file.shared()
            # A job before, with the same directory, may have learned from other rows.
            is_of_job = found is not None and found.get("used_by") == here.job_id
            if is_of_job and found["layer"] == identity.of_layer:
                return found["state"]
            if ended:
                raise TensorFlowIgniteError(
                    f"{here.task} lets layer {identity.layer!r} learn, and the training has ended without that. All "
                    "tasks let the same layers learn, in the same order. Call adapt in the part of the script that the "
                    "workers run too"
                )
            pause(_POLL_SECONDS)


@contextlib.contextmanager
def _waiting(here: Task, identity: _Identity, *, announces: bool) -> Iterator[Callable[[float], None]]:
    begun, said = time.monotonic(), False

    def pause(seconds: float) -> None:
        nonlocal said
        # The first worker reports its own work; if that stalls, the job ends all. Before that, this one may stall.
        if announces:
            announce(_ANNOUNCED_SECONDS, force=False)
        if not said and time.monotonic() - begun > _SECONDS_TO_SAY:
            said = True
            _log.warning(
                "tensorflow_ignite: %s waits until worker 0 %s layer %r learn from all rows, in its call of adapt",
                here.task,
                "has let" if announces else "begins to let",
                identity.layer,
            )
        time.sleep(seconds)

    yield pause
