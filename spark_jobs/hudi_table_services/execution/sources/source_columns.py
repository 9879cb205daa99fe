"""Read the columns of a source without Spark: from the footer of a Parquet file, or the first line of a CSV file.

The functions return columns only if Spark would read the same columns. If Spark's result depends on settings, or on
rows that the functions do not read, the functions return the reason instead. A small file of JSON lines is read
completely.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hudi_table_services.contract.writing import SourceSpec
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.execution.sources.json_files import check_json, first_json_values
from hudi_table_services.execution.sources.parquet_footer import ParquetFooter, read_parquet_footer
from hudi_table_services.execution.sources.text_files import (
    COMPRESSED,
    LINE_BREAK,
    READ_BYTES,
    read_start,
    refuse_other_encoding,
)
from hudi_table_services.model.schema import STRING, Field, StructType
from hudi_table_services.storage.source_files import SourceFile

_FILTERS = {"pathglobfilter", "modifiedbefore", "modifiedafter", "recursivefilelookup", "basepath"}
"""Options, in lower case, that change which files or partition columns Spark reads."""
_CSV_OPTIONS = {"header", "sep", "delimiter", "quote", "inferschema", "nullvalue", "emptyvalue", "mode"}
_CSV_OPTIONS |= {
    "dateformat",
    "timestampformat",
    "timestampntzformat",
    "preferdate",
    "samplingratio",
    "locale",
}
"""Options of CSV files, in lower case. This module knows their effect on the columns."""
_SAMPLED_ROWS = 100
_SHOWN_CHARACTERS = 60
_PLAIN_CSV = {"header", "sep", "delimiter", "inferschema"}
_UNREAD_JSON = "only a single JSON file without reader options is read completely before Spark starts"
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
_DATE = re.compile(r"\d{4}-\d\d-\d\d\Z")


@dataclass(frozen=True, slots=True)
class TextRows:
    """Facts about the rows of a CSV file that was read completely.

    Attributes:
        uri: address of the file, for messages.
        row_count: number of rows.
        empty_counts: maps each column to its number of empty values, which Spark reads as null.
    """

    uri: str
    row_count: int
    empty_counts: Mapping[str, int]

    def null_counts(self, names: Iterable[str]) -> dict[str, int]:
        """Return how many rows have no value in a column; the result leaves out columns that the file lacks."""
        return {name: self.empty_counts[name] for name in names if name in self.empty_counts}


@dataclass(frozen=True, slots=True)
class SourceColumns:
    """Columns of a source.

    Attributes:
        names: names of all columns, with the spelling of the source.
        types: those columns whose types are known, with their types as Spark reads them; None if only names are known.
        reason: why the types of some or all columns are not known; empty if all types are known.
        times: columns that contain timestamps, as the footer of a Parquet file or the first row of a text file shows.
        dates: columns that contain dates without a time of day, as the first row of a text file shows.
        footer: the footer of the file; None if the file is not a Parquet file.
        first_row: values of the first line of a CSV file that Spark reads without a header; else empty.
        warning: a sentence about names that occur several times in the header of a CSV file; else empty.
        text_rows: facts about the rows of a small CSV file; None for other files.
        texts: maps each column of a CSV file whose types Spark does not infer to its first values, without nulls.
        has_no_rows: whether the footers of all files of the source show that it has no rows.
    """

    names: tuple[str, ...]
    types: StructType | None
    reason: str = field(default="", compare=False)
    times: tuple[str, ...] = field(default=(), compare=False)
    dates: tuple[str, ...] = field(default=(), compare=False)
    footer: ParquetFooter | None = field(default=None, compare=False)
    first_row: tuple[str, ...] = field(default=(), compare=False)
    warning: str = field(default="", compare=False)
    text_rows: TextRows | None = field(default=None, compare=False)
    texts: Mapping[str, Sequence[str]] = field(default_factory=dict, compare=False)
    has_no_rows: bool = field(default=False, compare=False)

    @property
    def untyped(self) -> tuple[str, ...]:
        """Names of the columns whose types are not known."""
        typed = self.types.names if self.types is not None else ()
        return tuple(name for name in self.names if name not in typed)


def chooses_files(source: SourceSpec) -> bool:
    """Whether reader options choose among the files of the source, so that Spark can leave out the first file."""
    return not _FILTERS.isdisjoint(name.lower() for name in source.options)


def read_source_columns(source: SourceSpec, file: SourceFile) -> SourceColumns | None:
    """Return the columns that Spark will find; None if they are not known. Raise the errors of `columns_or_reason`."""
    found = columns_or_reason(source, file)
    return found if isinstance(found, SourceColumns) else None


def columns_or_reason(
    source: SourceSpec, file: SourceFile, *, is_only_file: bool = False
) -> SourceColumns | str:
    """Return the columns that Spark will find, or the reason why they are not known without Spark.

    Args:
        file: a file of the source.
        is_only_file: whether the source has no other file.

    Raises:
        InvalidRequestError: the file does not have the format of the source.
        StorageError: the file cannot be read.
    """
    options = {name.lower(): value for name, value in source.options.items()}
    found: SourceColumns | str = f"only Spark reads the columns of the format {source.format}"
    match source.format.lower():
        case "parquet" if options.get("mergeschema", "false").lower() == "true":
            found = "the option mergeSchema combines the columns of all files"
        case "parquet":
            found = _parquet_columns(file)
        case "csv" if unknown := sorted(options.keys() - _CSV_OPTIONS):
            found = f"the effect of the options {', '.join(unknown)} is not known without Spark"
        case "csv":
            found = _csv_columns(options, file, is_only_file=is_only_file)
            if isinstance(found, SourceColumns) and is_only_file:
                found = replace(found, text_rows=_text_rows(options, file, found.names))
        case "json":
            check_json(options, file)
            found = _json_columns(file) if is_only_file and not options else _UNREAD_JSON
    if isinstance(found, str) or not file.partition_columns:
        return found
    return _with_partition_columns(found, file.partition_columns)


def _parquet_columns(file: SourceFile) -> SourceColumns:
    footer = read_parquet_footer(file)
    columns = SourceColumns(footer.names, footer.types, times=footer.times, footer=footer)
    unknown = ", ".join(columns.untyped)
    return replace(
        columns, reason=f"only Spark knows the types of these columns: {unknown}" if unknown else ""
    )


def _with_partition_columns(found: SourceColumns, added: Sequence[str]) -> SourceColumns:
    """Add the columns in the names of folders. Such a column replaces the column of the file with the same name.

    Two names that differ only in case count as the same name.
    """
    by_lower_case = {name.lower(): name for name in added}
    names = tuple(by_lower_case.pop(name.lower(), name) for name in found.names)
    reason, types = found.reason, found.types
    if types is not None:
        types = StructType(
            tuple(each for each in types.fields if each.name in names and each.name not in added)
        )
        inferred = f"Spark infers the types of the columns in the names of folders: {', '.join(added)}"
        reason = f"{reason}; {inferred}" if reason else inferred
    return replace(
        found,
        names=(*names, *by_lower_case.values()),
        types=types,
        reason=reason,
        footer=found.footer if len(by_lower_case) == len(added) else None,
        text_rows=None,
    )


def _csv_columns(options: Mapping[str, str], file: SourceFile, *, is_only_file: bool) -> SourceColumns | str:
    separator, quote = options.get("sep", options.get("delimiter", ",")), options.get("quote", '"')
    if len(separator) != 1 or len(quote) != 1:
        return "the separator or the quote of the CSV file is not a single character"
    if not file.stored.size_bytes:
        if not is_only_file:
            return f"{file.uri} is empty"
        raise InvalidRequestError(
            f"The source file {file.uri} is empty.",
            hint="Check the step that wrote the file. If the file may be empty, leave it out of the source.",
        )
    start = read_start(file)
    refuse_other_encoding(start, file)
    lines = start.lines(1 + _SAMPLED_ROWS)
    if not lines:
        return f"the first line of {file.uri} is empty, too long, or compressed by another codec than gzip"
    if lines[0].startswith("\ufeff") or quote * 2 in lines[0]:
        return f"the first line of {file.uri} has a byte order mark or repeated quotes"
    _refuse_line_breaks(lines, separator, quote, file)
    # Each line is parsed alone, because with the options of `_CSV_OPTIONS`, a value contains no line break.
    names, *rows = (_values(line, separator, quote) for line in lines)
    first_row: tuple[str, ...] = ()
    if options.get("header", "false").lower() != "true":
        first_row = names
        names, rows = tuple(f"_c{position}" for position in range(len(names))), [names, *rows]
    if not names:
        return f"the first line of {file.uri} has no column"
    warning = _warning_of_repeated(names, file)
    names = _renamed(names, options.get("nullvalue", ""))
    if len({name.lower() for name in names}) < len(names):
        return "Spark gives an unnamed column the name of another column"
    first_values = dict(zip(names, rows[0], strict=False)) if rows else {}
    columns = SourceColumns(
        names,
        types=None,
        times=_columns_of(_TIME, first_values),
        dates=_columns_of(_DATE, first_values),
        first_row=first_row,
        warning=warning,
    )
    if options.get("inferschema", "false").lower() == "true":
        return replace(columns, reason="the option inferSchema is set")
    # Without inferred types, every column of a CSV file is a string.
    types = StructType(tuple(Field(name, STRING, nullable=True) for name in names))
    texts = _texts(names, rows, options.get("nullvalue", ""))
    return replace(columns, types=types, texts=texts)


def _refuse_line_breaks(lines: Sequence[str], separator: str, quote: str, file: SourceFile) -> None:
    """Refuse a value in quotes that begins on one line and ends on another, which Spark would read as two rows.

    Lines with a backslash are not checked, because Spark treats it as an escape character.
    """
    for number, line in enumerate(lines):
        if quote not in line or "\\" in line or not _ends_in_value(line, separator, quote):
            continue
        try:
            next(csv.reader(iter(lines[number:]), delimiter=separator, quotechar=quote, strict=True))
        except csv.Error:
            continue
        raise InvalidRequestError(
            f"The source file {file.uri} has a value in quotes with a line break: {line[:_SHOWN_CHARACTERS]!r}. Spark "
            "reads each line as a row.",
            hint="Set the source option multiLine=true. If the quote is a part of the value, set the source option "
            "quote to another character.",
        )


def _ends_in_value(line: str, separator: str, quote: str) -> bool:
    """Whether a value in quotes begins on this line and does not end on it."""
    try:
        next(csv.reader([line], delimiter=separator, quotechar=quote, strict=True), None)
    except csv.Error as error:
        return "unexpected end" in str(error)
    return False


def _values(line: str, separator: str, quote: str) -> tuple[str, ...]:
    """Return the values of a line; none if the line has a value that Python's reader refuses as too long."""
    try:
        return tuple(next(csv.reader([line], delimiter=separator, quotechar=quote), ()))
    except csv.Error:
        return ()


