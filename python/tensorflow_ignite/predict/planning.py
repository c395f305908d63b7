"""A prediction resolved against the cluster: the version of the model, the columns of the rows and of the results."""

from __future__ import annotations

import ast
import base64
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from tensorflow_ignite import errors
from tensorflow_ignite.data import arguments, queries
from tensorflow_ignite.data.epochs.tensor_schema import KEY_COLUMN
from tensorflow_ignite.data.request import LARGE_ROWS_BATCH_BYTES, LARGEST_BATCH_BYTES, Request
from tensorflow_ignite.data.schema_argument import parse_schema
from tensorflow_ignite.data.transport import choice, flight
from tensorflow_ignite.data.transport.service import ServiceReader
from tensorflow_ignite.models.signature import Signature
from tensorflow_ignite.models.version import ModelVersion
from tensorflow_ignite.net.credentials import Credentials
from tensorflow_ignite.predict.input_columns import InputColumn, input_columns
from tensorflow_ignite.predict.output_cache import OutputCache
from tensorflow_ignite.predict.prediction_request import BATCH_ROWS, PredictionRequest
from tensorflow_ignite.predict.result_columns import ResultColumns, output_field, result_columns

#: The function that a script defines.
FUNCTION = "predict"
_MOST_ROWS = 1 << 20


@dataclass(frozen=True)
class RowColumns:
    """The columns that a prediction reads.

    Attributes:
        rows: Schema of the rows as they are read, with their key.
        inputs: The columns of the inputs of the model; empty: a script predicts.
        given: Names of the columns for the model or script.
    """

    rows: pa.Schema
    inputs: tuple[InputColumn, ...]
    given: tuple[str, ...]


def make_request(
    *,
    into: str,
    cache: str,
    version: ModelVersion | None,
    signature: str,
    script: str,
    columns: Sequence[str] | None,
    keep: Sequence[str],
    where: str | None,
    parameters: Sequence[Any],
    batch_size: int | None,
) -> PredictionRequest:
    """Makes a request of the arguments of a caller.

    Raises:
        InvalidRequestError: An argument breaks a rule.
    """
    if not isinstance(into, str) or not into:
        raise errors.InvalidRequestError(
            f"into={into!r} is no name. A prediction writes its results into a cache. Name it: into= (--into)"
        )
    if into == cache:
        raise errors.InvalidRequestError(
            f"into={into!r} is the cache of the rows. Results have other columns than the rows, and a cache of their "
            "own. Name another cache with into= (--into)"
        )
    if signature and version is None:
        raise errors.InvalidRequestError(
            f"signature={signature!r} is given with a script. Only a model has signatures. Leave one of them out"
        )
    condition, _, values = queries.checked(where, None, parameters, None, False)
    size = arguments.batch_size(BATCH_ROWS if batch_size is None else batch_size)
    if size > _MOST_ROWS:
        raise errors.InvalidRequestError(
            f"batch_size={size} is too large. A batch has at most {_MOST_ROWS:,} rows. Give a smaller number"
        )
    return PredictionRequest(
        into=into,
        model="" if version is None else version.reference,
        signature=signature,
        script=script,
        columns=arguments.columns(columns),
        keep=arguments.columns(keep or None, "keep"),
        where=condition,
        parameters=values,
        batch_size=size,
    )


def check_script(name: str, source: bytes) -> None:
    """Checks that a script binds the name `FUNCTION`; nothing of it runs.

    Raises:
        CodeInvalidError: It does not.
    """
    found: set[str] = set()
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            found.add(statement.name)
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            found.update(alias.asname or alias.name for alias in statement.names)
        else:
            found.update(
                node.id
                for node in ast.walk(statement)
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            )
            found.update(node.name for node in ast.walk(statement) if isinstance(node, ast.FunctionDef))
    if FUNCTION not in found and "*" not in found:
        raise errors.CodeInvalidError(
            f"the script {name!r} has no function {FUNCTION}. A script that predicts defines {FUNCTION}(batch), which "
            "takes the arrays of some rows by the names of their columns, and returns arrays of as many rows by the "
            "names of the new columns. Define it"
        )


