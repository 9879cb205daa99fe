"""Derive the encoding and the names of log files from the options, the table and the columns of the batch."""

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.execution.log_files.delete_content import DeleteOrdering
from hudi_table_services.execution.log_merging.slice_reading import LogMerging
from hudi_table_services.execution.writing.log_writing import LogSettings
from hudi_table_services.execution.writing.task_assignment import LogTargets
from hudi_table_services.hudi_format.avro_schema import from_optional_avro_json
from hudi_table_services.hudi_format.log_blocks import BlockType
from hudi_table_services.hudi_format.ordering_values import wrapper_of
from hudi_table_services.jobs.writing.table_access import table_rule
from hudi_table_services.jobs.writing.write_settings import WriteSettings
from hudi_table_services.model.file_group import FileSlice, LogTarget
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import WriteOperation
from hudi_table_services.options.writing_values import WriteOptions
from hudi_table_services.planning.table.log_targets import log_target
from hudi_table_services.storage.file_slices import visibility_of

_BLOCKS = {"avro": BlockType.AVRO_DATA, "parquet": BlockType.PARQUET_DATA}


def log_settings(
    snapshot: TableSnapshot, options: WriteOptions, settings: WriteSettings
) -> LogSettings | None:
    """Encoding of the log files of a write; None for a copy-on-write table.

    Args:
        snapshot: the table as it was when the places of the rows were found.

    Raises:
        UnsupportedTableError: the batch can delete rows, and the ordering values of deletes cannot be stored.
    """
    config = snapshot.config
    rule = table_rule(config)
    if rule is None:
        return None
    wrappers = {}
    if settings.honours_deleted_flag and settings.operation is not WriteOperation.DELETE:
        for name in rule.ordering_fields:
            column_type = settings.writer_schema.field(name).type
            wrappers[name] = wrapper_of(name, column_type, config.table_version)
    return LogSettings(
        merging=LogMerging(rule, visibility_of(snapshot)),
        delete_ordering=DeleteOrdering(wrappers),
        data_block=_BLOCKS[options.log_block],
        max_block_bytes=options.log_block_bytes,
        has_record_stats=config.table_version is TableVersion.V6,
    )


def log_targets(snapshot: TableSnapshot, own_time: str) -> LogTargets:
    """Function that names the log file which a delta commit adds to a slice.

    Args:
        own_time: requested time of the delta commit.
    """
    version = snapshot.config.table_version
    pending = {i.requested_time for i in snapshot.timeline.pending if i.action is Action.COMPACTION}
    compacting = {group: time for group, time in snapshot.compacting_file_groups.items() if time in pending}

    def target(file_slice: FileSlice) -> LogTarget:
        return log_target(file_slice, version, own_time, compacting.get(file_slice.file_group_id))

    return target


def check_log_settings(
    config: TableConfig, table_schema_json: str | None, options: WriteOptions, settings: WriteSettings
) -> None:
    """Refuse a batch whose ordering columns do not fit the log files of a merge-on-read table.

    If a batch changes the type of an ordering column, deletes in existing log files keep ordering values of the old
    type. Hudi cannot compare them with values of the new type, and every read of the table would fail.

    Raises:
        InvalidRequestError: the type of an ordering column would change; the message names the column and both types.
        UnsupportedTableError: as in `log_settings`.
    """
    log_settings(TableSnapshot(config=config, timeline=Timeline()), options, settings)
    rule, table = table_rule(config), from_optional_avro_json(table_schema_json)
    for name in rule.ordering_fields if rule is not None and table is not None else ():
        old, new = table and table.find(name), settings.writer_schema.find(name)
        if old and new and old.type != new.type:
            raise InvalidRequestError(
                f"The ordering column {name!r} would change from {old.type} to {new.type}, but deletes in log files of "
                "the table have ordering values of the old type.",
                hint=f"Cast the column to {old.type} in the source query.",
            )
