"""Maps this package's errors to the classes of `tensorflow.errors`."""

from __future__ import annotations

import errno

from tensorflow_ignite import errors

#: Codes of `tensorflow.errors`, which this module does not import.
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

# The first matching class decides.
_CODES: tuple[tuple[type[BaseException], int], ...] = (
    (errors.AttemptSupersededError, PERMISSION_DENIED),
    (errors.FileChangedError, ABORTED),
    (errors.DataLossError, DATA_LOSS),
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
    """Returns the code of TensorFlow's class for an error."""
    if not isinstance(error, Exception):
        return CANCELLED  # from a signal handler: KeyboardInterrupt, SystemExit
    for kind, code in _CODES:
        if isinstance(error, kind):
            return code
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return RESOURCE_EXHAUSTED
    return INTERNAL
