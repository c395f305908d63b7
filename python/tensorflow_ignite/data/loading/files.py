"""Files of rows: .npz, .csv, .parquet, .arrow and .feather; single files, lists, folders and patterns."""

from __future__ import annotations

import glob
import logging
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyarrow import dataset as arrow

from tensorflow_ignite import errors
from tensorflow_ignite.data.loading.casting import Casting

_log = logging.getLogger(__name__)

NPZ = "npz"
# Format of a file by the end of its name.
FORMATS = {
    ".npz": NPZ,
    ".csv": "csv",
    ".csv.gz": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "feather",
}


@dataclass(frozen=True)
class Files:
    """Files of one format.

    Attributes:
        paths: The files, in the order in which they are read.
        kind: One of the values of FORMATS.
        folder: Folder whose subfolders, such as ``year=2026``, are columns; None: there are none.
    """

    paths: tuple[str, ...]
    kind: str
    folder: str | None = None


def find(names: Sequence[str | os.PathLike[str]]) -> Files:
    """The files that paths, folders and patterns name.

    Raises:
        InvalidRequestError: If there is no file, or the files have several or unknown formats.
    """
    paths: list[str] = []
    for name in [os.fspath(name) for name in names]:
        if os.path.isdir(name):
            found = [str(path) for path in sorted(Path(name).rglob("*")) if path.is_file() and _format(path.name)]
        elif os.path.exists(name):
            found = [name]
        else:
            found = sorted(glob.glob(name, recursive=True))
        if not found:
            raise errors.InvalidRequestError(
                f"there is no file {name!r} to load, seen from {os.getcwd()}. A path names a file, a folder of files, "
                f"or a pattern such as 'rows/*.parquet'. Give the path of an existing file"
            )
        paths += found
    kinds = {path: _format(path) for path in paths}
    unknown = [path for path, kind in kinds.items() if kind is None]
    if unknown:
        raise errors.InvalidRequestError(
            f"the format of {unknown[0]!r} is not known; files end with {', '.join(FORMATS)}. Rename the file, or read "
            "it in Python and pass its columns to tensorflow_ignite.load"
        )
    if len(set(kinds.values())) > 1:
        first, other = paths[0], next(path for path in paths if kinds[path] != kinds[paths[0]])
        raise errors.InvalidRequestError(
            f"{first!r} and {other!r} are of two formats. Files that are loaded together have one format. Load them "
            f"one after the other, the second with if_exists='append'"
        )
    folder = os.fspath(names[0]) if len(names) == 1 and os.path.isdir(names[0]) else None
    return Files(tuple(paths), kinds[paths[0]] or "", folder)


def _format(path: str) -> str | None:
    return next((kind for end, kind in FORMATS.items() if path.lower().endswith(end)), None)


def scan(files: Files, casting: Casting, batch_bytes: int) -> tuple[pa.Schema, int | None, Iterator[pa.RecordBatch]]:
    """Schema, number of rows (None: not known), and batches of files that Arrow reads.

    Raises:
        InvalidRequestError: If a file cannot be read, or has other columns than the first file.
    """
    try:
        found = _dataset(files, None)
        _require_alike(found)
        typed = _dataset(files, _types(found.schema, casting) if files.kind == "csv" else found.schema)
        rows = None if files.kind == "csv" else typed.count_rows()
        scanner = typed.scanner(
            batch_size=_batch_rows(typed, batch_bytes),
            batch_readahead=2,
            fragment_readahead=1,
            fragment_scan_options=_options(files.kind),
        )
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(files, error) from error
    return typed.schema, rows, _batches(files, scanner)


def _batches(files: Files, scanner: arrow.Scanner) -> Iterator[pa.RecordBatch]:
    try:
        yield from scanner.to_batches()
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(files, error) from error


def _unreadable(files: Files, error: Exception) -> errors.TensorFlowIgniteError:
    which = files.paths[0] + (f" and {len(files.paths) - 1} more" if len(files.paths) > 1 else "")
    return errors.InvalidRequestError(
        f"{which} cannot be read as {files.kind}: {error}. Every row of every file has the columns and types of the "
        f"beginning of the first file. Repair the file, or give the types with schema="
    )


def _dataset(files: Files, schema: pa.Schema | None) -> arrow.Dataset:
    partitioning = arrow.HivePartitioning.discover() if files.folder else None
    return arrow.dataset(
        list(files.paths),
        schema=schema,
        format=files.kind,
        partitioning=partitioning,
        partition_base_dir=files.folder,
    )


def _types(schema: pa.Schema, casting: Casting) -> pa.Schema:
    """The schema with the requested types, so that Arrow does not infer these from the text; empty columns are text."""
    names = set(casting.names)
    fields = []
    for field in schema:
        if field.name in names:
            field = casting.field(field)
        elif pa.types.is_null(field.type):
            _log.warning(
                "column %r is empty at the begin of the first file, so its type is not known: it is loaded as text. "
                "Give another type with schema= (--schema %s=float64)",
                field.name,
                field.name,
            )
            field = field.with_type(pa.string())
        fields.append(field)
    return pa.schema(fields)


def _require_alike(found: arrow.Dataset) -> None:
    """Checks that all files have the same columns; Arrow would add nulls, or drop a column."""
    for fragment in found.get_fragments():
        of_folder = arrow.get_partition_keys(fragment.partition_expression)
        has, needs = set(fragment.physical_schema.names), set(found.schema.names) - set(of_folder)
        if has - set(of_folder) != needs:
            raise errors.InvalidRequestError(
                f"{fragment.path!r} has columns {sorted(has)}, the first file {sorted(needs)}. Files that are loaded "
                f"together have the same columns. Load them separately, or add the missing columns to the file"
            )


def _batch_rows(found: arrow.Dataset, batch_bytes: int) -> int:
    """Number of rows of about ``batch_bytes`` bytes, if the first file has the size of a row."""
    for fragment in found.get_fragments():
        if isinstance(fragment, arrow.ParquetFileFragment) and fragment.metadata.num_row_groups:
            group = fragment.metadata.row_group(0)
            row = max(1, group.total_byte_size // max(1, group.num_rows))
            return max(1, min(65_536, int(batch_bytes // row)))
        break
    return 65_536


def _options(kind: str) -> arrow.FragmentScanOptions | None:
    if kind == "parquet":
        # Without these options a whole row group, such as of images, would be in memory.
        return arrow.ParquetFragmentScanOptions(use_buffered_stream=True, pre_buffer=False)
    return None
