"""Check before a restore that all files that readers will need exist."""

from collections.abc import Mapping, Sequence

from hudi_table_services.commits.undo_checks import require_inputs_of_compaction
from hudi_table_services.contract.text import counted
from hudi_table_services.errors import CorruptTableError, InvalidRequestError
from hudi_table_services.model.data_file import instant_in_file_name
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.table_path import may_hold_data
from hudi_table_services.model.table_service_plans import SavepointPartition
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.storage.stores.paths import join_path
from hudi_table_services.tables.table import TableAccess


def require_whole(
    table: TableAccess, timeline: Timeline, savepoint: Instant, kept: Mapping[str, SavepointPartition]
) -> None:
    """Check that all files of a savepoint exist, except log files of later delta commits.

    Args:
        kept: files of the savepoint by partition path.

    Raises:
        CorruptTableError: the savepoint names a folder outside of the table's data folders.
        InvalidRequestError: a file is missing.
    """
    missing = []
    for path, partition in kept.items():
        if not may_hold_data(path):
            raise CorruptTableError(
                f"Savepoint {savepoint.requested_time} names {path!r}, which is outside the table's data folders.",
                hint="Nothing was undone. Choose another savepoint.",
            )
        present = {stored.name for stored in table.storage.list_folder(path).files}
        missing += [
            join_path(path, name)
            for name in partition.file_names
            if name not in present and not _is_later_log(table, timeline, savepoint, name)
        ]
    if missing:
        raise InvalidRequestError(
            f"Savepoint {savepoint.requested_time} lacks {counted(len(missing), 'file')}, for example "
            f"{missing[0]}.",
            hint="Nothing was undone. Copy the files back from a backup, or choose another savepoint.",
        )


def _is_later_log(table: TableAccess, timeline: Timeline, savepoint: Instant, name: str) -> bool:
    """Whether a file is a log file of a later delta commit, which a restore deletes.

    A savepoint of Hudi names all log files of its file slices, even later ones. From table version 8 on, the name of a
    log file contains the time of its delta commit. If an earlier restore undid this delta commit, the timeline does not
    contain it. In this case, the function returns True.
    """
    has_own_instants = table.config.table_version.has_own_log_instants
    instant_time = instant_in_file_name(name) or ""
    if not (has_own_instants and name.startswith(".") and instant_time > savepoint.requested_time):
        return False
    seen_at = _seen_at(timeline, savepoint)
    writes = (i for i in timeline.find(instant_time) if i.is_completed and i.action.writes_data)
    return all(i.visible_from > seen_at for i in writes)


def _seen_at(timeline: Timeline, savepoint: Instant) -> str:
    """Time from which readers see the savepointed commit."""
    time = savepoint.requested_time
    return max((i.visible_from for i in timeline.completed_writes if i.requested_time == time), default=time)


def require_inputs(
    table: TableAccess, timeline: Timeline, savepoint: Instant, chosen: Sequence[Instant]
) -> None:
    """Check that the input files of early compactions exist.

    An early compaction began before readers saw the savepointed commit. If the restore undoes the compaction, readers
    need its input files again. A savepoint of Hudi does not keep these files if the compaction completed before the
    savepoint was created.

    Args:
        chosen: instants that the restore undoes.

    Raises:
        InvalidRequestError: a file is missing.
    """
    seen_at = _seen_at(timeline, savepoint)
    for instant in chosen:
        if instant.is_completed and instant.requested_time < seen_at:
            require_inputs_of_compaction(table, instant)
