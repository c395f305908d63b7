"""Files of rows: their formats, and what Arrow reads of them; single files, lists, folders, patterns and URLs."""

from __future__ import annotations

import dataclasses
import logging
import os
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyarrow import dataset as arrow

from tensorflow_ignite import errors
from tensorflow_ignite.data.loading import csv_files, json_files, lossless
from tensorflow_ignite.data.loading.casting import Casting
from tensorflow_ignite.data.loading.csv_files import CsvOptions
from tensorflow_ignite.data.loading.folders import FolderColumns, lost
from tensorflow_ignite.data.loading.layouts import plain
from tensorflow_ignite.data.loading.source import Source, below, shown
from tensorflow_ignite.data.loading.uuids import is_uuid

_log = logging.getLogger(__name__)

NPZ = "npz"
TFRECORD = "tfrecord"
# Format of a file by the end of its name.
FORMATS = {
    ".npz": NPZ,
    ".csv": "csv",
    ".csv.gz": "csv",
    ".tsv": "tsv",
    ".tsv.gz": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "feather",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json.gz": "json",
    ".jsonl.gz": "json",
    ".ndjson.gz": "json",
    ".tfrecord": TFRECORD,
    ".tfrecord.gz": TFRECORD,
    ".tfrecords.gz": TFRECORD,
    ".tfrecords": TFRECORD,
}
# Formats that csv= describes.
TEXT = ("csv", "tsv")
# Rows of a batch of rows whose size is not known.
_MOST_ROWS = 65_536


@dataclass(frozen=True)
class Files:
    """Files of one format.

    Attributes:
        paths: The files, in the order in which they are read.
        kind: One of the values of FORMATS.
        source: Where they are.
        folder: Folder whose subfolders, such as ``year=2026``, are columns; None: there are none.
    """

    paths: tuple[str, ...]
    kind: str
    source: Source = dataclasses.field(default_factory=Source)
    folder: str | None = None


@dataclass(frozen=True)
class Input:
    """Rows to load: as files or other data have them, or as they are stored.

    Attributes:
        schema: Schema of every batch; of data that are no files, before the cast, of the first batch.
        rows: Number of rows; None: not known.
        batches: The batches; can be iterated once.
        notes: Gives by column what the caller should know of it, after the last batch.
    """

    schema: pa.Schema
    rows: int | None
    batches: Iterator[pa.RecordBatch]
    notes: Callable[[], dict[str, str]] = dict


def find(names: Sequence[str | os.PathLike[str]]) -> Files:
    """The files that paths, folders, patterns and URLs name.

    Raises:
        InvalidRequestError: If there is no file, or the files have several or unknown formats or are in several places.
    """
    paths: list[str] = []
    source, folder, is_named_alone = Source(), None, True
    for number, name in enumerate([os.fspath(name) for name in names]):
        where, path = Source.of(name)
        if number and where.filesystem != source.filesystem:
            raise errors.InvalidRequestError(
                f"{os.fspath(names[0])!r} and {name!r} are in two places. Files that are loaded together are all on "
                "this machine, or in one file system. Load them one after the other, the second with "
                "if_exists='append'"
            )
        source = where
        if source.is_folder(path):
            found = [file for file in source.files_below(path) if _format(file) and not _is_aside(file, path)]
            folder = path if len(names) == 1 else None
            is_named_alone = False
        elif source.exists(path):
            found = [path]
        else:
            found = source.matching(path)
            is_named_alone = False
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
    if folder is None and not is_named_alone:
        folder = _base_of_folders(paths)
    return Files(tuple(paths), kinds[paths[0]] or "", source, folder)


def _is_aside(path: str, folder: str) -> bool:
    """Whether it is hidden, or in a folder of unfinished work, such as _temporary or .ipynb_checkpoints."""
    return any(part.startswith((".", "_")) for part in below(path, folder).split("/"))


def _base_of_folders(paths: Sequence[str]) -> str | None:
    """The folder above those such as ``year=2026`` that all files are in; None: there is none."""
    bases = set()
    for path in paths:
        parts = path.split("/")
        first = next((number for number, part in enumerate(parts[:-1]) if "=" in part), None)
        bases.add(None if first is None else "/".join(parts[:first]) or ("/" if path.startswith("/") else "."))
    return bases.pop() if len(bases) == 1 else None


