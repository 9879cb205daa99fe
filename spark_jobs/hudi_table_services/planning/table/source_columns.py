"""Check that the columns of a source include the columns that a write needs, and advise the user if they do not."""

import difflib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from hudi_table_services.contract.writing import SourceSpec
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.key_generator import KeyGeneratorConfig
from hudi_table_services.model.schema import (
    STRING,
    DataType,
    DecimalType,
    PrimitiveType,
    StructType,
    is_legal_name,
)
from hudi_table_services.options.keys.time_partitions import PATH_FORMATS

_SHOWN_COLUMNS = 20
_VIEW = re.compile(r"\bsource\b", re.IGNORECASE)
_FORMATS = ("parquet", "csv", "json", "orc", "avro", "text", "xml", "delta", "jdbc")
_CSV_OPTIONS = (
    *(
        "header",
        "sep",
        "delimiter",
        "quote",
        "escape",
        "inferSchema",
        "nullValue",
        "emptyValue",
        "encoding",
        "charset",
    ),
    *(
        "comment",
        "mode",
        "multiLine",
        "lineSep",
        "dateFormat",
        "timestampFormat",
        "timestampNTZFormat",
        "locale",
    ),
    *("ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace", "enforceSchema", "samplingRatio", "preferDate"),
    *(
        "nanValue",
        "positiveInf",
        "negativeInf",
        "maxColumns",
        "maxCharsPerColumn",
        "columnNameOfCorruptRecord",
    ),
    *(
        "unescapedQuoteHandling",
        "charToEscapeQuoteEscaping",
        "compression",
        "codec",
        "enableDateTimeParsingFallback",
    ),
    *("pathGlobFilter", "recursiveFileLookup", "modifiedBefore", "modifiedAfter", "ignoreCorruptFiles"),
    *("ignoreMissingFiles", "basePath"),
)
_FILE_FLAGS = frozenset({"recursivefilelookup", "ignorecorruptfiles", "ignoremissingfiles"})
_READER_FLAGS: Mapping[str, frozenset[str]] = {
    "csv": _FILE_FLAGS
    | {
        "header",
        "inferschema",
        "multiline",
        "enforceschema",
        "preferdate",
        "ignoreleadingwhitespace",
        "ignoretrailingwhitespace",
        "enabledatetimeparsingfallback",
    },
    "json": _FILE_FLAGS | {"multiline", "primitivesasstring", "enabledatetimeparsingfallback"},
    "parquet": _FILE_FLAGS | {"mergeschema"},
}
"""Maps formats to options, in lower case, for which Spark's reader accepts only ``true`` and ``false``, in any case."""
_VALUE = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?|\d{4}-\d\d-\d\d([T ].*)?")
"""Matches numbers, dates and times."""
_SEPARATORS = {";": ";", "\t": "\\t", "|": "|"}
"""Maps separators of CSV files to their names in Spark's option ``sep``."""
_SPREADSHEETS = frozenset({"excel", "xls", "xlsx"})
_CLOSE = 0.8
"""Minimum similarity of a misspelled name to the right name, as difflib computes it."""


@dataclass(frozen=True, slots=True)
class MissingPartitionColumn:
    """Names a partition column that a source lacks. The error has this object as `evidence`."""

    column: str


def refuse_misspelled(source: SourceSpec) -> None:
    """Refuse a format, or an option for CSV files, if its name is unknown but differs little from a known name.

    Spark reports an unknown format only after its start, and ignores unknown options without a message.

    Raises:
        InvalidRequestError: a name is probably misspelled; the message contains the known name. Or the format is that
            of a spreadsheet.
    """
    name = source.format.lower()
    if name in _SPREADSHEETS:
        raise InvalidRequestError(
            f"Spark cannot read the source format {source.format!r}.",
            hint="Convert the file to CSV or Parquet. If your Spark has a package that reads this format, add "
            "--no-source-check.",
        )
    if name not in _FORMATS and (meant := _similar(name, _FORMATS)):
        raise InvalidRequestError(
            f"Unknown source format {source.format!r}.", hint=f"Did you mean {meant!r}?"
        )
    if name != "csv":
        return
    known = {option.lower(): option for option in _CSV_OPTIONS}
    for option in source.options:
        if option.lower() not in known and (meant := _similar(option.lower(), tuple(known))):
            raise InvalidRequestError(
                f"Spark's reader of CSV files has no option {option!r}.",
                hint=f"Did you mean {known[meant]!r}?",
            )


def refuse_invalid_flags(source: SourceSpec) -> None:
    """Refuse an option of Spark's reader that must be true or false, if it has another value.

    Raises:
        InvalidRequestError: the message names the option and its value.
    """
    flags = _READER_FLAGS.get(source.format.lower(), frozenset())
    for name, value in source.options.items():
        if name.lower() in flags and value.lower() not in ("true", "false"):
            raise InvalidRequestError(
                f"The source option {name} is {value!r}, but Spark accepts only true or false.",
                hint=f"Set {name}=true or {name}=false.",
            )


