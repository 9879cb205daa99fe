"""Derive the encoding and the names of log files from the options, the table and the columns of the batch."""

from hudi_table_services.execution.log_files.delete_content import DeleteOrdering
from hudi_table_services.execution.log_merging.slice_reading import LogMerging
from hudi_table_services.execution.writing.log_writing import LogSettings
from hudi_table_services.execution.writing.task_assignment import LogTargets
from hudi_table_services.hudi_format.log_blocks import BlockType
from hudi_table_services.jobs.writing.ordering_checks import delete_wrappers
from hudi_table_services.jobs.writing.table_access import table_rule
from hudi_table_services.jobs.writing.write_settings import WriteSettings
from hudi_table_services.model.file_group import FileSlice, LogTarget
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.table_version import TableVersion
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
        UnsupportedTableError: see `delete_wrappers`.
    """
    config = snapshot.config
    rule = table_rule(config)
    if rule is None:
        return None
    return LogSettings(
        merging=LogMerging(rule, visibility_of(snapshot)),
        delete_ordering=DeleteOrdering(delete_wrappers(config, settings)),
        data_block=_BLOCKS[options.log_block],
        max_block_bytes=options.log_block_bytes,
        has_record_stats=config.table_version is TableVersion.V6,
    )


def log_targets(snapshot: TableSnapshot, own_time: str) -> LogTargets:
    """Return a function that names the log file which a delta commit adds to a slice.

    Args:
        own_time: requested time of the delta commit.
    """
    version = snapshot.config.table_version
    pending = {i.requested_time for i in snapshot.timeline.pending if i.action is Action.COMPACTION}
    compacting = {group: time for group, time in snapshot.compacting_file_groups.items() if time in pending}

    def target(file_slice: FileSlice) -> LogTarget:
        return log_target(file_slice, version, own_time, compacting.get(file_slice.file_group_id))

    return target
