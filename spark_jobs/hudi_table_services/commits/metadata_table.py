"""Prevent contradictions between the metadata table and the table. Only `commits.commit_point` calls this module.

No job maintains the metadata table yet. If a change would make the metadata table stale, `apply` switches the metadata
table off or refuses the change.
"""

import logging

from hudi_table_services.errors import UnsupportedTableError
from hudi_table_services.model.instant import Action
from hudi_table_services.options.keys.writing import METADATA_ENABLE
from hudi_table_services.storage.table_store import (
    METADATA_TABLE,
    disable_metadata_table,
    read_table_config,
    remove_unlisted_metadata_table,
)
from hudi_table_services.tables.table import TableAccess, must_disable_metadata_table

_LOG = logging.getLogger(__name__)

_NEEDS_NOTHING = (Action.SAVEPOINT, Action.ROLLBACK)
"""Actions whose completion needs no change of the metadata table.

A savepoint changes no data file. A rollback calls `apply` with `undoes` before its first deletion.
"""


def apply(table: TableAccess, *, completes: Action | None = None, undoes: str | None = None) -> None:
    """Make sure that no metadata table contradicts the change that follows. Call it under the table lock.

    Args:
        completes: action of the instant that is about to be completed; None if files are about to be deleted.
        undoes: requested time of the write whose files are about to be deleted; None if the change undoes no write.

    Raises:
        UnsupportedTableError: `hoodie.properties` did not list the metadata table when the job began, and the change
            would make the metadata table stale.
    """
    if undoes is not None:
        _apply_undo(table, undoes)
    elif completes not in _NEEDS_NOTHING:
        _switch_off(table)


def _switch_off(table: TableAccess) -> None:
    """Switch the metadata table off.

    The configuration is read again, because any Hudi write with default settings switches the metadata table on.
    """
    config = read_table_config(table.storage)
    if not must_disable_metadata_table(config):
        remove_unlisted_metadata_table(table.storage, config)
        return
    if not must_disable_metadata_table(table.config):
        raise UnsupportedTableError(
            "Another writer switched the metadata table on during this job.",
            hint=f"Run the request again with {METADATA_ENABLE}=false to switch the metadata table off.",
        )
    disable_metadata_table(table.storage, config, table.clock)
    _LOG.warning("Switched off the metadata table; the next write by Hudi builds a new one.")


def _apply_undo(table: TableAccess, instant_time: str) -> None:
    """Switch off a metadata table that contains the undone instant, because it would list the deleted files forever.

    The job may do so only if `hoodie.properties` listed the metadata table when the job began. Only then did the job
    check that the request allows the change.
    """
    config = read_table_config(table.storage)
    if not must_disable_metadata_table(config):
        return
    # A completed write is certainly in the metadata table, whatever the metadata table's own timeline shows.
    was_completed = any(i.requested_time == instant_time for i in table.load_timeline().completed_writes)
    if not (was_completed or _contains(table, instant_time)):
        return
    if not must_disable_metadata_table(table.config):
        raise UnsupportedTableError(
            f"The metadata table contains {instant_time}, which this job is going to roll back.",
            hint=f"Run the request again with {METADATA_ENABLE}=false to switch the metadata table off.",
        )
    disable_metadata_table(table.storage, config, table.clock)
    _LOG.warning("Switched off the metadata table, which contains the undone write %s.", instant_time)


def _contains(table: TableAccess, instant_time: str) -> bool:
    folder = f"{METADATA_TABLE}/{table.config.table_version.layout.timeline_folder}"
    files = table.storage.list_folder(folder).files
    return any(stored.name.startswith(instant_time) for stored in files)
