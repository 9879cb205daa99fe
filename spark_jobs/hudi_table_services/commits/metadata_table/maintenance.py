"""Decide for each change of a table: update the metadata table, switch it off, or refuse the change.

Jobs update the metadata table, unless the request contains ``hoodie.metadata.enable=false``. In that case, jobs switch
the metadata table off before the first change that would make it stale.
"""

import logging
from collections.abc import Collection, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace

from hudi_table_services.commits.metadata_table.delta_commit import (
    ChangesByPartition,
    prepare_delta_commit,
    write_delta_commit,
)
from hudi_table_services.commits.metadata_table.indexed_table import IndexedTable, schema_of
from hudi_table_services.commits.metadata_table.key_logs import KeyChangesOfGroups, staged_keys_reader
from hudi_table_services.commits.metadata_table.overtaken_statistics import is_overtaken, may_be_overtaken
from hudi_table_services.commits.metadata_table.partitioned_key_logs import (
    PartitionedKeyChanges,
    partitioned_key_staging,
)
from hudi_table_services.commits.metadata_table.records_of_changes import changes_of_clean, changes_of_write
from hudi_table_services.commits.metadata_table.secondary_logs import (
    SecondaryKeyChanges,
    secondary_key_changes,
    secondary_stagings,
)
from hudi_table_services.commits.metadata_table.undo import (
    DROP_FIRST,
    base_files_contain,
    find_delta_commit,
    refuse_contained,
    require_removable,
    undo_delta_commit,
)
from hudi_table_services.commits.metadata_table_services.compaction import require_finishable
from hudi_table_services.commits.metadata_table_services.run import (
    finish_services,
    is_any_service_due,
    run_services,
)
from hudi_table_services.commits.table_change import CleanedFiles, NewFiles, NoFiles, TableChange
from hudi_table_services.errors import CorruptTableError, HudiTableServiceError, TableNotFoundError
from hudi_table_services.execution.metadata_table.collected_facts import FactsToCollect
from hudi_table_services.execution.metadata_table.staged_keys import KeyStaging
from hudi_table_services.hudi_format.metadata_table.file_groups import FILES, PARTITION_STATS, RECORD_INDEX
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.options.keys.writing import METADATA_ENABLE
from hudi_table_services.options.metadata_settings_values import ServiceSettings
from hudi_table_services.planning.metadata_table.instant_times import instant_millis
from hudi_table_services.storage.clock import zone_at
from hudi_table_services.storage.locks.lock import TableLock
from hudi_table_services.storage.metadata_table.opened_table import MetadataTable, open_metadata_table
from hudi_table_services.storage.metadata_table.partition_slices import partition_slices
from hudi_table_services.storage.table_store import (
    METADATA_TABLE,
    disable_metadata_table,
    read_table_config,
    remove_unlisted_metadata_table,
)
from hudi_table_services.tables.metadata_table import (
    require_current,
    require_file_groups,
    require_maintainable,
)
from hudi_table_services.tables.table import TableAccess

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WrittenChange:
    """A change that the metadata table contains.

    Attributes:
        metadata: the metadata table after the change.
        is_overtaken: whether a compaction must follow; see the module `overtaken_statistics`.
    """

    metadata: MetadataTable
    is_overtaken: bool = False