def refuse_query_without_view(source: SourceSpec) -> None:
    """Refuse a source query that does not contain the name of the view with the rows of the source.

    Raises:
        InvalidRequestError: the query cannot read the rows of the source.
    """
    if source.sql is None or _VIEW.search(source.sql):
        return
    raise InvalidRequestError(
        f"The source query (--source-sql) does not read the source: {source.sql!r:.100}.",
        hint="The rows of the source are in the view `source`: write SELECT … FROM source. If the query is to read "
        "only other tables, add --no-source-check.",
    )


def _similar(name: str, known: Sequence[str]) -> str:
    """Return the known name with the same letters, or else the most similar one; an empty string if none is similar."""
    swapped = next((each for each in known if sorted(each) == sorted(name)), "")
    return swapped or next(iter(difflib.get_close_matches(name, known, n=1, cutoff=_CLOSE)), "")


def require_columns(
    names: Sequence[str],
    key_generator: KeyGeneratorConfig,
    ordering_fields: Sequence[str],
    source: SourceSpec | None,
    *,
    deletes: bool = False,
    times: Sequence[str] = (),
) -> None:
    """Refuse a source that lacks a record key, partition or ordering field.

    Args:
        names: names of the source's columns. The comparison is case-sensitive.
        source: the source, for the advice; None if the caller passed a DataFrame.
        deletes: whether the rows are keys to delete.
        times: names of the columns with dates or times, if the write creates the table; see `advice_on_unit_of_time`.

    Raises:
        InvalidRequestError: a column is missing; the message names the source, the column and its role. If it is a
            partition column, the error has a `MissingPartitionColumn` as `evidence`.
    """
    wanted: Mapping[str, Sequence[str]] = {
        "record key": key_generator.record_key_fields,
        "partition": tuple(field.name for field in key_generator.partition_fields),
        "ordering": ordering_fields,
    }
    for role, fields in wanted.items():
        for name in fields:
            if name.split(".")[0] not in names:
                missing = MissingPartitionColumn(name) if role == "partition" else None
                advice = missing and advice_on_unit_of_time(missing, names, times)
                advice = advice or _advice(name.split(".")[0], names, source)
                if deletes and role == "partition":
                    advice = (
                        f"A delete also needs the partition of each row: add {name!r} to the source. {advice}"
                    )
                raise InvalidRequestError(
                    f"{_described(source)} has no column {name!r}, which is the {role} field.",
                    hint=advice,
                    evidence=missing,
                )


def advice_on_unit_of_time(
    missing: object, names: Sequence[str], times: Sequence[str], source: SourceSpec | None = None
) -> str:
    """Return how to partition a new table by a unit of time, if the missing partition column has the name of a unit.

    Args:
        missing: evidence of an error of `require_columns`.
        names: names of the source's columns.
        times: names of the columns with dates or times.
        source: a source whose columns are possibly strings; None if the types of the columns are known.

    Returns:
        Advice that names the columns in `times`. An empty string if there are none, if the evidence is about something
        else, or if the source has a column with the name of the unit in another case.
    """
    unit = missing.column.lower() if isinstance(missing, MissingPartitionColumn) else ""
    times = [name for name in times if is_legal_name(name)]
    if unit not in PATH_FORMATS or not times or unit in (name.lower() for name in names):
        return ""
    if len(times) == 1:
        proposed = f"To partition the table by the {unit} of the column {times[0]!r}, set --partition-by="
        return f"{proposed}{times[0]}:{unit}.{condition_on_text(times[0], source)} {_shown(names)}"
    proposed = f"To partition the table by the {unit} of one of the columns {', '.join(map(repr, times))}, add the unit"
    example = f"{times[0]}:{unit}.{condition_on_text(times[0], source)}"
    return f"{proposed} to its name, as in --partition-by={example} {_shown(names)}"


def condition_on_text(name: str, source: SourceSpec | None) -> str:
    """Return a sentence on how to convert a column of strings to times; empty if the column cannot contain strings."""
    match source.format.lower() if source is not None else "":
        case "csv" if source is not None and not infers_types(source):
            return " The column is a string, so also set the source option inferSchema=true."
        case "json":
            return f" The column is a string, so also use CAST({name} AS TIMESTAMP) in the source query."
    return ""


def misread_columns(source: SourceSpec, texts: Collection[str], table: StructType) -> dict[str, DataType]:
    """Return the columns that are strings in a CSV source, but numbers, times or other simple values in the table.

    Args:
        texts: names of the source's string columns.
        table: columns of the table.

    Returns:
        Maps the name of each column to its type in the table.
    """
    if source.format.lower() != "csv" or source.sql is not None:
        return {}
    return {
        field.name: field.type
        for field in table.fields
        if field.name in texts
        and isinstance(field.type, PrimitiveType | DecimalType)
        and field.type != STRING
    }


