"""Which task of a job this process is, for the cluster to tell whether it may still change files."""

from __future__ import annotations

from typing import Any

from tensorflow_ignite.credentials import Credentials
from tensorflow_ignite.rpc import NodeConnection
from tensorflow_ignite.v1 import agent_pb2, job_pb2

__all__ = ["TaskIdentity"]


class TaskIdentity:
    """The task's key, for the cluster that runs the task; another cluster does not know it."""

    def __init__(
        self, addresses: tuple[str, ...], timeout: float, own: bool, credentials: Credentials | None = None
    ) -> None:
        """Takes how to ask the cluster for its nodes.

        Args:
            addresses: One ``"host:port"`` for each node that may be asked.
            timeout: Seconds for each call at one address.
            own: It is known to be the cluster of the task.
            credentials: Who asks.
        """
        self._credentials = credentials
        self._addresses = addresses
        self._timeout = timeout
        self._own: bool | None = own or None

    def key(self) -> Any:
        """The key; None outside a job, and for another cluster than the job's.

        Raises:
            ConnectionFailedError: No node answers; asked once, when the addresses alone do not tell.
        """
        from tensorflow_ignite.train.context import context

        task = context()
        if not task.in_job:
            return None
        if self._own is None:
            self._own = task.node_address in self._addresses or task.node_address in self._nodes()
        if not self._own:
            return None
        return agent_pb2.TaskKey(
            job_id=task.job_id,
            attempt=task.attempt,
            role=task.role.upper(),
            index=task.index,
            incarnation=task.incarnation,
        )

    def _nodes(self) -> list[str]:
        connection = NodeConnection(self._addresses, self._timeout, credentials=self._credentials)
        try:
            return [node.address for node in connection.call("ListNodes", job_pb2.ListNodesRequest).nodes]
        finally:
            connection.close()