def write_change(
    table: TableAccess,
    pending: Instant,
    change: TableChange,
    lock: TableLock | None,
    data_timeline: Timeline | None = None,
) -> WrittenChange | None:
    """Write a change into the metadata table, right before the instant of the change completes.

    Call this function under the table lock.

    Args:
        pending: the instant that is going to be completed.
        data_timeline: the timeline of the table, if the caller has read it under the lock.

    Returns:
        The written change, for `services_due_after`. None if the table has no metadata table, or if the change concerns
        no file.

    Raises:
        UnsupportedTableError: the metadata table has an index that this release cannot update.
        CorruptTableError: the metadata table is damaged, or contradicts the table.
        CommitConflictError, ObjectExistsError: another process is writing the same instant.
    """
    metadata = None if isinstance(change, NoFiles) else _to_be_updated(table, data_timeline)
    if metadata is None:
        return None
    if not metadata.has_own_log_instants and metadata.timeline.pending:
        config = read_table_config(table.storage)
        finish_services(replace(table, config=config), lock)
        metadata = _opened(table, config)
    files = require_current(metadata, ignore={pending.requested_time})
    # `_is_missing` removes the files of an earlier delta commit, so the listing is then no longer right.
    listed = {FILES: files} if find_delta_commit(metadata, pending.requested_time) is None else {}
    is_late = False
    if _is_missing(metadata, pending, change):
        indexed = replace(
            _indexed(table, metadata, change),
            may_be_overtaken=may_be_overtaken(metadata.data_timeline, pending.requested_time),
        )
        keys = _key_changes(indexed, pending, change)
        secondary = _secondary_changes(indexed, change)
        changes = _changes(indexed, change)
        commit = prepare_delta_commit(
            metadata, pending.requested_time, changes, keys, secondary, known=listed
        )
        statistics = changes.get(PARTITION_STATS, ())
        is_late = bool(statistics) and is_overtaken(metadata, pending.requested_time, statistics)
        timeline = metadata.timeline.with_instant(write_delta_commit(metadata, commit))
        metadata = replace(metadata, timeline=timeline)
    return WrittenChange(metadata, is_late)


def services_due_after(
    table: TableAccess, written: WrittenChange, completed: Instant
) -> ServiceSettings | None:
    """Return the settings for `run_due_services`; None if no service is due after the change. Sends no request."""
    settings = table.metadata.services
    if written.is_overtaken:
        settings = replace(settings, max_delta_commits=1)
    known = replace(written.metadata, data_timeline=written.metadata.data_timeline.with_instant(completed))
    return settings if is_any_service_due(table, known, settings) else None


def run_due_services(
    table: TableAccess, lock: TableLock | None, settings: ServiceSettings, *, takes_lock: bool = False
) -> None:
    """Run the services of the metadata table that are due, after a completed change.

    With `takes_lock`, this function takes the lock; otherwise the caller holds the lock. A service that fails does not
    make the job fail: the next change repeats the service.
    """
    try:
        with lock if takes_lock and lock is not None else nullcontext():
            config = read_table_config(table.storage)
            run_services(replace(table, config=config), lock, settings=settings)
    except HudiTableServiceError as failure:
        _LOG.warning(
            "The services of the metadata table failed (%s); the next change of the table repeats them.",
            failure,
        )


def facts_to_collect(table: TableAccess, schema_json: str, staging_folder: str) -> FactsToCollect:
    """Return which facts the tasks of a write must collect for the metadata table. Nothing is changed.

    Args:
        schema_json: Avro schema of the new files.
        staging_folder: folder for record keys, which must exist until the commit is complete.

    Raises:
        UnsupportedTableError, CorruptTableError: as in `write_change`.
    """
    config = read_table_config(table.storage)
    if not _has_metadata_table(config) or table.metadata.enable is False:
        return FactsToCollect()
    require_maintainable(config)
    metadata = _opened(table, config)
    indexed = IndexedTable(table=table, metadata=metadata, schema_json=schema_json)
    indexed.require_definitions()
    key_staging = None
    if RECORD_INDEX in metadata.partitions:
        key_staging = _key_staging(indexed, staging_folder)
    return FactsToCollect(
        statistics_columns=indexed.column_names,
        key_staging=key_staging,
        secondary=secondary_stagings(indexed, schema_json, staging_folder),
    )


def require_usable(table: TableAccess) -> None:
    """Refuse a change that could not be written into the metadata table, before the job writes a data file.

    Raises:
        UnsupportedTableError, CorruptTableError: as in `write_change`.
    """
    config = read_table_config(table.storage)
    if _has_metadata_table(config) and table.metadata.enable is not False:
        require_maintainable(config)
        metadata = _opened(table, config)
        _require_usable(table, metadata)


