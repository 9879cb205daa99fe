"""Log files whose delta commits are archived: their completion times decide to which slices they belong."""

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from hudi_table_services.commits.metadata_table.indexed_table import IndexedTable
from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.errors import CorruptTableError
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.model.archival import HistoryEntry
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation, WriteStat
from hudi_table_services.tables.archived_timeline import ArchivedTimeline, history_store
from hudi_table_services.tables.table import TableAccess
from support.fixed_clock import FixedClock
from support.small_tables import base_file_name
from support.with_logs.logged_tables import A, B, LoggedTable, a_logged_table

VERSIONS = pytest.mark.parametrize("version", [TableVersion.V8, TableVersion.V9], ids=lambda v: v.name)


def soon() -> FixedClock:
    return FixedClock(datetime.now(timezone.utc) + timedelta(days=2), timedelta(milliseconds=1))


def late_delta_commit(version: TableVersion) -> tuple[LoggedTable, Instant]:
    """A delta commit that began before a compaction was scheduled, completed after it, and was archived by Hudi."""
    table = a_logged_table(version)
    table.delta(bases=[A])
    table.delta(logs=[A])
    late = table.begin(Action.DELTA_COMMIT)
    plan = table.plan_compaction(A)
    completed = table.delta(logs=[A], pending=late)
    table.run_compaction(plan, A)
    for _ in range(5):
        table.delta(bases=[B]) if _ == 0 else table.delta(logs=[B])
    return table, completed


def archived(table: LoggedTable, count: int = 4) -> None:
    """Archive the oldest writes, by default all of file group `A`, as Hudi does. Our archival keeps the late one."""
    store = table.timeline_store
    leaving = store.load().completed_writes[:count]
    entries = [
        HistoryEntry(
            requested_time=i.requested_time,
            completion_time=i.completion_time or "",
            action=i.action.value,
            metadata=store.read(i),
            plan=None,
        )
        for i in leaving
    ]
    history_store(table.storage, table.config).add(entries, 10)
    store.remove_archived(leaving)


def in_archive(table: LoggedTable) -> set[str]:
    return {each.instant.requested_time for each in ArchivedTimeline(table.storage, table.config).writes()}


@VERSIONS
def test_rows_of_an_archived_delta_commit_that_completed_after_a_compaction_stay_visible(
    version: TableVersion,
) -> None:
    table, late = late_delta_commit(version)
    before = table.seen()
    assert before["a/f1"][1] == (late.requested_time,)
    archived(table)
    assert late.requested_time in in_archive(table)
    assert table.seen() == before


@VERSIONS
def test_a_clean_keeps_the_log_file_of_an_archived_delta_commit_that_completed_after_a_compaction(
    version: TableVersion,
) -> None:
    table, late = late_delta_commit(version)
    before = table.seen()
    archived(table)
    request = CleanRequest(base_path="/t", file_versions_retained=1, request_id="same")
    clean(request, storage=table.storage, clock=soon())
    assert table.seen() == before
    assert any(late.requested_time in path for path in table.data_files())


@VERSIONS
def test_an_archive_that_cannot_be_read_is_an_error_and_no_lost_row(version: TableVersion) -> None:
    table, _ = late_delta_commit(version)
    archived(table)
    for stored in table.storage.list_files(".hoodie/timeline/history"):
        if stored.path.endswith(".parquet"):
            table.storage.write(stored.path, b"damaged")
    with pytest.raises(CorruptTableError, match="history"):
        table.seen()


@VERSIONS
def test_statistics_of_partitions_count_the_log_file_of_an_archived_delta_commit_as_live(
    version: TableVersion,
) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A])
    table.delta(logs=[A])
    late = table.begin(Action.DELTA_COMMIT)
    plan = table.plan_compaction(A)
    table.delta(logs=[A], pending=late)
    table.delta(bases=[B])
    archived(table, 3)
    assert late.requested_time in in_archive(table)
    base = base_file_name(A.file_id, plan.requested_time)
    stat = WriteStat(file_id=A.file_id, partition_path="a", path=f"a/{base}", prev_commit="")
    content = CommitMetadata(
        operation_type=WriteOperation.COMPACT, partition_to_write_stats={"a": (stat,)}, compacted=True
    )
    opened = TableAccess(storage=table.storage, clock=soon(), config=table.config)
    not_used: Any = object()
    live = IndexedTable(table=opened, metadata=not_used).live_files_after(content, ["a"])
    assert live["a"] == {base, table.log_name(A, late.requested_time)}