def _format(path: str) -> str | None:
    # TensorFlow Datasets numbers the files of a part.
    path = re.sub(r"-\d{5}-of-\d{5}$", "", path)
    return next((kind for end, kind in FORMATS.items() if path.lower().endswith(end)), None)


def scan(files: Files, casting: Casting, batch_bytes: int, csv: CsvOptions) -> Input:
    """The rows of files that Arrow reads.

    Args:
        files: The files; not of numpy or TensorFlow.
        casting: The types that the caller wants.
        batch_bytes: Size of a batch, about, if the files say the size of a row.
        csv: How CSV files are written.

    Raises:
        InvalidRequestError: If a file cannot be read, or has other columns than the first file.
    """
    if files.kind in TEXT:
        return _scan_text(files, casting, csv)
    if files.kind == "json":
        return _scan_json(files, casting)
    try:
        found = _dataset(files, files.paths, None, files.kind)
        schemas = {fragment.path: fragment.physical_schema for fragment in found.get_fragments()}
        # Of other files Arrow would read all rows to count them.
        rows = found.count_rows() if files.kind == "parquet" else None
        size = _batch_rows(found, batch_bytes)
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(files, error) from error
    _require_alike(schemas)
    schema = _common(schemas, casting)
    folders = FolderColumns(files.paths, files.folder, casting, schema.names)

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            for path in files.paths:
                # With the types of its own file: Arrow would cast to the types of the first file, also with a loss.
                is_parquet = files.kind == "parquet"
                for batch in _parquet(files, path, size, casting) if is_parquet else _ipc(files.source, path):
                    yield folders.add(batch.select(schema.names), path)
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(files, error) from error

    return Input(folders.schema(schema), rows, batches(), lambda: folders.notes)


def _common(schemas: Mapping[str, pa.Schema], casting: Casting) -> pa.Schema:
    """The columns of the first file, each with a type that has the values of all files.

    Raises:
        InvalidRequestError: Two files have different types, and neither type has all values of the other.
    """
    (first, found), *others = schemas.items()
    fields, of_path = list(found), dict.fromkeys(found.names, first)
    for path, schema in others:
        for at, field in enumerate(fields):
            other = schema.field(field.name)
            kind, new = plain(field.type), plain(other.type)
            is_nullable = field.nullable or other.nullable
            is_alike = is_uuid(field.type) == is_uuid(other.type)
            if casting.types.get(field.name) is not None or (is_alike and lossless.holds(kind, new)):
                fields[at] = field.with_nullable(is_nullable)
            elif is_alike and lossless.holds(new, kind):
                fields[at], of_path[field.name] = other.with_nullable(is_nullable), path
            else:
                raise errors.InvalidRequestError(
                    f"column {field.name!r} is of type {other.type} in {path}, and of type {field.type} in "
                    f"{of_path[field.name]}. Files that are loaded together have the same types, or one type that has "
                    f"all values of the others. Give a type for all files, schema={{{field.name!r}: ...}} (--schema "
                    f"{field.name}=TYPE), or load the files separately"
                )
    return pa.schema(fields)


def _parquet(files: Files, path: str, batch_rows: int, casting: Casting) -> Iterator[pa.RecordBatch]:
    # Without these options a whole row group, such as of images, would be in memory.
    options = arrow.ParquetFragmentScanOptions(use_buffered_stream=True, pre_buffer=False)
    found = _dataset(files, [path], None, "parquet")
    rows = read_ahead_little(found, batch_rows, options)
    columns = next(iter(found.get_fragments())).metadata.schema
    if all(columns.column(number).physical_type != "INT96" for number in range(len(columns))):
        return rows
    in_micros = _dataset(files, [path], None, arrow.ParquetFileFormat(coerce_int96_timestamp_unit="us"))
    return _with_all_years(path, rows, read_ahead_little(in_micros, batch_rows, options), casting)


