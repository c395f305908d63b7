"""The cluster: what its nodes report, and which of them this machine reaches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tensorflow_ignite import errors
from tensorflow_ignite.doctor import security, storage
from tensorflow_ignite.doctor.finding import Finding, Outcome, Step
from tensorflow_ignite.doctor.interpreter import TENSORFLOW
from tensorflow_ignite.doctor.split import SPLIT_REMEDY, list_nodes, other_clusters, split_text
from tensorflow_ignite.net.addresses import ADDRESS_VARIABLE
from tensorflow_ignite.net.credentials import Credentials
from tensorflow_ignite.net.handshake import diagnose
from tensorflow_ignite.net.resolve import find_credentials
from tensorflow_ignite.spec import Node

_ADDRESS = Step("cluster", "address")
_ACTIVATION = Step("cluster", "activation")
_NODES = Step("cluster", "nodes")
_AGENTS = Step("cluster", "agents")
_TENSORFLOW = Step("cluster", "tensorflow")
_REACHABILITY = Step("cluster", "reachability")
_DRAINED = Step("cluster", "drained nodes")
_LOOPS = Step("cluster", "loops")
_QUARANTINE = Step("cluster", "quarantine")
_LOSSES = Step("cluster", "losses")
_LOST_NODES = Step("cluster", "lost nodes")
_BASELINE = Step("cluster", "baseline")
_ACTIVATE = (
    "Activate it once all its nodes run: control.sh --set-state ACTIVE, or start the nodes with "
    "python -m tensorflow_ignite.node --persistent --activate-at=NODES"
)
_LISTED = 8
_THREADS = 8

# Names of one zone.
_UTC = frozenset({"UTC", "Etc/UTC", "GMT", "Etc/GMT", "Z", "Zulu", "Etc/Zulu", "Universal", "Etc/Universal"})


def examine(
    addresses: Sequence[str], thin: tuple[str, int], *, timeout: float, credentials: Any = None
) -> Iterator[Finding]:
    """Lists the nodes through each address, and then calls each node of the list.

    Args:
        addresses: ``"host:port"`` of nodes.
        thin: Host and port of a node for Ignite's thin clients; called when no address answers.
        timeout: Seconds for each call.
        credentials: Of the caller; see `tensorflow_ignite.connect`.

    Raises:
        InvalidRequestError: The credentials cannot be read, or a file of theirs cannot be used.
    """
    credentials = find_credentials(credentials, addresses)
    answers = {address: list_nodes(address, timeout, credentials) for address in addresses}
    listed = [answer for answer in answers.values() if isinstance(answer, list)]
    for address, answer in answers.items():
        if isinstance(answer, list):
            yield _ADDRESS.ok(f"{address} answers")
        elif listed:
            text = f"{address} does not answer: {answer}. It is enough if one of the given addresses answers"
            yield _ADDRESS.warning(text, "Start that node again, or leave the address out")
        else:
            yield _ADDRESS.failed(
                f"{_first_sentence(answer)}. A node must answer", _remedy_of(answer, address, credentials)
            )
    if not listed:
        yield _without_api(answers, thin, timeout)
        return
    nodes = max(listed, key=len)
    yield _ACTIVATION.ok("the cluster is active: its node table can be read")
    yield _listed(nodes)
    yield _agents(nodes)
    yield _drained(nodes)
    yield _loops(nodes)
    yield _quarantine(nodes)
    yield _losses(nodes)
    yield _lost_nodes(nodes, timeout, credentials)
    yield _baseline(nodes)
    yield _tensorflow(nodes)
    yield from _alike(nodes)
    yield _reachable(nodes, timeout, credentials)
    answering = [address for address in addresses if isinstance(answers[address], list)]
    outside = [node.address for node in nodes if not _is_loopback(node.address)]
    yield from security.examine(answering[0], outside, credentials, timeout=timeout)
    yield storage.examine(answering, timeout=timeout, credentials=credentials)


def _first_sentence(error: list[Node] | errors.TensorFlowIgniteError) -> str:
    """The first sentence of an error: the others are the rule and the remedy for other callers than the doctor."""
    return str(error).partition(". ")[0]


def _remedy_of(error: list[Node] | errors.TensorFlowIgniteError, address: str, credentials: Credentials | None) -> str:
    if isinstance(error, errors.ClusterNotActiveError):
        return _ACTIVATE
    if isinstance(error, errors.UnauthenticatedError):
        return (
            "Give credentials: --user NAME, --token-file FILE or --profile NAME before the command, or "
            "TENSORFLOW_IGNITE_USERNAME and _PASSWORD, or TENSORFLOW_IGNITE_TOKEN. Ignite has the users, the property "
            "security.tokens of the service's bean has the tokens"
        )
    if isinstance(error, errors.PermissionDeniedError):
        return "Use a caller with the permission watch, or permit it in the service's bean: security.access"
    if isinstance(error, errors.ConnectionFailedError):
        found = diagnose(address, credentials)
        if found is not None:
            return f"{found.rule}. {found.remedy}"
        return (
            "Start a node (tensorflow-ignite node), or name a running node: --address HOST:PORT, or "
            f"{ADDRESS_VARIABLE}. A node prints its address when it starts; its API is on loopback unless it was "
            "started with --host"
        )
    return f"Read the log of the node at {address}"


def _without_api(
    answers: dict[str, list[Node] | errors.TensorFlowIgniteError], thin: tuple[str, int], timeout: float
) -> Finding:
    """Says why no node answers: Ignite deploys services only in an active cluster."""
    inactive = [answer for answer in answers.values() if isinstance(answer, errors.ClusterNotActiveError)]
    if inactive:
        return _ACTIVATION.failed(f"{_first_sentence(inactive[0])}. Only an active one runs jobs", _ACTIVATE)
    # Imported here because no other step needs it.
    from tensorflow_ignite.data.transport.thin.cluster_state import cluster_state

    where = f"{thin[0]}:{thin[1]}"
    state, reason = cluster_state(*thin, timeout)
    if state == "inactive":
        return _ACTIVATION.failed(
            f"an Ignite node answers at {where}, but its cluster is not active. A cluster that keeps its data on disk "
            "deploys services, and with them the API, only when it has been activated",
            _ACTIVATE,
        )
    if state == "active":
        return _ACTIVATION.failed(
            f"an Ignite node answers at {where}, and its cluster is active, but the API does not answer. The service "
            "runs on nodes that have the plugin jar and name io.tensorflowignite.TensorFlowService in "
            "serviceConfiguration",
            "Look into the node's log for 'Node API is up [address=…' and name that address; check its configuration: "
            "tensorflow-ignite doctor --config FILE",
        )
    if state == "unknown":
        return _ACTIVATION.warning(
            f"whether the cluster is active is not known: something answers at {where}, but {reason}. A cluster that "
            "is not active has no API",
            "Ask it: control.sh --state; and if it is INACTIVE: control.sh --set-state ACTIVE",
        )
    return _ACTIVATION.warning(
        f"whether the cluster is active is not known: no thin client's port answers at {where} ({reason}). A cluster "
        "that keeps its data on disk has no API before it is activated",
        "If an Ignite node runs, name its port for thin clients: --thin HOST:PORT",
    )


def _listed(nodes: Sequence[Node]) -> Finding:
    if not nodes:
        return _NODES.failed("no node runs the service. Jobs need one at least", "Read the log of a node for why")
    texts = [f"{_name(node)} at {node.address} ({node.plugin_version or 'version unknown'})" for node in nodes]
    return _NODES.ok(f"{len(nodes)} run the service: {_some(texts)}")


def _agents(nodes: Sequence[Node]) -> Finding:
    lacking = [node for node in nodes if node.agent.pid is None]
    if not lacking:
        return _AGENTS.ok(f"all {len(nodes)} nodes have an agent, so they can run tasks")
    texts = [
        f"{_name(node)} has no agent: {node.agent.error or 'it is being started'} (its interpreter: "
        f"{node.agent.python or 'unknown'})"
        for node in lacking
    ]
    return _AGENTS.failed(
        f"{'; '.join(texts[:_LISTED])}. Tasks need an agent, and {len(lacking)} of {len(nodes)} nodes have none",
        f"On {_hosts(lacking)}: name an interpreter that has tensorflow-ignite and TensorFlow "
        "(TENSORFLOW_IGNITE_PYTHON, or tensorflow-ignite node --python) and start the node again. Try one there: "
        "tensorflow-ignite doctor --only machine --python PATH",
    )


def _drained(nodes: Sequence[Node]) -> Finding:
    drained = [node for node in nodes if node.availability == "drained"]
    if not drained:
        return _DRAINED.ok("every node may get tasks")
    return _DRAINED.warning(
        f"{_some([_name(node) for node in drained])} are drained: they get no tasks, and other nodes read their "
        "partitions over the network",
        "When their maintenance is over: tensorflow-ignite drain --undo NODE",
    )


def _loops(nodes: Sequence[Node]) -> Finding:
    faults = [(node, loop) for node in nodes for loop in node.loops]
    if not faults:
        return _LOOPS.ok(f"all loops of {len(nodes)} nodes go on")
    texts = [
        f"{_name(node)}: loop '{loop.name}' "
        + (f"has failed ({loop.error})" if loop.error else "has not completed a pass in time")
        for node, loop in faults
    ]
    return _LOOPS.failed(
        f"{_some(texts)}. A node's loops repeat a pass as long as it runs, whatever a pass throws",
        f"Read the log of the node on {_hosts([node for node, _ in faults])}; for a loop 'job ID': tensorflow-ignite "
        "describe ID. Start a node with a silent loop again",
    )


def _quarantine(nodes: Sequence[Node]) -> Finding:
    unproven = [(node, attempt) for node in nodes for attempt in node.quarantine]
    if not unproven:
        return _QUARANTINE.ok(f"all {len(nodes)} nodes may get tasks")
    texts = [f"{_name(node)}: {attempt.text}" for node, attempt in unproven]
    return _QUARANTINE.failed(
        f"{_some(texts)}. A node gets no task while processes of a job that has ended may still run on it",
        f"End these processes on {_hosts([node for node, _ in unproven])}, or start the node again there",
    )


def _losses(nodes: Sequence[Node]) -> Finding:
    # The same for all nodes.
    losses = nodes[0].losses if nodes else ()
    if not losses:
        return _LOSSES.ok("no cache has lost partitions")
    return _LOSSES.failed(
        f"{_some([loss.text for loss in losses])}. A partition is lost with the last node that has a copy",
        f"{'. '.join(dict.fromkeys(loss.remedy for loss in losses))}. To go on with what is left: "
        + "; ".join(loss.accept_command for loss in losses[:_LISTED]),
    )


def _lost_nodes(nodes: Sequence[Node], timeout: float, credentials: Credentials | None) -> Finding:
    """Whether a node that has left runs, in another cluster: then the network was cut, and works again."""
    lost = nodes[0].lost_nodes if nodes else ()
    if not lost:
        return _LOST_NODES.ok("every node that has left the cluster was stopped, or is back")
    others = other_clusters(nodes, timeout, credentials)
    if others:
        return _LOST_NODES.failed(f"The cluster is split: {split_text(nodes, others)}", SPLIT_REMEDY)
    return _LOST_NODES.warning(
        f"{_some([node.address for node in lost])} left without being stopped, and do not answer here",
        "Start them again, or mend the network. If they are permanently off, jobs that wait for them go on after "
        "tensorflow-ignite quorum accept JOB",
    )


def _baseline(nodes: Sequence[Node]) -> Finding:
    texts, remedies = [], []
    if missing := nodes[0].missing_nodes if nodes else ():
        texts.append(
            f"{_some([node.text for node in missing])} of the baseline {'is' if len(missing) == 1 else 'are'} missing. "
            "After a restart of all nodes, a cluster with data on disk becomes active by itself only when none is "
            "missing"
        )
        remedies.append("Start them. If one is permanently off: tensorflow-ignite baseline --remove NODE")
    if outside := [_name(node) for node in nodes if node.is_outside_baseline]:
        texts.append(
            f"{_some(outside)} {'is' if len(outside) == 1 else 'are'} outside of the baseline. Only nodes of the "
            "baseline get partitions on disk"
        )
        remedies.append("To give them partitions: tensorflow-ignite baseline --add-online")
    if texts:
        return _BASELINE.warning(". ".join(texts), ". ".join(remedies))
    return _BASELINE.ok("all nodes to which Ignite assigns partitions are in the cluster, and no others")


def _tensorflow(nodes: Sequence[Node]) -> Finding:
    running = [node for node in nodes if node.agent.pid is not None]
    lacking = [node for node in running if not node.agent.tensorflow_version]
    if lacking:
        return _TENSORFLOW.failed(
            f"{_some([_name(node) for node in lacking])} lack TensorFlow. Every task imports it",
            " and ".join(sorted({f"{node.agent.python} -m pip install {TENSORFLOW}" for node in lacking})[:_LISTED])
            + f", on {_hosts(lacking)}; then start these nodes again",
        )
    return _TENSORFLOW.ok(f"{len(running)} agents have it")


def _alike(nodes: Sequence[Node]) -> Iterator[Finding]:
    """One finding for each version that nodes must have in common."""
    running = [node for node in nodes if node.agent.pid is not None]
    yield _same("plugin", nodes, lambda node: node.plugin_version, "failed", "Put the same jar on every node")
    yield _same(
        "package",
        running,
        lambda node: node.agent.package_version,
        "failed",
        "Install the same there: the wheel or the sources that the others were installed from",
    )
    yield _same(
        "tensorflow versions",
        [node for node in running if node.agent.tensorflow_version],
        lambda node: node.agent.tensorflow_version,
        "failed",
        "Install the same there: pip install tensorflow==VERSION",
    )
    yield _same(
        "time zones",
        [node for node in nodes if node.time_zone],
        lambda node: "UTC" if node.time_zone in _UTC else node.time_zone,
        "warning",
        "Start all nodes with one time zone, such as -Duser.timezone=UTC: DATE and TIME are not read otherwise",
    )
    minor = {node.agent.python_version.rpartition(".")[0] for node in running}
    yield _same(
        "python versions",
        running,
        lambda node: node.agent.python_version,
        "failed" if len(minor) > 1 else "warning",
        "Run tasks with the same Python on every node: TENSORFLOW_IGNITE_PYTHON",
    )


def _same(
    step: str, nodes: Sequence[Node], version_of: Callable[[Node], str], otherwise: Outcome, remedy: str
) -> Finding:
    versions: dict[str, list[Node]] = {}
    for node in nodes:
        versions.setdefault(version_of(node), []).append(node)
    if len(versions) <= 1:
        version = next(iter(versions), "").removeprefix("unknown")
        return Step("cluster", step).ok(f"{len(nodes)} nodes agree{f' on {version}' if version else ''}")
    # The most common first: the others are those to change.
    parts = [
        f"{version or 'unknown'} on {_some([_name(node) for node in same])}"
        for version, same in sorted(versions.items(), key=lambda item: -len(item[1]))
    ]
    text = f"nodes differ: {'; '.join(parts)}. The tasks of one job run on all of them"
    return Finding("cluster", step, otherwise, text, remedy)


def _reachable(nodes: Sequence[Node], timeout: float, credentials: Credentials | None) -> Finding:
    hosts = {node.host_name for node in nodes}
    inside = [node for node in nodes if _is_loopback(node.address)]
    bind = "Start it with an address that the others reach: tensorflow-ignite node --host, or TENSORFLOW_IGNITE_HOST"
    if len(hosts) > 1 and inside:
        return _REACHABILITY.failed(
            f"{_some([f'{_name(node)} at {node.address}' for node in inside])}: reached from its own machine only. The "
            f"cluster is spread over {len(hosts)} machines, whose nodes call each other's API",
            bind,
        )
    with ThreadPoolExecutor(_THREADS) as pool:
        answers = list(pool.map(lambda node: list_nodes(node.address, timeout, credentials), nodes))
    silent = [
        f"{_name(node)} at {node.address} ({_first_sentence(answer)})"
        for node, answer in zip(nodes, answers, strict=True)
        if not isinstance(answer, list)
    ]
    if silent:
        return _REACHABILITY.failed(
            f"not every node can be reached from here: {'; '.join(silent[:_LISTED])}. Datasets are read from each "
            f"node's own address, within {timeout:g} s to answer",
            f"Let the firewalls pass its port. When it is bound to an address of its machine only: {bind}",
        )
    return _REACHABILITY.ok(f"all {len(nodes)} nodes answer at their own address")


def _name(node: Node) -> str:
    return f"node {node.id[:8]} on {node.host_name or 'an unknown host'}"


def _hosts(nodes: Sequence[Node]) -> str:
    return ", ".join(sorted({node.host_name or "an unknown host" for node in nodes})[:_LISTED])


def _some(texts: Sequence[str]) -> str:
    more = len(texts) - _LISTED
    return ", ".join(texts[:_LISTED]) + (f" and {more} more" if more > 0 else "")


def _is_loopback(address: str) -> bool:
    host = address.rpartition(":")[0].strip("[]")
    return host.startswith("127.") or host in ("localhost", "::1")
