"""Steps and their results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tensorflow_ignite.base.messages import Value

Section = Literal["machine", "cluster"]
Outcome = Literal["ok", "warning", "failed"]


@dataclass(frozen=True)
class Finding(Value):
    """The result of one step.

    Attributes:
        section: Whether it is about this machine or about the cluster.
        step: The subject of the step, in a word or two.
        outcome: ``"ok"``; ``"warning"``: it works, but may fail later; ``"failed"``: it does not work.
        text: The observation, and the rule that it breaks.
        remedy: What to do; empty when there is nothing to do.
    """

    section: Section
    step: str
    outcome: Outcome
    text: str
    remedy: str = ""


@dataclass(frozen=True)
class Step:
    """One step: makes its findings.

    Attributes:
        section: Whether it is about this machine or about the cluster.
        name: The subject of the step, in a word or two.
    """

    section: Section
    name: str

    def ok(self, text: str) -> Finding:
        """It works."""
        return Finding(self.section, self.name, "ok", text)

    def warning(self, text: str, remedy: str) -> Finding:
        """It works, but may fail later."""
        return Finding(self.section, self.name, "warning", text, remedy)

    def failed(self, text: str, remedy: str) -> Finding:
        """It does not work."""
        return Finding(self.section, self.name, "failed", text, remedy)