def _with_all_years(
    path: str, rows: Iterator[pa.RecordBatch], in_micros: Iterator[pa.RecordBatch], casting: Casting
) -> Iterator[pa.RecordBatch]:
    """The rows of a file with times in INT96, which Arrow reads as nanoseconds: in other years as a wrong time."""
    for batch, other in zip(rows, in_micros, strict=True):
        result = batch
        for at, (field, micros) in enumerate(zip(batch.schema, other.columns, strict=True)):
            try:
                micros.cast(field.type)
            except pa.ArrowInvalid as error:
                if casting.types.get(field.name) is None:
                    raise errors.InvalidRequestError(
                        f"column {field.name!r} of {path} has a time before 1677 or after 2262, stored as INT96. "
                        "Nanoseconds of 64 bits hold the times between. Give it a type of microseconds: schema={"
                        f"{field.name!r}: 'timestamp[us]'}} (--schema {field.name}=timestamp[us])"
                    ) from error
                result = result.set_column(at, field.with_type(micros.type), micros)
        yield result


def _ipc(source: Source, path: str) -> Iterator[pa.RecordBatch]:
    """One batch of a file after the other; Arrow's dataset would read the whole file ahead."""
    with source.open(path) as file, pa.PythonFile(file, mode="r") as opened:
        reader = pa.ipc.open_file(opened)
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)


def read_ahead_little(
    rows: arrow.Dataset, batch_rows: int = _MOST_ROWS, options: arrow.FragmentScanOptions | None = None
) -> Iterator[pa.RecordBatch]:
    """The batches of a dataset. With its own threads Arrow would read ahead up to 1 GiB while the cluster is slow."""
    scanner = rows.scanner(
        batch_size=batch_rows,
        batch_readahead=2,
        fragment_readahead=1,
        fragment_scan_options=options,
        use_threads=False,
    )
    yield from scanner.to_batches()


def _scan_json(files: Files, casting: Casting) -> Input:
    of_folders = {field.name for field in FolderColumns(files.paths, files.folder, casting).fields}
    given = {name: kind for name, kind in casting.types.items() if kind is not None and name not in of_folders}
    schema, found, lost_digits = json_files.scan(files.source, files.paths, given)
    folders = FolderColumns(files.paths, files.folder, casting, schema.names)
    rows = (folders.add(batch, path) for path, batch in found)
    return Input(folders.schema(schema), None, rows, lambda: lost_digits | folders.notes)


def _scan_text(files: Files, casting: Casting, options: CsvOptions) -> Input:
    if files.kind == "tsv" and "delimiter" not in options.parse:
        options = replace(options, parse={**options.parse, "delimiter": "\t"})
    upper = next((path for path in files.paths if path.lower().endswith(".gz") and not path.endswith(".gz")), None)
    if upper is not None:
        raise errors.InvalidRequestError(
            f"{upper} cannot be read as csv: its name ends in {upper[-3:]}. The name of a compressed CSV file ends in "
            ".gz, in lower case. Rename the file"
        )
    headers = [csv_files.read_header(files.source, path, options) for path in files.paths]
    header = headers[0]
    if header is not None and options.names_columns(header):
        # Arrow skips the lines of the first file's header, and takes its names in their order.
        for path, other in zip(files.paths, headers, strict=True):
            assert other is not None
            if other.names != header.names:
                raise _unlike(path, other.names, header.names)
            if other.lines != header.lines:
                raise errors.InvalidRequestError(
                    f"the names of {path!r} end in line {other.lines}, and the names of the first file in line "
                    f"{header.lines}. Files that are loaded together have as many lines before their rows. Load them "
                    "separately, the second with if_exists='append'"
                )
    try:
        form = options.format(header)
        schemas = {path: csv_files.inspect(files.source, path, options, header) for path in files.paths}
        _require_alike(schemas)
        read = _with_types_of_later_files(schemas)
        if any(pa.types.is_binary(column.type) for column in read if column.name not in casting.names):
            raise csv_files.not_decoded(files.source, files.paths[0], options)
        numbers = csv_files.Numbers(read, casting.types, options)
        found = _types(read, casting)
        inferred = pa.schema([field.with_type(numbers.types.get(field.name, field.type)) for field in found])
        # As text, of which the numbers are made here.
        schema = pa.schema([field.with_type(pa.string()) if field.name in numbers.types else field for field in found])
    except (pa.ArrowException, OSError, EOFError, zlib.error, UnicodeError) as error:
        raise csv_files.explain(files.source, files.paths, options, error) from error

    folders = FolderColumns(files.paths, files.folder, casting, schema.names)

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            ends_in_lines = False
            for path in files.paths:
                for batch in read_ahead_little(_dataset(files, [path], schema, form)):
                    ends_in_lines |= csv_files.ends_in_several_lines(batch)
                    yield folders.add(numbers.convert(batch, inferred), path)
            if ends_in_lines:
                # If a quote is not closed, all further lines become one text.
                csv_files.require_closed_quotes(files.source, files.paths, options)
        except (pa.ArrowException, OSError, UnicodeError, csv_files.NotANumberError) as error:
            raise csv_files.explain(files.source, files.paths, options, error) from error

    def notes() -> dict[str, str]:
        renamed = header.renamed if header is not None else ()
        return {
            **dict.fromkeys(renamed, "has no name in the file"),
            **{name: lost(name, text, number) for name, (text, number) in numbers.lost.items()},
            **folders.notes,
        }

    return Input(folders.schema(inferred), None, batches(), notes)