def prepare_deletion(table: TableAccess, *, undoes: str | None, adds_files: bool = False) -> None:
    """Remove an undone write from the metadata table before the files of the write are deleted.

    Call this function under the table lock.

    Args:
        undoes: requested time of the write; None if the deleted files are outdated. In that case, this function
            checks that the deletion can be written into the metadata table afterwards. If the request switches the
            metadata table off, the function removes it instead.
        adds_files: whether the rollback of the write also creates log files. Such a rollback is possible only with
            `hoodie.metadata.enable=false`, because this function cannot list the new files in the metadata table.

    Raises:
        UnsupportedTableError: base files of the metadata table contain the write; or as in `write_change`.
        CorruptTableError: as in `write_change`.
    """
    if undoes is None:
        metadata = _to_be_updated(table)
        if metadata is not None:
            _require_usable(table, metadata)
        return
    config = read_table_config(table.storage)
    if not _has_metadata_table(config):
        return
    if table.metadata.enable is False:
        if adds_files:
            _switch_off(table, config)
        else:
            _switch_off_if_it_contains(table, config, undoes)
    else:
        metadata = _opened_to_undo(table, config)
        refuse_contained(metadata, metadata.data_timeline.find(undoes))
        undo_delta_commit(metadata, undoes)


def require_undoable(table: TableAccess, undone: Collection[Instant]) -> None:
    """Refuse to undo writes that cannot be removed from the metadata table, before anything is changed.

    Raises:
        UnsupportedTableError: base files of the metadata table contain a write; or as in `write_change`.
        CorruptTableError: as in `write_change`; or the files that contain a write cannot be determined.
    """
    config = read_table_config(table.storage)
    if _has_metadata_table(config) and table.metadata.enable is not False:
        metadata = _opened_to_undo(table, config)
        refuse_contained(metadata, undone)
        require_removable(metadata, (instant.requested_time for instant in undone))


def contains_in_base_files(table: TableAccess, undone: Collection[Instant]) -> bool:
    """Whether the metadata table must be built again, because its base files contain one of the writes to undo."""
    config = read_table_config(table.storage)
    if not _has_metadata_table(config) or table.metadata.enable is False:
        return False
    metadata = _opened_to_undo(table, config)
    return any(i.action.writes_data and base_files_contain(metadata, i) for i in undone)


def _opened_to_undo(table: TableAccess, config: TableConfig) -> MetadataTable:
    """Open the metadata table. If it is damaged, the hint of the error says how to undo writes nevertheless."""
    try:
        return _opened(table, config)
    except CorruptTableError as error:
        raise type(error)(error.message, hint=DROP_FIRST, path=error.path) from error


def _require_usable(table: TableAccess, metadata: MetadataTable) -> None:
    require_current(metadata, ignore=())
    require_finishable(metadata)
    indexed = IndexedTable(table=table, metadata=metadata)
    indexed.require_definitions()
    require_file_groups(
        metadata, may_be_empty=(RECORD_INDEX,) if indexed.has_partitioned_record_index else ()
    )


def _to_be_updated(table: TableAccess, data_timeline: Timeline | None = None) -> MetadataTable | None:
    """The metadata table; None if the table has no metadata table, or if this function has switched it off.

    The properties are read again, because any write of Hudi with default settings creates a metadata table.
    """
    config = read_table_config(table.storage)
    if not _has_metadata_table(config):
        remove_unlisted_metadata_table(table.storage, config)
        return None
    if table.metadata.enable is False:
        _switch_off(table, config)
        return None
    require_maintainable(config)
    return _opened(table, config, data_timeline)


def _opened(table: TableAccess, config: TableConfig, data_timeline: Timeline | None = None) -> MetadataTable:
    try:
        return open_metadata_table(table.storage, config, table.clock, data_timeline=data_timeline)
    except TableNotFoundError as error:
        raise CorruptTableError(
            f"The properties of the table list a metadata table, but {METADATA_TABLE} contains none.",
            path=METADATA_TABLE,
            hint="Build the metadata table again with rebuild_metadata_table.py, or switch it off with "
            f"{METADATA_ENABLE}=false. Until then, every write of Hudi fails as well.",
        ) from error


