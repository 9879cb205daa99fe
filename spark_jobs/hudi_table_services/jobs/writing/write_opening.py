"""Derive the settings of a write from the request, the table and the columns of the batch."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from hudi_table_services.contract.writing import SourceSpec
from hudi_table_services.hudi_format.avro_schema import from_optional_avro_json
from hudi_table_services.jobs.writing.write_settings import WriteSettings, derive_settings, merge_settings
from hudi_table_services.model.key_generator import KeyGeneratorConfig
from hudi_table_services.model.schema import StructType
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.write_stat import WriteOperation
from hudi_table_services.options.writing_values import WriteOptions
from hudi_table_services.planning.table.key_generator import (
    TABLE_VERSION_OPTION,
    depends_on_existing_key,
    key_generator_config,
    partition_columns_of_times,
)
from hudi_table_services.planning.table.source_casts import refuse_repeated_columns
from hudi_table_services.planning.table.source_columns import require_columns
from hudi_table_services.planning.table.time_partition_type import (
    gives_timestamp_type,
    refuse_untimed_column,
    stores_timestamp_type,
    with_timestamp_type,
)
from hudi_table_services.planning.table.untyped_columns import with_accepted_types, without_formatted_times
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot


def open_write(
    storage: Storage,
    options: WriteOptions,
    config: TableConfig | None,
    batch: StructType,
    source: SourceSpec | None = None,
    untyped: Collection[str] = (),
) -> tuple[WriteSettings, str | None]:
    """Return the settings of a write, and the schema of the table as Avro JSON (None for a new table).

    Args:
        config: properties of the table; None if the write creates the table.
        batch: columns of the rows to write.
        source: source of the rows, for advice in errors.
        untyped: names of the columns of the batch whose types are not known; their types in `batch` have no effect. The
            function checks these columns only by name.

    Raises:
        InvalidRequestError: options, table and batch contradict each other; the message names the column or key.
        UnsupportedTableError: the table has a key generator or merger that this release does not support.
        CorruptTableError, StorageError: the table cannot be read.
    """
    refuse_repeated_columns(batch, source)
    _require_time_columns(storage, options, config, batch.names, source)
    _refuse_untimed_columns(options, config, batch, source, untyped)
    schema_json = load_snapshot(storage, ()).schema_json if config else None
    if not untyped:
        key_generator = _key_generator(storage, options, config, batch)
        return derive_settings(options, config, schema_json, key_generator, batch, source), schema_json
    times = {name.split(".")[0] for name in partition_columns_of_times(config, options.hoodie_options)}
    has_untyped_times = not times.isdisjoint(untyped)
    key_generator = _key_generator(storage, options, config, None if has_untyped_times else batch)
    checked = without_formatted_times(key_generator) if has_untyped_times else key_generator
    batch = with_accepted_types(batch, untyped, from_optional_avro_json(schema_json))
    settings = derive_settings(options, config, schema_json, checked, batch, source)
    return replace(settings, key_generator=key_generator), schema_json


def check_column_names(
    storage: Storage,
    options: WriteOptions,
    config: TableConfig | None,
    names: Sequence[str],
    source: SourceSpec | None,
) -> KeyGeneratorConfig:
    """Refuse a source whose columns lack a record key, partition or ordering field; return the key generator.

    Raises the errors of `open_write`.
    """
    deletes = options.operation is WriteOperation.DELETE
    ordering_fields, _ = merge_settings(options, config)
    key_generator = _key_generator(storage, options, config, None)
    require_columns(names, key_generator, () if deletes else ordering_fields, source, deletes=deletes)
    return key_generator


def _require_time_columns(
    storage: Storage,
    options: WriteOptions,
    config: TableConfig | None,
    names: Sequence[str],
    source: SourceSpec | None,
) -> None:
    """Refuse rows without a partition column of times. Without this check, errors would be about the column's type."""
    if options.operation is WriteOperation.DELETE_PARTITION:
        return
    times = partition_columns_of_times(config, options.hoodie_options)
    if any(name.split(".")[0] not in names for name in times):
        check_column_names(storage, options, config, names, source)


def _refuse_untimed_columns(
    options: WriteOptions,
    config: TableConfig | None,
    batch: StructType,
    source: SourceSpec | None,
    untyped: Collection[str],
) -> None:
    """Refuse a unit of time of strings or numbers if neither the table nor the request gives their meaning."""
    if stores_timestamp_type(config) or gives_timestamp_type(options.hoodie_options):
        return
    for name in partition_columns_of_times(config, options.hoodie_options):
        column = batch.find(name)
        if column is not None and name not in untyped:
            refuse_untimed_column(column, batch.names, source)


def _key_generator(
    storage: Storage, options: WriteOptions, config: TableConfig | None, batch: StructType | None
) -> KeyGeneratorConfig:
    hoodie_options = with_timestamp_type(options.hoodie_options, config, batch)
    existing_key: str | None = None
    if config is None:
        hoodie_options.setdefault(TABLE_VERSION_OPTION, str(int(options.new_table_version)))
    elif depends_on_existing_key(config, hoodie_options):
        # Reads a base file, and so needs pyarrow, which a process that only checks a write may lack.
        from hudi_table_services.execution.writing.file_samples import any_record_key

        snapshot = load_snapshot(storage, metadata_enable=options.metadata.enable)
        existing_key = any_record_key(storage, snapshot)
    return key_generator_config(config, hoodie_options, existing_key=existing_key)
