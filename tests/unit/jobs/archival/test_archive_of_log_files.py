"""The archive job on merge-on-read tables: readers see the same rows, and orphan log files stay invisible."""

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.contract.archival import ArchiveReport, ArchiveRequest
from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.recovery import RepairOrphansRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.hudi_format.archive_log import decode_archive
from hudi_table_services.jobs.archival.archive import archive
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.recovery.repair_orphans import repair_orphan_files
from hudi_table_services.model.archival import ArchivalOptions
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import WriteOperation
from hudi_table_services.options.archival import DEFAULT_ARCHIVAL
from hudi_table_services.planning.archival import ArchivalFacts, plan_archival
from hudi_table_services.tables.archived_timeline import ArchivedTimeline
from support.archived_tables import SMALL_LIMITS
from support.fixed_clock import FixedClock
from support.log_golden import ARCHIVES
from support.with_logs.logged_tables import A, B, LoggedTable, a_logged_table, golden_logged_table

VERSIONS = pytest.mark.parametrize(
    "version", [TableVersion.V6, TableVersion.V8, TableVersion.V9], ids=lambda v: v.name
)


def archived(table: LoggedTable, low: int = 2, high: int = 3, **fields: Any) -> JobResult:
    fields = {"options": SMALL_LIMITS, **fields}
    request = ArchiveRequest(base_path="/t", min_commits=low, max_commits=high, **fields)
    clock = FixedClock(datetime.now(timezone.utc) + timedelta(days=2), timedelta(milliseconds=1))
    return archive(request, storage=table.storage, clock=clock)


def report(result: JobResult) -> ArchiveReport:
    assert isinstance(result.report, ArchiveReport)
    return result.report


def active(table: LoggedTable) -> list[str]:
    return [i.requested_time for i in table.timeline_store.load().completed_writes]


def in_archive(table: LoggedTable) -> dict[str, WriteOperation]:
    found = ArchivedTimeline(table.storage, table.config).writes()
    return {each.instant.requested_time: each.metadata.operation_type for each in found}


@VERSIONS
def test_delta_commits_and_compactions_are_archived(version: TableVersion) -> None:
    table = a_logged_table(version)
    writes = [table.delta(bases=[A]), table.delta(logs=[A]), table.compact(A)]
    writes += [table.delta(logs=[A]) for _ in range(7)]
    before = table.seen()
    archived(table)
    assert table.seen() == before
    # The last five delta commits stay, so that the next compaction becomes due.
    assert active(table) == [i.requested_time for i in writes[-5:]]
    assert set(in_archive(table)) == {i.requested_time for i in writes[:-5]}
    assert in_archive(table)[writes[2].requested_time] is WriteOperation.COMPACT
    names = {f.name for f in table.storage.list_files(".hoodie")}
    assert not any(writes[2].requested_time in name and "compaction" in name for name in names)


@VERSIONS
def test_the_delta_commits_since_the_last_compaction_stay_with_the_compaction(version: TableVersion) -> None:
    table = a_logged_table(version)
    for _ in range(4):
        table.delta(bases=[A, B])
    table.delta(logs=[A])
    last = table.compact(A)
    later = [table.delta(logs=[A]), table.delta(logs=[B])]
    result = archived(table)
    assert active(table) == [last.requested_time, *(i.requested_time for i in later)]
    assert "2 delta commits since the last compaction" in report(result).retention


@VERSIONS
def test_a_pending_compaction_stops_archival(version: TableVersion) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A])
    before_plan = table.delta(logs=[A])
    planned = table.plan_compaction(A)
    for _ in range(8):
        table.delta(logs=[A])
    before = table.seen()
    result = archived(table)
    assert active(table)[0] == before_plan.requested_time
    assert planned.requested_time in report(result).retention
    table.run_compaction(planned, A)
    archived(table)
    assert active(table)[0] > planned.requested_time
    assert len(table.seen()["a/f1"][1]) == len(before["a/f1"][1]) - 1


def lost_delta(table: LoggedTable) -> str:
    known = table.data_files()
    dead = table.begin(Action.DELTA_COMMIT)
    table.write(dead, logs=[A])
    table.timeline_store.remove(dead)
    (path,) = table.data_files() - known
    return path


@VERSIONS
def test_an_orphan_log_file_never_becomes_committed(version: TableVersion) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A, B])
    for _ in range(2):
        table.delta(logs=[B])
    orphan = lost_delta(table)
    for _ in range(7):
        table.delta(logs=[B])
    before = table.seen()
    result = archived(table)
    assert table.seen() == before
    assert orphan in report(result).retention
    clock = FixedClock(datetime.now(timezone.utc) + timedelta(days=5))
    repair_orphan_files(
        RepairOrphansRequest(base_path="/t", execute=True), storage=table.storage, clock=clock
    )
    assert not table.storage.exists(orphan)
    archived(table)
    assert len(active(table)) == 5
    assert table.seen() == before


def test_a_log_file_of_an_undone_compaction_never_hides_a_base_file() -> None:
    """In table version 6, readers would take the log file for a newer file slice without a base file."""
    table = a_logged_table(TableVersion.V6)
    table.delta(bases=[A])
    planned = table.plan_compaction(A)
    table.delta(logs=[A])
    table.timeline_store.remove(planned)
    before = table.seen()
    for _ in range(8):
        table.delta(bases=[B])
    result = archived(table)
    assert table.seen()["a/f1"][0] == before["a/f1"][0]
    assert planned.requested_time in report(result).retention