def infers_types(source: SourceSpec) -> bool:
    """Whether Spark infers the types of a CSV source. If False, each column of the source is a string."""
    return any(
        name.lower() == "inferschema" and value.lower() == "true" for name, value in source.options.items()
    )


def advice_on_types(source: SourceSpec) -> str:
    """Return a sentence about the option that makes Spark infer types, after a space; empty if it is set."""
    if infers_types(source):
        return ""
    return " Also set the source option inferSchema=true, because otherwise every column is text."


def with_advice_on_types(refusal: InvalidRequestError) -> InvalidRequestError:
    """Add the advice to infer types to an error about a CSV source. Use it only if Spark did not infer the types."""
    return InvalidRequestError(
        refusal.message,
        hint="Every column of a CSV file is a string unless the source option inferSchema=true is set.",
    )


def _described(source: SourceSpec | None) -> str:
    """Return the subject of a sentence about the columns of a source."""
    if source is None or not source.path:
        return "The source"
    return f"The source query on {source.path!r}" if source.sql is not None else f"The source {source.path!r}"


def _shown(names: Sequence[str]) -> str:
    """Return a sentence with the names of a source's columns."""
    shown = ", ".join(names[:_SHOWN_COLUMNS])
    if len(names) > _SHOWN_COLUMNS:
        shown += f" and {len(names) - _SHOWN_COLUMNS} more"
    return f"The columns of the source are: {shown}."


def _advice(missing: str, names: Sequence[str], source: SourceSpec | None) -> str:
    found = _shown(names)
    if (
        source is not None
        and source.format.lower() == "csv"
        and (advice := advice_on_first_line(names, source))
    ):
        return advice
    if source is not None and _has_generated_names(source, names):
        return (
            f"{found} Spark generated these names, because it reads CSV files without a header by default. If the "
            "first line of each file contains the names, set the source option header=true. If the files have no "
            f"header, {_query_with_names(missing, source)}"
        )
    by_lower_case = {name.lower(): name for name in names}
    close = difflib.get_close_matches(missing.lower(), by_lower_case, n=1)
    if source is not None and not close and _has_values_as_names(source, names):
        return (
            f"{found} These names look like values. If the files have no header, remove the source option header=true, "
            f"and {_query_with_names(missing, source)}"
        )
    if source is not None and tuple(names) == ("_corrupt_record",):
        return (
            "No line of the source is a JSON document. If the files are CSV files, set --source-format=csv. If a "
            "document extends over several lines, set the source option multiLine=true."
        )
    if missing.lower() in by_lower_case:
        return f"The source has {by_lower_case[missing.lower()]!r}; only the case differs."
    return f"Did you mean {by_lower_case[close[0]]!r}? {found}" if close else found


def advice_on_first_line(values: Sequence[str], source: SourceSpec) -> str:
    """Return advice if the first line of a CSV file looks like JSON, or has another separator than the source.

    The result is empty if the line looks like neither.

    Args:
        values: the values of the line, as Spark separates them.
    """
    if values and values[0].lstrip().startswith(('{"', "[{")):
        return "The source looks like JSON. Set --source-format=json."
    found = [name for separator, name in _SEPARATORS.items() if len(values) == 1 and separator in values[0]]
    if not found:
        return ""
    options = {name.lower(): value for name, value in source.options.items()}
    has_header = options.get("header", "false").lower() == "true"
    header = ""
    if not has_header:
        names = " If the first line contains the names of the columns, also set --source-option header=true."
        header = f"{names}{advice_on_types(source)}"
    return (
        f"The first line of the source is {values[0]!r}. To separate its values, set --source-option sep='{found[0]}'."
        f"{header}"
    )


def _query_with_names(missing: str, source: SourceSpec) -> str:
    query = f"SELECT _c0 AS {missing}, … FROM source"  # noqa: S608 - an example, not a query of this program
    return f"name the columns in a source query (--source-sql), as in {query}.{advice_on_types(source)}"


def _has_generated_names(source: SourceSpec, names: Sequence[str]) -> bool:
    return source.format.lower() == "csv" and list(names) == [
        f"_c{position}" for position in range(len(names))
    ]


def _has_values_as_names(source: SourceSpec, names: Sequence[str]) -> bool:
    """Whether some names of a CSV source are numbers or dates, or at least half of the names begin like these."""
    numbers = sum(1 for name in names if name.lstrip("+-")[:1].isdigit())
    has_values = any(_VALUE.fullmatch(name) for name in names) or numbers * 2 >= max(len(names), 1)
    return source.format.lower() == "csv" and has_values