def _switch_off(table: TableAccess, config: TableConfig) -> None:
    disable_metadata_table(table.storage, config, table.clock)
    _LOG.warning(
        "Switched off the metadata table with its indexes (%s). To build them again, run rebuild_metadata_table.py, or "
        "write with Hudi and the options of these indexes.",
        ", ".join(config.metadata_partitions),
    )


def _switch_off_if_it_contains(table: TableAccess, config: TableConfig, undone: str) -> None:
    """Switch the metadata table off if it contains the undone write. Otherwise the metadata table stays correct."""
    # A completed write is certainly in the metadata table, whatever the metadata table's own timeline shows.
    was_completed = any(i.requested_time == undone for i in table.load_timeline().completed_writes)
    folder = f"{METADATA_TABLE}/{config.table_version.layout.timeline_folder}"
    names = (stored.name for stored in table.storage.list_folder(folder).files)
    if was_completed or any(name.startswith(undone) for name in names):
        _switch_off(table, config)


def _has_metadata_table(config: TableConfig) -> bool:
    return bool(config.metadata_partitions or config.inflight_metadata_partitions)


def _is_missing(metadata: MetadataTable, pending: Instant, change: TableChange) -> bool:
    """Whether the metadata table lacks the change. A delta commit of a dead attempt is removed first.

    A completed delta commit of a dead clean stays: the plan of the clean determines its changes, so a second attempt
    would write the same delta commit.
    """
    found = find_delta_commit(metadata, pending.requested_time)
    if found is None:
        return True
    if found.is_completed and isinstance(change, CleanedFiles):
        return False
    _LOG.warning("Writing %s into the metadata table again: an earlier attempt died.", pending.requested_time)
    undo_delta_commit(metadata, pending.requested_time)
    return True


def _indexed(table: TableAccess, metadata: MetadataTable, change: TableChange) -> IndexedTable:
    schema_json = schema_of(change.metadata) if isinstance(change, NewFiles) else None
    return IndexedTable(table=table, metadata=metadata, schema_json=schema_json)


def _key_staging(indexed: IndexedTable, folder: str) -> KeyStaging:
    slices = partition_slices(indexed.metadata, RECORD_INDEX)
    if indexed.has_partitioned_record_index:
        return partitioned_key_staging(folder, slices, indexed.table.metadata.new_partition_groups)
    return KeyStaging(folder, len(slices))


def _key_changes(
    indexed: IndexedTable, pending: Instant, change: TableChange
) -> KeyChangesOfGroups | PartitionedKeyChanges | None:
    """Changes of the record index; None if the table has no record index, or if the change is a clean."""
    if RECORD_INDEX not in indexed.partitions or not isinstance(change, NewFiles):
        return None
    indexed.require_definitions()
    time = pending.requested_time
    millis = instant_millis(time, zone_at(time, indexed.table.config))
    reader = staged_keys_reader(indexed.storage, change.facts)
    if not indexed.has_partitioned_record_index:
        return KeyChangesOfGroups(reader=reader, instant_millis=millis)
    return PartitionedKeyChanges(
        reader=reader,
        metadata=change.metadata,
        new_partition_groups=indexed.table.metadata.new_partition_groups,
        instant_millis=millis,
    )


def _secondary_changes(indexed: IndexedTable, change: TableChange) -> Mapping[str, SecondaryKeyChanges]:
    """Changes of secondary indexes by name; none for a clean."""
    if not isinstance(change, NewFiles):
        return {}
    return secondary_key_changes(indexed, change.facts, change.metadata)


def _changes(indexed: IndexedTable, change: TableChange) -> ChangesByPartition:
    match change:
        case NewFiles():
            return changes_of_write(indexed, change)
        case CleanedFiles():
            return changes_of_clean(indexed, change)
    raise AssertionError("NoFiles has no changes")