@VERSIONS
def test_replaced_file_groups_of_log_files_stop_archival_until_they_are_cleaned(
    version: TableVersion,
) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A], logs=[B])
    replaces = table.commit(FileGroupId("a", "f9"), replaces={"b": ("f2",)})
    for _ in range(8):
        table.delta(logs=[A])
    before = table.seen()
    archived(table)
    assert table.seen() == before
    assert replaces.requested_time in active(table)
    clock = FixedClock(datetime.now(timezone.utc) + timedelta(days=1), timedelta(milliseconds=1))
    clean(CleanRequest(base_path="/t", commits_retained=1), storage=table.storage, clock=clock)
    table.clock.moment = datetime.now(timezone.utc) + timedelta(days=1, hours=1)
    for _ in range(6):
        table.delta(logs=[A])
    before = table.seen()
    archived(table)
    assert replaces.requested_time not in active(table)
    assert table.seen() == before


def test_a_delta_commit_that_a_compaction_overtook_stays() -> None:
    """From table version 8 on, its completion time decides to which file slice its log file belongs."""
    table = a_logged_table(TableVersion.V9)
    table.delta(bases=[A])
    running = table.begin(Action.DELTA_COMMIT)
    stats = table.write(running, logs=[A])
    table.delta(logs=[A])
    table.compact(A)
    table.finish(running, stats)
    for _ in range(8):
        table.delta(logs=[B])
    before = table.seen()
    assert running.requested_time in before["a/f1"][1]
    result = archived(table)
    assert running.requested_time in active(table)
    assert "decides to which file slice" in report(result).retention
    assert table.seen() == before


def test_the_archive_of_version_6_contains_the_plan_of_a_compaction() -> None:
    table = a_logged_table(TableVersion.V6)
    table.delta(bases=[A])
    table.delta(logs=[A])
    done = table.compact(A)
    for _ in range(7):
        table.delta(logs=[A])
    archived(table)
    (file,) = table.storage.list_files(".hoodie/archived")
    records = [
        r
        for r in decode_archive(table.storage.read(file.path))
        if r.instant.requested_time == done.requested_time
    ]
    assert [(r.instant.action, r.instant.state) for r in records] == [
        (Action.COMPACTION, InstantState.REQUESTED),
        (Action.COMPACTION, InstantState.INFLIGHT),
        (Action.COMMIT, InstantState.COMPLETED),
    ]
    ((operation,),) = [r.values["hoodieCompactionPlan"]["operations"] for r in records[:1]]
    assert operation["fileId"] == "f1"
    assert records[1].values["hoodieCompactionPlan"] is None
    assert records[2].values["hoodieCommitMetadata"]["operationType"] == "COMPACT"


@pytest.mark.parametrize("version", ARCHIVES, ids=str)
@pytest.mark.parametrize("name", ["updates", "compacted_logs"])
def test_tables_of_real_hudi_are_archived(version: TableVersion, name: str) -> None:
    """The table `updates` of version 6 contains blocks that a rollback block removes: they stay invisible."""
    table = golden_logged_table(version, name)
    before, count = table.seen(), len(active(table))
    archived(table)
    assert table.seen() == before
    assert len(active(table)) == 5 < count


@pytest.mark.parametrize("kept", [3, 4])
def test_the_option_sets_the_number_of_delta_commits_that_stay(kept: int) -> None:
    table = golden_logged_table(TableVersion.V6, "updates")
    archived(table, options={**SMALL_LIMITS, "hoodie.compact.inline.max.delta.commits": str(kept)})
    assert len(active(table)) == kept


def an_instant(time: int, action: Action, state: InstantState, completed: int | None) -> Instant:
    text = f"{20260101000000000 + time}"
    done = f"{20260101000000000 + completed}" if completed is not None else None
    return Instant(requested_time=text, action=action, state=state, completion_time=done)


@given(
    actions=st.lists(st.sampled_from([Action.COMMIT, Action.DELTA_COMMIT]), max_size=60),
    kept=st.integers(1, 8),
)
def test_enough_delta_commits_stay_for_the_next_compaction(actions: list[Action], kept: int) -> None:
    instants = [
        an_instant(2 * place, action, InstantState.COMPLETED, 2 * place + 1)
        for place, action in enumerate(actions)
    ]
    timeline = Timeline.of(instants)
    options: ArchivalOptions = DEFAULT_ARCHIVAL
    plan = plan_archival(timeline, options, ArchivalFacts(delta_commits=kept))
    left = [i for i in instants if i not in plan.instants]
    assert left == instants[len(plan.instants) :]
    compactions = [i for i in instants if i.action is Action.COMMIT]
    since = [
        i for i in instants if i.action is Action.DELTA_COMMIT and (not compactions or i > compactions[-1])
    ]
    remaining = [i for i in left if i in since]
    assert len(remaining) >= min(kept, len(since))
    if compactions and len(since) < kept:
        assert compactions[-1] in left
