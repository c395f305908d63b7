"""All errors that this package raises.

    Exception
    └── TensorFlowIgniteError             the base: catch this one
        ├── InvalidRequestError           also a ValueError
        ├── CacheNotFoundError            also a LookupError
        ├── CacheEmptyError
        ├── CacheExistsError
        ├── CodeNotFoundError             also a LookupError
        ├── CodeInvalidError              also a ValueError
        ├── JobNotFoundError              also a LookupError
        ├── JobFinishedError
        ├── JobNotFinishedError
        ├── JobUnreadableError
        ├── NodeNotFoundError
        ├── JobFailedError                carries the job
        │   └── JobStoppedError
        ├── NoAgentError
        ├── ClusterNotActiveError
        ├── PartitionNotLocalError
        ├── ColumnNotFoundError           also a LookupError
        ├── UnsupportedTypeError          also a TypeError
        ├── SchemaUnknownError
        ├── RowMismatchError              also a ValueError
        ├── InternalError
        ├── SharingUnavailableError
        ├── UnsupportedPlatformError
        ├── SqlInvalidError               also a ValueError
        ├── ModelNotFoundError            also a LookupError
        ├── ModelUnusableError
        ├── ModelNotServedError
        ├── PredictionTimeoutError        also a TimeoutError
        ├── StorageError                  also an OSError
        │   ├── StoredFileNotFoundError   also a FileNotFoundError
        │   ├── StoredFileExistsError     also a FileExistsError
        │   ├── StoredNotADirectoryError  also a NotADirectoryError
        │   ├── StoredIsADirectoryError   also an IsADirectoryError
        │   ├── DirectoryNotEmptyError
        │   ├── FileChangedError
        │   ├── FileCorruptError
        │   └── StorageFullError
        ├── AttemptSupersededError
        ├── UnauthenticatedError          also a PermissionError
        ├── PermissionDeniedError         also a PermissionError
        ├── LimitExceededError
        ├── DataLossError
        │   └── FileLostError             also a StorageError
        ├── AssignmentChangedError
        ├── ConnectionFailedError         also a ConnectionError
        └── RequestTimeoutError           also a TimeoutError

A text has three sentences: what happened (with ids), the rule (with its numbers), what to do next. Between processes an
error is the description of a status that ends in `` [code=NAME]``, with a NAME of the enum ErrorCode of job.proto;
`from_description` returns its class. This module imports `base.system` only, so all may use it.
"""

from __future__ import annotations

import errno
import re
from typing import TYPE_CHECKING

from tensorflow_ignite.base import system

if TYPE_CHECKING:
    from tensorflow_ignite.spec import Job

_SUFFIX = re.compile(r"\s*\[code=([A-Z][A-Z0-9_]*)\]\s*\Z")


class TensorFlowIgniteError(Exception):
    """Base of every error of this package.

    Attributes:
        code: The error's name in the enum ErrorCode of job.proto; None when it has none there.
    """

    code: str | None = None

    @property
    def description(self) -> str:
        """The text for a status: with the code as its suffix."""
        return f"{self} [code={self.code}]" if self.code else str(self)


class InvalidRequestError(TensorFlowIgniteError, ValueError):
    """A value breaks a rule; the text names the value and the rule."""

    code = "INVALID_REQUEST"


class CacheNotFoundError(TensorFlowIgniteError, LookupError):
    """The cluster has no cache of this name."""

    code = "CACHE_NOT_FOUND"


class CacheEmptyError(TensorFlowIgniteError):
    """The cache has no rows to train on."""

    code = "CACHE_EMPTY"


class CacheExistsError(TensorFlowIgniteError):
    """A cache of this name exists already."""

    code = "CACHE_EXISTS"


class CodeNotFoundError(TensorFlowIgniteError, LookupError):
    """There is no such script, folder or archive, or the cluster does not hold the archive."""

    code = "CODE_NOT_FOUND"


class CodeInvalidError(TensorFlowIgniteError, ValueError):
    """The code cannot be submitted: a syntax error, a path outside the archive, too many bytes or files."""

    code = "CODE_INVALID"


class JobNotFoundError(TensorFlowIgniteError, LookupError):
    """The job table has no such job."""

    code = "JOB_NOT_FOUND"


