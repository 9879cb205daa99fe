"""Scheduling a compaction, which needs no Spark: plans, triggers, reasons, refused tables, other writers."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from hudi_table_services.contract.result import Outcome
from hudi_table_services.errors import (
    CommitConflictError,
    InvalidRequestError,
    UnsupportedTableError,
)
from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.hudi_format.table_service_plans import (
    decode_compaction_plan,
    encode_compaction_plan,
    encode_requested_replace,
)
from hudi_table_services.model.instant import Action, InstantState
from hudi_table_services.model.table_service_plans import (
    ClusteringGroup,
    ClusteringPlan,
    ClusteringSlice,
    CompactionOperation,
    CompactionPlan,
)
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.storage import FolderListing
from hudi_table_services.storage.table_store import update_properties
from support.compaction.golden_slices import golden_table
from support.compaction.jobs_here import report_of, schedule
from support.compaction.written_table import (
    NORTH,
    SOUTH,
    Deleted,
    WrittenTable,
    a_row,
    new_storage,
)
from support.faulty_storage import FaultyStorage
from support.fixed_clock import FixedClock
from support.log_golden import ARCHIVES
from support.small_tables import SmallTable

VERSIONS = pytest.mark.parametrize("version", list(ARCHIVES), ids=lambda version: f"v{version.value}")
WITH_OWN_TIMES = [TableVersion.V8, TableVersion.V9]
LIMIT = "hoodie.compact.inline.max.delta.commits"


def a_table(version: TableVersion = TableVersion.V9, **fields: Any) -> WrittenTable:
    """A table with two log files in `NORTH` and one in `SOUTH`."""
    table = WrittenTable(new_storage(), version, **fields)
    table.insert({NORTH: [a_row("n", 1)], SOUTH: [a_row("s", 1)]})
    table.log({NORTH: [a_row("n", 2)], SOUTH: [Deleted("s")]})
    table.log({NORTH: [a_row("n", 3)]})
    return table


def content(table: WrittenTable) -> dict[str, int]:
    return {stored.path: stored.size_bytes for stored in table.storage.list_files()}


def plan_of(table: WrittenTable) -> CompactionPlan:
    (pending,) = (i for i in table.timeline_store.load().pending if i.action is Action.COMPACTION)
    assert pending.state is InstantState.REQUESTED
    return decode_compaction_plan(table.timeline_store.read_requested(pending))


@VERSIONS
def test_a_plan_has_the_format_of_hudi(version: TableVersion) -> None:
    table = a_table(version)
    scheduled = schedule(table.storage, table.clock, request_id="mine")
    plan = plan_of(table)
    assert (scheduled.outcome, scheduled.action) == (Outcome.COMPLETED, "compaction")
    assert (plan.version, plan.strategy, plan.preserve_hoodie_metadata) == (2, None, False)
    assert plan.extra_metadata == {"airflow.request_id": "mine"}
    by_group = {operation.file_id: operation for operation in plan.operations}
    current = {s.file_group_id.file_id: s for s in table.snapshot.all_slices}
    for file_id in (NORTH.file_id, SOUTH.file_id):
        found, expected = by_group[file_id], current[file_id]
        assert expected.base_file is not None
        assert found.data_file_path == expected.base_file.file_name
        assert list(found.delta_file_paths) == [log.file_name for log in expected.log_files]
        assert found.base_instant_time == expected.base_instant_time
        assert found.metrics["TOTAL_LOG_FILES"] == len(expected.log_files)
        assert found.metrics["TOTAL_LOG_FILES_SIZE"] == sum(log.size_bytes for log in expected.log_files)


@VERSIONS
@pytest.mark.parametrize("name", ["updates", "compacted_logs"])
def test_a_table_of_hudi_is_planned_with_all_of_its_log_files(version: TableVersion, name: str) -> None:
    table = golden_table(version, name)
    later = FixedClock(FixedClock().moment.replace(year=2030))
    scheduled = schedule(table.storage, later)
    (partition,) = report_of(scheduled).plans[0].partitions
    assert partition.log_files == len(table.file_slice.log_files)
    assert partition.log_bytes == sum(log.size_bytes for log in table.file_slice.log_files)
    (instant,) = report_of(scheduled).instants
    assert instant > max(table.visibility.completed.values())


@VERSIONS
def test_the_instant_is_later_than_every_completed_write(version: TableVersion) -> None:
    table = a_table(version)
    newest = max(i.visible_from for i in table.timeline_store.load().completed_writes)
    # The clock of the job is behind the clock of the writer.
    clock = FixedClock(table.clock.moment - timedelta(hours=1))
    assert (schedule(table.storage, clock).instant_time or "") > newest


def test_a_preview_reports_the_plan_and_writes_nothing() -> None:
    table = a_table()
    before = content(table)
    previewed = schedule(table.storage, table.clock, preview=True)
    report = report_of(previewed)
    assert previewed.outcome is Outcome.PLANNED
    assert [(p.partition_path, p.slices, p.log_files) for p in report.plans[0].partitions] == [
        ("north", 1, 2),
        ("south", 1, 1),
    ]
    assert report.before is not None
    assert report.after is not None
    assert (report.before.log_files, report.after.log_files) == (3, 0)
    assert report.before.slices_total == 2
    assert content(table) == before


def test_a_compaction_that_is_not_due_is_not_planned() -> None:
    table = a_table()
    before = content(table)
    result = schedule(table.storage, table.clock, ignore_trigger=False)
    assert result.outcome is Outcome.NOTHING_TO_DO
    assert "3 delta commits since the first delta commit" in result.reason
    assert f"fewer than {LIMIT}=5" in result.reason
    assert report_of(result).delta_commits == 3
    assert content(table) == before


def test_every_n_commits_decides_when_a_compaction_is_due_and_the_reason_names_no_key() -> None:
    table = a_table()
    before = content(table)
    waiting = schedule(table.storage, table.clock, ignore_trigger=False, every_n_commits=4)
    assert waiting.reason.startswith("3 delta commits since the first delta commit")
    assert waiting.reason.endswith(
        "fewer than every_n_commits=4; to compact now, set ignore_trigger (--ignore-trigger)"
    )
    assert waiting.reason.startswith(report_of(waiting).trigger)
    assert content(table) == before
    due = schedule(table.storage, table.clock, ignore_trigger=False, every_n_commits=3)
    assert due.outcome is Outcome.COMPLETED
    assert report_of(due).trigger.endswith("at least every_n_commits=3")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({LIMIT: "7"}, ["'4'", "'7'", LIMIT]),
        (
            {"hoodie.compact.inline.trigger.strategy": "TIME_ELAPSED"},
            ["every_n_commits is 4", "TIME_ELAPSED", "NUM_OR_TIME"],
        ),
    ],
)
def test_every_n_commits_that_contradicts_an_option_is_refused_before_anything_is_written(
    options: dict[str, str], named: list[str]
) -> None:
    table = a_table()
    before = content(table)
    with pytest.raises(InvalidRequestError) as refused:
        schedule(table.storage, table.clock, options, every_n_commits=4)
    assert all(word in str(refused.value) for word in named), str(refused.value)
    assert content(table) == before


@pytest.mark.parametrize(
    ("trigger", "commits", "seconds", "is_due"),
    [
        ("NUM_COMMITS", 3, 9999, True),
        ("NUM_COMMITS", 4, 0, False),
        ("NUM_COMMITS_AFTER_LAST_REQUEST", 3, 9999, True),
        ("TIME_ELAPSED", 99, 60, True),
        ("TIME_ELAPSED", 1, 61, False),
        ("NUM_AND_TIME", 3, 61, False),
        ("NUM_AND_TIME", 3, 60, True),
        ("NUM_OR_TIME", 4, 60, True),
        ("NUM_OR_TIME", 4, 61, False),
    ],
)
def test_each_trigger_decides_by_delta_commits_or_time(
    trigger: str, commits: int, seconds: int, is_due: bool
) -> None:
    table = a_table()
    options = {
        "hoodie.compact.inline.trigger.strategy": trigger,
        LIMIT: str(commits),
        "hoodie.compact.inline.max.delta.seconds": str(seconds),
    }
    clock = FixedClock(table.clock.moment + timedelta(seconds=60))
    result = schedule(table.storage, clock, options, ignore_trigger=False)
    assert (result.outcome is Outcome.COMPLETED) == is_due


def test_a_second_attempt_reports_the_plan_of_the_first() -> None:
    table = a_table()
    first = schedule(table.storage, table.clock, request_id="same")
    again = schedule(table.storage, table.clock, request_id="same")
    assert (again.reused, again.instant_time) == (True, first.instant_time)
    assert len(table.timeline_store.load().pending) == 1


def test_the_strategy_and_the_partitions_of_a_request_choose_slices() -> None:
    table = a_table()
    result = schedule(table.storage, table.clock, partitions=("south", "west"))
    assert [p.partition_path for p in report_of(result).plans[0].partitions] == ["south"]
    assert result.warnings == ("The table has no partition 'west'.",)
    (skipped,) = report_of(result).skipped
    assert skipped == "north: n1, partition is not in hoodie.airflow.compaction.partitions"


def reserve(table: WrittenTable, kind: str) -> str:
    """Let a pending plan contain `NORTH`; return the reason that the report must contain."""
    operation = CompactionOperation(base_instant_time="1", file_id="n1", partition_path="north")
    plan = encode_compaction_plan(CompactionPlan(operations=(operation,)))
    store = table.timeline_store
    match kind:
        case "compaction":
            pending = store.request(Action.COMPACTION, plan)
        case "log compaction":
            pending = store.request(Action.LOG_COMPACTION, plan)
        case _:
            planned = ClusteringSlice(file_id="n1", partition_path="north", data_file_path="/t/north/x")
            group = ClusteringGroup(slices=(planned,))
            action = Action.CLUSTERING if table.has_own_times else Action.REPLACE_COMMIT
            pending = store.request(action, encode_requested_replace(ClusteringPlan(groups=(group,))))
    return f"north: n1, in the pending {kind} {pending.requested_time}"


@VERSIONS
@pytest.mark.parametrize("kind", ["compaction", "log compaction", "clustering"])
def test_a_file_group_of_a_pending_plan_is_left_out(version: TableVersion, kind: str) -> None:
    table = a_table(version)
    reason = reserve(table, kind)
    report = report_of(schedule(table.storage, table.clock))
    assert [p.partition_path for p in report.plans[0].partitions] == ["south"]
    assert report.skipped == (reason,)


def test_in_version_6_a_file_group_with_a_pending_delta_commit_is_left_out() -> None:
    table = a_table(TableVersion.V6)
    pending = table.begin({NORTH: ()})
    report = report_of(schedule(table.storage, table.clock))
    assert [p.partition_path for p in report.plans[0].partitions] == ["south"]
    assert f"pending delta commit {pending.requested_time} may write to the file group" in report.skipped[0]


def test_in_version_6_nothing_is_planned_beside_a_delta_commit_that_is_only_requested() -> None:
    table = a_table(TableVersion.V6)
    table.timeline_store.request(Action.DELTA_COMMIT)
    result = schedule(table.storage, table.clock)
    assert result.outcome is Outcome.NOTHING_TO_DO
    assert "may write to any file group" in result.reason


@pytest.mark.parametrize("version", WITH_OWN_TIMES)
def test_in_later_versions_a_compaction_is_planned_beside_a_pending_delta_commit(
    version: TableVersion,
) -> None:
    table = a_table(version)
    pending = table.begin({NORTH: ()})
    scheduled = schedule(table.storage, table.clock)
    assert sum(p.log_files for p in report_of(scheduled).plans[0].partitions) == 3
    completed = table.finish(pending, {NORTH: [a_row("n", 9)]})
    # The log file of the pending write is not in the plan, and stays on top of the new base file.
    assert completed.visible_from > (scheduled.instant_time or "")


@dataclass
class ChangingTable(FaultyStorage):
    """The storage of a table to which another writer writes whenever the job lists the partition ``north``.

    Attributes:
        left: how often the other writer still writes.
    """

    change: Callable[[], object] = lambda: None
    left: int = 0

    def list_folder(self, folder: str = "") -> FolderListing:
        found = self.inner.list_folder(folder)
        if folder == "north" and self.left:
            self.left -= 1
            self.change()
        return found


@VERSIONS
def test_a_delta_commit_that_completes_during_the_planning_is_part_of_the_plan(version: TableVersion) -> None:
    table = a_table(version)
    numbers = iter(range(10, 99))

    def change() -> None:
        table.log({NORTH: [a_row("n", next(numbers))]})

    scheduled = schedule(ChangingTable(table.storage, change=change, left=1), table.clock)
    planned = {name for o in plan_of(table).operations for name in o.delta_file_paths}
    assert scheduled.outcome is Outcome.COMPLETED
    written = {log.file_name for s in table.snapshot.all_slices for log in s.log_files}
    assert planned == written
    assert len(written) == 4


@VERSIONS
def test_a_delta_commit_that_is_undone_during_the_planning_is_not_part_of_the_plan(
    version: TableVersion,
) -> None:
    table = a_table(version)
    undone = table.timeline_store.load().completed_writes[1]
    paths = [stat.path for stat in table.timeline_store.commit_metadata(undone).write_stats]

    def undo() -> None:
        table.timeline_store.remove_completed(undone)
        table.timeline_store.remove(undone)
        for path in paths:
            table.storage.delete(path)

    schedule(ChangingTable(table.storage, change=undo, left=1), table.clock)
    planned = {name for o in plan_of(table).operations for name in o.delta_file_paths}
    assert planned == {log.file_name for s in table.snapshot.all_slices for log in s.log_files}
    assert len(planned) == 1


def test_the_job_gives_up_if_the_table_changes_all_the_time() -> None:
    table = a_table()
    numbers = iter(range(10, 999))

    def change() -> None:
        table.log({NORTH: [a_row("n", next(numbers))]})

    with pytest.raises(CommitConflictError, match="3 times in a row"):
        schedule(ChangingTable(table.storage, change=change, left=99), table.clock)
    assert table.timeline_store.load().pending == ()


def test_a_copy_on_write_table_is_refused() -> None:
    table = SmallTable(new_storage())
    with pytest.raises(InvalidRequestError, match="copy-on-write, so it has no log files"):
        schedule(table.storage, table.clock)


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"hoodie.table.cdc.enabled": "true"}, "logs changes for CDC"),
        ({"hoodie.record.merge.mode": "CUSTOM"}, "custom rule"),
        ({"hoodie.populate.meta.fields": "false"}, "no meta columns"),
    ],
)
def test_a_table_that_cannot_be_merged_is_refused_before_anything_is_written(
    properties: dict[str, str], words: str
) -> None:
    table = a_table()
    update_properties(table.storage, properties, table.clock)
    before = content(table)
    with pytest.raises(UnsupportedTableError, match=words):
        schedule(table.storage, table.clock)
    assert content(table) == before


def test_a_table_without_log_files_needs_no_compaction() -> None:
    table = WrittenTable(new_storage())
    table.insert({NORTH: [a_row("n", 1)]})
    result = schedule(table.storage, table.clock)
    assert result.outcome is Outcome.NOTHING_TO_DO
    assert result.reason == "no file slice of the table has log files"


def test_the_speed_of_earlier_compactions_gives_the_expected_duration() -> None:
    table = a_table()
    result = schedule(
        table.storage, table.clock, {"hoodie.airflow.compaction.bytes.per.second": "1000"}, preview=True
    )
    (plan,) = report_of(result).plans
    assert plan.expected_task_seconds is not None
    assert plan.expected_task_seconds > 5


def test_a_file_group_that_a_running_overwrite_replaces_is_left_out() -> None:
    table = a_table()
    store = table.timeline_store
    profile = store.commit_metadata(store.load().completed_writes[1])
    store.start(store.request(Action.REPLACE_COMMIT), encode_commit_metadata(profile, table.version))
    result = schedule(table.storage, table.clock)
    assert result.outcome is Outcome.NOTHING_TO_DO
    assert "overwrite" in report_of(result).skipped[0]