def check(
    request: PredictionRequest,
    cache: str,
    version: ModelVersion | None,
    node: str,
    credentials: Credentials | None,
) -> None:
    """Checks the caches and the model of a request before its job is submitted; changes nothing.

    Args:
        request: The request.
        cache: The cache of the rows.
        version: The version of the model; None: a script predicts.
        node: ``host:port`` of a node.
        credentials: Credentials of the caller.

    Raises:
        TensorFlowIgniteError: An error that the tasks would raise.
    """
    if version is None:
        columns = read_columns(request, cache, None, node, credentials)
        results = result_columns(columns.rows, request.keep, (), _subject(request, cache))
        # Its outputs are known after its first batch. Until then a cache that exists differs, and cannot be checked.
        with contextlib.suppress(errors.RowMismatchError):
            OutputCache(request.into, cache, results.schema, node, credentials).check()
        return
    signature = version.signature(request.signature)
    columns = read_columns(request, cache, signature, node, credentials)
    results = results_of_model(request, cache, columns, signature)
    OutputCache(request.into, cache, results.schema, node, credentials).check()


def read_columns(
    request: PredictionRequest, cache: str, signature: Signature | None, node: str, credentials: Credentials | None
) -> RowColumns:
    """Finds the columns to read.

    Raises:
        ColumnNotFoundError: The cache has no such column.
        InvalidRequestError: The columns do not fit the inputs of the model.
        TensorFlowIgniteError: Another error of a node; if no node answers.
    """
    further = tuple(name for name in request.keep if name not in request.columns)
    found = _describe(request, cache, (*request.columns, *further) if request.columns else (), None, node, credentials)
    fields = [field for field in found.schema if field.name != KEY_COLUMN]
    available = pa.schema([field for field in fields if field.name in (request.columns or found.schema.names)])
    if signature is None:
        given = request.columns or tuple(available.names)
        inputs: tuple[InputColumn, ...] = ()
    else:
        inputs = input_columns(signature, available, request.columns, request.keep, _subject(request, cache))
        given = tuple(column.column for column in inputs)
    requested = {column.column: column.requested for column in inputs if column.requested is not None}
    read = (*given, *(name for name in request.keep if name not in given))
    rows = _describe(request, cache, read, requested or None, node, credentials).schema
    return RowColumns(rows, inputs, given)


def results_of_model(
    request: PredictionRequest, cache: str, columns: RowColumns, signature: Signature
) -> ResultColumns:
    """The columns of the results of a model.

    Raises:
        InvalidRequestError: Two of them have one name.
        UnsupportedTypeError: A cache has no column for an output.
    """
    outputs = [output_field(spec, _subject(request, cache)) for spec in signature.outputs]
    return result_columns(columns.rows, request.keep, outputs, _subject(request, cache))


def rows_request(
    request: PredictionRequest,
    cache: str,
    columns: RowColumns,
    *,
    accept_data_loss: bool = False,
    read_rate: str = "",
    read_group: str = "",
) -> Request:
    """The request of the rows, in batches of the number of rows of a call."""
    requested = {column.column: column.requested for column in columns.inputs if column.requested is not None}
    read = _request(request, cache, tuple(columns.rows.names[1:]), requested or None)
    return replace(
        read,
        batch_rows=request.batch_size,
        batch_bytes=LARGEST_BATCH_BYTES if request.batch_size > BATCH_ROWS else LARGE_ROWS_BATCH_BYTES * 2,
        accept_data_loss=accept_data_loss,
        read_rate=read_rate,
        read_group=read_group,
    )


def _subject(request: PredictionRequest, cache: str) -> str:
    return f"{'model' if request.model else 'script'} {request.source} and cache {cache!r}"


def _request(
    request: PredictionRequest, cache: str, columns: tuple[str, ...], schema: dict[str, pa.DataType] | None
) -> Request:
    return Request(
        cache=cache,
        columns=columns,
        key=True,
        partitions="all",
        address=None,
        batch_bytes=0,
        schema=base64.b64encode(parse_schema(schema).message).decode(),
        # Kept columns may have nulls; inputs are checked when their arrays are made.
        nulls="mask",
        where=request.where,
        parameters=request.parameters,
        transport=choice.AUTO,
    )


def _describe(
    request: PredictionRequest,
    cache: str,
    columns: tuple[str, ...],
    schema: dict[str, pa.DataType] | None,
    node: str,
    credentials: Credentials | None,
) -> flight.Description:
    command = _request(request, cache, columns, schema).command(uncounted=True)
    return ServiceReader(choice.AUTO, credentials).describe(node, command)
