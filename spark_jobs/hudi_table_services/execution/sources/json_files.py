"""Check that Spark can read the documents of a JSON file, and read the members of small files."""

import json
from collections.abc import Mapping

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.execution.sources.objects_of_columns import is_object_of_columns
from hudi_table_services.execution.sources.text_files import (
    BYTE_ORDER_MARK,
    COMPRESSED,
    LINE_BREAK,
    READ_BYTES,
    read_start,
    refuse_other_encoding,
)
from hudi_table_services.storage.source_files import SourceFile

_LINE_OPTIONS = {
    "mode",
    "dateformat",
    "timestampformat",
    "timestampntzformat",
    "primitivesasstring",
    "samplingratio",
}
"""Options of JSON files, in lower case. If no other options are set, each line of a file must be a document."""
_BRACKETS = {"{": "}", "[": "]"}
_SHOWN_CHARACTERS = 60


def first_json_values(file: SourceFile) -> dict[str, object] | str:
    """Return the first value of each member if the file is small and each of its lines is a JSON object, or a reason.

    The result contains all names that Spark finds, and can contain names that Spark drops because all their values are
    empty objects.
    """
    name = file.stored.path.lower()
    if file.stored.size_bytes >= READ_BYTES or name.endswith(COMPRESSED):
        return f"the file {file.uri} is compressed, or has {READ_BYTES >> 20} MiB or more"
    first_values: dict[str, object] = {}
    try:
        with file.storage.open_reader(file.stored.path) as stream:
            text = stream.read(READ_BYTES).decode().removeprefix(BYTE_ORDER_MARK)
        for line in LINE_BREAK.split(text):
            document = json.loads(line) if line.strip() else {}
            if not isinstance(document, dict):
                return f"a line of {file.uri} is not a JSON object"
            for name_of_value, value in document.items():
                first_values.setdefault(name_of_value, value)
    except (ValueError, RecursionError):  # Spark accepts some documents that Python refuses
        return f"a line of {file.uri} is not a JSON document according to the standard"
    return first_values


def check_json(options: Mapping[str, str], file: SourceFile) -> None:
    """Refuse a file with a JSON object of columns, or whose first line is only a part of a JSON document.

    An example of the second case is a formatted list. Spark accepts some documents that Python refuses, such as
    documents with single quotes. So the function checks only the first and the last character of the first line, and
    only with options under which Spark would also refuse such a line.

    Args:
        options: options of Spark's reader, with names in lower case.

    Raises:
        InvalidRequestError: the file has one of these two forms, or a binary format, or is damaged.
    """
    start = read_start(file).without_byte_order_mark()
    if is_object_of_columns(start.text, is_cut=start.is_cut):
        raise InvalidRequestError(
            f"The source file {file.uri} contains one JSON object with the values of each column, as to_json of pandas "
            "writes it by default. Spark needs one JSON object for each row.",
            hint='Write the file with df.to_json(path, orient="records", lines=True).',
        )
    if not options.keys() <= _LINE_OPTIONS or options.get("mode", "").lower() == "dropmalformed":
        return
    refuse_other_encoding(start, file)
    line = next(iter(start.lines(1)), "{}").strip()
    if line[0] not in _BRACKETS or not line.endswith(_BRACKETS[line[0]]) or len(line) == 1:
        raise InvalidRequestError(
            f"The first line of the source file {file.uri} is not a JSON document: {line[:_SHOWN_CHARACTERS]!r}.",
            hint=_advice(line),
        )


def _advice(line: str) -> str:
    multiple_lines = (
        "Spark reads one JSON document from each line. If a document extends over several lines, set the source option "
        "multiLine=true."
    )
    if line[0] in _BRACKETS or not any(separator in line for separator in ",;\t|"):
        return multiple_lines
    return (
        "The line looks like CSV. Set --source-format=csv and the source option inferSchema=true and, if the line "
        "contains the names of the columns, the source option header=true."
    )
