"""Trains on the rows of a cache, and notes the keys of each step; ends within epochs, and goes on.

Arguments: a folder, and options as JSON. With ``crashes``, the process ends hard after some steps, and a later attempt
of the job goes on; each line of a book in the folder has the step, counted over all attempts, the epoch, and the keys
of one worker. With ``adapt``, a layer learns from all rows before it trains. With ``ways``, this process raises an
exception after some steps, and trains again with everything made anew; it does so in several ways, and writes the keys
of each with and without these ends. With ``plans`` these are planned.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tensorflow_ignite as tfi

strategy = tfi.train.strategy()

import tensorflow as tf  # noqa: E402

folder, options = Path(sys.argv[1]), json.loads(sys.argv[2])
context = tfi.train.context(cache=options["cache"])


class End(Exception):
    """In place of the end of the process."""


class PlannedEnd:
    """Plans the end of a `fit` after a step, in place of the job; the process ends when it waits."""

    def __init__(self, step: int | None) -> None:
        self.step = step

    def begin(self, step: int) -> None:
        """The loop goes on after a step."""

    def is_due(self, step: int) -> bool:
        """Whether to save after this step, and then to wait."""
        return step == self.step

    def wait(self) -> None:
        raise End

    def end(self) -> None:
        """The loop is over."""


class Training:
    """One attempt of a training; everything is made anew."""

    def __init__(
        self, way: dict[str, Any], note: Callable[[int, int, list[int]], None], end: int | None, *, saves: bool = True
    ) -> None:
        """Makes nothing yet."""
        self.way, self.note, self.end, self.saves = way, note, end, saves
        self.logs: dict[int, dict[str, float]] = {}
        self.step = self.epoch = 0
        self.batch, self.epochs = way["batch"], way["epochs"]
        self.reading: dict[str, Any] = {"label": "y", "key": True, **way["reading"]}
        if "hold_out" in self.reading:
            self.reading["hold_out"] = tfi.HoldOut(*self.reading["hold_out"])

    def _used(self, keys: Any, weights: Any) -> np.ndarray:
        """Rows of weight 0 only fill an epoch."""
        used = [int(key) for key, weight in zip(keys, weights, strict=True) if weight]
        self.note(self.step + 1, self.epoch, used)
        return np.float32(0)

    def _end_here(self) -> None:
        if self.step == self.end and not self.way.get("plans"):
            if "ways" in options:
                raise End
            if context.index == options.get("worker", 0):
                os._exit(1)

    def run(self, directory: str | None) -> None:
        """Trains to the end; `End` comes after the step at which it ends."""
        if self.way.get("loop") == "batches":
            self._batches(Path(f"{folder}/{Path(str(directory)).name}.json"))
        elif self.way.get("loop"):
            self._loop(directory)
        else:
            self._fit(directory)

    def _batches(self, state: Path) -> None:
        """Reads without TensorFlow's datasets: one process."""
        rows = tfi.batches(options["cache"], batch_size=self.batch, **self.reading)
        if state.exists():
            saved = json.loads(state.read_text())
            rows.load_state_dict(saved["rows"])
            self.epoch, self.step = saved["epoch"], saved["step"]
        while self.epoch < self.epochs:
            for features, _ in rows:
                self._used(features["_key"], np.ones(len(features["_key"])))
                self.step += 1
                state.write_text(json.dumps({"rows": rows.state_dict(), "epoch": self.epoch, "step": self.step}))
                self._end_here()
            self.epoch += 1

    def _loop(self, directory: str | None) -> None:
        """A training loop of the script's own."""
        with strategy.scope():
            weight = tf.Variable(0.0)
        checkpoint = tfi.train.checkpoint(every_steps=1, weight=weight, directory=directory)
        rows = tfi.dataset(options["cache"], **self.reading)
        rows = (rows if self.way["loop"] == "epochs" else rows.repeat()).batch(self.batch)
        distributed = strategy.experimental_distribute_dataset(rows)
        # Without a repetition, a loop over epochs iterates in each.
        elements = itertools.chain.from_iterable(checkpoint.iterate(distributed) for _ in itertools.count())
        for step in checkpoint.steps(self.epochs * self.way["steps"]):
            self.step = step - 1
            for pair in zip(*map(strategy.experimental_local_results, _keys_and_weights(next(elements))), strict=True):
                self._used(*(values.numpy() for values in pair))
            self.step = step
            checkpoint.save_if_due(step)
            self._end_here()

    def _fit(self, directory: str | None) -> None:
        """`fit` of one of the two Kerases."""
        keras: Any = importlib.import_module(self.way.get("keras", "keras"))
        keras.utils.set_random_seed(7)
        outer = self

        class Model(keras.Model):  # type: ignore[misc]
            def __init__(self) -> None:
                super().__init__()
                self.dense = keras.layers.Dense(1)

            def call(self, x: Any) -> Any:
                column = tf.cast(x["x"], tf.float32)[:, None]
                return self.dense(normal(column) if normal else column)

            def train_step(self, data: Any) -> Any:
                noted = tf.numpy_function(outer._used, _keys_and_weights(data), tf.float32)
                with tf.control_dependencies([noted]):
                    return super().train_step(data)

        class Steps(keras.callbacks.Callback):  # type: ignore[misc]
            def on_train_begin(self, logs: Any = None) -> None:
                if outer.way.get("plans"):
                    checkpoints.checkpoint.planned_end = PlannedEnd(outer.end)

            def on_epoch_begin(self, number: int, logs: Any = None) -> None:
                outer.epoch = number
                outer.step = outer.step or checkpoints.checkpoint.resumed_from_step

            def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
                outer.step += 1
                if outer.way.get("seconds"):
                    import time

                    time.sleep(outer.way["seconds"])
                outer._end_here()

            def on_epoch_end(self, number: int, logs: Any = None) -> None:
                outer.logs[number] = {name: float(value) for name, value in logs.items()}

        normal: Any = keras.layers.Normalization(axis=None) if self.way.get("adapt") else None
        if normal:
            normal.adapt(tfi.dataset(options["cache"], columns=["x"]).map(lambda row: row["x"]).batch(50))
            print(f"mean: {np.squeeze(normal.mean):.3f}", flush=True)

        with strategy.scope():
            model = Model()
            model({"x": tf.zeros([1])})
            model.compile("adam", "mse", metrics=["mae"])
        rows = tfi.dataset(options["cache"], **self.reading)
        rows = (rows.repeat() if "steps" in self.way else rows).batch(self.batch)
        if self.way.get("filters"):
            rows = rows.filter(lambda *_: True)
        checkpoints = tfi.train.CheckpointCallback(every_steps=1 if self.saves else None, directory=directory)
        model.fit(
            rows,
            epochs=self.epochs,
            steps_per_epoch=self.way.get("steps"),
            callbacks=[checkpoints, Steps()],
            verbose=0,
        )


