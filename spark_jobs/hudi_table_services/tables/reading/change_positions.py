"""How far a table has read the changes of another table: the position in its newest commit with one (docs/adr/0058)."""

from collections.abc import Mapping

from hudi_table_services.model.timeline import Timeline
from hudi_table_services.storage.parallel import READ_THREADS, map_in_parallel
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.archived_timeline import ArchivedTimeline
from hudi_table_services.tables.table import TableAccess

POSITION_KEY = "airflow.change_position."
"""End of the key in the metadata of a commit, followed by the name of the chain. Before it is the prefix with which
the write stores options in the metadata of its commit."""


def change_position(table: TableAccess, chain: str) -> str:
    """Return the position of a chain; empty if no commit of the table has one.

    Raises:
        CorruptTableError: a commit or the archive cannot be read.
        UnsupportedTableError: see `ArchivedTimeline.writes`.
    """
    name = f"{POSITION_KEY}{chain}"
    found = _on_timeline(table.timeline_store, table.load_timeline(), name)
    return found or _in_archive(table.storage, table, name)


def _on_timeline(store: TimelineStore, timeline: Timeline, name: str) -> str:
    newest_first = sorted(timeline.completed_writes, key=lambda i: i.visible_from, reverse=True)
    for start in range(0, len(newest_first), READ_THREADS):
        for metadata in map_in_parallel(store.commit_metadata, newest_first[start : start + READ_THREADS]):
            if position := _position(metadata.extra_metadata, name):
                return position
    return ""


def _in_archive(storage: Storage, table: TableAccess, name: str) -> str:
    writes = ArchivedTimeline(storage, table.config).writes()
    for write in sorted(writes, key=lambda each: each.instant.visible_from, reverse=True):
        if position := _position(write.metadata.extra_metadata, name):
            return position
    return ""


def _position(extra_metadata: Mapping[str, str], name: str) -> str:
    return next((value for key, value in extra_metadata.items() if key.endswith(name)), "")
