"""Read the rows of a table in this process: merged with the log files, or only from the base files."""

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from hudi_table_services.contract.text import similar_column
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.execution.arrow_schema import arrow_schema
from hudi_table_services.execution.base_file_reader import (
    KEPT_META_COLUMNS,
    columns_of,
    open_base_file,
    with_kept_meta,
)
from hudi_table_services.execution.log_merging.column_defaults import column_defaults
from hudi_table_services.execution.log_merging.merged_slice import open_merged_slice
from hudi_table_services.execution.log_merging.slice_reading import LogMerging
from hudi_table_services.hudi_format.avro_schema import from_avro_json
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.merging.merge_rule import MergeRule
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.storage.file_slices import visibility_of
from hudi_table_services.storage.stores.storage import Storage


def read_rows(
    storage: Storage, snapshot: TableSnapshot, rule: MergeRule | None, columns: Sequence[str] | None = None
) -> pa.Table:
    """Read all rows of a snapshot into memory.

    Args:
        rule: rule by which log files are merged; None to read only base files.
        columns: columns to read. None means all columns of the table after `KEPT_META_COLUMNS`.

    Raises:
        InvalidRequestError: the table has no such column.
        HudiTableServiceError: see `open_merged_slice`.
    """
    if not snapshot.schema_json:
        return pa.table({})
    schema = from_avro_json(snapshot.schema_json)
    data_schema = arrow_schema(schema, with_meta_fields=False)
    target = _target(data_schema, columns)
    merging = None
    if rule is not None:
        merging = LogMerging(
            rule=rule,
            visibility=visibility_of(snapshot),
            defaults=column_defaults(rule, snapshot.schema_json, schema),
        )
    tables = [
        rows
        for file_slice in snapshot.all_slices
        for rows in _rows_of(storage, file_slice, merging, data_schema, target)
    ]
    return pa.concat_tables(tables) if tables else target.empty_table()


def _target(data_schema: pa.Schema, columns: Iterable[str] | None) -> pa.Schema:
    whole = with_kept_meta(data_schema)
    if columns is None:
        return whole
    names = list(dict.fromkeys(columns))
    for name in names:
        if name not in whole.names:
            advice = similar_column(name, (*KEPT_META_COLUMNS, *data_schema.names))
            raise InvalidRequestError(f"The table has no column {name!r}.", hint=advice)
    return pa.schema([whole.field(name) for name in names])


def _rows_of(
    storage: Storage,
    file_slice: FileSlice,
    merging: LogMerging | None,
    data_schema: pa.Schema,
    target: pa.Schema,
) -> Iterator[pa.Table]:
    if merging is not None and file_slice.log_files:
        needed = merging.reading(data_schema, target.names).schema
        with open_merged_slice(storage, file_slice, merging, needed) as merged:
            for rows in merged.rows():
                yield rows.select(target.names)
    elif file_slice.base_file is not None and file_slice.base_file_path is not None:
        with open_base_file(storage, file_slice.base_file_path, file_slice.base_file.size_bytes) as base:
            yield from columns_of(base, target)
