"""A cluster that a cut of the network has split: lost nodes that answer, and list other nodes than these."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from tensorflow_ignite.errors import InvalidRequestError, TensorFlowIgniteError
from tensorflow_ignite.jobs.client import Client
from tensorflow_ignite.net.credentials import Credentials
from tensorflow_ignite.net.rpc import NodeConnection
from tensorflow_ignite.spec import LostNode, Node

SPLIT_REMEDY = (
    "Stop the nodes of one side, best of the smaller one, and start them again: they join the others, and what was "
    "written there only is lost"
)
# A node lists at most the last 100 nodes that were lost.
_MAX_LOST = 100
_LISTED = 8


def list_nodes(address: str, timeout: float, credentials: Credentials | None) -> list[Node] | TensorFlowIgniteError:
    """Lists the nodes that one node knows, or returns the error of the call."""
    try:
        # The credentials have been resolved for all addresses together.
        connection = NodeConnection((address,), timeout, credentials=credentials)
        with Client(connection, timeout) as client:
            return client.nodes()
    except InvalidRequestError:
        raise
    except TensorFlowIgniteError as error:
        return error


def other_clusters(
    nodes: Sequence[Node], timeout: float, credentials: Credentials | None
) -> list[tuple[LostNode, list[Node]]]:
    """Calls the lost nodes of a cluster, and returns those that run in a cluster of their own, with its nodes.

    Args:
        nodes: The nodes of the cluster, as one of them lists them.
        timeout: Seconds for each call; all nodes are called at once.
        credentials: Of the caller.
    """
    lost = nodes[0].lost_nodes if nodes else ()
    with ThreadPoolExecutor(_MAX_LOST) as pool:
        answers = list(pool.map(lambda node: list_nodes(node.address, timeout, credentials), lost))
    here = {node.id for node in nodes}
    return [
        (node, answer)
        for node, answer in zip(lost, answers, strict=True)
        if isinstance(answer, list) and not here & {other.id for other in answer}
    ]


def split_text(nodes: Sequence[Node], others: Sequence[tuple[LostNode, list[Node]]]) -> str:
    """Which nodes are on which side."""
    texts = [f"{node.address} answers with {len(answer)} nodes" for node, answer in others[:_LISTED]]
    return (
        f"here are {len(nodes)} nodes, and {', '.join(texts)}. After a cut of the network, two clusters do not join "
        "again by themselves"
    )
