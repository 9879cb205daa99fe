"""Create the metadata table of a table that has none: before its first write, or after a write that requests it."""

from dataclasses import replace

from hudi_table_services.commits.metadata_table_building.contents import BuildSettings
from hudi_table_services.commits.metadata_table_building.rebuild import build_metadata_table
from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.execution.metadata_table.data_file_facts import DataFileReader
from hudi_table_services.hudi_format.metadata_table.file_groups import COLUMN_STATS, RECORD_INDEX
from hudi_table_services.hudi_format.partition_metadata import PARTITION_METAFILE
from hudi_table_services.options.keys.metadata_table import (
    CREATE_PARTITIONED_RECORD_INDEX,
    CREATE_RECORD_INDEX,
)
from hudi_table_services.options.option import AnyOption
from hudi_table_services.planning.metadata_table.new_tables import wanted_partitions
from hudi_table_services.storage.file_listing import list_partitions
from hudi_table_services.storage.locks.lock import TableLock
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.table import TableAccess

_REBUILD = "rebuild_metadata_table.py"


def create_before_first_write(table: TableAccess, lock: TableLock) -> tuple[str, ...]:
    """Create the metadata table of a table without commits, as Hudi does, unless the request switches it off.

    Call this function under the table lock, before the first write is requested. If the table has no data files, the
    creation takes as long as writing some small files; otherwise nothing is created. If an earlier creation died, its
    partitions are built again.

    Returns:
        Why the metadata table was not created, as a sentence for the result of the job. Empty if the metadata table was
        created, or is not to be created.

    Raises:
        HudiTableServiceError: see `build_metadata_table`. Nothing was committed; the next write tries again.
    """
    if table.metadata.enable is False:
        return ()
    timeline = table.load_timeline()
    if timeline.completed_writes:
        return ()
    config = read_table_config(table.storage)
    wanted = wanted_partitions(config, table.metadata.new_indexes)
    missing = tuple(name for name in wanted if name not in config.metadata_partitions)
    # If another writer is building a partition, `require_maintainable` refuses the write later.
    if config.inflight_metadata_partitions or not missing:
        return ()
    if timeline.pending:
        if config.metadata_partitions or table.metadata.enable:  # `create_after_write` tries again
            return ()
        pending = timeline.pending[0]
        reason = f"{pending.action.value} {pending.requested_time} is {pending.state.value}"
        return (_not_created(reason, f"Run {_REBUILD} to create it."),)
    # If a table without commits has data files, readers that list folders treat them as files of archived writes as
    # soon as the first write is completed. A metadata table that is created now would not list these files, so readers
    # that use the metadata table would not see the rows of these files.
    if _has_data_files(table.storage):
        if table.metadata.enable and not config.metadata_partitions:  # `create_after_write` lists these files
            return ()
        return (_not_created("the table has data files, but no commits", f"Run {_REBUILD} to create it."),)
    _build(table, missing, lock)
    return _without_partitioned_index(table)


def create_after_write(table: TableAccess, lock: TableLock) -> tuple[str, ...]:
    """Create the metadata table after a write, if the request wants one explicitly and the table has none.

    Call this function under the table lock, after the write is completed: the creation reads the footer of every file,
    so it can take a long time, and a creation that fails or dies does not affect the write. While another write is
    pending, no metadata table is created. The record index needs Spark, so it is not created.

    Returns:
        Sentences for the result of the job: what was not created, and why.
    """
    if table.metadata.enable is not True:
        return ()
    wanted: tuple[str, ...] = ()
    try:
        config = read_table_config(table.storage)
        if config.metadata_partitions or config.inflight_metadata_partitions:
            return ()
        wanted = wanted_partitions(config, table.metadata.new_indexes)
        _build(table, tuple(name for name in wanted if name != RECORD_INDEX), lock)
    except HudiTableServiceError as failure:
        return (_not_created(str(failure), "The next write tries again."),)
    if RECORD_INDEX in wanted:
        return (_without_record_index(CREATE_RECORD_INDEX),)
    return _without_partitioned_index(table)


def _build(table: TableAccess, wanted: tuple[str, ...], lock: TableLock) -> None:
    settings = BuildSettings.of(table.metadata.new_indexes.settings)
    if COLUMN_STATS not in wanted:
        settings = replace(settings, columns=())
    build_metadata_table(table, wanted, settings, DataFileReader(table.storage), lock)


def _without_partitioned_index(table: TableAccess) -> tuple[str, ...]:
    if not table.metadata.new_indexes.partitioned_record_index:
        return ()
    return (_without_record_index(CREATE_PARTITIONED_RECORD_INDEX),)


def _without_record_index(key: AnyOption) -> str:
    return (
        f"The metadata table was created without a record index. Run {_REBUILD} --partitions {RECORD_INDEX} with "
        f"{key}=true."
    )


def _has_data_files(storage: Storage) -> bool:
    listed = list_partitions(storage)
    return any(not file.name.startswith(PARTITION_METAFILE) for files in listed.values() for file in files)


def _not_created(reason: str, hint: str) -> str:
    return f"The metadata table was not created ({reason.rstrip('.')}). {hint}"
