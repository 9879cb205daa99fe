"""Open a partition of a metadata table, and compare it with the timelines of the metadata table and the table."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace

from hudi_table_services.model.data_file import instant_in_file_name
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.metadata_table import MetadataRecord
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import CommitMetadata
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.metadata_table import completeness
from hudi_table_services.storage.metadata_table.completeness import ExpectedFile
from hudi_table_services.storage.metadata_table.counted_instants import counted_instants, is_build_instant
from hudi_table_services.storage.metadata_table.log_changes import ALL_KEYS, Keys, LogChanges, Selection
from hudi_table_services.storage.metadata_table.opened_table import MetadataTable, open_metadata_table
from hudi_table_services.storage.metadata_table.partition_reader import MetadataPartition
from hudi_table_services.storage.metadata_table.partition_slices import partition_slices
from hudi_table_services.storage.metadata_table.unusable import Reason, UnusableError, some
from hudi_table_services.storage.stores.storage import Storage, StoredObject
from hudi_table_services.storage.table_store import METADATA_TABLE

_NO_INSTANTS = Timeline()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedPartition:
    """A partition whose files agree with the timeline of the metadata table. Drivers send it to Spark tasks.

    Attributes:
        slices: newest slices, in the order of the numbers of their file groups.
        counted: instants whose log blocks are valid.
        log_instants: for each file group id, the counted instants that wrote log files of this file group.
    """

    table: MetadataTable
    name: str
    slices: tuple[FileSlice, ...]
    counted: frozenset[str]
    log_instants: dict[str, frozenset[str]]

    @property
    def reader(self) -> MetadataPartition:
        """Reader of the records."""
        return MetadataPartition(self.table, self.name, slices=self.slices, counted=self.counted)

    def changes_of(self, file_slice: FileSlice, selection: Selection = ALL_KEYS) -> LogChanges:
        """Read the changes in the log files of a slice.

        Raises:
            UnusableError: a log file does not contain the changes of the instant that wrote it.
            CorruptTableError, UnsupportedTableError: see `read_log_changes`.
        """
        changes = self.reader.changes_of(file_slice, selection)
        expected = self.log_instants.get(file_slice.file_group_id.file_id, frozenset())
        if self.table.has_own_log_instants:
            expected &= {log.instant_time for log in file_slice.log_files}
        if unread := expected - changes.instants:
            raise UnusableError(
                Reason.DAMAGED,
                f"{some(unread)} wrote log files of `{self.name}`, but the log files of the file group "
                f"{file_slice.file_group_id.file_id} contain no block of these instants.",
                f"{METADATA_TABLE}/{self.name}",
            )
        return changes

    def find_in(self, file_slice: FileSlice, keys: frozenset[bytes]) -> list[MetadataRecord]:
        """Find the records with these keys in one slice. Raises the errors of `changes_of`."""
        changes = self.changes_of(file_slice, Keys(keys))
        return self.reader.find_in(file_slice, keys, changes)

    def without_timelines(self) -> "CheckedPartition":
        """Return a copy without the timelines for a Spark task: a task reads files but no instants."""
        table = replace(self.table, timeline=_NO_INSTANTS, data_timeline=_NO_INSTANTS)
        return replace(self, table=table)


def open_checked_partition(
    storage: Storage, config: TableConfig, timeline: Timeline, clock: Clock, name: str
) -> CheckedPartition:
    """Open a partition of the metadata table in the state that the timeline of the table shows.

    Args:
        storage: the table.
        config: properties of the table. The caller may read them before or after the timeline.
        timeline: active timeline of the table. It must be loaded before this call.
        name: e.g. ``files``.

    Raises:
        UnusableError: the metadata table contradicts the timeline, lost a file that its timeline names, or does not
            have this partition.
        CorruptTableError, UnsupportedTableError, TableNotFoundError, ObjectNotFoundError: the partition cannot be read.
    """
    if name in config.inflight_metadata_partitions:
        raise UnusableError(Reason.BEING_BUILT, f"A writer is building the partition `{name}`.")
    if name not in config.metadata_partitions:
        raise UnusableError(
            Reason.NOT_LISTED, f"The properties of the table do not list the partition `{name}`."
        )
    table = open_metadata_table(storage, config, clock, data_timeline=timeline)
    missing = completeness.missing_instants(table)
    if missing:
        raise UnusableError(Reason.BEHIND, f"{some(missing)} of the table are not in the metadata table.")
    present = table.storage.list_folder(name).files
    check_instants(table, partition_slices(table, name, present))
    return check_files(table, name, present)


def check_files(
    table: MetadataTable,
    name: str,
    present: Collection[StoredObject],
    read: Callable[[Instant], CommitMetadata] | None = None,
) -> CheckedPartition:
    """Compare the files of a partition with those that the timeline of the metadata table names.

    Args:
        present: files of the partition's folder.
        read: as in `expected_files`.

    Raises:
        UnusableError: a file is missing or truncated, or the instant that created the file groups is missing.
        CorruptTableError, UnsupportedTableError: see `partition_slices` and `expected_files`.
    """
    slices = partition_slices(table, name, present)
    if not slices and any(_is_of_group(stored.name) for stored in present):
        raise UnusableError(
            Reason.DAMAGED,
            f"`{name}` has no file group that readers see, because the instant that created it is lost.",
            f"{METADATA_TABLE}/{name}",
        )
    expected = _since_last_build(table, completeness.expected_files(table, name, present, read), present)
    lost = completeness.lost_files(expected, present)
    if lost:
        raise UnusableError(
            Reason.DAMAGED,
            f"Files of `{name}` do not exist or are too short: {some(lost)}.",
            f"{METADATA_TABLE}/{name}/{min(lost)}",
        )
    counted = counted_instants(
        table.data_timeline, table.timeline, has_own_log_instants=table.has_own_log_instants
    ) - completeness.later_instants(table)
    return CheckedPartition(
        table=table,
        name=name,
        slices=slices,
        counted=counted,
        log_instants=_log_instants(expected, counted),
    )


def check_instants(table: MetadataTable, slices: Iterable[FileSlice]) -> None:
    """Raise UnusableError if a delta commit after the base file of a slice is not on the timeline of the table."""
    for file_slice in {s.base_instant_time: s for s in slices}.values():
        unexplained = completeness.unexplained_instants(table, file_slice)
        if unexplained:
            raise UnusableError(
                Reason.AHEAD,
                f"{some(unexplained)} of the metadata table are not on the timeline of the table.",
            )


def _is_of_group(file_name: str) -> bool:
    return instant_in_file_name(file_name) is not None


def _since_last_build(
    table: MetadataTable, expected: list[ExpectedFile], present: Collection[StoredObject]
) -> list[ExpectedFile]:
    """Leave out files that were written before the last build of the partition, because a build deletes them.

    A build writes an empty log file for each file group, even if the partition has no records and therefore no base
    file. The name of this log file contains the instant of the build.
    """
    visible = {i.requested_time: i.visible_from for i in table.timeline.completed}
    own = {f.instant_time for f in expected if not f.is_log}
    own |= {instant_in_file_name(stored.name) or "" for stored in present}
    built = max((visible[time] for time in own if time in visible and is_build_instant(time)), default="")
    return [f for f in expected if visible[f.instant_time] >= built]


def _log_instants(expected: Iterable[ExpectedFile], counted: frozenset[str]) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for file in expected:
        if file.is_log and file.instant_time in counted:
            found[file.group] = found.get(file.group, frozenset()) | {file.instant_time}
    return found