class JobFinishedError(TensorFlowIgniteError):
    """The job is in a final state, so the request has no effect any more."""

    code = "JOB_FINISHED"


class JobNotFinishedError(TensorFlowIgniteError):
    """The job is not in a final state, or another such job needs its files, so it is not removed."""

    code = "JOB_NOT_FINISHED"


class JobUnreadableError(TensorFlowIgniteError):
    """The node cannot read the row of the job, or the row has values of a later version."""

    code = "JOB_UNREADABLE"


class NodeNotFoundError(TensorFlowIgniteError):
    """No node, or more than one, has this id, name or address."""

    code = "NODE_NOT_FOUND"


class JobFailedError(TensorFlowIgniteError):
    """The job of a `wait` has failed.

    Attributes:
        job: The job in its final state, with its cause, traceback and exit code.
    """

    def __init__(self, message: str, *, job: Job | None = None) -> None:
        """Keeps the job beside the text."""
        super().__init__(message)
        self.job = job


class JobStoppedError(JobFailedError):
    """The job of a `wait` was stopped."""


class NoAgentError(TensorFlowIgniteError):
    """No node can run tasks: none has a working agent."""

    code = "NO_AGENT"


class ClusterNotActiveError(TensorFlowIgniteError):
    """The Ignite cluster is not activated, so it has no caches."""

    code = "CLUSTER_NOT_ACTIVE"


class PartitionNotLocalError(TensorFlowIgniteError):
    """The called node does not hold the primary copy of a partition."""

    code = "PARTITION_NOT_LOCAL"


class ColumnNotFoundError(TensorFlowIgniteError, LookupError):
    """The cache's schema has no such column."""

    code = "COLUMN_NOT_FOUND"


class UnsupportedTypeError(TensorFlowIgniteError, TypeError):
    """A column's type cannot be a tensor."""

    code = "UNSUPPORTED_TYPE"


class SchemaUnknownError(TensorFlowIgniteError):
    """The columns of the cache cannot be determined."""

    code = "SCHEMA_UNKNOWN"


class RowMismatchError(TensorFlowIgniteError, ValueError):
    """A row does not match the schema of its cache."""

    code = "ROW_MISMATCH"


class InternalError(TensorFlowIgniteError):
    """A fault in this software, or an unknown answer."""

    code = "INTERNAL_ERROR"


class SharingUnavailableError(TensorFlowIgniteError):
    """The node cannot write into the memory of this process: another host, user or container."""

    code = "SHARING_UNAVAILABLE"


class UnsupportedPlatformError(TensorFlowIgniteError):
    """Only Linux has what the call needs; other systems run clients."""


class SqlInvalidError(TensorFlowIgniteError, ValueError):
    """A condition or SELECT is malformed, or its rows cannot be read by partition."""

    code = "SQL_INVALID"


class ModelNotFoundError(TensorFlowIgniteError, LookupError):
    """No model has this name, this version or this label."""

    code = "MODEL_NOT_FOUND"


class ModelUnusableError(TensorFlowIgniteError):
    """A model cannot be read or loaded, or its own code has failed."""

    code = "MODEL_UNUSABLE"


class ModelNotServedError(TensorFlowIgniteError):
    """No process serves the model now; some seconds later one may."""

    code = "MODEL_NOT_SERVED"


class PredictionTimeoutError(TensorFlowIgniteError, TimeoutError):
    """A prediction was not ready at its deadline."""

    code = "PREDICTION_TIMED_OUT"


class StorageError(TensorFlowIgniteError, OSError):
    """Base of the errors of files inside the cluster; `errno` is set as by the operating system."""

    #: A number of the module errno.
    number: int = errno.EIO

    def __init__(self, message: str) -> None:
        """Sets the text and `errno`; two arguments of OSError would change the text."""
        super().__init__(message)
        self.errno = self.number


class StoredFileNotFoundError(StorageError, FileNotFoundError):
    """A path of the cluster's files does not exist."""

    code = "FILE_NOT_FOUND"
    number = errno.ENOENT


class StoredFileExistsError(StorageError, FileExistsError):
    """A path exists that must not exist."""

    code = "FILE_EXISTS"
    number = errno.EEXIST


