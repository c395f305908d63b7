"""Finds, step by step, what keeps a machine from running nodes and tasks, or a cluster from answering.

`examine` takes the steps one after the other and yields a `Finding` for each; it changes nothing, and prints nothing.
"""

from tensorflow_ignite.doctor.finding import Finding, Outcome, Section
from tensorflow_ignite.doctor.steps import Request, examine

__all__ = ["Finding", "Outcome", "Request", "Section", "examine"]
