"""Which versions of models the nodes of a cluster serve."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, Literal

from tensorflow_ignite import errors
from tensorflow_ignite.base.messages import Value, enum_text
from tensorflow_ignite.net.rpc import NodeConnection
from tensorflow_ignite.spec import Node
from tensorflow_ignite.v1 import job_pb2, predict_pb2, predict_pb2_grpc

ProcessState = Literal["loading", "serving", "failed"]

_END_SECONDS = 60.0
_POLL_SECONDS = 0.2
_CALL_SECONDS = 30.0
# A node that starts says within this time whether it can serve.
_UNABLE_SECONDS = 2.0
# As in the node's ModelService.
_MAX_ROWS, _MAX_DELAY_MILLIS = 1_000_000, 10_000
# As in the node's ServedModel.
_USUAL_ROWS, _USUAL_DELAY_MILLIS, _USUAL_WAITING_ROWS = 256, 2.0, 4_096


@dataclass(frozen=True)
class BatchRule(Value):
    """How a node collects the requests for a model into batches.

    In `deploy`, None keeps the number of the earlier deployment; the first deployment has 256 rows, 2 ms and 4,096
    rows. The rule of a `Deployment` has all numbers.

    Attributes:
        max_rows: Largest number of rows of a batch of several requests, from 1 to 1,000,000.
        max_delay_millis: For how many milliseconds a request waits for others, from 0 to 10,000.
        max_waiting_rows: Largest number of rows that wait, from 1 to 1,000,000; a request beyond it is refused.
    """

    max_rows: int | None = None
    max_delay_millis: float | None = None
    max_waiting_rows: int | None = None

    def to_proto(self) -> predict_pb2.BatchRule:
        """The rule in a request.

        Raises:
            InvalidRequestError: A number is not in its range.
        """
        for name, value, least, most in (
            ("max_rows", self.max_rows, 1, _MAX_ROWS),
            ("max_delay_millis", self.max_delay_millis, 0, _MAX_DELAY_MILLIS),
            ("max_waiting_rows", self.max_waiting_rows, 1, _MAX_ROWS),
        ):
            if value is not None and not least <= value <= most:
                raise errors.InvalidRequestError(
                    f"{name}={value:g} of BatchRule is out of range. It is a number from {least:,} to {most:,}. Give "
                    "a number in this range"
                )
        return predict_pb2.BatchRule(
            max_rows=self.max_rows,
            max_delay=None if self.max_delay_millis is None else timedelta(milliseconds=self.max_delay_millis),
            max_waiting_rows=self.max_waiting_rows,
        )


@dataclass(frozen=True)
class ModelProcess(Value):
    """The process of a version on one node.

    Attributes:
        node_id: Id of the node.
        number: Number of the version.
        state: ``"loading"``, ``"serving"``, or ``"failed"``: it is started again after a pause.
        restarts: How often it was started again.
        error: Why it ended the last time; empty: it has not ended yet.
        pid: Its process id; 0: it does not serve.
        started_at: When it was started the last time; None: it was not.
    """

    node_id: str
    number: int
    state: ProcessState
    restarts: int
    error: str
    pid: int
    started_at: datetime | None


@dataclass(frozen=True)
class Deployment(Value):
    """What the nodes serve of one model.

    Attributes:
        name: Name of the model.
        current: Number of the version that the name means; 0: none serves yet.
        target: Number of the version that is loaded and becomes the current one; 0: none.
        previous: Number of the version before, which stays loaded for ten minutes, for a rollback; 0: none.
        kept: Numbers of further versions, which are served by their numbers.
        replicas: Number of nodes that serve it; None: all.
        memory: Largest memory of each process in bytes; None: no limit.
        batches: How requests become batches.
        failed: Number of the last target that could not be served; 0: none.
        error: Why it could not be served.
        processes: The processes of all nodes.
    """

    name: str
    current: int
    target: int
    previous: int
    kept: tuple[int, ...]
    replicas: int | None
    memory: int | None
    batches: BatchRule
    failed: int
    error: str
    processes: tuple[ModelProcess, ...]

    @property
    def versions(self) -> frozenset[int]:
        """The numbers of all versions that are served or loaded."""
        return frozenset({self.current, self.target, self.previous, *self.kept} - {0})


class Deployments:
    """The deployments of one cluster. Every method may also raise what a call to a node raises."""

    def __init__(self, addresses: tuple[str, ...], credentials: Any = None) -> None:
        """Makes no call yet.

        Args:
            addresses: ``"host:port"`` of the nodes that may be called.
            credentials: Credentials of the calls.
        """
        self._addresses = addresses
        self._credentials = credentials

    def all(self) -> list[Deployment]:
        """The deployments that the caller may use, sorted by name."""
        with self._connection() as connection:
            answer = connection.call("ListDeployments", predict_pb2.ListDeploymentsRequest)
        return [_deployment(row, answer.nodes) for row in answer.deployments]

    def get(self, name: str) -> Deployment | None:
        """The deployment of a model; None: it is not deployed."""
        return next((deployment for deployment in self.all() if deployment.name == name), None)

    def deploy(
        self,
        name: str,
        number: int,
        *,
        replicas: int | None = None,
        memory: int | None = None,
        batches: BatchRule | None = None,
        keep_previous: bool = False,
        timeout: float | None = 600.0,
    ) -> Deployment:
        """Makes the nodes serve a version, and waits until it serves on all that are chosen; see `Models.deploy`.

        Raises:
            ModelUnusableError: The version could not be served; the one before it serves further.
            ModelNotServedError: Another caller has deployed another version meanwhile; or no node can serve models, and
                the error says why.
            RequestTimeoutError: It does not serve yet; the nodes go on.
        """
        request = predict_pb2.DeployModelRequest(
            key=predict_pb2.ModelKey(name=name, number=number),
            replicas=replicas,
            memory_bytes=memory,
            batches=batches.to_proto() if batches else None,
            keep_previous=keep_previous,
        )
        with self._connection() as connection:
            row = connection.call("DeployModel", lambda: request).deployment
        if timeout is None:
            return _deployment(row, ())
        began = time.monotonic()
        deadline = began + timeout
        is_checked = False
        while True:
            deployment = self.get(name)
            if deployment is None:
                raise errors.ModelNotFoundError(
                    f"the deployment of model {name}:{number} was removed by another caller. A model is served until "
                    "it is undeployed. Deploy it again"
                )
            if deployment.failed == number:
                if deployment.current == number:
                    serving = "It still serves on its other nodes"
                else:
                    serving = f"The version before it serves further: {deployment.current or 'none'}"
                raise errors.ModelUnusableError(
                    f"model {name}:{number} could not be served {deployment.error}. {serving}. Correct the model, and "
                    "deploy a new version of it"
                )
            if deployment.target != number:
                if deployment.current == number:
                    return deployment
                raise errors.ModelNotServedError(
                    f"model {name}:{number} is not to be served any more: another caller has deployed version "
                    f"{deployment.target or deployment.current or 'none'} meanwhile. A model has one version that is "
                    "loaded to become the current one. Deploy it again"
                )
            is_late = time.monotonic() >= deadline
            if is_late or (not is_checked and time.monotonic() - began >= _UNABLE_SECONDS):
                is_checked = True
                unable = self._why_none_can_serve()
                if unable:
                    raise errors.ModelNotServedError(
                        f"model {name}:{number} is not loaded, since no node can serve models: {unable}. A node serves "
                        "models if it is not drained, and its agent runs with TensorFlow. Correct one of these; the "
                        f"nodes then load the version, and it needs no other call: tensorflow-ignite model describe "
                        f"{name}"
                    )
            if is_late:
                raise errors.RequestTimeoutError(
                    f"model {name}:{number} does not serve on all its nodes after {timeout:g} s. The nodes go on. See "
                    f"them: tensorflow-ignite model describe {name}"
                )
            time.sleep(_POLL_SECONDS)

    def undeploy(self, name: str) -> None:
        """Ends all processes of a model; returns when they have ended.

        Raises:
            ModelNotFoundError: It is not deployed.
            RequestTimeoutError: A process has not ended after 60 s; the nodes go on.
        """
        request = predict_pb2.UndeployModelRequest(name=name)
        deadline = time.monotonic() + _END_SECONDS
        with self._connection() as connection:
            connection.call(
                "UndeployModel",
                lambda: request,
                was_done=lambda error: isinstance(error, errors.ModelNotFoundError) or None,
            )
            while True:
                answer = connection.call("ListDeployments", predict_pb2.ListDeploymentsRequest)
                left = [node.node_id for node in answer.nodes if any(model.key.name == name for model in node.models)]
                # Another caller may have deployed it again.
                if not left or any(row.name == name for row in answer.deployments):
                    return
                if time.monotonic() >= deadline:
                    raise errors.RequestTimeoutError(
                        f"processes of model {name} have not ended after {_END_SECONDS:g} s on the nodes "
                        f"{', '.join(left)}. The nodes go on to end them. Read their logs"
                    )
                time.sleep(_POLL_SECONDS)

    def _why_none_can_serve(self) -> str:
        """Why each node serves no models; empty: one can serve or may soon, or the caller may not see the nodes."""
        connection = NodeConnection(self._addresses, _CALL_SECONDS, connect=False, credentials=self._credentials)
        try:
            nodes = [Node.from_proto(node) for node in connection.call("ListNodes", job_pb2.ListNodesRequest).nodes]
        except errors.TensorFlowIgniteError:
            return ""
        finally:
            connection.close()
        reasons = [_why_unable(node) for node in nodes]
        if not all(reasons):
            return ""
        return "; ".join(f"node {node.id[:8]} {reason}" for node, reason in zip(nodes, reasons, strict=True))

    @contextmanager
    def _connection(self) -> Iterator[NodeConnection]:
        connection = NodeConnection(
            self._addresses,
            _CALL_SECONDS,
            make_stub=predict_pb2_grpc.ModelServiceStub,
            connect=False,
            credentials=self._credentials,
        )
        try:
            yield connection
        finally:
            connection.close()


def _why_unable(node: Node) -> str:
    """Why a node serves no models, as its ModelRunner decides; empty: it can, or its agent starts."""
    if not node.serves_models:
        return f"runs tensorflow-ignite {node.plugin_version}, which serves no models (install a later version)"
    if node.availability == "stopping":
        return "is being stopped"
    if node.availability is not None:
        return f"is drained (undo it: tensorflow-ignite drain {node.id[:8]} --undo)"
    if node.agent.error:
        return f"has no agent: {node.agent.error.rstrip('.')}"
    if node.agent.pid and not node.agent.tensorflow_version:
        return f"has no TensorFlow for {node.agent.python or 'the Python of its agent'} (install it there)"
    return ""


def _deployment(row: predict_pb2.ModelDeployment, nodes: Any) -> Deployment:
    processes = tuple(
        _process(node.node_id, status) for node in nodes for status in node.models if status.key.name == row.name
    )
    return Deployment(
        name=row.name,
        current=row.current,
        target=row.target,
        previous=row.previous,
        kept=tuple(row.kept),
        replicas=row.replicas or None,
        memory=row.memory_bytes or None,
        batches=_batches(row.batches),
        failed=row.failed,
        error=row.error,
        processes=processes,
    )


def _batches(rule: predict_pb2.BatchRule) -> BatchRule:
    return BatchRule(
        max_rows=rule.max_rows or _USUAL_ROWS,
        max_delay_millis=(
            rule.max_delay.ToTimedelta() / timedelta(milliseconds=1)
            if rule.HasField("max_delay")
            else _USUAL_DELAY_MILLIS
        ),
        max_waiting_rows=rule.max_waiting_rows or _USUAL_WAITING_ROWS,
    )


def _process(node_id: str, status: predict_pb2.ModelStatus) -> ModelProcess:
    has_started = status.HasField("started_at")
    return ModelProcess(
        node_id=node_id,
        number=status.key.number,
        state=enum_text(status, "state") if status.state else "loading",  # type: ignore[arg-type]
        restarts=status.restarts,
        error=status.error,
        pid=status.pid,
        started_at=status.started_at.ToDatetime(timezone.utc) if has_started else None,
    )