class StoredNotADirectoryError(StorageError, NotADirectoryError):
    """A path is a file, but must be a directory."""

    code = "NOT_A_DIRECTORY"
    number = errno.ENOTDIR


class StoredIsADirectoryError(StorageError, IsADirectoryError):
    """A path is a directory, but must be a file."""

    code = "IS_A_DIRECTORY"
    number = errno.EISDIR


class DirectoryNotEmptyError(StorageError):
    """A directory that shall be removed or replaced has entries."""

    code = "DIRECTORY_NOT_EMPTY"
    number = errno.ENOTEMPTY


class FileChangedError(StorageError):
    """Another writer has replaced, removed or appended to a file, or its own writer was abandoned after its timeout."""

    code = "FILE_CHANGED"
    number = errno.ESTALE


class FileCorruptError(StorageError):
    """The checksum of a block of a file is wrong."""

    code = "FILE_CORRUPT"
    number = errno.EIO


class StorageFullError(StorageError):
    """A node's data region has no memory for a file, rows, or a job: only its reserve is left."""

    code = "STORAGE_FULL"
    number = errno.ENOSPC


class AttemptSupersededError(TensorFlowIgniteError):
    """An attempt, or a process of a task, that has been replaced tried to write checkpoints or files."""

    code = "ATTEMPT_SUPERSEDED"


class UnauthenticatedError(TensorFlowIgniteError, PermissionError):
    """The cluster requires credentials, and these are missing or wrong."""

    code = "UNAUTHENTICATED"
    errno = errno.EACCES


class PermissionDeniedError(TensorFlowIgniteError, PermissionError):
    """The authenticated caller has no permission for the call."""

    code = "PERMISSION_DENIED"
    errno = errno.EACCES


class LimitExceededError(TensorFlowIgniteError):
    """A limit of a node is exceeded: the size of a message, the number of calls, the memory for batches."""

    code = "LIMIT_EXCEEDED"


class DataLossError(TensorFlowIgniteError):
    """Partitions have lost all their copies with nodes that left, and nobody has accepted the loss."""

    code = "DATA_LOST"


class FileLostError(DataLossError, StorageError):
    """A block of a file has lost all its copies; the text names the file."""

    code = "FILE_LOST"


class AssignmentChangedError(TensorFlowIgniteError):
    """The saved position of an iterator belongs to other rows than those that this process reads now."""


class ConnectionFailedError(TensorFlowIgniteError, ConnectionError):
    """No node answers at the addresses given.

    Attributes:
        is_lasting: Whether another call cannot help: TLS, or its absence, prevents the connection.
    """

    is_lasting = False


class RequestTimeoutError(TensorFlowIgniteError, TimeoutError):
    """A result did not come within its timeout."""


#: The class of each name of the enum ErrorCode of job.proto.
CODES: dict[str, type[TensorFlowIgniteError]] = {
    str(error.code): error
    for error in list(globals().values())
    if isinstance(error, type) and issubclass(error, TensorFlowIgniteError) and vars(error).get("code")
}


def has_code(text: str) -> bool:
    """Whether the description of a status ends in a code of this package."""
    return _SUFFIX.search(text) is not None


def from_description(text: str, fallback: type[TensorFlowIgniteError] = InternalError) -> TensorFlowIgniteError:
    """Returns the error of a status.

    Args:
        text: The description, with or without its suffix `` [code=NAME]``.
        fallback: The class if there is no suffix, or an unknown code.

    Returns:
        The error, which the caller raises; its text has no suffix, and its ``code`` is NAME, if there is one.
    """
    match = _SUFFIX.search(text)
    if match is None:
        return fallback(text)
    code = match.group(1)
    error = CODES.get(code, fallback)(text[: match.start()])
    error.code = code
    return error


def require_linux(what: str) -> None:
    """Raises an error where this is not Linux.

    Raises:
        UnsupportedPlatformError: This is Windows or macOS.
    """
    if not system.IS_LINUX:
        raise UnsupportedPlatformError(
            f"{what} needs Linux, and this is {system.NAME}. Nodes and tasks run on Linux only; on Windows and macOS "
            "the package is a client of a cluster. Run it on Linux, in a container or in WSL, and connect to it: "
            "tensorflow-ignite --address HOST:10820 nodes"
        )
