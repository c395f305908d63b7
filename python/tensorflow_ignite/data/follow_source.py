"""The partitions that a process follows, and the nodes that own them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from tensorflow_ignite import errors, task
from tensorflow_ignite.data import identified
from tensorflow_ignite.data.epochs.changes import Changes, Position, split
from tensorflow_ignite.data.plan import make_plan
from tensorflow_ignite.data.request import Request
from tensorflow_ignite.data.transport import choice
from tensorflow_ignite.data.transport.flight import Endpoint
from tensorflow_ignite.net import credentials, resolve


class FollowSource:
    """Opens the polls of one iterator.

    Attributes:
        subject: Names the rows in error texts, such as "cache 'x'".
    """

    def __init__(self, request: Request) -> None:
        """Calls no node.

        Args:
            request: The dataset.
        """
        self.subject = f"cache {request.cache!r}"
        self._request = request
        self._credentials = credentials.stored(request.credentials)
        self._endpoints: dict[str, Endpoint] = {}

    def owners(self, partitions: Sequence[int]) -> Mapping[str, Sequence[int]]:
        """The present owners of partitions, by address; of no partitions: of all that are followed.

        Raises:
            TensorFlowIgniteError: Any error of a node; if no node answers.
        """
        endpoints = self._ask(replace(self._request, partitions=tuple(partitions)) if partitions else self._request)
        self._endpoints.update({endpoint.address: endpoint for endpoint in endpoints})
        return {endpoint.address: tuple(endpoint.command.partitions) for endpoint in endpoints}

    def _ask(self, request: Request) -> Sequence[Endpoint]:
        try:
            return make_plan(request).endpoints
        except errors.ConnectionFailedError:
            # The node of the script may be the one that has died; a task ends with its node.
            if task.current().in_job:
                raise
            for address in list(self._endpoints):
                try:
                    return make_plan(replace(request, address=address)).endpoints
                except errors.ConnectionFailedError:
                    continue
            raise

    def poll(self, address: str, positions: Mapping[int, Position], wait_millis: int) -> _Poll:
        """The changes of partitions that a node owns; opens nothing before iteration.

        Args:
            address: The node.
            positions: What has been read of each partition.
            wait_millis: How long the node waits for a first change.
        """
        endpoint = self._endpoints[address].modified(partitions=list(positions), wait_millis=wait_millis, follow=True)
        known = {number: position for number, position in positions.items() if position.feed}
        transport = self._request.transport
        if transport == choice.AUTO and len(known) == len(positions):
            # They are few: memory to share, and more connections, would take longer than the rows.
            transport = choice.FLIGHT
        found = resolve.find_credentials(self._credentials, (address,), data=True)
        endpoint = identified.since(endpoint, known)
        return _Poll(choice.open_stream(endpoint, self.subject, transport, keep=lambda size: False, credentials=found))


class _Poll:
    """The stream of one poll."""

    def __init__(self, stream: choice.Stream) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for records in self._stream:
            yield split(records)[0]

    def cancel(self) -> None:
        """Ends the stream; returns at once."""
        self._stream.cancel()

    def outcome(self) -> Changes:
        """What the node says after the last row."""
        result = self._stream.result
        return Changes() if result is None else identified.changes([result])
