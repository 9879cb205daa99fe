"""Log files whose delta commits are archived: their completion times decide to which slices they belong."""

from datetime import datetime, timedelta, timezone

import pytest

from hudi_table_services.contract.archival import ArchiveRequest
from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.errors import CorruptTableError
from hudi_table_services.jobs.archival.archive import archive
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.tables.archived_timeline import ArchivedTimeline
from support.archived_tables import SMALL_LIMITS
from support.fixed_clock import FixedClock
from support.with_logs.logged_tables import A, B, LoggedTable, a_logged_table

VERSIONS = pytest.mark.parametrize("version", [TableVersion.V8, TableVersion.V9], ids=lambda v: v.name)
LIMITS = {**SMALL_LIMITS, "hoodie.compact.inline.max.delta.commits": "1"}


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


def archived(table: LoggedTable) -> None:
    request = ArchiveRequest(base_path="/t", min_commits=2, max_commits=3, options=LIMITS)
    archive(request, storage=table.storage, clock=soon())


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
def test_a_clean_keeps_the_log_file_of_such_a_delta_commit(version: TableVersion) -> None:
    table, late = late_delta_commit(version)
    archived(table)
    before = table.seen()
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
