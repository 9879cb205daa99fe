"""Advice about columns to which Spark gives another type than the user means.

Such columns are strings with numbers in CSV files, strings with times in JSON files, and columns of nulls without a
type in Parquet files.
"""

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hudi_table_services.contract.writing import SourceSpec, UpsertRequest
from hudi_table_services.errors import HudiTableServiceError, InvalidRequestError
from hudi_table_services.execution.sources.parquet_footer import read_parquet_footer
from hudi_table_services.execution.sources.text_values import count_unread_texts, first_texts
from hudi_table_services.hudi_format.avro_schema import from_avro_json, from_optional_avro_json
from hudi_table_services.model.schema import INT, STRING, DecimalType, PrimitiveType, StructType
from hudi_table_services.planning.table.ordering_texts import warn_of_ordering_texts
from hudi_table_services.planning.table.schema_evolution import TypeConflict
from hudi_table_services.planning.table.source_casts import can_be_cast, cast_query, rows_of, sql_name
from hudi_table_services.planning.table.source_columns import (
    infers_types,
    misread_columns,
    with_advice_on_types,
)
from hudi_table_services.planning.table.time_texts import types_of_times, warn_of_time_texts
from hudi_table_services.storage.source_files import first_source_files
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LOG = logging.getLogger(__name__)
_EXAMPLE = "TIMESTAMP"
_FORMAT_OPTIONS = {
    "date": "dateFormat",
    "timestamp": "timestampFormat",
    "timestamp_ntz": "timestampNTZFormat",
}
"""Maps types in Spark SQL to options of Spark's CSV reader with the form of the texts of this type."""


def null_column_warnings(
    request: UpsertRequest, batch: StructType, table_schema_json: str | None
) -> tuple[str, ...]:
    """Return a warning if the write adds columns that contain only nulls and have no type in the first Parquet file."""
    table = from_optional_avro_json(table_schema_json)
    stored = table.names if table is not None else ()
    added = [field.name for field in batch.fields if field.type == INT and field.name not in stored]
    if request.operation.lower().startswith("delete") or not (names := _untyped_nulls(request, added)):
        return ()
    query = cast_query(batch.names, dict.fromkeys(names, _EXAMPLE), rows=rows_of(request.source))
    one = len(names) == 1
    return (
        f"The {'column' if one else 'columns'} {', '.join(map(repr, names))} {_only_nulls(one)}; the table stores "
        f"{'it' if one else 'them'} as int, which a later write can change only to a wider number or to text. Give "
        f"{'its type' if one else 'their types'} in the source query (--source-sql), for example: {query}",
    )


def explain_null_columns(
    refusal: InvalidRequestError, request: UpsertRequest, batch: StructType, storage: Storage
) -> InvalidRequestError:
    """Return the refusal with a query, if a column contains only nulls and has no type in the first Parquet file.

    Returns:
        A new error, or the refusal itself if it is not about such a column.
    """
    table = from_optional_avro_json(load_snapshot(storage, ()).schema_json)
    if table is None:
        return refusal
    given = [field.name for field in batch.fields if field.type == INT and table.find(field.name)]
    types = {name: table.field(name).type for name in _untyped_nulls(request, given)}
    casts = {
        name: sql_name(kind).upper()
        for name, kind in types.items()
        if isinstance(kind, PrimitiveType | DecimalType) and not can_be_cast(kind, INT)
    }
    conflict = refusal.evidence
    if not isinstance(conflict, TypeConflict) or conflict.column not in casts:
        return refusal
    # Spark casts strings to every simple type, but integers for example not to dates.
    texts = cast_query(batch.names, dict.fromkeys(casts, "STRING"), rows=rows_of(request.source))
    query = cast_query(batch.names, casts, rows=f"({texts})")
    return InvalidRequestError(
        f"{refusal.message} Column {conflict.column!r} {_only_nulls(True)}.",
        hint=f"Give this source query (--source-sql): {query}",
    )


def _only_nulls(one: bool) -> str:
    return (
        "contains only nulls and has no type in the file"
        if one
        else "contain only nulls and have no type in the file"
    )


def _untyped_nulls(request: UpsertRequest, names: Sequence[str]) -> list[str]:
    """Return those of the names that are columns without a type in the first file of a Parquet source."""
    source = request.source
    if source is None or source.format.lower() != "parquet" or not source.path or not names:
        return []
    try:
        footer = read_parquet_footer(first_source_files(source.path, request.storage_options)[0])
    except (HudiTableServiceError, OSError) as error:
        _LOG.debug("The footer of the first source file was not read: %s", error)
        return []
    return [name for name in names if name in footer.untyped_nulls]


