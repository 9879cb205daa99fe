"""Derive the settings of a write from request, options and table, before any row is read."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hudi_table_services.contract.writing import SourceSpec, TimestampsWithoutZone
from hudi_table_services.errors import InvalidRequestError, UnsupportedTableError
from hudi_table_services.hudi_format.avro_schema import from_optional_avro_json
from hudi_table_services.model.key_generator import KeyGeneratorConfig
from hudi_table_services.model.schema import (
    DATE,
    DELETED_FLAG,
    META_COLUMNS,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Field,
    PrimitiveType,
    StructType,
)
from hudi_table_services.model.table_config import RecordMergeMode, TableConfig
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import WriteOperation
from hudi_table_services.options.base_files import BaseFileOptions
from hudi_table_services.options.keys.writing import ORDERING_FIELDS, TABLE_VERSION
from hudi_table_services.options.writing_values import WriteOptions
from hudi_table_services.planning.table.added_columns import (
    fields_not_in,
    warn_of_added_columns,
    warn_of_narrow_decimals,
)
from hudi_table_services.planning.table.missing_columns import filling_option
from hudi_table_services.planning.table.ordering_texts import explain_text_ordering, warn_of_numbers_as_text
from hudi_table_services.planning.table.schema_evolution import (
    ZONE_OPTION,
    evolve_schema,
)
from hudi_table_services.planning.table.source_casts import rows_of
from hudi_table_services.planning.table.source_columns import require_columns
from hudi_table_services.planning.table.time_partition_type import (
    check_time_partitions,
    stores_timestamp_type,
)
from hudi_table_services.planning.table.zoneless_timestamps import (
    ZonedColumns,
    warn_of_columns_without_zone,
    with_time_zones,
)

if TYPE_CHECKING:
    from hudi_table_services.execution.base_file_writer import BloomSettings
    from hudi_table_services.execution.parquet_format import ParquetFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteSettings:
    """Settings of one write.

    Attributes:
        staged_schema: columns of the staged rows: the writer schema or, for deletes, the columns of the batch.
        writer_schema: columns of the written files.
        combine_fields: columns that decide which row of the batch wins for a key. If empty, the key's last row wins.
        merge_fields: columns that are compared with stored rows. If empty, the incoming row wins.
        base_files: options of the written files; `parquet` and `bloom` derive from them.
        small_row_group_bytes: see `row_group_copies.row_group_choice`.
        zoned: columns of the batch, after timestamps without time zone became timestamps with time zone.
        schema_warnings: sentences about columns of the table that get another type, and about added columns.
        table_warnings: a sentence about an option that an existing table makes ineffective, and about each kind of
            column in a new table that some readers or later writes cannot use.
        filled: columns of the table, and members of its structs, that the rows lack, with their paths. The write stores
            null in them.
        uses_session_zone: whether timestamps without time zone are times in Spark's session time zone; otherwise they
            are times in UTC.
    """

    operation: WriteOperation
    key_generator: KeyGeneratorConfig
    staged_schema: StructType
    writer_schema: StructType
    combine_fields: tuple[str, ...]
    merge_fields: tuple[str, ...]
    merge_mode: RecordMergeMode
    base_files: BaseFileOptions
    small_row_group_bytes: int
    zoned: ZonedColumns
    uses_session_zone: bool
    schema_warnings: tuple[str, ...] = ()
    table_warnings: tuple[str, ...] = ()
    filled: tuple[tuple[str, Field], ...] = ()

    @property
    def parquet(self) -> "ParquetFormat":
        """Encoding of the written files. Needs pyarrow, which a process that only checks a write may lack."""
        from hudi_table_services.jobs.writing.file_settings import parquet_format

        return parquet_format(self.base_files)

    @property
    def bloom(self) -> "BloomSettings":
        """Bloom filter of the written files. Needs pyarrow."""
        from hudi_table_services.jobs.writing.file_settings import bloom_settings

        return bloom_settings(self.base_files)

    @property
    def warnings(self) -> tuple[str, ...]:
        """A sentence about each change that the request did not choose: columns, their types, and time zones."""
        paths, verb = self.zoned.paths, "stored"
        if self.operation is WriteOperation.DELETE:
            keys = _key_columns(self.key_generator)
            paths, verb = tuple(path for path in paths if path.split(".")[0] in keys), "read"
        if not paths or self.zoned.is_chosen:
            return (*self.schema_warnings, *self.table_warnings)
        return (
            *self.schema_warnings,
            *self.table_warnings,
            f"Timestamps without time zone are {verb} as times in UTC: {', '.join(paths)}. To choose, set "
            "timestamps_without_zone (--timestamps-without-zone) to utc, session or refuse.",
        )

    @property
    def honours_deleted_flag(self) -> bool:
        """Whether the batch has Hudi's soft-delete column."""
        return DELETED_FLAG in self.staged_schema.names


