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


class NodeApi(job_pb2_grpc.NodeApiServiceServicer):  # type: ignore[misc]
    """A node API that accepts calls with one header."""

    def __init__(self, required: str | None = None) -> None:
        self.required = required
        self.headers: list[str | None] = []
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
        yield job_pb2.WatchJobResponse(job=job_pb2.Job(id="7f3a", state=job_pb2.JOB_STATE_SUCCEEDED))

    def GetJob(self, request: Any, context: Any) -> Any:
        self._admit(context)
        return job_pb2.GetJobResponse(job=job_pb2.Job(id="7f3a", state=job_pb2.JOB_STATE_RUNNING))

    def UploadCode(self, requests: Any, context: Any) -> Any:
        self._admit(context)
        return job_pb2.UploadCodeResponse(size=sum(len(request.chunk) for request in requests))

    def SubmitJob(self, request: Any, context: Any) -> Any:
        self._admit(context)
        return job_pb2.SubmitJobResponse(job=job_pb2.Job(id="7f3a", spec=request.spec, owner="alice"))

    def _admit(self, context: Any) -> None:
        header = dict(context.invocation_metadata()).get("authorization")
        self.headers.append(header)
        self.callers += context.auth_context().get("x509_common_name", [])
        if self.required is not None and header != self.required:
            context.abort(grpc.StatusCode.UNAUTHENTICATED, REFUSAL)


@contextmanager
def node_api(
    certificate: Certificate | None = None, *, clients: Authority | None = None, required: str | None = None
) -> Iterator[NodeApi]:
    """A node; with a certificate by TLS, with an authority of clients it requires a certificate of that authority."""
    node = NodeApi(required)
    threads = ThreadPoolExecutor(4)
    server = grpc.server(threads)
    job_pb2_grpc.add_NodeApiServiceServicer_to_server(node, server)  # type: ignore[no-untyped-call]
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
    def __init__(self, required: str | None, received: list[str | None]) -> None:
        super().__init__()
        self._required, self._received = required, received

    def start_call(self, info: Any, headers: Any) -> None:
        header = next(iter(headers.get("authorization", [])), None)
        self._received.append(header)
        if self._required is not None and header != self._required:
            raise flight.FlightUnauthenticatedError(REFUSAL)


class DataEndpoint(flight.FlightServerBase):  # type: ignore[misc]
    """Sends the rows of `TABLE`, and accepts rows."""

    def __init__(self, certificate: Certificate | None = None, required: str | None = None) -> None:
        self.headers: list[str | None] = []
        options: dict[str, Any] = {}
        scheme = "grpc"
        if certificate is not None:
            scheme = "grpc+tls"
            options["tls_certificates"] = [(_text(certificate.certificate), _text(certificate.key))]
        self._scheme = scheme
        super().__init__(f"{scheme}://127.0.0.1:0", middleware={"who": _Admission(required, self.headers)}, **options)

    @property
    def address(self) -> str:
        """The address that it listens on."""
        return f"127.0.0.1:{self.port}"

    def get_flight_info(self, context: Any, descriptor: Any) -> Any:
        """Describes the rows as a node does; the command is the ticket."""
        location = f"{self._scheme}://127.0.0.1:{self.port}"
        endpoint = flight.FlightEndpoint(flight.Ticket(descriptor.command), [location])
        return flight.FlightInfo(TABLE.schema, descriptor, [endpoint], TABLE.num_rows, -1)

    def do_get(self, context: Any, ticket: Any) -> Any:
        """All rows, and their number at the end."""

        def batches() -> Iterator[Any]:
            yield from TABLE.to_batches()
            last = TABLE.to_batches()[0].slice(0, 0)
            yield last, data_pb2.ReadResult(rows=TABLE.num_rows).SerializeToString()

        return flight.GeneratorStream(TABLE.schema, batches())

    def do_put(self, context: Any, descriptor: Any, reader: Any, writer: Any) -> None:
        rows = sum(chunk.data.num_rows for chunk in reader if chunk.data is not None)
        writer.write(data_pb2.LoadResult(rows=rows).SerializeToString())


def _text(path: Path) -> str:
    return path.read_text()
