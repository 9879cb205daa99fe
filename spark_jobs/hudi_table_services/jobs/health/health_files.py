"""Check the files of a table for the health report: outdated, leftover, missing and foreign files."""

from collections.abc import Mapping
from dataclasses import dataclass

from hudi_table_services.model.data_file import instant_in_file_name
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.planning.recovery.orphans import is_copy, named_elsewhere
from hudi_table_services.storage.file_listing import foreign_files, is_partition, list_folders
from hudi_table_services.storage.file_slices import Visibility
from hudi_table_services.storage.stores.paths import join_path
from hudi_table_services.storage.stores.storage import StoredObject
from hudi_table_services.tables.missing_file_search import MissingFilesSearch
from hudi_table_services.tables.table import TableAccess
from hudi_table_services.tables.written_files import WrittenFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFindings:
    """Measures of files, and the sorted paths of the measured files.

    Attributes:
        listed: every folder with its files.
    """

    measures: Mapping[str, float]
    listed: Mapping[str, tuple[StoredObject, ...]]
    leftovers: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()


def check_files(
    table: TableAccess, snapshot: TableSnapshot, written: WrittenFiles, retained_from: str
) -> FileFindings:
    """List every folder and compare the files with the completed writes of the active timeline.

    Args:
        retained_from: the earliest commit that the last clean retained; empty if unknown.

    Raises:
        MalformedMetadataError: a completed write cannot be read.
    """
    # The timeline was loaded before this listing, so the listing must contain every file that a write names.
    listed = list_folders(table.storage)
    sizes = {stored.path: stored.size_bytes for files in listed.values() for stored in files}
    leftovers, outdated = _not_live(table, snapshot, listed, written)
    search = MissingFilesSearch(
        table=table, snapshot=snapshot, sizes=sizes, written=written, retained_from=retained_from
    )
    missing = search.find()
    foreign = tuple(stored.path for stored in foreign_files(listed))
    return FileFindings(
        measures={
            "foreign_files": float(len(foreign)),
            **({"missing_files": float(len(missing))} if missing is not None else {}),
            "outdated_files": float(len(outdated)),
            "outdated_bytes": float(sum(each.size_bytes for each in outdated)),
            "leftover_files": float(len(leftovers)),
            "leftover_bytes": float(sum(each.size_bytes for each in leftovers)),
        },
        listed=listed,
        leftovers=tuple(sorted(each.path for each in leftovers)),
        missing=tuple(f"{path}: {fault}" for path, fault in sorted((missing or {}).items())),
        foreign=foreign,
    )


def _not_live(
    table: TableAccess,
    snapshot: TableSnapshot,
    listed: Mapping[str, tuple[StoredObject, ...]],
    written: WrittenFiles,
) -> tuple[list[StoredObject], list[StoredObject]]:
    """Return the files that are not part of the latest state: a list of leftover files, and a list of outdated files.

    Leftover files belong to writes that never completed, or are copies of data files in the wrong folder.
    """
    live = {
        join_path(path, file.file_name)
        for path in snapshot.partitions
        for each in snapshot.slices_of(path)
        for file in (*((each.base_file,) if each.base_file else ()), *each.log_files)
    }
    pending = {i.requested_time for i in snapshot.timeline.pending}
    visibility = Visibility.of(
        snapshot.timeline, has_own_log_instants=table.config.table_version.has_own_log_instants
    )
    named = written.named(snapshot.timeline)
    sizes = {stored.path: stored.size_bytes for files in listed.values() for stored in files}
    # A write may have started after the timeline was loaded; its files are not leftover files.
    newest = max((i.requested_time for i in snapshot.timeline), default="")
    leftovers, outdated = [], []
    for files in listed.values():
        in_partition = is_partition(files)
        for stored in files:
            instant = instant_in_file_name(stored.name)
            if instant is None or instant in pending or instant > newest:
                continue
            if is_copy(stored.size_bytes, named_elsewhere(stored.path, named), sizes.get):
                leftovers.append(stored)
            elif stored.path in live:
                continue
            elif not visibility.sees(instant):
                leftovers.append(stored)
            elif in_partition:
                outdated.append(stored)
    return leftovers, outdated
