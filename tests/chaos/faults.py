"""The faults, as values: what is done to which part of which training, and what the cluster must make of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Training = Literal["steps", "mirrored", "servers"]
Action = Literal["kill", "freeze", "terminate", "memory", "disk", "join", "restart", "cut", "one-way", "slow"]

#: How long a frozen process stands still, in seconds.
FREEZE_SECONDS = 30.0
#: How long the network is slow, and how long a process gets no more memory.
SLOW_SECONDS = STARVE_SECONDS = 20.0
DELAY_SECONDS, LOSS = 0.3, 0.02


@dataclass(frozen=True)
class Expected:
    """What a job must have become of, once its fault is over and it has been allowed to end: it has succeeded.

    Attributes:
        attempts: The least and the highest number of its attempts.
        causes: Why its first attempt may have ended.
        replaced: The process of the faulty task is replaced within the attempt.
        waits: Meanwhile the job waits for a majority, and says so.
    """

    attempts: tuple[int, int] = (1, 1)
    causes: frozenset[str] = frozenset()
    replaced: bool = False
    waits: bool = False


@dataclass(frozen=True)
class Fault:
    """One fault in one training.

    Attributes:
        family: The rule by which a schedule mixes faults.
        action: What is done.
        target: To which part; of a cut: the numbers of machines on its sides, and how it is made.
        training: The script, by its name in scripts/.
        nodes: Number of nodes that the cluster has before.
        expected: What must become of the job.
    """

    family: str
    action: Action
    target: str
    training: Training
    nodes: int = 3
    expected: Expected = field(default_factory=Expected)

    @property
    def name(self) -> str:
        """Unique among all faults."""
        return f"{self.action} {self.target} in {self.training}"


def _restarted(*causes: str, most: int = 3) -> Expected:
    return Expected((2, most), frozenset(causes))


UNDISTURBED = Expected()
REPLACED = Expected(replaced=True)
# A training in step may lose its connections to a worker that stands still, or outlast that.
MAY_RESTART = Expected((1, 3), frozenset({"crash"}))
CRASHED = _restarted("crash")
NODE_FAILED = _restarted("node-failed")
NODE_LEFT = _restarted("node-left")
WAITS = Expected((2, 4), frozenset({"node-left"}), waits=True)
# The workers agree on a last step, save together and end there.
ENDED = _restarted("planned", most=2)
# Its data move afterwards.
STOPPED = _restarted("planned")

_TASKS: dict[tuple[Action, str, Training], Expected] = {
    ("kill", "worker", "steps"): CRASHED,
    ("kill", "worker", "mirrored"): CRASHED,
    ("kill", "worker", "servers"): REPLACED,
    ("kill", "client", "servers"): REPLACED,
    ("kill", "ps", "servers"): CRASHED,
    ("freeze", "worker", "steps"): UNDISTURBED,
    ("freeze", "worker", "mirrored"): MAY_RESTART,
    ("freeze", "worker", "servers"): MAY_RESTART,
    ("freeze", "client", "servers"): UNDISTURBED,
    ("freeze", "ps", "servers"): MAY_RESTART,
    # It has no loop that saves for us, so that nothing handles the signal.
    ("terminate", "worker", "steps"): CRASHED,
    ("terminate", "worker", "mirrored"): ENDED,
    # The client process saves for all tasks, whichever was sent the signal.
    ("terminate", "worker", "servers"): ENDED,
    ("terminate", "client", "servers"): ENDED,
    ("terminate", "ps", "servers"): ENDED,
}
_PARTS: dict[tuple[Action, str], Expected] = {
    ("kill", "agent"): NODE_FAILED,
    ("kill", "node"): NODE_LEFT,
    ("kill", "service node"): NODE_LEFT,
    ("freeze", "agent"): NODE_FAILED,
    # Its agent notices the end of the lease after 12 s, the other nodes its silence after 10 s.
    ("freeze", "node"): _restarted("node-left", "node-failed"),
    ("freeze", "service node"): _restarted("node-left", "node-failed"),
    # It ends with its node only.
    ("terminate", "agent"): UNDISTURBED,
    # The end of its tasks is planned, also if they save nothing.
    ("terminate", "node"): STOPPED,
    ("terminate", "service node"): STOPPED,
}
_CUT = _restarted("node-left", "node-failed", most=4)
_STARVED = Expected((1, 3), _CUT.causes)
_TRAININGS: tuple[Training, ...] = ("steps", "mirrored", "servers")
# Either side may notice the silence of the other first.
_ONE_WAY = Expected((1, 4), _CUT.causes)

FAULTS: tuple[Fault, ...] = (
    *(
        Fault(action, action, target, training, expected=expected)
        for (action, target, training), expected in _TASKS.items()
    ),
    *(
        Fault(action, action, target, training, expected=expected)
        for (action, target), expected in _PARTS.items()
        for training in _TRAININGS
    ),
    *(Fault("resource", "memory", "worker", training, expected=CRASHED) for training in _TRAININGS[:2]),
    Fault("resource", "memory", "client", "servers", expected=REPLACED),
    # A process that gets no more memory fails at its next allocation, or needs none for this time.
    Fault("resource", "memory", "ps", "servers", expected=MAY_RESTART),
    Fault("resource", "memory", "agent", "steps", expected=_STARVED),
    Fault("resource", "memory", "node", "steps", expected=_STARVED),
    *(
        Fault("resource", "disk", "node", training, expected=_restarted("crash", "node-failed", most=6))
        for training in _TRAININGS[:2]
    ),
    *(Fault("nodes", "kill", "two younger nodes", training, nodes=4, expected=NODE_LEFT) for training in _TRAININGS),
    Fault("nodes", "kill", "the oldest and another node", "steps", nodes=4, expected=WAITS),
    *(Fault("nodes", "kill", "agent and node", training, expected=NODE_LEFT) for training in _TRAININGS),
    *(Fault("nodes", "join", "node", training, expected=_restarted("data-moved")) for training in _TRAININGS),
    Fault("nodes", "restart", "all nodes in turn", "steps", expected=_restarted("planned", most=8)),
    *(
        Fault("cut", "cut", f"{sides} {how}", training, nodes=nodes, expected=_CUT)
        for sides, nodes in (("2|2", 4), ("2|1", 3), ("1|2", 3))
        for how in ("drop", "reject")
        for training in _TRAININGS
        if training == "steps" or sides == "2|1"
    ),
    *(Fault("cut", "one-way", direction, "steps", expected=_ONE_WAY) for direction in ("from", "to")),
    *(Fault("slow", "slow", what, training) for what in ("delay", "loss") for training in _TRAININGS),
)
