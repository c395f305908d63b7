"""The error for command lines that the parser accepts and a command does not."""

from __future__ import annotations

from tensorflow_ignite.errors import TensorFlowIgniteError


class CommandLineError(TensorFlowIgniteError):
    """The command line breaks a rule of a command; exit code 2."""
