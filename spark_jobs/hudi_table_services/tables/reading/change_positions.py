"""Find how far a table has read the changes of other tables. Its commits contain these positions (docs/adr/0058)."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from hudi_table_services.model.instant import Instant
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation
from hudi_table_services.storage.archive.repeated_reads import repeat_if_deleted
from hudi_table_services.storage.parallel import READ_THREADS, map_in_parallel
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.archived_timeline import ArchivedTimeline
from hudi_table_services.tables.table import TableAccess

POSITION_KEY = "airflow.change_position."
"""Middle part of a key in the metadata of a commit. Before this part, the key contains the prefix with which the write
stores options in its commit. After this part, the key contains the name of the chain."""

SOURCE_KEY = "airflow.change_source."
"""As `POSITION_KEY`, for the key whose value is the base path of the source."""

_WHAT = "the positions of a table"
_ARCHIVE_TAIL = 100
_ARCHIVE_LIMIT_BYTES = 16 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainPosition:
    """How far a table has read one source.

    Attributes:
        chain: name under which the table stores its position in the source; see `SourceSpec.chain`.
        time: the time at which the last commit that was read became visible in the source.
        source: base path of the source; empty if the commit does not contain the path.
        instant: the commit that contains the position.
        replaced_by: requested time of a later commit in which the load of another chain replaced all rows of the table;
            empty if there is none. Only `find_position` sets the field.
    """

    chain: str
    time: str
    source: str
    instant: Instant
    replaced_by: str = ""


def change_position(table: TableAccess, chain: str) -> str:
    """Return the position of a chain; empty if no commit of the table has one.

    Raises:
        CorruptTableError: a commit or the archive cannot be read.
        UnsupportedTableError: see `ArchivedTimeline.writes`.
    """
    found = find_position(table, chain)
    return found.time if found is not None else ""


def find_position(table: TableAccess, chain: str) -> ChainPosition | None:
    """Return the newest position of a chain; None if no commit has one. Raises the errors of `change_position`."""
    return repeat_if_deleted(lambda: _find_position(table, chain), _WHAT)


def _find_position(table: TableAccess, chain: str) -> ChainPosition | None:
    replaced_by = ""
    archived = ArchivedTimeline(table.storage, table.config).newest_with(POSITION_KEY)
    writes = itertools.chain(_active(table), ((each.instant, each.metadata) for each in archived))
    for instant, metadata in writes:
        positions = tuple(_positions_in(instant, metadata))
        for position in positions:
            if position.chain == chain:
                return replace(position, replaced_by=replaced_by)
        if positions and metadata.operation_type is WriteOperation.INSERT_OVERWRITE_TABLE:
            replaced_by = replaced_by or instant.requested_time
    return None


def newest_positions(table: TableAccess) -> tuple[ChainPosition, ...]:
    """Return the newest position of each chain, sorted by name.

    Positions before a load that replaced all rows of the table are left out. Only the newest writes of the archive are
    read, from files of at most 16 MiB in total.

    Raises:
        CorruptTableError, UnsupportedTableError: see `change_position`.
    """
    return repeat_if_deleted(lambda: _newest_positions(table), _WHAT)


def _newest_positions(table: TableAccess) -> tuple[ChainPosition, ...]:
    active = tuple(_active(table))
    archived = ArchivedTimeline(table.storage, table.config).tail(
        count=_ARCHIVE_TAIL, limit_bytes=_ARCHIVE_LIMIT_BYTES
    )
    older = sorted(archived.writes, key=lambda each: each.instant.visible_from, reverse=True)
    return _newest_of_chains(
        (*active, *((each.instant, each.metadata) for each in older)), only_loads_replace=True
    )


def positions_of_all_chains(table: TableAccess) -> tuple[ChainPosition, ...]:
    """Return the newest position of each chain whose rows the table may contain, sorted by name.

    The whole archive is read. Positions before a commit with the operation insert_overwrite_table are left out, because
    this commit has replaced the rows of their chains.

    Raises:
        CorruptTableError, UnsupportedTableError: see `change_position`.
    """
    return repeat_if_deleted(lambda: _newest_of_chains(_newest_first(table), only_loads_replace=False), _WHAT)


def _newest_of_chains(
    newest_first: Iterable[tuple[Instant, CommitMetadata]], *, only_loads_replace: bool
) -> tuple[ChainPosition, ...]:
    found: dict[str, ChainPosition] = {}
    replaced = ""
    for instant, metadata in newest_first:
        if instant.visible_from <= replaced:
            continue
        positions = tuple(_positions_in(instant, metadata))
        for position in positions:
            found.setdefault(position.chain, position)
        replaces = metadata.operation_type is WriteOperation.INSERT_OVERWRITE_TABLE
        if replaces and (positions or not only_loads_replace):
            # A commit that completed after this commit was requested may have added rows that this commit kept.
            replaced = max(replaced, instant.requested_time)
    return tuple(found[chain] for chain in sorted(found))


def _newest_first(table: TableAccess) -> Iterator[tuple[Instant, CommitMetadata]]:
    yield from _active(table)
    writes = ArchivedTimeline(table.storage, table.config).writes()
    for write in sorted(writes, key=lambda each: each.instant.visible_from, reverse=True):
        yield write.instant, write.metadata


def _active(table: TableAccess) -> Iterator[tuple[Instant, CommitMetadata]]:
    """Yield the completed writes of the active timeline, newest first. Read their metadata in batches, as needed."""
    writes = table.load_timeline().completed_writes
    newest_first = sorted(writes, key=lambda i: i.visible_from, reverse=True)
    for start in range(0, len(newest_first), READ_THREADS):
        yield from _with_metadata(table.timeline_store, newest_first[start : start + READ_THREADS])


def _with_metadata(
    store: TimelineStore, instants: Sequence[Instant]
) -> Iterable[tuple[Instant, CommitMetadata]]:
    return zip(instants, map_in_parallel(store.commit_metadata, instants), strict=True)


def _positions_in(instant: Instant, metadata: CommitMetadata) -> Iterator[ChainPosition]:
    extra = metadata.extra_metadata
    for key, time in extra.items():
        prefix, separator, chain = key.partition(POSITION_KEY)
        if separator and time:
            source = extra.get(f"{prefix}{SOURCE_KEY}{chain}", "")
            yield ChainPosition(chain=chain, time=time, source=source, instant=instant)
