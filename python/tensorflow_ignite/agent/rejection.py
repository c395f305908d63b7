"""The error of a call that the agent rejects, with the name of its gRPC status."""

INVALID_ARGUMENT = "INVALID_ARGUMENT"
FAILED_PRECONDITION = "FAILED_PRECONDITION"
ABORTED = "ABORTED"
NOT_FOUND = "NOT_FOUND"
RESOURCE_EXHAUSTED = "RESOURCE_EXHAUSTED"


class RequestRejected(Exception):
    """A call breaks a rule; the text says what happened, the rule, and what to do next."""

    def __init__(self, status: str, text: str) -> None:
        """Sets the name of the gRPC status code, and the text."""
        super().__init__(text)
        self.status = status