def _unreadable(files: Files, error: Exception) -> errors.TensorFlowIgniteError:
    return errors.InvalidRequestError(
        f"{shown(files.paths)} cannot be read as {files.kind}: {error}. Every row of every file has the columns and "
        f"types of the beginning of the first file. Repair the file, or give the types with schema="
    )


def _dataset(
    files: Files, paths: Sequence[str], schema: pa.Schema | None, form: str | arrow.FileFormat
) -> arrow.Dataset:
    return arrow.dataset(list(paths), schema=schema, format=form, filesystem=files.source.filesystem)


def _with_types_of_later_files(schemas: Mapping[str, pa.Schema]) -> pa.Schema:
    """The schema of the first file; a column without a value in it has the type of the first file that has one."""
    first, *others = schemas.values()
    for other in others:
        first = pa.schema([other.field(field.name) if pa.types.is_null(field.type) else field for field in first])
    return first


def _types(schema: pa.Schema, casting: Casting) -> pa.Schema:
    """The schema with the requested types, so that Arrow does not infer these from the text; empty columns are text."""
    names = set(casting.names)
    fields = []
    for field in schema:
        if field.name in names:
            field = casting.field(field)
        elif pa.types.is_null(field.type):
            _log.warning(
                "column %r is empty at the begin of each file, so its type is not known: it is loaded as text. "
                "Give another type with schema= (--schema %s=float64)",
                field.name,
                field.name,
            )
            field = field.with_type(pa.string())
        fields.append(field)
    return pa.schema(fields)


def _require_alike(schemas: Mapping[str, pa.Schema]) -> None:
    """Checks that all files have the same columns; Arrow would add nulls, or drop a column."""
    needs = set(next(iter(schemas.values())).names)
    for path, schema in schemas.items():
        if len(set(schema.names)) < len(schema.names):
            raise errors.InvalidRequestError(
                f"{path!r} has two columns of one name: {schema.names}. Each column has its own name. Rename one of "
                "them"
            )
        if set(schema.names) != needs:
            raise _unlike(path, sorted(schema.names), sorted(needs))


def _unlike(path: str, has: Sequence[str], needs: Sequence[str]) -> errors.InvalidRequestError:
    return errors.InvalidRequestError(
        f"{path!r} has columns {list(has)}, the first file {list(needs)}. Files that are loaded together have the same "
        "columns. Load them separately, or add the missing columns to the file"
    )


def _batch_rows(found: arrow.Dataset, batch_bytes: int) -> int:
    """Number of rows of about ``batch_bytes`` bytes, if the first file has the size of a row."""
    for fragment in found.get_fragments():
        if isinstance(fragment, arrow.ParquetFileFragment) and fragment.metadata.num_row_groups:
            group = fragment.metadata.row_group(0)
            row = max(1, group.total_byte_size // max(1, group.num_rows))
            return max(1, min(_MOST_ROWS, int(batch_bytes // row)))
        break
    return _MOST_ROWS