def derive_settings(
    options: WriteOptions,
    config: TableConfig | None,
    table_schema_json: str | None,
    key_generator: KeyGeneratorConfig,
    batch_schema: StructType,
    source: SourceSpec | None = None,
) -> WriteSettings:
    """Derive the settings, after checking that options, table and columns of the batch agree.

    Args:
        source: source of the batch, for advice in errors; None if the caller passed a DataFrame.

    Raises:
        InvalidRequestError: options, table and batch contradict each other; the message names the column or key.
        UnsupportedTableError: the table uses a custom payload class or merger.
    """
    batch = StructType(tuple(f for f in batch_schema.fields if f.name not in META_COLUMNS))
    table = from_optional_avro_json(table_schema_json)
    zoned = with_time_zones(batch, table, _version(options, config), options.timestamps_without_zone)
    batch = zoned.schema
    ordering_fields, merge_mode = merge_settings(options, config)
    deletes = options.operation is WriteOperation.DELETE
    _refuse_nested_ordering(ordering_fields)
    if options.operation is not WriteOperation.DELETE_PARTITION:
        fields, times = () if deletes else ordering_fields, _times(batch) if config is None else ()
        require_columns(batch.names, key_generator, fields, source, deletes=deletes, times=times)
    if deletes and table is not None:
        _refuse_keys_without_zone(batch, table, key_generator)
    writer_schema = _writer_schema(options, config, table, batch, ordering_fields, rows_of(source))
    staged_schema = _columns_in(writer_schema, batch) if deletes else writer_schema
    if options.operation is not WriteOperation.DELETE_PARTITION:
        check_time_partitions(
            key_generator,
            batch=batch_schema,
            table=table,
            staged=staged_schema,
            is_stored=stores_timestamp_type(config),
        )
    combine_fields = tuple(f for f in ordering_fields if f in batch.names)
    by_event_time = merge_mode is RecordMergeMode.EVENT_TIME_ORDERING and not deletes
    _check_deleted_flag(batch)
    return WriteSettings(
        operation=options.operation,
        key_generator=key_generator,
        staged_schema=staged_schema,
        writer_schema=writer_schema,
        combine_fields=combine_fields,
        merge_fields=ordering_fields if by_event_time else (),
        merge_mode=merge_mode,
        base_files=options.base_files,
        small_row_group_bytes=options.small_row_group_bytes,
        zoned=zoned,
        schema_warnings=_schema_warnings(
            table, batch, writer_schema, source, () if deletes else combine_fields
        ),
        table_warnings=_table_warnings(options, config, writer_schema, source),
        filled=_filled(options, table, batch),
        uses_session_zone=options.timestamps_without_zone is TimestampsWithoutZone.SESSION,
    )


def _times(batch: StructType) -> tuple[str, ...]:
    """Return the names of the columns with dates or times."""
    return tuple(field.name for field in batch.fields if field.type in (DATE, TIMESTAMP, TIMESTAMP_NTZ))


def _check_deleted_flag(batch: StructType) -> None:
    """Refuse rows whose column that marks deletes is not boolean."""
    flag = batch.find(DELETED_FLAG)
    if flag is not None and flag.type != PrimitiveType("boolean"):
        raise InvalidRequestError(
            f"Column {DELETED_FLAG} is of type {flag.type}, but must be boolean: it marks deletes."
        )


def _writer_schema(
    options: WriteOptions,
    config: TableConfig | None,
    table: StructType | None,
    batch: StructType,
    ordering_fields: tuple[str, ...],
    rows: str,
) -> StructType:
    """Columns of the written files. A delete does not change the columns of the table."""
    deletes = options.operation in (WriteOperation.DELETE, WriteOperation.DELETE_PARTITION)
    if table is not None and deletes:
        return table
    fill = bool(filling_option(options.hoodie_options))
    version = _version(options, config)
    try:
        return evolve_schema(table, batch, table_version=version, fill_missing_with_null=fill, rows=rows)
    except InvalidRequestError as refusal:
        raise explain_text_ordering(refusal, table, ordering_fields) from refusal


def _filled(
    options: WriteOptions, table: StructType | None, batch: StructType
) -> tuple[tuple[str, Field], ...]:
    """Return the columns of the table that the rows lack, without the column that marks deletes."""
    if table is None or options.operation in (WriteOperation.DELETE, WriteOperation.DELETE_PARTITION):
        return ()
    return tuple((path, field) for path, field in fields_not_in(batch, table) if path != DELETED_FLAG)


def _schema_warnings(
    table: StructType | None,
    batch: StructType,
    writer_schema: StructType,
    source: SourceSpec | None,
    ordering_fields: tuple[str, ...],
) -> tuple[str, ...]:
    return (
        *_widened(table, writer_schema),
        *warn_of_added_columns(table, writer_schema, source),
        *warn_of_numbers_as_text(table, batch, ordering_fields),
    )


