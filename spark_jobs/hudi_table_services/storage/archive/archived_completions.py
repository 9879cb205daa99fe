"""Completion times of archived delta commits, for tables whose log files are named after their delta commits.

From table version 8 on, the completion time of a delta commit decides to which file slice its log file belongs. The
active timeline does not contain the completion times of archived delta commits, but the timeline history does. Hudi
looks them up, too (CompletionTimeQueryViewV2, Hudi 1.2). The look-up is needed only if a delta commit is archived, its
log file still exists, and the file group has a base file that is newer than the requested time of the delta commit.

The history consists of Parquet files, which `storage` cannot read. So the module `tables.table`, which every job
imports, sets the function that reads them.
"""

from collections.abc import Callable, Collection, Iterable, Mapping

from hudi_table_services.errors import UnsupportedTableError
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.storage.file_slices import Visibility, archived_log_instants
from hudi_table_services.storage.stores.storage import Storage, StoredObject

CompletionLookup = Callable[[Storage, TableConfig, Collection[str]], Mapping[str, str]]
"""Function that maps requested times of archived delta commits to their completion times. Instants that the history
does not contain are missing in the result."""

_lookups: list[CompletionLookup] = []


def use_lookup(lookup: CompletionLookup) -> None:
    """Set the function that reads the timeline history."""
    _lookups[:] = [lookup]


def with_archived_completions(
    storage: Storage,
    config: TableConfig,
    visibility: Visibility,
    listings: Iterable[Collection[StoredObject]],
) -> Visibility:
    """Add the completion times of archived delta commits whose slice is otherwise not known.

    Args:
        listings: the listed files of each partition.

    Raises:
        UnsupportedTableError: the history is needed and cannot be read, because pyarrow is not installed.
        CorruptTableError: the history cannot be read.
    """
    if not visibility.has_own_log_instants:
        return visibility
    wanted = frozenset(time for files in listings for time in archived_log_instants(files, visibility))
    if not wanted:
        return visibility
    if not _lookups:
        raise UnsupportedTableError(
            f"The delta commit {min(wanted)} is archived, and this program does not read the timeline history, which "
            "contains its completion time.",
            hint="Import hudi_table_services.tables.table first.",
        )
    return visibility.knowing(_lookups[0](storage, config, wanted))
