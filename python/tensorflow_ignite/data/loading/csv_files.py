"""CSV files: their options, the names in their first line, numbers in their columns, and the errors of their lines."""

from __future__ import annotations

import csv
import math
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv
from pyarrow import dataset as arrow

from tensorflow_ignite import errors
from tensorflow_ignite.data.loading.source import Source, shown

# The options of pyarrow.csv that a load can use. What they would say of types, schema= says.
_READ = ("encoding", "column_names", "autogenerate_column_names", "skip_rows", "skip_rows_after_names", "block_size")
_PARSE = ("delimiter", "quote_char", "double_quote", "escape_char", "ignore_empty_lines", "newlines_in_values")
_CONVERT = (
    *("null_values", "strings_can_be_null", "quoted_strings_can_be_null", "true_values", "false_values"),
    *("decimal_point", "timestamp_parsers", "check_utf8"),
)
# Of a text Arrow would take each character.
_LISTS = ("column_names", "null_values", "true_values", "false_values", "timestamp_parsers")
# What Arrow reads at a time: no line is longer. It reads 32 blocks ahead, whatever the reader takes.
_BLOCK_BYTES = 1 << 20
_MOST_BLOCK_BYTES = 8 << 20
_BYTES_OF_A_COLUMN = 512
# The types of the columns are inferred from this number of blocks at the begin of a file.
_BLOCKS_OF_SAMPLE = 4
_SHOWN_CHARACTERS = 80
_LONGEST_VALUE = (1 << 31) - 1
# Other characters between columns than the one in use, for the error that names them.
_DELIMITERS = (";", "\t", "|", ",")
# With separators of thousands; the decimal point may be a comma.
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(([.,' ]\d{3})+[.,]\d+|([.' ]\d{3}){2,}|(,\d{3})+)")
# A number with these loses characters: 00501 becomes 501, +49 becomes 49.
_LOSES = r"^(\+|-?0[0-9xX])"
# A floating-point number has 15 to 17 digits.
_LOSES_AS_FLOAT = _LOSES + r"|^-?[0-9]{17,}$"
# Numbers that may have more digits than that, and that a decimal number of Arrow holds.
_LONG = r"^-?[0-9]{0,37}(\.[0-9]{0,34})?$"
_LONG_CHARACTERS = 16
_EXACT = pa.decimal256(76, 38)
_CONVERSION = re.compile(r"In CSV column #(\d+): .*CSV conversion error to (.+?): invalid value '(.*)'", re.DOTALL)
_COLUMNS = re.compile(r"Expected (\d+) columns, got (\d+)")
_UTF8 = re.compile(r"invalid UTF-?8|codec can't decode|No unicode translation")


