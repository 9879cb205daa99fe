"""Read CSV files as RFC 4180 defines them, and refuse lines of CSV and JSON files that Spark cannot parse.

By default, Spark reads such lines as rows with nulls.
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from hudi_table_services.contract.writing import SourceSpec
from hudi_table_services.errors import InvalidDataError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_CORRUPT = "_corrupt_record"
"""Column that Spark adds to the rows of JSON files if it cannot parse a line (spark.sql.columnNameOfCorruptRecord)."""
_PERMISSIVE_OPTIONS = frozenset({"mode", "columnnameofcorruptrecord"})
_QUOTE_OPTIONS = frozenset({"escape", "quote", "chartoescapequoteescaping"})
_CSV_RECORD = re.compile(
    r"\[MALFORMED_CSV_RECORD\] Malformed CSV record: (.*?)(?:\s*SQLSTATE: \w+)?$", re.MULTILINE
)
_MARK = "MALFORMED_RECORD_IN_PARSING"
_FILE = re.compile(r"Encountered error while reading file (\S+?)\.\s")
_SHOWN_CHARACTERS = 200
_OTHER_MODES = (
    "To leave out such lines, set the source option mode=DROPMALFORMED; to read missing values as null and drop "
    "surplus values, set mode=PERMISSIVE."
)


def strict_options(source: SourceSpec) -> Mapping[str, str]:
    """Return the reader options of a source, with stricter defaults for CSV files than those of Spark.

    Without an option for malformed lines, each malformed line is an error. Without an option for quotes, two quotes in
    a value in quotes mean one quote, as in RFC 4180 and in the files of pandas; Spark's own default is a backslash.
    """
    if source.format.lower() != "csv":
        return source.options
    options = dict(source.options)
    if not _chooses_mode(source):
        options["mode"] = "FAILFAST"
    if _QUOTE_OPTIONS.isdisjoint(name.lower() for name in options):
        options["escape"] = '"'
    return options


def refuse_corrupt_documents(frame: "DataFrame", source: SourceSpec) -> None:
    """Refuse a JSON source with lines that are no JSON documents, unless the request has an option for such lines.

    Raises:
        InvalidDataError: Spark cannot parse a line; the message contains the line.
    """
    if source.format.lower() != "json" or _chooses_mode(source) or _CORRUPT not in frame.columns:
        return
    if frame.columns == [_CORRUPT]:
        return  # no line is a document; the check of the columns explains why
    found = frame.where(f"{_CORRUPT} IS NOT NULL").limit(1).collect()
    if found:  # otherwise, the documents themselves have a member with this name
        raise InvalidDataError(
            f"A line of the source {source.path!r} is not a JSON document: {_shown(found[0][_CORRUPT])}.",
            hint="Correct the line. If a document extends over several lines, set the source option multiLine=true. "
            + _OTHER_MODES,
        )


def malformed_record_error(error: Exception) -> InvalidDataError | None:
    """Return the error about a malformed record of a source; None if Spark raised the error for another reason."""
    text = str(error)
    record, file = _CSV_RECORD.search(text), _FILE.search(text)
    if record is None and _MARK not in text:
        return None
    where = f" in the file {file[1]}" if file is not None else ""
    if record is None:
        return InvalidDataError(
            f"Spark cannot parse a record of the source{where}.", hint=f"Correct the record. {_OTHER_MODES}"
        )
    return InvalidDataError(
        f"A line of a CSV file does not have as many values as the file has columns{where}: {_shown(record[1])}.",
        hint="Correct the line. If a value in quotes contains a line break, set the source option multiLine=true. "
        "If the file has a backslash before each quote in a value, set the source option escape to a backslash. "
        + _OTHER_MODES,
    )


def _chooses_mode(source: SourceSpec) -> bool:
    return not _PERMISSIVE_OPTIONS.isdisjoint(name.lower() for name in source.options)


def _shown(line: str) -> str:
    return repr(line if len(line) <= _SHOWN_CHARACTERS else f"{line[:_SHOWN_CHARACTERS]}…")
