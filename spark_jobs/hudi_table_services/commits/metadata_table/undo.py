"""Remove a delta commit from the metadata table, because its write is undone or is going to be repeated.

The delta commit is removed before the instant files of the table are deleted. From table version 8 on, readers would
otherwise use a delta commit whose instant is not on the timeline of the table.
"""

import logging
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from hudi_table_services.errors import CorruptTableError, UnsupportedTableError
from hudi_table_services.hudi_format.metadata_table.log_file import RollbackBlock, decode_log_file
from hudi_table_services.model.data_file import LogFile
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.planning.metadata_table.compaction import last_compaction
from hudi_table_services.storage.damage import naming
from hudi_table_services.storage.metadata_table.completeness import missing_instants
from hudi_table_services.storage.metadata_table.opened_table import MetadataTable
from hudi_table_services.storage.stores.paths import join_path
from hudi_table_services.storage.stores.storage import StoredObject
from hudi_table_services.storage.table_store import METADATA_TABLE

_LOG = logging.getLogger(__name__)
DROP_FIRST = (
    "Drop the metadata table with rebuild_metadata_table.py --drop all, undo the write, then build "
    "the metadata table again with rebuild_metadata_table.py."
)
"""Way to undo a write that cannot be removed from the metadata table. The build comes last, because it is refused while
a write is pending."""


def find_delta_commit(table: MetadataTable, instant_time: str) -> Instant | None:
    """The delta commit of a write, pending or completed; None if the metadata table does not have the write."""
    found = (i for i in table.timeline.find(instant_time) if i.action is Action.DELTA_COMMIT)
    return next(found, None)


def base_files_contain(table: MetadataTable, undone: Instant) -> bool:
    """Whether base files of the metadata table contain a write, so that the write cannot be removed from the files.

    A compaction, or a build of a partition after the write, wrote these base files.

    Args:
        undone: the instant of the table; if it is not completed, no base file contains it.
    """
    if not undone.is_completed:
        return False
    found = find_delta_commit(table, undone.requested_time)
    if found is None:
        # A completed write without a delta commit is in the base files, unless the metadata table lacks the write.
        return undone.requested_time not in missing_instants(table)
    last = last_compaction(table.timeline)
    return last is not None and found.is_completed and found.visible_from < last.requested_time


def refuse_contained(table: MetadataTable, instants: Iterable[Instant]) -> None:
    """Raise UnsupportedTableError if base files of the metadata table contain one of the instants of the table."""
    for instant in instants:
        if instant.action.writes_data and base_files_contain(table, instant):
            raise UnsupportedTableError(
                f"The metadata table was compacted or built after {instant.requested_time}, and its base files contain "
                "this write, so the write cannot be removed from the metadata table.",
                hint=f"Nothing was undone. {DROP_FIRST}",
            )


def require_removable(table: MetadataTable, instant_times: Iterable[str]) -> None:
    """Check that the log files of writes can be found, before anything is changed.

    From table version 8 on, the names of log files contain the instant, so there is nothing to check. In table version
    6, this function reads all log files once.

    Raises:
        UnsupportedTableError: other writes use the same log file.
        CorruptTableError: a log file is damaged, so it is not known which writes it contains.
    """
    if table.has_own_log_instants:
        return
    written = frozenset(time for time in instant_times if find_delta_commit(table, time) is not None)
    if written:
        _log_files(table, written)


def undo_delta_commit(table: MetadataTable, instant_time: str) -> bool:
    """Remove the delta commit of a write; return whether there was one. Call this function under the table lock.

    Every step can be repeated.

    Raises:
        UnsupportedTableError: other writes use the same log file.
    """
    found = find_delta_commit(table, instant_time)
    if found is None:
        return False
    logs = _log_files(table, frozenset([instant_time]))
    if found.is_completed:
        table.timeline_store.remove_completed(found)
    for path in logs:
        table.storage.delete(path)
    table.timeline_store.remove(replace(found, completion_time=None))
    _LOG.info("Removed %s and %d log files from the metadata table", instant_time, len(logs))
    return True


def _log_files(table: MetadataTable, instant_times: frozenset[str]) -> list[str]:
    """Paths of the log files that the delta commits wrote. Raises the errors of `require_removable`."""
    try:
        return list(_found_log_files(table, instant_times))
    except CorruptTableError as error:
        raise type(error)(error.message, hint=DROP_FIRST, path=error.path) from error


def _found_log_files(table: MetadataTable, instant_times: frozenset[str]) -> Iterator[str]:
    """Yield the paths of the log files that the delta commits wrote.

    The function searches the folders of the metadata table, so it also finds log files that no commit metadata lists.
    """
    for partition in {*table.partitions, *table.partitions_being_built}:
        files = table.storage.list_folder(partition).files
        if table.has_own_log_instants:
            yield from (f.path for f in files if _instant_of_log(f) in instant_times)
        else:
            yield from _log_files_by_blocks(table, files, instant_times)


def _instant_of_log(stored: StoredObject) -> str | None:
    log = LogFile.parse_or_none(stored.name)
    return None if log is None else log.instant_time


def _log_files_by_blocks(
    table: MetadataTable, files: Collection[StoredObject], instant_times: frozenset[str]
) -> Iterator[str]:
    """Log files of table version 6: only their blocks contain the instant that wrote them."""
    for stored in files:
        base_instant = _instant_of_log(stored)
        if base_instant is None or base_instant > max(instant_times):
            continue
        path = stored.path
        with naming(join_path(METADATA_TABLE, path)):
            blocks = list(decode_log_file(table.storage.read(path), path, skips_incomplete=True))
        instants = {block.instant_time for block in blocks}
        targets = {b.target_instant_time for b in blocks if isinstance(b, RollbackBlock)}
        written = instants & instant_times - targets
        if not written:
            continue
        if len(instants) > 1:
            raise UnsupportedTableError(
                f"The log file {METADATA_TABLE}/{path} contains blocks of {min(written)} and of other writes.",
                path=f"{METADATA_TABLE}/{path}",
                hint="Let Hudi undo this write, or drop the metadata table with rebuild_metadata_table.py --drop all.",
            )
        yield path