@dataclass(frozen=True)
class CsvOptions:
    """Options of pyarrow.csv, by class: ReadOptions, ParseOptions, ConvertOptions."""

    read: dict[str, Any] = field(default_factory=dict)
    parse: dict[str, Any] = field(default_factory=dict)
    convert: dict[str, Any] = field(default_factory=dict)

    @staticmethod
    def of(options: Mapping[str, Any] | None) -> CsvOptions:
        """Sorts options by their class.

        Args:
            options: By the names that pyarrow.csv gives them.

        Raises:
            InvalidRequestError: A name or a value is none of pyarrow.csv.
        """
        found = CsvOptions()
        if options is not None and not isinstance(options, Mapping):
            raise errors.InvalidRequestError(
                f"csv={options!r} is no dict. It has options of pyarrow.csv by their names. For example: "
                "csv={'delimiter': ';'}"
            )
        for name, value in (options or {}).items():
            of = next(
                (
                    part
                    for part, names in ((found.read, _READ), (found.parse, _PARSE), (found.convert, _CONVERT))
                    if name in names
                ),
                None,
            )
            if of is None:
                raise errors.InvalidRequestError(
                    f"csv={{{name!r}: ...}} is no option of CSV files. The options are pyarrow.csv's: "
                    f"{', '.join((*_READ, *_PARSE, *_CONVERT))}. Use one of them; schema= gives types"
                )
            if name in _LISTS and isinstance(value, str):
                raise errors.InvalidRequestError(
                    f"csv={{{name!r}: {value!r}}} is a text. The option is a list of texts. Give {name!r}: {[value]!r}"
                )
            of[name] = value
        # Words that the caller names for null are null in columns of text, too.
        if "null_values" in found.convert:
            found.convert.setdefault("strings_can_be_null", True)
        try:
            found.format(None)
        except (TypeError, ValueError, LookupError, pa.ArrowException) as error:
            raise errors.InvalidRequestError(
                f"csv={dict(options or {})!r} cannot be used: {error}. Each option has a value that pyarrow.csv takes. "
                "Give one of these values"
            ) from error
        return found

    @property
    def delimiter(self) -> str:
        """The text between two columns."""
        return str(self.parse.get("delimiter", ","))

    @property
    def encoding(self) -> str:
        """The encoding of the file."""
        # Arrow passes over the mark that begins some files of UTF-8.
        encoding = str(self.read.get("encoding", "utf-8"))
        return "utf-8-sig" if encoding.lower().replace("-", "") == "utf8" else encoding

    @property
    def has_header(self) -> bool:
        """Whether names come from the file."""
        return not self.read.get("autogenerate_column_names") and not self.read.get("column_names")

    def names_columns(self, header: Header) -> bool:
        """Whether Arrow gets the names of the columns: it would not find them itself."""
        return bool(header.renamed or self.read.get("skip_rows"))

    def format(self, header: Header | None, *, is_sample: bool = False) -> arrow.CsvFileFormat:
        """What Arrow needs to read files with this header.

        Args:
            header: Of the first file.
            is_sample: Whether the begin of a file is read alone, for the types of the columns.
        """
        read = {"block_size": _BLOCK_BYTES, **self.read}
        if header is not None and "block_size" not in self.read:
            # Of many columns, a block has a few hundred rows still.
            read["block_size"] = min(max(_BLOCK_BYTES, len(header.names) * _BYTES_OF_A_COLUMN), _MOST_BLOCK_BYTES)
        if is_sample and "block_size" not in self.read:
            read["block_size"] *= _BLOCKS_OF_SAMPLE
        if header is not None and self.names_columns(header):
            read.update(column_names=list(header.names), skip_rows=header.lines)
        return arrow.CsvFileFormat(
            read_options=arrow_csv.ReadOptions(**read),
            # Otherwise a line break between quotes would be an error in the first rows, and none in later ones.
            parse_options=arrow_csv.ParseOptions(**{"newlines_in_values": True, **self.parse}),
            convert_options=arrow_csv.ConvertOptions(**self.convert),
        )

    def rows(self, text: IO[str], *, is_strict: bool = False) -> Iterator[list[str]]:
        """Python's reader of the same format; its `line_num` is the number of lines read.

        Args:
            text: The file.
            is_strict: Whether a quote that is not closed is an error.
        """
        # Python's own limit is 128 KiB for a value.
        csv.field_size_limit(_LONGEST_VALUE)
        quote = self.parse.get("quote_char", '"')
        return csv.reader(
            text,
            delimiter=self.delimiter,
            quotechar=quote or None,
            quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
            doublequote=bool(self.parse.get("double_quote", True)),
            escapechar=self.parse.get("escape_char") or None,
            strict=is_strict,
        )


@dataclass(frozen=True)
class Header:
    """The names of the columns.

    Attributes:
        names: One for each column.
        lines: Number of lines up to the first row.
        renamed: Names that are not those in the file: `column_1` for a first column without a name.
    """

    names: tuple[str, ...]
    lines: int
    renamed: tuple[str, ...]