def _widened(table: StructType | None, writer_schema: StructType) -> tuple[str, ...]:
    stored = table.fields if table is not None else ()
    pairs = ((field, writer_schema.find(field.name)) for field in stored)
    return tuple(
        f"Column {old.name!r} changes from {old.type} to {new.type}, because of the type in the rows. The change is "
        f"permanent: later writes also store this column as {new.type}, unless this write is rolled back."
        for old, new in pairs
        if new is not None and new.type != old.type and isinstance(old.type, PrimitiveType)
    )


def _table_warnings(
    options: WriteOptions, config: TableConfig | None, writer_schema: StructType, source: SourceSpec | None
) -> tuple[str, ...]:
    """Return warnings about a version that an existing table does not have, or about the columns of a new table.

    Some readers or later writes cannot use these columns. A request that chooses how to store timestamps gets no
    warning about them.
    """
    if config is not None:
        return _ignored_version(options, config)
    narrow = warn_of_narrow_decimals(writer_schema, options.new_table_version, source)
    if options.timestamps_without_zone is not None:
        return narrow
    return (*warn_of_columns_without_zone(writer_schema), *narrow)


def _ignored_version(options: WriteOptions, config: TableConfig) -> tuple[str, ...]:
    given = options.hoodie_options.get(TABLE_VERSION.key)
    if given is None or given.strip() == str(int(config.table_version)):
        return ()
    return (
        f"{TABLE_VERSION}={given} has no effect, because the table exists and has version {int(config.table_version)}. "
        "A write does not change the version of a table.",
    )


def _version(options: WriteOptions, config: TableConfig | None) -> TableVersion:
    return options.new_table_version if config is None else config.table_version


def _columns_in(table: StructType, batch: StructType) -> StructType:
    """Columns that batch and table share. They have the table's types, on which the record keys depend."""
    return StructType(tuple(f for f in table.fields if f.name in batch.names))


def merge_settings(
    options: WriteOptions, config: TableConfig | None
) -> tuple[tuple[str, ...], RecordMergeMode]:
    """Return ordering fields and merge mode: from the table, else from the request, else as Hudi infers them."""
    if config is None:
        ordering = options.ordering_fields
        inferred = RecordMergeMode.EVENT_TIME_ORDERING if ordering else RecordMergeMode.COMMIT_TIME_ORDERING
        mode = options.record_merge_mode or inferred
    else:
        ordering = config.ordering_fields or options.ordering_fields
        mode = config.record_merge_mode
        if options.ordering_fields and options.ordering_fields != ordering:
            raise InvalidRequestError(
                f"The ordering fields of the table are {', '.join(ordering)}, but those of the request are "
                f"{', '.join(options.ordering_fields)}.",
                hint="Remove the ordering field from the request, or set it to the ordering field of the table.",
            )
        if options.record_merge_mode not in (None, mode):
            raise InvalidRequestError(
                f"The table merges by {mode.value}, but the request sets hoodie.record.merge.mode="
                f"{options.record_merge_mode.value if options.record_merge_mode else None}."
            )
    if mode is RecordMergeMode.CUSTOM:
        raise UnsupportedTableError(
            "The table merges records with a custom payload class or merger (merge mode CUSTOM).",
            hint="Only EVENT_TIME_ORDERING and COMMIT_TIME_ORDERING are supported; write the table with Hudi.",
        )
    if mode is RecordMergeMode.EVENT_TIME_ORDERING and not ordering and config is None:
        raise InvalidRequestError(
            "hoodie.record.merge.mode=EVENT_TIME_ORDERING needs an ordering field.",
            hint=f"Set --ordering-field ({ORDERING_FIELDS}).",
        )
    return ordering, mode


def _refuse_nested_ordering(ordering_fields: tuple[str, ...]) -> None:
    for name in ordering_fields:
        if "." in name:
            raise UnsupportedTableError(
                f"The ordering field {name!r} is nested in another column, which this release does not compare.",
                hint="Order by a top-level column, or write the table with Hudi.",
            )


def _key_columns(key_generator: KeyGeneratorConfig) -> frozenset[str]:
    """Top-level columns of record keys and partition paths."""
    partition_fields = (field.name for field in key_generator.partition_fields)
    return frozenset(name.split(".")[0] for name in (*key_generator.record_key_fields, *partition_fields))


def _refuse_keys_without_zone(
    batch: StructType, table: StructType, key_generator: KeyGeneratorConfig
) -> None:
    """Refuse a delete whose key columns have no time zone although the table's key columns have one.

    No other check refuses such a delete.
    """
    for name in sorted(_key_columns(key_generator)):
        given, stored = batch.find(name), table.find(name)
        if given and stored and (given.type, stored.type) == (TIMESTAMP_NTZ, TIMESTAMP):
            raise InvalidRequestError(
                f"Column {name!r} is {stored.type} in the table and {given.type} in the rows, so the time zone of the "
                "keys is not known.",
                hint=f"Set {ZONE_OPTION}=utc or {ZONE_OPTION}=session.",
            )
