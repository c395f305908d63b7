"""The key of the task that this process is, by which the cluster refuses changes by replaced tasks."""

from __future__ import annotations

from typing import Any

from tensorflow_ignite import task
from tensorflow_ignite.net.credentials import Credentials
from tensorflow_ignite.net.rpc import NodeConnection
from tensorflow_ignite.v1 import agent_pb2, job_pb2


class TaskIdentity:
    """The task's key in calls to the cluster that runs the task; calls to another cluster have none."""

    def __init__(
        self, addresses: tuple[str, ...], timeout: float, is_job_cluster: bool, credentials: Credentials | None = None
    ) -> None:
        """Makes no call yet.

        Args:
            addresses: One ``"host:port"`` for each node of the cluster that may be called.
            timeout: Seconds for each call at one address.
            is_job_cluster: The cluster is known to be the one that runs the task.
            credentials: Credentials of the calls.
        """
        self._credentials = credentials
        self._addresses = addresses
        self._timeout = timeout
        self._is_job_cluster: bool | None = is_job_cluster or None

    def key(self) -> Any:
        """Returns the key; None outside a job, and for another cluster than the job's.

        Raises:
            ConnectionFailedError: No node answers. The first call of this method may list the nodes of the cluster.
        """
        here = task.current()
        if not here.in_job:
            return None
        if self._is_job_cluster is None:
            self._is_job_cluster = here.node_address in self._addresses or here.node_address in self._nodes()
        if not self._is_job_cluster:
            return None
        role, index = here.key
        return agent_pb2.TaskKey(
            job_id=here.job_id,
            attempt=here.attempt,
            role=f"ROLE_{role.upper()}",
            index=index,
            incarnation=here.incarnation,
        )

    def _nodes(self) -> list[str]:
        connection = NodeConnection(self._addresses, self._timeout, credentials=self._credentials)
        try:
            return [node.address for node in connection.call("ListNodes", job_pb2.ListNodesRequest).nodes]
        finally:
            connection.close()