def read_header(source: Source, path: str, options: CsvOptions) -> Header | None:
    """The names in a file; None: they do not come from the file.

    Raises:
        InvalidRequestError: The file is no text of this encoding, is empty, or has another delimiter.
    """
    if not options.has_header:
        return None
    with source.open_text(path, options.encoding) as text:
        try:
            skipped = int(options.read.get("skip_rows", 0))
            for _ in range(skipped):
                next(text, "")
            rows = options.rows(text)
            names = next((row for row in rows if row), [])
            lines = skipped + rows.line_num  # type: ignore[attr-defined]
        except UnicodeError as error:
            raise not_decoded(source, path, options) from error
        except (OSError, EOFError, zlib.error, csv.Error) as error:
            raise errors.InvalidRequestError(
                f"{path} cannot be read as csv: {error}. A CSV file is text; with .gz at the end of its name it is "
                "compressed. Repair the file, or give it the name of its format"
            ) from error
    if len(names) == 1 and re.fullmatch("sep=.", names[0]):
        raise errors.InvalidRequestError(
            f"{path} cannot be read as csv: its first line is {names[0]!r}, by which Excel names the delimiter. The "
            f"first line names the columns. Say so: csv={{'delimiter': {names[0][-1]!r}, 'skip_rows': 1}} (--csv "
            f"delimiter='{names[0][-1]}' skip=1)"
        )
    if not names:
        raise errors.InvalidRequestError(
            f"{path} cannot be read as csv: it has no line. The first line of a CSV file names its columns. Give a "
            "file with rows, or remove it from the files"
        )
    if len(names) == 1 and "delimiter" not in options.parse:
        other = next((found for found in _DELIMITERS if found in names[0]), None)
        if other is not None:
            raise errors.InvalidRequestError(
                f"{path} cannot be read as csv: its first line has {names[0].count(other)} {other!r} and no ','. "
                f"Columns are separated by commas unless you say otherwise. {_option('delimiter', other)}"
            )
    taken, renamed = set(names), []
    twice = next((name for name, number in Counter(names).items() if name.strip() and number > 1), None)
    if twice is not None:
        raise errors.InvalidRequestError(
            f"{path} cannot be read as csv: its first line names two columns {twice!r}. Each column has its own name. "
            "Correct the line, or name all columns: csv={'column_names': [...], 'skip_rows': 1} (--csv names=a,b "
            "skip=1)"
        )
    for number, name in enumerate(names, 1):
        if not name.strip():
            names[number - 1] = f"column_{number}"
            while names[number - 1] in taken:
                names[number - 1] += "_"
            renamed.append(names[number - 1])
    return Header(tuple(names), lines, tuple(renamed))


def inspect(source: Source, path: str, options: CsvOptions, header: Header | None) -> pa.Schema:
    """The columns of a file, with the types of its first block.

    Args:
        source: Where the file is.
        path: The file.
        options: Of the files.
        header: Of the first file.
    """
    form = options.format(header, is_sample=True)
    with source.open(path) as file:
        # Not more: Arrow would read 32 blocks ahead.
        begin = file.read(2 * form.default_fragment_scan_options.read_options.block_size)
    # A copy that Python does not own: a thread of Arrow that frees it late would abort a process that ends.
    copy = pa.BufferOutputStream()
    copy.write(begin)
    return form.inspect(pa.BufferReader(copy.getvalue()))


