"""A node that keeps shared.proto's contract for one column of numbers, in this process."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import Any

from row_node import SCHEMA, RowNode

from tensorflow_ignite.v1 import shared_pb2, shared_pb2_grpc


class Node(RowNode, shared_pb2_grpc.SharedMemoryServiceServicer):  # type: ignore[misc]
    """Lays its batches into the segments of its reader."""

    def __init__(self) -> None:
        super().__init__(shared_pb2_grpc.add_SharedMemoryServiceServicer_to_server)
        self.offers: list[shared_pb2.Segment] = []

    def ReadIntoMemory(
        self, requests: Iterator[shared_pb2.ReadIntoMemoryRequest], context: Any
    ) -> Iterator[shared_pb2.ReadIntoMemoryResponse]:
        context.add_callback(self.ended.set)
        opening = next(requests).start
        yield shared_pb2.ReadIntoMemoryResponse(schema=SCHEMA.serialize().to_pybytes())
        needed = 0
        for number in range(self.batches):
            values = self.values(number)
            while (offer := self._offer(requests)).bytes < max(values.nbytes, needed):
                if not needed:
                    needed = values.nbytes
                    yield shared_pb2.ReadIntoMemoryResponse(needs_bytes=needed)
            self.fail_before_last(number, context)
            self._fill(opening, offer, values)
            yield shared_pb2.ReadIntoMemoryResponse(batch=self.layout(), segment=offer.id)
            if self.silent:
                self.ended.wait(30)
        if self.result is not None:
            yield shared_pb2.ReadIntoMemoryResponse(result=self.result)

    def _offer(self, requests: Iterator[shared_pb2.ReadIntoMemoryRequest]) -> shared_pb2.Segment:
        offer = next(requests).offer
        self.offers.append(offer)
        return offer

    def _fill(self, opening: shared_pb2.ReadIntoMemoryStart, offer: shared_pb2.Segment, values: Any) -> None:
        with open(f"/proc/{opening.pid}/fd/{offer.fd}", "r+b") as file, mmap.mmap(file.fileno(), offer.bytes) as memory:
            if all(offer.id != earlier.id for earlier in self.offers[:-1]):
                assert memory[: len(opening.nonce)] == opening.nonce
            memory[: values.nbytes] = values.tobytes()