def _texts(
    names: Sequence[str], rows: Iterable[Sequence[str]], null_value: str
) -> Mapping[str, Sequence[str]]:
    """Map each column to its values in some rows, without the values that Spark reads as null."""
    found: dict[str, list[str]] = {name: [] for name in names}
    for row in rows:
        for name, value in zip(names, row, strict=False):
            if value not in ("", null_value):
                found[name].append(value)
    return found


def _text_rows(options: Mapping[str, str], file: SourceFile, names: Sequence[str]) -> TextRows | None:
    """Return facts about the rows of a CSV file with a header; None unless the file is small and plain.

    In a plain file, every line has a value for each column, no line has quotes or backslashes, and no option changes
    the values that Spark reads as null.
    """
    is_small = file.stored.size_bytes < READ_BYTES and not file.stored.path.lower().endswith(COMPRESSED)
    if not is_small or not options.keys() <= _PLAIN_CSV or options.get("header", "").lower() != "true":
        return None
    try:
        with file.storage.open_reader(file.stored.path) as stream:
            text = stream.read(READ_BYTES).decode()
    except UnicodeDecodeError:
        return None
    if '"' in text or "\\" in text:
        return None
    separator = options.get("sep", options.get("delimiter", ","))
    # Spark ends a line at \n, \r\n or \r, and ignores lines of white space.
    lines = [line for line in LINE_BREAK.split(text) if line.strip()]
    rows = [line.split(separator) for line in lines[1:]]
    if any(len(row) != len(names) for row in rows):
        return None
    counts = {name: sum(not row[position] for row in rows) for position, name in enumerate(names)}
    return TextRows(file.uri, len(rows), counts)