def _keys_and_weights(data: Any) -> tuple[Any, Any]:
    """The keys of a batch, and the weights that ``uneven="pad"`` adds."""
    features, _, *weights = data
    keys = features["_key"]
    if weights:
        return keys, weights[0]
    ones = [tf.ones_like(each, tf.float32) for each in strategy.experimental_local_results(keys)]
    return keys, ones[0]


def in_ways(ways: dict[str, dict[str, Any]]) -> None:
    """Trains in each way, without an end and with some; writes the keys by step, with the number of the epoch."""
    for name, way in ways.items():
        found: dict[str, Any] = {"calm": {}, "ended": {}, "calm-logs": {}, "ended-logs": {}}
        for run, ends in (("calm", []), ("ended", way["ends"])):
            steps = found[run]

            def note(step: int, epoch: int, keys: list[int], steps: dict[int, list[int]] = steps) -> None:
                steps[step] = [epoch, *keys]

            for end in (*ends, None):
                training = Training(way, note, end, saves=run == "ended")
                with contextlib.suppress(End):
                    training.run(f"{folder}/{name}-{run}")
                found[f"{run}-logs"].update(training.logs)
        (folder / f"{name}-{context.index}.json").write_text(json.dumps(found))


if "ways" in options:
    in_ways(options["ways"])
else:
    crashes = {int(attempt): step for attempt, step in options["crashes"].items()}
    with (folder / f"{context.attempt}-{context.index}.jsonl").open("a", buffering=1) as book:

        def write(step: int, epoch: int, keys: list[int]) -> None:
            book.write(json.dumps({"step": step, "epoch": epoch, "keys": keys}) + "\n")

        Training(options, write, crashes.get(context.attempt)).run(None)
