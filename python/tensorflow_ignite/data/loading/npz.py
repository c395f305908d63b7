"""Reads archives of numpy.savez in batches."""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tensorflow_ignite import errors
from tensorflow_ignite.data.loading.columns import table_of


@dataclass(frozen=True)
class _Member:
    """One array in an archive: ``shape[0]`` rows that follow its header."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    in_order: bool

    @property
    def row_bytes(self) -> int:
        return math.prod(self.shape[1:]) * self.dtype.itemsize


def rows(path: str) -> int:
    """Number of rows of an archive; reads only the headers.

    Raises:
        InvalidRequestError: If the archive cannot be read, or its arrays differ in their number of rows.
    """
    with _archive(path) as archive:
        return _length(path, [_header(path, archive, name)[0] for name in archive.namelist()])


def _length(path: str, members: Sequence[_Member]) -> int:
    lengths = {member.name: member.shape[0] for member in members}
    if not lengths:
        raise errors.InvalidRequestError(f"{path!r} has no array. Each array is a column. Write the file again")
    if len(set(lengths.values())) > 1:
        raise errors.InvalidRequestError(
            f"the arrays of {path!r} differ in length: {lengths}. Each column needs one entry for each row"
        )
    return members[0].shape[0]


def batches(path: str, batch_bytes: int) -> Iterator[pa.RecordBatch]:
    """The rows of an archive, in batches of about ``batch_bytes`` bytes."""
    with _archive(path) as archive, ExitStack() as opened:
        members: list[tuple[_Member, IO[bytes] | npt.NDArray[Any]]] = []
        for name in archive.namelist():
            member, stream = _header(path, archive, name)
            opened.callback(stream.close)
            # An array in Fortran order is read whole.
            members.append((member, stream if member.in_order else _whole(member, stream)))
        length = _length(path, [member for member, _ in members])
        step = max(1, batch_bytes // max(1, sum(member.row_bytes for member, _ in members)))
        for first in range(0, max(length, 1), step):
            count = min(step, length - first)
            arrays = {
                member.name: source[first : first + count]
                if isinstance(source, np.ndarray)
                else _piece(path, member, source, count)
                for member, source in members
            }
            yield table_of(arrays).combine_chunks().to_batches()[0] if count else _empty(arrays)


def _empty(arrays: dict[str, Any]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], table_of(arrays).schema)


def _archive(path: str) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except (OSError, zipfile.BadZipFile) as error:
        raise errors.InvalidRequestError(
            f"{path!r} cannot be read as npz: {error}. An npz file is written by numpy.savez. Write the file again"
        ) from error


def _header(path: str, archive: zipfile.ZipFile, name: str) -> tuple[_Member, IO[bytes]]:
    stream = archive.open(name)
    try:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, by_column, dtype = read(stream)
    except (ValueError, OSError, zipfile.BadZipFile, zlib.error) as error:
        stream.close()
        raise errors.InvalidRequestError(
            f"{path!r} cannot be read as npz: {name!r} in it is no array, or damaged "
            f"({error}). Write the file again with numpy.savez"
        ) from error
    name = name.removesuffix(".npy")
    if dtype.hasobject or not shape:
        stream.close()
        raise errors.InvalidRequestError(
            f"array {name!r} of {path!r} "
            + ("holds Python objects, which only unpickling reads" if dtype.hasobject else "is a single value")
            + ". A column is an array of numbers or text with one entry for each row. Remove the array, or convert it"
        )
    return _Member(name, shape, dtype, not by_column or len(shape) == 1), stream


def _piece(path: str, member: _Member, stream: IO[bytes], count: int) -> npt.NDArray[Any]:
    size = count * member.row_bytes
    try:
        data = stream.read(size)
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise errors.InvalidRequestError(
            f"array {member.name!r} of {path!r} is damaged: {error}. Write the file again with numpy.savez"
        ) from error
    if len(data) < size:
        raise errors.InvalidRequestError(f"array {member.name!r} of {path!r} ends too early. Write the file again")
    flat = np.frombuffer(data, member.dtype) if data else np.empty(0, member.dtype)
    return flat.reshape((count, *member.shape[1:]))


def _whole(member: _Member, stream: IO[bytes]) -> npt.NDArray[Any]:
    data = np.frombuffer(stream.read(), member.dtype)
    return np.ascontiguousarray(data.reshape(member.shape, order="F"))
