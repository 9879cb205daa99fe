"""Warn about columns that a write adds to a table: new columns are permanent, and few users want the pandas index."""

import re
from collections.abc import Sequence

from hudi_table_services.contract.writing import SourceSpec
from hudi_table_services.model.schema import Field, StructType, walk_fields
from hudi_table_services.options.keys.writing import NULL_FOR_MISSING_COLUMNS

_PANDAS_INDEX = re.compile(r"__index_level_\d+__")
_UNNAMED = re.compile(r"_c\d+")
_SHOWN_COLUMNS = 20


def is_pandas_index(name: str) -> bool:
    """Whether pandas gives this name to the unnamed index of a DataFrame in a Parquet file."""
    return _PANDAS_INDEX.fullmatch(name) is not None


def warn_of_added_columns(
    table: StructType | None, written: StructType, source: SourceSpec | None
) -> tuple[str, ...]:
    """Return warnings about the columns and struct members that a write adds.

    Args:
        table: columns of the table; None before the first write, which defines the columns.
        written: columns of the written files.
        source: source of the rows; None if the caller passed a DataFrame.
    """
    added = fields_not_in(table, written)
    sentences = [_index_warning(name, source) for name, _ in added]
    if table is not None and added:
        sentences.append(_permanent(added))
    return tuple(each for each in sentences if each)


def fields_not_in(known: StructType | None, columns: StructType) -> list[tuple[str, Field]]:
    """Return the columns and members that `known` lacks, with their paths, without the members of such structs."""
    paths_of_known = {path for path, _ in walk_fields(known)} if known is not None else set()
    found = [(path, field) for path, field in walk_fields(columns) if path not in paths_of_known]
    paths = {path for path, _ in found}
    return [(path, field) for path, field in found if path.rpartition(".")[0] not in paths]


def _permanent(added: Sequence[tuple[str, Field]]) -> str:
    shown = named_columns(added)
    noun, them = ("a column", "it") if len(added) == 1 else ("columns", "them")
    return (
        f"The rows have {noun} that the table does not have: {shown}. The commit adds {them} permanently: "
        f"later writes also need {them}, or {NULL_FOR_MISSING_COLUMNS.key}=true, which replaces stored values by null, "
        "unless this write is rolled back."
    )


def named_columns(columns: Sequence[tuple[str, Field]]) -> str:
    """Return the paths of some columns with their types, as a list in a sentence."""
    shown = ", ".join(f"{path!r} ({field.type})" for path, field in columns[:_SHOWN_COLUMNS])
    more = f" and {len(columns) - _SHOWN_COLUMNS} more" if len(columns) > _SHOWN_COLUMNS else ""
    return f"{shown}{more}"


def _index_warning(name: str, source: SourceSpec | None) -> str:
    """Return a warning if the column is probably the index of a pandas DataFrame; else an empty string."""
    if is_pandas_index(name):
        return (
            f"The column {name!r} is the index of a pandas DataFrame. To leave it out, write the file with "
            "to_parquet(path, index=False)."
        )
    if _has_header(source) and _UNNAMED.fullmatch(name):
        return (
            f"The column {name!r} has no name in the header of the CSV file, such as the index of a pandas DataFrame. "
            "To leave it out, write the file with to_csv(path, index=False)."
        )
    return ""


def _has_header(source: SourceSpec | None) -> bool:
    if source is None or source.format.lower() != "csv":
        return False
    return any(name.lower() == "header" and value.lower() == "true" for name, value in source.options.items())
