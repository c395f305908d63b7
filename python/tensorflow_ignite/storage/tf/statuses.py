"""How errors of ours arrive in TensorFlow: as the class of its own that says the same."""

from __future__ import annotations

import errno

from tensorflow_ignite import errors

__all__ = ["code_of"]

#: Numbers of `tensorflow.errors`, so that nothing here imports it.
CANCELLED = 1
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15

# The first that fits decides.
_CODES: tuple[tuple[type[BaseException], int], ...] = (
    (errors.AttemptSupersededError, PERMISSION_DENIED),
    (errors.FileChangedError, ABORTED),
    (errors.FileCorruptError, DATA_LOSS),
    (errors.DirectoryNotEmptyError, FAILED_PRECONDITION),
    (errors.ClusterNotActiveError, FAILED_PRECONDITION),
    (errors.InvalidRequestError, INVALID_ARGUMENT),
    (FileNotFoundError, NOT_FOUND),
    (FileExistsError, ALREADY_EXISTS),
    (NotADirectoryError, FAILED_PRECONDITION),
    (IsADirectoryError, FAILED_PRECONDITION),
    (PermissionError, PERMISSION_DENIED),
    (TimeoutError, DEADLINE_EXCEEDED),
    (ConnectionError, UNAVAILABLE),
    (MemoryError, RESOURCE_EXHAUSTED),
)


def code_of(error: BaseException) -> int:
    """The number of TensorFlow's class for an error."""
    if not isinstance(error, Exception):
        return CANCELLED  # a signal's handler has raised: KeyboardInterrupt, SystemExit
    for kind, code in _CODES:
        if isinstance(error, kind):
            return code
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return RESOURCE_EXHAUSTED
    return INTERNAL
