"""Everything that this package raises on purpose.

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
        ├── SqlInvalidError               also a ValueError
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
        ├── AssignmentChangedError
        ├── ConnectionFailedError         also a ConnectionError
        └── RequestTimeoutError           also a TimeoutError

A text has three parts: what happened (with ids), the rule (with its numbers), what to do next. Between processes an
error travels as the description of a status that ends in `` [code=NAME]``, NAME from the enum ErrorCode of
job.proto; `from_description` turns it back into the class. This module imports nothing of the package: any part may use
it.
"""

from __future__ import annotations

import errno
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tensorflow_ignite.spec import Job

__all__ = [
    "CODES",
    "AssignmentChangedError",
    "AttemptSupersededError",
    "CacheEmptyError",
    "CacheExistsError",
    "CacheNotFoundError",
    "ClusterNotActiveError",
    "CodeInvalidError",
    "CodeNotFoundError",
    "ColumnNotFoundError",
    "ConnectionFailedError",
    "DirectoryNotEmptyError",
    "FileChangedError",
    "FileCorruptError",
    "InternalError",
    "InvalidRequestError",
    "JobFailedError",
    "JobFinishedError",
    "JobNotFinishedError",
    "JobNotFoundError",
    "JobStoppedError",
    "LimitExceededError",
    "NoAgentError",
    "PartitionNotLocalError",
    "PermissionDeniedError",
    "RequestTimeoutError",
    "RowMismatchError",
    "SchemaUnknownError",
    "SharingUnavailableError",
    "SqlInvalidError",
    "StorageError",
    "StorageFullError",
    "StoredFileExistsError",
    "StoredFileNotFoundError",
    "StoredIsADirectoryError",
    "StoredNotADirectoryError",
    "TensorFlowIgniteError",
    "UnauthenticatedError",
    "UnsupportedTypeError",
    "from_description",
    "has_code",
]

_SUFFIX = re.compile(r"\s*\[code=([A-Z][A-Z0-9_]*)\]\s*\Z")


class TensorFlowIgniteError(Exception):
    """Base of every error that this package raises on purpose.

    Attributes:
        code: The error's name in the enum ErrorCode of job.proto; None when it has none there.
    """

    code: str | None = None

    @property
    def description(self) -> str:
        """The text as it travels in a status: with the suffix by which the other side knows the error."""
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
    """The code cannot be shipped or run: a syntax error, a path that leaves the archive, too many bytes or files."""

    code = "CODE_INVALID"


class JobNotFoundError(TensorFlowIgniteError, LookupError):
    """The job table has no such job."""

    code = "JOB_NOT_FOUND"


class JobFinishedError(TensorFlowIgniteError):
    """The job is over, so what was asked of it cannot be done any more."""

    code = "JOB_FINISHED"


class JobNotFinishedError(TensorFlowIgniteError):
    """The job is not over, or another one that is not over needs its files: it is not removed."""

    code = "JOB_NOT_FINISHED"


class JobFailedError(TensorFlowIgniteError):
    """A job that was waited for did not succeed.

    Attributes:
        job: The job as it ended, with its cause, traceback and exit code.
    """

    def __init__(self, message: str, *, job: Job | None = None) -> None:
        """Keeps the job beside the text."""
        super().__init__(message)
        self.job = job


class JobStoppedError(JobFailedError):
    """A job that was waited for was stopped."""


class NoAgentError(TensorFlowIgniteError):
    """No node can run tasks: none has a working agent."""

    code = "NO_AGENT"


class ClusterNotActiveError(TensorFlowIgniteError):
    """The Ignite cluster is not activated, so it has no caches."""

    code = "CLUSTER_NOT_ACTIVE"


class PartitionNotLocalError(TensorFlowIgniteError):
    """The node asked is not the primary of a partition."""

    code = "PARTITION_NOT_LOCAL"


class ColumnNotFoundError(TensorFlowIgniteError, LookupError):
    """The cache's schema has no such column."""

    code = "COLUMN_NOT_FOUND"


class UnsupportedTypeError(TensorFlowIgniteError, TypeError):
    """A column's type has no form as a tensor."""

    code = "UNSUPPORTED_TYPE"


class SchemaUnknownError(TensorFlowIgniteError):
    """Nothing tells the columns of the cache."""

    code = "SCHEMA_UNKNOWN"


class RowMismatchError(TensorFlowIgniteError, ValueError):
    """A row does not fit the schema of its cache."""

    code = "ROW_MISMATCH"


class InternalError(TensorFlowIgniteError):
    """A fault in this software, or an answer that it does not know."""

    code = "INTERNAL_ERROR"


class SharingUnavailableError(TensorFlowIgniteError):
    """The node cannot write into the memory of this process: another host, user or container."""

    code = "SHARING_UNAVAILABLE"


class SqlInvalidError(TensorFlowIgniteError, ValueError):
    """A condition or SELECT that cannot be read, or whose rows do not split by partition."""

    code = "SQL_INVALID"


