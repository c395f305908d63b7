"""A task of a job of kind predict: reads its partitions, predicts their rows, and writes the results beside them."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Generator, Iterator, Mapping
from concurrent.futures import FIRST_EXCEPTION, CancelledError, ThreadPoolExecutor, wait
from datetime import datetime, timezone
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from tensorflow_ignite import task
from tensorflow_ignite.data.batches import Ragged
from tensorflow_ignite.data.epochs import input_totals
from tensorflow_ignite.data.epochs.prefetch import Stream
from tensorflow_ignite.data.epochs.tensor_schema import columns_of, pack
from tensorflow_ignite.data.epochs.tensors import arrays_of
from tensorflow_ignite.data.transport import flight
from tensorflow_ignite.errors import RowMismatchError
from tensorflow_ignite.models.registry import Models
from tensorflow_ignite.net.resolve import find_credentials
from tensorflow_ignite.predict import outputs_file, planning
from tensorflow_ignite.predict.finished_partitions import FinishedPartitions
from tensorflow_ignite.predict.output_cache import OutputCache
from tensorflow_ignite.predict.planning import RowColumns
from tensorflow_ignite.predict.prediction_request import PredictionRequest
from tensorflow_ignite.predict.result_columns import ResultColumns, field_of_array, result_columns
from tensorflow_ignite.predict.scorers import ModelScorer, Scorer, ScriptScorer, load_model
from tensorflow_ignite.predict.units import THREADS, units_of
from tensorflow_ignite.storage.files import Files
from tensorflow_ignite.task import Task
from tensorflow_ignite.train import progress


def main() -> None:
    """Predicts the rows of this task.

    Raises:
        TensorFlowIgniteError: What a node, the model or the script raises.
    """
    request = PredictionRequest.from_arguments()
    here = task.current()
    own = here.own_assignment
    if own is None or not own.partitions:
        return
    credentials = find_credentials(None, (here.node_address,), data=True)
    files = Files.at(None)
    results: ResultColumns | None
    if request.model:
        version = Models(files).get(request.model)
        signature = version.signature(request.signature)
        columns = planning.read_columns(request, here.cache, signature, here.node_address, credentials)
        results = planning.results_of_model(request, here.cache, columns, signature)
        model = load_model(Models(files), version)
        scorer: Scorer = ModelScorer(model, request.signature, signature, columns.inputs)
    else:
        columns = planning.read_columns(request, here.cache, None, here.node_address, credentials)
        outputs = outputs_file.read(files, here)
        results = None if outputs is None else result_columns(columns.rows, request.keep, outputs, request.script)
        scorer = ScriptScorer(Path(sys.argv[0]).resolve().parent / request.script)
    writer = ResultWriter(request, here, files, columns, results, credentials)
    BulkPrediction(request, here, columns, scorer, writer, FinishedPartitions(files, here)).run()


class ResultWriter:
    """Makes the columns and the cache of the results when the outputs are known. Safe to use from several threads."""

    def __init__(
        self,
        request: PredictionRequest,
        here: Task,
        files: Files,
        columns: RowColumns,
        results: ResultColumns | None,
        credentials: Any,
    ) -> None:
        """Makes no call.

        Args:
            request: The request.
            here: The task of this process.
            files: The files of the cluster.
            columns: The columns of the rows.
            results: The columns of the results; None: the first batch decides the outputs.
            credentials: Credentials of the calls.
        """
        self._request = request
        self._here = here
        self._files = files
        self._columns = columns
        self._credentials = credentials
        self._lock = threading.Lock()
        self._results = results
        self._cache: OutputCache | None = None
        #: Rows of the cache of results by partition, when it was opened.
        self.rows: Mapping[int, int] = {}

    @property
    def is_ready(self) -> bool:
        """Whether the outputs are known."""
        return self._results is not None

    def open(self, predicted: Mapping[str, Any] | None = None) -> tuple[ResultColumns, OutputCache]:
        """The columns and the cache, which the first call makes.

        Args:
            predicted: The outputs of the first batch, if they are not known otherwise.
        """
        with self._lock:
            if self._results is None:
                assert predicted is not None
                subject = f"script {self._request.script}"
                fields = [field_of_array(name, array, subject) for name, array in predicted.items()]
                self._results = result_columns(self._columns.rows, self._request.keep, fields, subject)
                outputs_file.write(self._files, self._here, self._results.outputs)
            if self._cache is None:
                cache = OutputCache(
                    self._request.into,
                    self._here.cache,
                    self._results.schema,
                    self._here.node_address,
                    self._credentials,
                )
                self.rows = cache.write()
                self._cache = cache
            return self._results, self._cache


class BulkPrediction:
    """The prediction of the partitions of a task."""

    def __init__(
        self,
        request: PredictionRequest,
        here: Task,
        columns: RowColumns,
        scorer: Scorer,
        writer: ResultWriter,
        finished: FinishedPartitions,
    ) -> None:
        """Makes no call.

        Args:
            request: The request.
            here: The task of this process.
            columns: The columns of the rows.
            scorer: What predicts.
            writer: Where the results go.
            finished: The finished partitions of the job.
        """
        self._request = request
        self._here = here
        self._columns = columns
        self._scorer = scorer
        self._writer = writer
        self._finished = finished
        self._rows = planning.rows_request(
            request,
            here.cache,
            columns,
            accept_data_loss=here.allow_data_loss,
            read_rate=here.read_rate,
            read_group=here.job_id,
        )
        self._lock = threading.Lock()
        self._streams: set[Stream] = set()
        self._is_cancelled = False
        self._predicted_rows = 0
        self._finished_rows = 0
        self._done_partitions = 0

    def run(self) -> None:
        """Predicts all rows of partitions that are not finished.

        Raises:
            TensorFlowIgniteError: What a node, the model or the script raises.
        """
        own = self._here.own_assignment
        assert own is not None
        begun = time.monotonic()
        if self._writer.is_ready:
            self._writer.open()
        before = self._finished.before(self._writer.rows)
        finished = {number: before[number] for number in own.partitions if number in before}
        left = [partition for partition in own.partitions if partition not in finished]
        self._done_partitions = len(finished)
        self._finished_rows = sum(finished.values())
        if finished:
            print(f"{len(finished)} of {len(own.partitions)} partitions are finished already")
        self._report(0, 0)
        if left:
            self._predict(left, own.rows * len(left) // len(own.partitions))
        self._report(0, 0, force=True)
        seconds = time.monotonic() - begun
        print(
            f"{self._predicted_rows:,} rows of {len(left)} partitions predicted by {self._request.source} "
            f"in {seconds:.2f} s"
        )

    def _predict(self, partitions: list[int], rows: int) -> None:
        node = self._here.node_address
        description = self._rows.reader.describe(node, self._rows.command(partitions, uncounted=True))
        units = [
            endpoint.modified(partitions=unit)
            for endpoint in description.endpoints
            for unit in units_of(
                list(endpoint.command.partitions),
                rows * len(endpoint.command.partitions) // len(partitions),
                self._request.batch_size,
            )
        ]
        with ThreadPoolExecutor(THREADS, "tensorflow-ignite-predict") as pool:
            started = [pool.submit(self._predict_unit, unit) for unit in units]
            try:
                done, _ = wait(started, return_when=FIRST_EXCEPTION)
                for unit in done:
                    unit.result()
            except BaseException:
                # The pool waits for its threads, and a thread ends when its stream is cancelled.
                for unit in started:
                    unit.cancel()
                self._cancel()
                raise

    def _predict_unit(self, endpoint: flight.Endpoint) -> None:
        partitions = list(endpoint.command.partitions)
        with contextlib.closing(self._results(endpoint)) as results:
            first = next(results, None)
            if first is None and not self._writer.is_ready:
                # Nothing is known of the outputs, and nothing can be lost.
                sizes = dict.fromkeys(partitions, 0)
            else:
                _, cache = self._writer.open()
                sizes = cache.write(chain([first] if first is not None else [], results))
        self._finished.add({number: sizes[number] for number in partitions if number in sizes})
        self._report(0, len(partitions))

    def _results(self, endpoint: flight.Endpoint) -> Generator[pa.RecordBatch, None, None]:
        for batch in self._batches(endpoint):
            predicted = self._scorer.predict(self._element(batch))
            columns, _ = self._writer.open(predicted)
            yield columns.batch(batch, predicted, self._request.source, datetime.now(timezone.utc))
            # The memory of the rows is free for the next ones.
            rows = batch.num_rows
            del batch, predicted
            self._report(rows, 0)

    def _batches(self, endpoint: flight.Endpoint) -> Iterator[pa.RecordBatch]:
        (stream,) = self._rows.reader.moved_streams(
            endpoint, f"cache {self._here.cache!r}", self._here.node_address, most=1
        )
        with self._lock:
            self._require_not_cancelled()
            self._streams.add(stream)
        try:
            batches = iter(stream)
            while True:
                with input_totals.waiting():
                    batch = next(batches, None)
                if batch is None:
                    # A stream that is cancelled ends without an error, and without all of its rows.
                    self._require_not_cancelled()
                    return
                input_totals.add_rows(batch.num_rows)
                yield batch
                del batch
        finally:
            stream.cancel()
            with self._lock:
                self._streams.discard(stream)

    def _element(self, batch: pa.RecordBatch) -> dict[str, Any]:
        """The columns that the model or script takes, as arrays."""
        given = batch.select(list(self._columns.given))
        for name, column in zip(given.schema.names, given.columns, strict=True):
            if column.null_count:
                # Without counts: the same error of several tasks is the same text, which ends the job.
                raise RowMismatchError(
                    f"the column {name!r} of cache {self._here.cache!r} is null in some rows. An input of "
                    f"{self._request.source} has a value in each row. Leave these rows out: where= (--where "
                    f"'{name} IS NOT NULL'), or give them a value"
                )
        layout = columns_of(given.schema)
        return pack(layout, arrays_of(given, layout), _array)

    def _require_not_cancelled(self) -> None:
        if self._is_cancelled:
            raise CancelledError

    def _cancel(self) -> None:
        with self._lock:
            self._is_cancelled = True
            for stream in self._streams:
                stream.cancel()

    def _report(self, rows: int, partitions: int, *, force: bool = False) -> None:
        own = self._here.own_assignment
        assert own is not None
        with self._lock:
            self._predicted_rows += rows
            self._done_partitions += partitions
            # A step is a row; the rows of finished partitions are done.
            progress.report_figures(
                self._finished_rows + self._predicted_rows,
                # How many rows meet a condition is not known.
                None if self._request.where else own.rows,
                {"partitions": self._done_partitions},
                force=force,
                draws_metrics=False,
            )


def _array(values: Any, _shape: tuple[int, ...], splits: list[Any]) -> Any:
    return Ragged(values, tuple(splits)) if splits else values
