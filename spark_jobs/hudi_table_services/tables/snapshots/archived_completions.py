"""Completion times of archived delta commits, for tables whose log files are named after their delta commits.

From table version 8 on, the completion time of a delta commit decides to which file slice its log file belongs. The
active timeline does not contain the completion times of archived delta commits, but the timeline history does. Hudi
looks them up, too (CompletionTimeQueryViewV2, Hudi 1.2). The look-up is needed only if a delta commit is archived, its
log file still exists, and the file group has a base file that is newer than the requested time of the delta commit.
"""

from collections.abc import Collection, Iterable

from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.storage.file_slices import Visibility, archived_log_instants
from hudi_table_services.storage.stores.storage import Storage, StoredObject


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
    return knowing_archived(storage, config, visibility, wanted)


def knowing_archived(
    storage: Storage, config: TableConfig, visibility: Visibility, instants: Collection[str]
) -> Visibility:
    """Add the completion times of these delta commits if archived. Raises the errors of `with_archived_completions`."""
    wanted = frozenset(instants).difference(visibility.completed)
    if not wanted:
        return visibility
    # Imported here because almost no table needs the archive to find its file slices.
    from hudi_table_services.tables.archived_timeline import archived_completions

    return visibility.knowing(archived_completions(storage, config, wanted))
