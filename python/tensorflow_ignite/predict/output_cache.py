"""The cache of the results, which is co-located with the cache of the rows."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from tensorflow_ignite.data.epochs.tensor_schema import KEY_COLUMN
from tensorflow_ignite.data.transport import flight
from tensorflow_ignite.net.credentials import Credentials
from tensorflow_ignite.v1 import data_pb2


class OutputCache:
    """A cache that has the same keys in the same partitions as another one."""

    def __init__(self, name: str, rows: str, schema: pa.Schema, node: str, credentials: Credentials | None) -> None:
        """Makes no call.

        Args:
            name: Name of the cache, which need not exist.
            rows: Name of the cache with the rows.
            schema: Schema of the batches, with the keys as they were read.
            node: ``host:port`` of the node that is called.
            credentials: Credentials of the calls.
        """
        self._name = name
        self._rows = rows
        self._schema = schema
        self._node = node
        self._credentials = credentials

    def check(self) -> None:
        """Checks that results can be written, without a change.

        Raises:
            RowMismatchError: The cache exists, and has other columns, keys, affinity or nodes.
            UnsupportedTypeError: Rows with the same keys cannot be made.
            TensorFlowIgniteError: Another error of a node; if no node answers.
        """
        self._put((), only_check=True)

    def write(self, batches: Iterable[pa.RecordBatch] = ()) -> dict[int, int]:
        """Writes results by their keys, and makes the cache if it does not exist; without batches only that.

        Returns:
            The rows of the cache in each partition that is primary on the node.

        Raises:
            TensorFlowIgniteError: As of :meth:`check`; or StorageFullError.
        """
        return dict(self._put(batches, count_partitions=True).partition_rows)

    def _put(
        self, batches: Iterable[pa.RecordBatch], *, only_check: bool = False, count_partitions: bool = False
    ) -> data_pb2.LoadResult:
        command = data_pb2.LoadCommand(
            cache=self._name,
            like=self._rows,
            key_column=KEY_COLUMN,
            existing=data_pb2.EXISTING_CACHE_APPEND,
            only_check=only_check,
            count_partitions=count_partitions,
        )
        return flight.put(self._node, command, self._schema, batches, self._credentials)