class StorageError(TensorFlowIgniteError, OSError):
    """Base of what goes wrong with files inside the cluster; `errno` is set as the operating system would."""

    #: As in the module errno of Python.
    number: int = errno.EIO

    def __init__(self, message: str) -> None:
        """Keeps the text whole: OSError makes another one of two arguments."""
        super().__init__(message)
        self.errno = self.number


class StoredFileNotFoundError(StorageError, FileNotFoundError):
    """There is nothing at a path of the cluster's files."""

    code = "FILE_NOT_FOUND"
    number = errno.ENOENT


class StoredFileExistsError(StorageError, FileExistsError):
    """Something is at a path where nothing may be."""

    code = "FILE_EXISTS"
    number = errno.EEXIST


class StoredNotADirectoryError(StorageError, NotADirectoryError):
    """A file stands where a directory must be."""

    code = "NOT_A_DIRECTORY"
    number = errno.ENOTDIR


class StoredIsADirectoryError(StorageError, IsADirectoryError):
    """A directory stands where a file must be."""

    code = "IS_A_DIRECTORY"
    number = errno.EISDIR


class DirectoryNotEmptyError(StorageError):
    """A directory that is to be removed or replaced has something in it."""

    code = "DIRECTORY_NOT_EMPTY"
    number = errno.ENOTEMPTY


class FileChangedError(StorageError):
    """Somebody else has replaced, removed or appended to a file, or its writer was held for dead."""

    code = "FILE_CHANGED"
    number = errno.ESTALE


class FileCorruptError(StorageError):
    """A block of a file is lost, or is not what was written."""

    code = "FILE_CORRUPT"
    number = errno.EIO


class StorageFullError(StorageError):
    """The memory that the cluster has for files is used up."""

    code = "STORAGE_FULL"
    number = errno.ENOSPC


class AttemptSupersededError(TensorFlowIgniteError):
    """A task of an attempt, or a process of a task, that has been replaced wanted to write checkpoints or files."""

    code = "ATTEMPT_SUPERSEDED"


class UnauthenticatedError(TensorFlowIgniteError, PermissionError):
    """The cluster wants to know who calls, and was not told, or not truthfully."""

    code = "UNAUTHENTICATED"

    def __init__(self, message: str) -> None:
        """Sets `errno` as the operating system would."""
        super().__init__(message)
        self.errno = errno.EACCES


class PermissionDeniedError(TensorFlowIgniteError, PermissionError):
    """The cluster knows who calls, and that one may not do this."""

    code = "PERMISSION_DENIED"

    def __init__(self, message: str) -> None:
        """Sets `errno` as the operating system would."""
        super().__init__(message)
        self.errno = errno.EACCES


class LimitExceededError(TensorFlowIgniteError):
    """More than a node takes at once: of a message, of calls, of memory for batches."""

    code = "LIMIT_EXCEEDED"


class AssignmentChangedError(TensorFlowIgniteError):
    """The saved position of an iterator is one in other rows than those that this process reads now."""


class ConnectionFailedError(TensorFlowIgniteError, ConnectionError):
    """No node answers at the addresses given."""


class RequestTimeoutError(TensorFlowIgniteError, TimeoutError):
    """What was asked for did not come within its time."""


#: The class of each name of the enum ErrorCode of job.proto.
CODES: dict[str, type[TensorFlowIgniteError]] = {
    str(error.code): error
    for error in (
        InvalidRequestError,
        CacheNotFoundError,
        CacheEmptyError,
        CacheExistsError,
        CodeNotFoundError,
        CodeInvalidError,
        JobNotFoundError,
        JobFinishedError,
        JobNotFinishedError,
        NoAgentError,
        ClusterNotActiveError,
        PartitionNotLocalError,
        ColumnNotFoundError,
        UnsupportedTypeError,
        SchemaUnknownError,
        RowMismatchError,
        InternalError,
        SharingUnavailableError,
        SqlInvalidError,
        StoredFileNotFoundError,
        StoredFileExistsError,
        StoredNotADirectoryError,
        StoredIsADirectoryError,
        DirectoryNotEmptyError,
        FileChangedError,
        FileCorruptError,
        StorageFullError,
        AttemptSupersededError,
        UnauthenticatedError,
        PermissionDeniedError,
        LimitExceededError,
    )
}


def has_code(text: str) -> bool:
    """True when the description of a status ends in the suffix that our own errors carry."""
    return _SUFFIX.search(text) is not None


def from_description(text: str, fallback: type[TensorFlowIgniteError] = InternalError) -> TensorFlowIgniteError:
    """Turns the description of a status into the error that it tells of.

    Args:
        text: The description, with or without its suffix `` [code=NAME]``.
        fallback: The class when there is no suffix, or one that this version does not know.

    Returns:
        The error, to be raised by the caller; its text has no suffix, its ``code`` is the one told, if any.
    """
    match = _SUFFIX.search(text)
    if match is None:
        return fallback(text)
    code = match.group(1)
    error = CODES.get(code, fallback)(text[: match.start()])
    error.code = code
    return error
