"""What is wrong with a command line beyond what the parser knows."""

from __future__ import annotations

from tensorflow_ignite.errors import TensorFlowIgniteError

__all__ = ["CommandLineError"]


class CommandLineError(TensorFlowIgniteError):
    """The command line breaks a rule that is ours, not the parser's; exit code 2."""