def _renamed(names: Sequence[str], null_value: str) -> tuple[str, ...]:
    """Return the names that Spark gives to the columns of a CSV file with a header (CSVUtils.makeSafeHeader).

    An empty name, or a name that equals `null_value`, becomes ``_c<position>``. If several names are equal or differ
    only in case, each of them gets its position as a suffix. Names that equal `null_value` are compared, too.
    """
    count = Counter(name.lower() for name in names)
    return tuple(
        f"_c{position}"
        if name in ("", null_value)
        else f"{name}{position}"
        if count[name.lower()] > 1
        else name
        for position, name in enumerate(names)
    )


def _warning_of_repeated(names: Sequence[str], file: SourceFile) -> str:
    """Return a sentence about the first name that occurs several times, in any case; empty if there is none."""
    positions: dict[str, list[int]] = {}
    for position, name in enumerate(names):
        positions.setdefault(name.lower(), []).append(position)
    repeated = next((found for name, found in positions.items() if name and len(found) > 1), None)
    if repeated is None:
        return ""
    made = " and ".join(f"{names[position]}{position}" for position in repeated)
    return (
        f"The header of {file.uri} contains the column name {names[repeated[0]]!r} {len(repeated)} times. Spark names "
        f"these columns {made}. To choose other names, correct the header, or name the columns in a source query "
        "(--source-sql)."
    )


def _columns_of(pattern: re.Pattern[str], row: Mapping[str, object]) -> tuple[str, ...]:
    """Return the names of the columns whose value in this row is a string that begins as the pattern says."""
    return tuple(name for name, value in row.items() if isinstance(value, str) and pattern.match(value))


def _json_columns(file: SourceFile) -> SourceColumns | str:
    """Return the names of all members of the JSON objects in a file, or a reason as `first_json_values` does."""
    first_values = first_json_values(file)
    if isinstance(first_values, str):
        return first_values
    return SourceColumns(
        tuple(first_values),
        types=None,
        reason="Spark infers the types of JSON values",
        times=_columns_of(_TIME, first_values),
        dates=_columns_of(_DATE, first_values),
    )
