"""Finding out what keeps a machine from running nodes and tasks, or a cluster from answering: step by step.

`examine` takes the steps one after the other and yields a `Finding` for each; it changes nothing, and prints nothing.
"""

from tensorflow_ignite.doctor.examination import Request, examine
from tensorflow_ignite.doctor.finding import Finding, Outcome, Section

__all__ = ["Finding", "Outcome", "Request", "Section", "examine"]
