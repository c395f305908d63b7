"""Nodes that ask: a node API and a data endpoint by TLS or without, on real sockets, in this process."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pyarrow as pa
from pyarrow import flight

from certificates import Authority, Certificate
from tensorflow_ignite.v1 import data_pb2, job_pb2, job_pb2_grpc

TABLE = pa.table({"x": list(range(10))})
REFUSAL = "The caller is not known. A call says who makes it. Give credentials [code=UNAUTHENTICATED]"


class NodeApi(job_pb2_grpc.NodeApiServicer):  # type: ignore[misc]
    """Answers who says the right thing.

    Attributes:
        wanted: The header that it wants; None: it asks nobody.
        told: The headers that came.
        callers: Names in the certificates of those who called.
        nodes: The nodes that it tells of; empty: itself.
    """

    def __init__(self, wanted: str | None = None) -> None:
        self.wanted = wanted
        self.told: list[str | None] = []
        self.callers: list[bytes | None] = []
        self.nodes: list[job_pb2.Node] = []
        self.address = ""

    def ListNodes(self, request: Any, context: Any) -> Any:
        self._admit(context)
        return job_pb2.ListNodesResponse(nodes=self.nodes or [job_pb2.Node(id="n", address=self.address)])

    def ListJobs(self, request: Any, context: Any) -> Any:
        self._admit(context)
        return job_pb2.ListJobsResponse()

    def WatchJob(self, request: Any, context: Any) -> Iterator[Any]:
        self._admit(context)
        yield job_pb2.WatchJobResponse(job=job_pb2.Job(id="7f3a", state=job_pb2.SUCCEEDED))

    def GetJob(self, request: Any, context: Any) -> Any:
        self._admit(context)
        return job_pb2.GetJobResponse(job=job_pb2.Job(id="7f3a", state=job_pb2.RUNNING))

    def UploadCode(self, requests: Any, context: Any) -> Any:
        self._admit(context)
        return job_pb2.UploadCodeResponse(size=sum(len(request.chunk) for request in requests))

    def SubmitJob(self, request: Any, context: Any) -> Any:
        self._admit(context)
        return job_pb2.SubmitJobResponse(job=job_pb2.Job(id="7f3a", spec=request.spec, owner="alice"))

    def _admit(self, context: Any) -> None:
        header = dict(context.invocation_metadata()).get("authorization")
        self.told.append(header)
        self.callers += context.auth_context().get("x509_common_name", [])
        if self.wanted is not None and header != self.wanted:
            context.abort(grpc.StatusCode.UNAUTHENTICATED, REFUSAL)


@contextmanager
def node_api(
    certificate: Certificate | None = None, *, clients: Authority | None = None, wanted: str | None = None
) -> Iterator[NodeApi]:
    """A node; with a certificate by TLS, with an authority of clients only for those who have a certificate of it."""
    node = NodeApi(wanted)
    threads = ThreadPoolExecutor(4)
    server = grpc.server(threads)
    job_pb2_grpc.add_NodeApiServicer_to_server(node, server)  # type: ignore[no-untyped-call]
    if certificate is None:
        port = server.add_insecure_port("127.0.0.1:0")
    else:
        pair = (certificate.key.read_bytes(), certificate.certificate.read_bytes())
        trusted = clients.certificate.read_bytes() if clients else None
        secured = grpc.ssl_server_credentials([pair], trusted, clients is not None)
        port = server.add_secure_port("127.0.0.1:0", secured)
    node.address = f"127.0.0.1:{port}"
    server.start()
    try:
        yield node
    finally:
        server.stop(None).wait(10)
        threads.shutdown()


class _Admission(flight.ServerMiddlewareFactory):  # type: ignore[misc]
    def __init__(self, wanted: str | None, told: list[str | None]) -> None:
        super().__init__()
        self._wanted, self._told = wanted, told

    def start_call(self, info: Any, headers: Any) -> None:
        header = next(iter(headers.get("authorization", [])), None)
        self._told.append(header)
        if self._wanted is not None and header != self._wanted:
            raise flight.FlightUnauthenticatedError(REFUSAL)


class DataEndpoint(flight.FlightServerBase):  # type: ignore[misc]
    """Sends and takes the rows of `TABLE`.

    Attributes:
        told: The headers that came.
    """

    def __init__(self, certificate: Certificate | None = None, wanted: str | None = None) -> None:
        self.told: list[str | None] = []
        options: dict[str, Any] = {}
        scheme = "grpc"
        if certificate is not None:
            scheme = "grpc+tls"
            options["tls_certificates"] = [(_text(certificate.certificate), _text(certificate.key))]
        self._scheme = scheme
        super().__init__(f"{scheme}://127.0.0.1:0", middleware={"who": _Admission(wanted, self.told)}, **options)

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"127.0.0.1:{self.port}"

    def get_flight_info(self, context: Any, descriptor: Any) -> Any:
        """As a node tells of its rows; the command is the ticket."""
        place = f"{self._scheme}://127.0.0.1:{self.port}"
        endpoint = flight.FlightEndpoint(flight.Ticket(descriptor.command), [place])
        return flight.FlightInfo(TABLE.schema, descriptor, [endpoint], TABLE.num_rows, -1)

    def do_get(self, context: Any, ticket: Any) -> Any:
        """All rows, and their number at the end."""

        def batches() -> Iterator[Any]:
            yield from TABLE.to_batches()
            last = TABLE.to_batches()[0].slice(0, 0)
            yield last, data_pb2.ReadResult(rows=TABLE.num_rows).SerializeToString()

        return flight.GeneratorStream(TABLE.schema, batches())

    def do_put(self, context: Any, descriptor: Any, reader: Any, writer: Any) -> None:
        """Counts what comes."""
        rows = sum(chunk.data.num_rows for chunk in reader if chunk.data is not None)
        writer.write(data_pb2.LoadResult(rows=rows).SerializeToString())


def _text(path: Path) -> str:
    return path.read_text()
