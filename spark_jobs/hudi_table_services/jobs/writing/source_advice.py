"""Advice about columns that Spark reads as strings: numbers in CSV files, and dates and times in JSON files."""

from typing import TYPE_CHECKING

from hudi_table_services.contract.writing import SourceSpec, UpsertRequest
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.execution.sources.text_values import count_unread_texts, first_texts
from hudi_table_services.hudi_format.avro_schema import from_avro_json
from hudi_table_services.model.schema import STRING, StructType
from hudi_table_services.planning.table.source_casts import cast_query, sql_name
from hudi_table_services.planning.table.source_columns import (
    infers_types,
    misread_columns,
    with_advice_on_types,
)
from hudi_table_services.planning.table.time_texts import types_of_times, warn_of_time_texts
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def text_column_warnings(frame: "DataFrame", request: UpsertRequest, batch: StructType) -> tuple[str, ...]:
    """Return warnings about columns that become strings in a new table although their values have another type.

    In CSV files with inferred types, a few values that are not numbers turn a column into strings. In JSON files, dates
    and times are strings. The function examines only the first rows.
    """
    source = request.source
    if source is None or source.sql is not None:
        return ()
    cure = "load the rows"
    if not request.dry_run:
        cure = f"delete the folder of the table, {request.base_path}, and load the rows again"
    if source.format.lower() == "json":
        names = [field.name for field in batch.fields if field.type == STRING]
        return warn_of_time_texts(types_of_times(names, first_texts(frame, names)), batch.names, cure=cure)
    if source.format.lower() != "csv" or not infers_types(source):
        return ()
    texts = {field.name: "double" for field in batch.fields if field.type == STRING}
    return tuple(
        f"{each.sentence} In the new table, this column contains strings. To get a column of numbers, {cure} with "
        f"{each.null_option}, or with try_cast in the source query."
        for each in count_unread_texts(frame, texts)
        if 0 < each.unread_count < each.value_count / 2
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
    if unread := [each for each in found if each.unread_count]:
        same = len({each.example for each in unread}) == 1
        option = unread[0].null_option if same else "the source option nullValue"
        query = f"set {option} to read this text as null, or {query}"
    return InvalidRequestError(f"{refusal.message} {sentences}", hint=f"{query[:1].upper()}{query[1:]}")
