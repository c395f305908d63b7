"""The step after which the workers of an attempt save together, if its end is planned."""

from __future__ import annotations

from enum import Enum


class Decision(Enum):
    """What a worker does after a step."""

    GO_ON = "go on"
    WAIT = "wait"
    SAVE = "save"


class Agreement:
    """One worker's part in the agreement.

    A worker that has proposed a step does no later step before all workers have agreed. The first worker proposes its
    next step, and waits: under synchronous training no other worker can finish this step without it. If a worker has
    finished the proposed step nevertheless, it proposes its next step. The job returns the latest proposal to all
    workers, until all have proposed the same step.

    Attributes:
        proposal: The step that this worker has proposed, or accepted; 0: none.
    """

    def __init__(self, *, leads: bool, alone: bool) -> None:
        """No end is planned yet.

        Args:
            leads: This is the first worker.
            alone: No other worker saves together with this one.
        """
        self.proposal = 0
        self._leads = leads
        self._alone = alone
        self._finished = 0
        self._is_planned = False
        self._agreed = False

    def receive(self, step: int, agreed: bool) -> None:
        """An end is planned.

        Args:
            step: The latest proposal of a worker; 0: none.
            agreed: It is the step of all.
        """
        self._is_planned = True
        self._agreed = agreed
        if step > self.proposal:
            self.proposal = max(step, self._finished + 1)

    def finish(self, step: int) -> Decision:
        """This worker has finished a step, and begins the next one only if the decision is to go on."""
        self._finished = step
        if not self._is_planned:
            return Decision.GO_ON
        if self._alone:
            return Decision.SAVE
        if self._leads and not self.proposal:
            self.proposal = step + 1
        if self._agreed:
            return Decision.SAVE if step >= self.proposal else Decision.GO_ON
        return Decision.WAIT if self._leads or 0 < self.proposal <= step else Decision.GO_ON
