"""The agent's gRPC server: authentication of calls, the calls, and statuses of their errors."""

from __future__ import annotations

import hmac
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import Any, TypeAlias

import grpc

from tensorflow_ignite.agent.models import Models
from tensorflow_ignite.agent.rejection import RequestRejected
from tensorflow_ignite.agent.spares import Spares
from tensorflow_ignite.agent.tasks import Tasks
from tensorflow_ignite.agent.watch import WatchStreams
from tensorflow_ignite.v1 import agent_pb2, agent_pb2_grpc
from tensorflow_ignite.v1.job_pb2 import AgentInfo

DEFAULT_GRACE_SECONDS = 5.0

_LOOPBACK = "127.0.0.1"

_log = logging.getLogger(__name__)

_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class AgentServer:
    """The agent's server, on the loopback address."""

    def __init__(self, tasks: Tasks, models: Models, secret: str, spares: Spares, info: AgentInfo) -> None:
        """Makes the server, without a port.

        Args:
            tasks: The tasks of this node.
            models: The model processes of this node.
            secret: Secret that every call must have.
            spares: The spares of this node.
            info: What heartbeats report, with the present spares.
        """
        # Without SO_REUSEPORT, so that no other process of this user can bind its port; without probes of the
        # bandwidth, which are a ping for each message.
        options = [("grpc.so_reuseport", 0), ("grpc.http2.bdp_probe", 0)]
        self._server = grpc.aio.server(interceptors=[_SecretCheck(secret)], options=options)
        agent_pb2_grpc.add_AgentServiceServicer_to_server(_Service(tasks, models, spares, info), self._server)  # type: ignore[no-untyped-call]

    async def open(self) -> int:
        """Starts to serve at a free port; returns the port."""
        port = self._server.add_insecure_port(f"{_LOOPBACK}:0")
        await self._server.start()
        return port

    async def close(self) -> None:
        """Ends every call."""
        await self._server.stop(grace=0.1)


class _SecretCheck(grpc.aio.ServerInterceptor):
    def __init__(self, secret: str) -> None:
        self._expected = f"Bearer {secret}".encode()

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any] | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        handler = await continuation(handler_call_details)
        given = dict(handler_call_details.invocation_metadata or ()).get("authorization", "")
        if hmac.compare_digest(given.encode() if isinstance(given, str) else given, self._expected):
            return handler
        if handler is not None and handler.response_streaming:
            return grpc.unary_stream_rpc_method_handler(_deny)
        return grpc.unary_unary_rpc_method_handler(_deny)


async def _deny(_request: object, context: _Context) -> None:
    await context.abort(
        grpc.StatusCode.UNAUTHENTICATED,
        "the call does not have the agent's secret. Only the service that started an agent may call it, with metadata "
        "'authorization: Bearer SECRET'. Call the node's API instead [code=INVALID_REQUEST]",
    )


class _Service(agent_pb2_grpc.AgentServiceServicer):
    def __init__(self, tasks: Tasks, models: Models, spares: Spares, info: AgentInfo) -> None:
        self._tasks = tasks
        self._models = models
        self._spares = spares
        self._info = info
        self._watchers = WatchStreams(tasks, models)

    async def Heartbeat(self, request: agent_pb2.HeartbeatRequest, context: _Context) -> agent_pb2.HeartbeatResponse:
        self._tasks.heartbeat(request.leases, request.peers)
        self._spares.refill()
        self._info.warm_processes, self._info.warm_bytes = self._spares.ready
        return agent_pb2.HeartbeatResponse(info=self._info)

    async def ReservePorts(
        self, request: agent_pb2.ReservePortsRequest, context: _Context
    ) -> agent_pb2.ReservePortsResponse:
        async with _StatusContext(context):
            return agent_pb2.ReservePortsResponse(ports=self._tasks.reserve(request.tasks))

    async def StartTask(self, request: agent_pb2.StartTaskRequest, context: _Context) -> agent_pb2.StartTaskResponse:
        async with _StatusContext(context):
            self._tasks.start(request)
            return agent_pb2.StartTaskResponse()

    async def PlanEnd(self, request: agent_pb2.PlanEndRequest, context: _Context) -> agent_pb2.PlanEndResponse:
        async with _StatusContext(context):
            self._tasks.plan_end(request.job_id, request.attempt, request.step, request.agreed)
            return agent_pb2.PlanEndResponse()

    async def ProfileTask(self, request: agent_pb2.TaskProfile, context: _Context) -> agent_pb2.ProfileResponse:
        async with _StatusContext(context):
            self._tasks.profile(request)
            return agent_pb2.ProfileResponse()

    async def StopAttempt(
        self, request: agent_pb2.StopAttemptRequest, context: _Context
    ) -> agent_pb2.StopAttemptResponse:
        grace = request.grace.ToTimedelta().total_seconds() if request.HasField("grace") else DEFAULT_GRACE_SECONDS
        async with _StatusContext(context):
            await self._tasks.stop(request.job_id, request.attempt, grace, dump_stacks=request.dump_stacks)
            return agent_pb2.StopAttemptResponse()

    async def StartModel(self, request: agent_pb2.StartModelRequest, context: _Context) -> agent_pb2.StartModelResponse:
        async with _StatusContext(context):
            self._models.start(request)
            return agent_pb2.StartModelResponse()

    async def RestartModel(
        self, request: agent_pb2.RestartModelRequest, context: _Context
    ) -> agent_pb2.RestartModelResponse:
        async with _StatusContext(context):
            self._models.restart(request.key, request.reason)
            return agent_pb2.RestartModelResponse()

    async def StopModel(self, request: agent_pb2.StopModelRequest, context: _Context) -> agent_pb2.StopModelResponse:
        async with _StatusContext(context):
            await self._models.stop(request.key)
            return agent_pb2.StopModelResponse()

    async def Watch(self, request: agent_pb2.WatchRequest, context: _Context) -> AsyncIterator[agent_pb2.WatchResponse]:
        async with _StatusContext(context):
            async for response in self._watchers.watch():
                yield response


class _StatusContext:
    """Turns an exception of a call into its status."""

    def __init__(self, context: _Context) -> None:
        self._context = context

    async def __aenter__(self) -> None:
        return None

    async def __aexit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> None:
        if isinstance(error, RequestRejected):
            await self._context.abort(grpc.StatusCode[error.status], f"{error} [code=INVALID_REQUEST]")
        elif isinstance(error, Exception):
            _log.error("a call failed", exc_info=error)
            await self._context.abort(
                grpc.StatusCode.INTERNAL,
                f"the call failed inside the agent: {error!r}. This is a fault of the agent. See the log of the node "
                "[code=INTERNAL_ERROR]",
            )
