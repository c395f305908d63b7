"""The last call of an agent whose node was killed: it proves to another node that an attempt has no process here.

Without this call the next attempt waits until the lease of the old attempt has ended, since the other nodes cannot know
whether the node was killed or the network is cut.
"""

import logging
from collections.abc import Iterable, Sequence
from itertools import cycle, islice

from tensorflow_ignite.v1.agent_pb2 import StartTaskRequest
from tensorflow_ignite.v1.job_pb2 import ReportTerminationRequest

CALL_SECONDS = 1.0
_MAX_CALLS = 4

_log = logging.getLogger(__name__)


def report_termination(peers: Sequence[str], tasks: Iterable[StartTaskRequest]) -> None:
    """Reports the end of attempts to the first of some nodes that answers, in up to 4 calls; never raises.

    The nodes notice now that one was killed, and a node that stands still for a moment is called again.

    Args:
        peers: ``host:port`` of other nodes.
        tasks: One task of each attempt: its token proves that the caller is its agent.
    """
    for task in tasks:
        for peer in islice(cycle(peers), _MAX_CALLS):
            try:
                _report(peer, task)
                break
            except Exception as error:
                _log.warning("node %s did not take the end of job %s: %r", peer, task.key.job_id, error)


def _report(peer: str, task: StartTaskRequest) -> None:
    # Loaded here: only the agent of a node that was killed needs it.
    from tensorflow_ignite.net import channels, credentials
    from tensorflow_ignite.v1.job_pb2_grpc import NodeApiServiceStub

    channel = channels.grpc_channel(peer, credentials.of_task(task.context.token, task.env))
    try:
        request = ReportTerminationRequest(token=task.context.token)
        NodeApiServiceStub(channel).ReportTermination(request, timeout=CALL_SECONDS)  # type: ignore[no-untyped-call]
    finally:
        channel.close()
