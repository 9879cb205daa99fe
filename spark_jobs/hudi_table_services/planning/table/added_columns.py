"""Warn about columns that a write adds to a table, because new columns are permanent, and refuse the pandas index."""

import re
from collections.abc import Sequence

from hudi_table_services.contract.writing import SourceSpec
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.schema import DecimalType, Field, StructType, walk_fields
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.options.keys.writing import NULL_FOR_MISSING_COLUMNS
from hudi_table_services.planning.table.source_casts import cast_query, rows_of

_PANDAS_INDEX = re.compile(r"__index_level_\d+__")
_UNNAMED = re.compile(r"_c\d+")
_SHOWN_COLUMNS = 20
_NARROW_DIGITS, _WIDE_DIGITS = 10, 18
"""A decimal with fewer digits than the first number is narrow; the second number is the most that fits in 64 bits."""


def is_pandas_index(name: str) -> bool:
    """Whether pandas gives this name to the unnamed index of a DataFrame in a Parquet file."""
    return _PANDAS_INDEX.fullmatch(name) is not None


def warn_of_added_columns(
    table: StructType | None, written: StructType, source: SourceSpec | None
) -> tuple[str, ...]:
    """Return warnings about the columns and struct members that a write adds, and refuse the index of a DataFrame.

    Args:
        table: columns of the table; None before the first write, which defines the columns.
        written: columns of the written files.
        source: source of the rows; None if the caller passed a DataFrame.

    Raises:
        InvalidRequestError: the write adds a column with the name that pandas gives to the unnamed index.
    """
    added = fields_not_in(table, written)
    _refuse_index([name for name, _ in added], written, source)
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


def warn_of_narrow_decimals(
    written: StructType, version: TableVersion, source: SourceSpec | None
) -> tuple[str, ...]:
    """Return warnings about the narrow decimals of a new table in which decimals cannot become wider.

    In Parquet files, the number of digits often comes from the values: pandas and pyarrow use as few as possible. The
    function considers only Parquet files without a source query, because a query can choose the type.
    """
    if (
        version >= TableVersion.V8
        or source is None
        or source.sql is not None
        or source.format.lower() != "parquet"
    ):
        return ()
    narrow = {
        field.name: field.type
        for field in written.fields
        if isinstance(field.type, DecimalType) and field.type.precision < _NARROW_DIGITS
    }
    if not narrow:
        return ()
    casts = {name: f"DECIMAL({_WIDE_DIGITS},{kind.scale})" for name, kind in narrow.items()}
    named = ", ".join(f"{name!r} ({kind})" for name, kind in narrow.items())
    return (
        f"The new table stores {named} with as many digits as the file. Decimals in a table of version "
        f"{int(version)} cannot become wider. If later rows can have larger values, load the rows into a new table "
        f"with this source query (--source-sql): {cast_query(written.names, casts, rows=rows_of(source))}",
    )


def _refuse_index(added: Sequence[str], written: StructType, source: SourceSpec | None) -> None:
    indexes = [name for name in added if is_pandas_index(name)]
    if not indexes:
        return
    others = [name for name in written.names if name not in indexes]
    raise InvalidRequestError(
        f"The rows have a column {indexes[0]!r}, which is the index of a pandas DataFrame.",
        hint="Write the file with to_parquet(path, index=False), or leave out the column in the source query "
        f"(--source-sql): {cast_query(others, {}, rows=rows_of(source))}. If you need the values, give the column "
        "another name in the source query.",
    )


def _index_warning(name: str, source: SourceSpec | None) -> str:
    """Return a warning if the column is probably the index of a DataFrame in a CSV file; else an empty string."""
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