class Numbers:
    """Reads columns of numbers as text first, and notes in which of them a number loses characters.

    Attributes:
        types: The types of the columns.
        lost: By column, the first text that loses a zero or a plus, and its number.
    """

    def __init__(self, inferred: pa.Schema, requested: Mapping[str, pa.DataType | None], options: CsvOptions) -> None:
        """Takes the columns of numbers whose type Arrow has inferred, and those of requested floating-point types.

        Arrow would read a number that is too large for a requested type as infinity.

        Args:
            inferred: The schema that Arrow has found.
            requested: Columns that the caller names, with the type that the caller gives, or None.
            options: Options of the files.
        """
        given = {name: kind for name, kind in requested.items() if kind is not None}
        self._floats = {name for name, kind in given.items() if pa.types.is_floating(kind)}
        self.types: dict[str, pa.DataType] = {
            found.name: pa.float64() if found.name in self._floats else found.type
            for found in inferred
            if found.name in self._floats or (found.name not in given and found.type in (pa.int64(), pa.float64()))
        }
        nulls = options.convert.get("null_values", arrow_csv.ConvertOptions().null_values)
        self._nulls = pa.array(nulls, pa.string())
        self._decimal_point = options.convert.get("decimal_point", ".")
        self.lost: dict[str, tuple[str, float]] = {}

    def convert(self, batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
        """The batch with numbers.

        Args:
            batch: As Arrow has read it.
            schema: Of the result.

        Raises:
            NotANumberError: A text is no number.
        """
        columns = [
            self._column(found, column) if found.name in self.types else column
            for found, column in zip(schema, batch.columns, strict=True)
        ]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def _column(self, found: pa.Field, column: pa.Array) -> pa.Array:
        texts = pc.utf8_trim_whitespace(column)
        is_null = pc.is_in(texts, value_set=self._nulls)
        if pc.any(is_null).as_py():
            texts = pc.if_else(is_null, pa.scalar(None, pa.string()), texts)
        is_float = pa.types.is_floating(found.type)
        has_points = is_float and self._decimal_point != "."
        if has_points:
            # If the decimal point is another character, a point separates thousands.
            pointed = pc.index(pc.match_substring(texts, "."), True).as_py()
            if pointed >= 0:
                raise NotANumberError(found, str(texts[pointed]))
        numbers = pc.replace_substring(texts, self._decimal_point, ".") if has_points else texts
        try:
            result = numbers.cast(found.type)
        except pa.ArrowInvalid as error:
            raise NotANumberError(found, _first_failure(numbers, texts, found.type)) from error
        if found.name in self._floats:
            too_large = pc.index(_are_too_large(numbers, result), True).as_py()
            if too_large >= 0:
                raise NotANumberError(found, str(texts[too_large]))
        elif found.name not in self.lost:
            loses = pc.match_substring_regex(numbers, _LOSES)
            if is_float:
                loses = pc.or_(loses, _loses_digits(numbers, result))
            first = pc.index(loses, True).as_py()
            if first >= 0:
                self.lost[found.name] = (str(texts[first]), result[first].as_py())
        return result


def _are_too_large(texts: pa.Array, numbers: pa.Array) -> pa.Array:
    return pc.and_not(pc.is_inf(numbers), pc.match_substring_regex(texts, "(?i)inf"))


def _loses_digits(texts: pa.Array, numbers: pa.Array) -> pa.Array:
    """Whether each text has digits that its floating-point number does not have, or is too large for one."""
    loses = pc.or_(_are_too_large(texts, numbers), pc.match_substring_regex(texts, "^-?[0-9]{38,}"))
    is_long = pc.and_(pc.greater_equal(pc.utf8_length(texts), _LONG_CHARACTERS), pc.match_substring_regex(texts, _LONG))
    if not pc.any(is_long).as_py():
        return loses
    # The shortest text of each number, without its exponent.
    kept = pc.if_else(is_long, numbers, None).cast(pa.string()).cast(_EXACT)
    written = pc.if_else(is_long, texts, None).cast(_EXACT)
    return pc.or_(loses, pc.fill_null(pc.not_equal(written, kept), False))


class NotANumberError(Exception):
    """A text in a column of numbers.

    Attributes:
        column: The field of the column.
        text: The text.
    """

    def __init__(self, column: pa.Field, text: str) -> None:
        """Takes the column and the text."""
        super().__init__(f"{text!r} is no {column.type}")
        self.column = column
        self.text = text


def _first_failure(numbers: pa.Array, texts: pa.Array, kind: pa.DataType) -> str:
    first, last = 0, len(numbers)
    while last - first > 1:
        middle = (first + last) // 2
        try:
            numbers.slice(first, middle - first).cast(kind)
            first = middle
        except pa.ArrowInvalid:
            last = middle
    return str(texts[first])


def explain(source: Source, paths: Sequence[str], options: CsvOptions, error: Exception) -> errors.InvalidRequestError:
    """An error of Arrow in the words of the file: which line and column, and what to do.

    Args:
        source: Where the files are.
        paths: The files.
        options: Of the files.
        error: Of Arrow, or of :class:`Numbers`.
    """
    text = str(error)
    if _UTF8.search(text):
        bad = next((path for path in paths if not _is_decoded(source, path, options)), paths[0])
        return not_decoded(source, bad, options)
    if isinstance(error, NotANumberError):
        return _not_of_type(source, paths, options, error.column.name, str(error.column.type), error.text)
    conversion = _CONVERSION.search(text)
    if conversion is not None:
        names = _names(source, paths[0], options, read_header(source, paths[0], options))
        number = int(conversion[1])
        name = names[number] if number < len(names) else f"number {number + 1}"
        return _not_of_type(source, paths, options, name, conversion[2], conversion[3])
    if "straddling object" in text:
        return errors.InvalidRequestError(
            f"{shown(paths)} cannot be read as csv: a line is longer than a block. A block has "
            f"{options.read.get('block_size', _BLOCK_BYTES):,} bytes unless you say otherwise. Give a larger one: "
            f"csv={{'block_size': {4 * _MOST_BLOCK_BYTES}}} (--csv block={4 * _MOST_BLOCK_BYTES})"
        )
    if "cannot infer number of columns" in text:
        return errors.InvalidRequestError(
            f"{shown(paths)} cannot be read as csv: a file has one line, without a line break. The first line "
            "names the columns, and a line break ends it. Add the rows, or remove the file from the files; if the "
            "line is a row, name the columns: csv={'column_names': [...]} (--csv names=a,b)"
        )
    if _COLUMNS.search(text):
        return _other_number_of_columns(source, paths, options, text)
    return errors.InvalidRequestError(
        f"{shown(paths)} cannot be read as csv: {text}. Every line has the columns of the first one. Repair the file, "
        "or say with csv= (--csv) how it is written"
    )


def not_decoded(source: Source, path: str, options: CsvOptions) -> errors.InvalidRequestError:
    """The error of a file that is no text of the encoding."""
    with source.open(path) as file:
        begin = file.read(4)
    if begin.startswith((b"\x1f\x8b", b"PK", b"BZ", b"\xd0\xcf\x11\xe0", b"PAR1", b"ARRO", b"\x28\xb5\x2f\xfd")):
        return errors.InvalidRequestError(
            f"{path} cannot be read as csv: it is compressed, or a workbook, or of another format. A CSV file is text; "
            "with .gz at the end of its name it is compressed by gzip. Give it the name of its format, or save it as "
            "CSV"
        )
    begin = begin[:2]
    given = str(options.read.get("encoding", "")).lower()
    encoding = "utf-16" if begin in (b"\xff\xfe", b"\xfe\xff") else "latin-1" if given == "cp1252" else "cp1252"
    expected = options.read.get("encoding", "UTF-8")
    return errors.InvalidRequestError(
        f"{path} cannot be read as csv: it is not {expected} text. Files are UTF-8 unless you say otherwise. "
        f"{_option('encoding', encoding)}, if it is of that encoding, or convert it to UTF-8"
    )


def ends_in_several_lines(batch: pa.RecordBatch) -> bool:
    """Whether the last row has a text with a line break."""
    last = batch.slice(max(0, batch.num_rows - 1)).to_pylist()
    return any("\n" in value for row in last for value in row.values() if isinstance(value, str))


def require_closed_quotes(source: Source, paths: Sequence[str], options: CsvOptions) -> None:
    """Reads the files once more, in Python.

    Raises:
        InvalidRequestError: A quote is open at the end of a file.
    """
    for path in paths:
        begin = 0
        with source.open_text(path, options.encoding) as text:
            rows = options.rows(text, is_strict=True)
            try:
                for _ in rows:
                    begin = rows.line_num  # type: ignore[attr-defined]
            except csv.Error as error:
                if "unexpected end of data" in str(error):
                    raise errors.InvalidRequestError(
                        f"{path} cannot be read as csv: a quote in line {begin + 1} or later is not closed. A text in "
                        "quotes ends with a quote, and may have line breaks. Repair the line, or say that quotes are "
                        "part of texts: csv={'quote_char': False} (--csv quote=)"
                    ) from error


def _is_decoded(source: Source, path: str, options: CsvOptions) -> bool:
    try:
        with source.open_text(path, options.encoding) as text:
            while text.read(1 << 20):
                pass
    except UnicodeError:
        return False
    return True


def _not_of_type(
    source: Source, paths: Sequence[str], options: CsvOptions, name: str, kind: str, value: str
) -> errors.InvalidRequestError:
    better = "string"
    with suppress(ValueError):
        is_kept = math.isfinite(float(value)) and not re.match(_LOSES_AS_FLOAT, value)
        better = "float64" if is_kept else "string"
    is_pointed = options.convert.get("decimal_point", ".") != "." and "." in value
    hint = " A number has no separators of thousands." if is_pointed or _THOUSANDS.fullmatch(value.strip()) else ""
    text = value if len(value) <= _SHOWN_CHARACTERS else value[:_SHOWN_CHARACTERS] + "…"
    where = ""
    for path, line, names, row in _lines(source, paths, options):
        found = row[names.index(name)] if name in names and len(row) > names.index(name) else None
        if found is not None and value in (found, found.strip()):
            where = f" in line {line} of {path}"
            break
    return errors.InvalidRequestError(
        f"{shown(paths)} cannot be read as csv: {text!r}{where} is no {kind}, which column {name!r} is by the begin "
        f"of the first file, or by schema=. A column has one type.{hint} Give a type that fits all rows, schema={{"
        f"{name!r}: {better!r}}} (--schema {name}={better}), or repair the line"
    )


def _other_number_of_columns(
    source: Source, paths: Sequence[str], options: CsvOptions, text: str
) -> errors.InvalidRequestError:
    where, guess = "", ""
    for path, line, names, row in _lines(source, paths, options):
        if row and len(row) != len(names):
            where = f"line {line} of {path} has {len(row)} columns, and the first line {len(names)}"
            both = options.delimiter.join(names), options.delimiter.join(row)
            other = next(
                (
                    found
                    for found in _DELIMITERS
                    if found != options.delimiter and both[0].count(found) == both[1].count(found) > 0
                ),
                None,
            )
            if other is not None:
                guess = f" Each of them has {both[0].count(other)} {other!r}: {_option('delimiter', other)}."
            break
    return errors.InvalidRequestError(
        f"{shown(paths)} cannot be read as csv: {where or text}. Every line has the columns of the first one.{guess} "
        "Repair the line, or say with csv= (--csv) how the file is written"
    )


def _lines(
    source: Source, paths: Sequence[str], options: CsvOptions
) -> Iterator[tuple[str, int, Sequence[str], list[str]]]:
    """Each row of each file with its line and the names of the columns, in Python: for errors."""
    for path in paths:
        with suppress(UnicodeError, csv.Error), source.open_text(path, options.encoding) as text:
            header = read_header(source, path, options)
            names = _names(source, path, options, header)
            before = int(options.read.get("skip_rows", 0)) if header is None else header.lines
            for _ in range(before):
                next(text, "")
            rows = options.rows(text)
            for row in rows:
                yield path, before + rows.line_num, names, row  # type: ignore[attr-defined]


def _names(source: Source, path: str, options: CsvOptions, header: Header | None) -> Sequence[str]:
    if header is not None:
        return header.names
    if options.read.get("column_names"):
        return list(options.read["column_names"])
    with source.open_text(path, options.encoding) as text:
        # The names that Arrow generates.
        return [f"f{number}" for number, _ in enumerate(next(options.rows(text), []))]


def _option(name: str, value: str) -> str:
    escaped = "\\t" if value == "\t" else value
    return f"Say so: csv={{{name!r}: {value!r}}} (--csv {name}='{escaped}')"
