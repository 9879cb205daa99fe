"""Read the rows of a table without Spark, as a snapshot query or as a read-optimized query returns them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hudi_table_services.errors import InvalidRequestError, UnsupportedTableError
from hudi_table_services.model.table_version import TableType
from hudi_table_services.planning.table.merge_rules import merge_rule
from hudi_table_services.planning.table.refused_features import refused_features
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.cleaned_files import naming_lost_files
from hudi_table_services.tables.snapshots.log_sizes import refuse_short_logs
from hudi_table_services.tables.views.named_partitions import load_named_partitions

if TYPE_CHECKING:
    from pyarrow import Table

SNAPSHOT, READ_OPTIMIZED = "snapshot", "read_optimized"
QUERY_TYPES = (SNAPSHOT, READ_OPTIMIZED)
"""Values of ``hoodie.datasource.query.type`` that this release reads."""


def read_table_rows(
    storage: Storage,
    partitions: Sequence[str] = (),
    *,
    query_type: str = SNAPSHOT,
    columns: Sequence[str] | None = None,
) -> "Table":
    """Read the current rows into memory.

    Args:
        partitions: partition paths; empty means all partitions.
        query_type: one of `QUERY_TYPES`. They differ only for merge-on-read tables: a read-optimized query ignores log
            files, so it returns the rows as of the last compaction of each file group.
        columns: columns to read. None means all columns of the table, after the commit time, the sequence number and
            the record key of each row.

    Raises:
        InvalidRequestError: the query type is unknown, or the table has no such column or partition.
        TableNotFoundError: there is no table.
        UnsupportedTableError: this release cannot merge the log files as the table requires, or the files of the table
            lack columns.
        CorruptTableError: a file is damaged or lost, or a log file lost its end.
    """
    from hudi_table_services.execution.log_merging.snapshot_rows import read_rows  # needs pyarrow

    if query_type not in QUERY_TYPES:
        raise InvalidRequestError(
            f"The query type {query_type!r} is unknown.",
            hint=f"The query types are: {', '.join(QUERY_TYPES)}.",
        )
    snapshot = load_named_partitions(storage, partitions)
    config = snapshot.config
    for feature in refused_features(config, merge_on_read=True, merges_logs=True):
        raise UnsupportedTableError(f"The table {feature}, so this release does not read its rows.")
    merges = config.table_type is TableType.MERGE_ON_READ and query_type == SNAPSHOT
    if merges:
        refuse_short_logs(TimelineStore(storage, config, SystemClock()), snapshot, snapshot.all_slices)
    with naming_lost_files(storage, snapshot):
        return read_rows(storage, snapshot, merge_rule(config) if merges else None, columns)
