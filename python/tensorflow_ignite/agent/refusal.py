"""Calls that the agent does not carry out. The edge turns the kind into a gRPC status."""

INVALID_ARGUMENT = "INVALID_ARGUMENT"
FAILED_PRECONDITION = "FAILED_PRECONDITION"
ABORTED = "ABORTED"


class Refusal(Exception):
    """A call breaks a rule; the text says what happened, the rule, and what to do next."""

    def __init__(self, kind: str, text: str) -> None:
        """Makes the refusal; `kind` is the name of a gRPC status code."""
        super().__init__(text)
        self.kind = kind
        self.text = text