def text_column_warnings(
    frame: "DataFrame", request: UpsertRequest, batch: StructType, ordering_fields: Sequence[str]
) -> tuple[str, ...]:
    """Return warnings about columns that become strings in a new table although their values have another type.

    In CSV files with inferred types, a few values that are not numbers turn a column into strings. Without inferred
    types, all columns are strings, which is important for ordering fields. In JSON files, dates and times are strings.
    The function examines only the first rows.
    """
    source = request.source
    cure = "load the rows"
    if not request.dry_run:
        cure = f"delete the folder of the table, {request.base_path}, if it exists, and load the rows again"
    if source is not None and source.format.lower() == "csv" and not infers_types(source):
        names = [
            field.name for field in batch.fields if field.name in ordering_fields and field.type == STRING
        ]
        first = first_texts(frame, names)
        values = {name: [row[position] for row in first] for position, name in enumerate(names)}
        ordering = warn_of_ordering_texts(
            names, values, batch.names, base_path=request.base_path, rows=rows_of(source)
        )
        return ordering or _all_columns_are_texts(source, batch, cure)
    if source is None or source.sql is not None:
        return ()
    if source.format.lower() == "json":
        names = [field.name for field in batch.fields if field.type == STRING]
        return warn_of_time_texts(types_of_times(names, first_texts(frame, names)), batch.names, cure=cure)
    if source.format.lower() != "csv":
        return ()
    texts = {field.name: "double" for field in batch.fields if field.type == STRING}
    return tuple(
        f"{each.sentence} In the new table, this column contains strings. To get a column of numbers, {cure} with "
        f"{each.null_option}, or with try_cast in the source query."
        for each in count_unread_texts(frame, texts)
        if 0 < each.unread_count < each.value_count / 2
    )


def _all_columns_are_texts(source: SourceSpec, batch: StructType, cure: str) -> tuple[str, ...]:
    """Return a warning if all columns of a new table are strings, and the request does not say so."""
    is_chosen = source.sql is not None or any(name.lower() == "inferschema" for name in source.options)
    if is_chosen or any(field.type != STRING for field in batch.fields):
        return ()
    return (
        "All columns of the new table are strings, because the source option inferSchema is not set. To get numbers "
        f"and times, {cure} with --source-option inferSchema=true. If you want strings, set inferSchema=false.",
    )


def explain_text_columns(
    refusal: InvalidRequestError, frame: "DataFrame", source: SourceSpec | None, storage: Storage
) -> InvalidRequestError:
    """Return the refusal with advice if columns are strings in a CSV source but not in the table.

    Args:
        frame: rows of the source.
        storage: storage of the table.

    Returns:
        A new error, or the refusal itself if there is no such column.
    """
    schema_json = load_snapshot(storage, ()).schema_json
    if source is None or not schema_json:
        return refusal
    texts = {name for name, type_name in frame.dtypes if type_name == "string"}
    misread = misread_columns(source, texts, from_avro_json(schema_json))
    if not misread:
        return refusal
    if not infers_types(source):
        return with_advice_on_types(refusal)
    casts = {name: sql_name(kind) for name, kind in misread.items()}
    found = count_unread_texts(frame, casts)
    sentences = " ".join(each.sentence for each in found)
    query = f"give this source query (--source-sql): {cast_query(frame.columns, casts, function='TRY_CAST')}"
    in_other_form = [each for each in found if each.unread_count and each.type_name in _FORMAT_OPTIONS]
    if in_other_form and all(2 * each.unread_count >= each.value_count for each in in_other_form):
        option = _FORMAT_OPTIONS[in_other_form[0].type_name]
        example = "dd.MM.yyyy" if option == "dateFormat" else "'dd.MM.yyyy HH:mm'"
        query = f"set the source option {option} to the form of these texts, such as {option}={example}"
    elif unread := [each for each in found if each.unread_count]:
        same = len({each.example for each in unread}) == 1
        option = unread[0].null_option if same else "the source option nullValue"
        query = f"set {option} to read this text as null, or {query}"
    return InvalidRequestError(f"{refusal.message} {sentences}", hint=f"{query[:1].upper()}{query[1:]}")
