"""What one step found out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tensorflow_ignite.messages import Value

__all__ = ["Finding", "Outcome", "Section", "failed", "ok", "warning"]

Section = Literal["machine", "cluster"]
Outcome = Literal["ok", "warning", "failed"]


@dataclass(frozen=True)
class Finding(Value):
    """The result of one step.

    Attributes:
        section: Whether it is about this machine or about the cluster.
        step: What was looked at, in a word or two.
        outcome: ``"ok"``; ``"warning"``: it works, but may not do so always; ``"failed"``: it does not work.
        text: What was found, and the rule that it breaks.
        remedy: What to do about it; empty when all is well.
    """

    section: Section
    step: str
    outcome: Outcome
    text: str
    remedy: str = ""


def ok(section: Section, step: str, text: str) -> Finding:
    """All is well."""
    return Finding(section, step, "ok", text)


def warning(section: Section, step: str, text: str, remedy: str) -> Finding:
    """It works, but may not do so always."""
    return Finding(section, step, "warning", text, remedy)


def failed(section: Section, step: str, text: str, remedy: str) -> Finding:
    """It does not work."""
    return Finding(section, step, "failed", text, remedy)
