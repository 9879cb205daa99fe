"""The clean job on merge-on-read tables: file slices are deleted as a whole; plans and savepoints keep them."""

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from hudi_table_services.contract.cleaning import CleanReport, CleanRequest
from hudi_table_services.contract.recovery import CreateSavepointRequest, DeleteSavepointRequest
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.hudi_format.table_service_plans import decode_clean_metadata, decode_clean_plan
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.recovery.savepoint import create_savepoint, delete_savepoint
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.timeline_store import TimelineStore
from support.fixed_clock import FixedClock
from support.metadata_table.whole_metadata_golden import VERSIONS as GOLDEN_VERSIONS
from support.metadata_table.whole_metadata_golden import whole_table
from support.with_logs.logged_tables import A, B, LoggedTable, a_logged_table

VERSIONS = pytest.mark.parametrize(
    "version", [TableVersion.V6, TableVersion.V8, TableVersion.V9], ids=lambda v: v.name
)
POLICIES = pytest.mark.parametrize(
    "policy", [{"commits_retained": 1}, {"file_versions_retained": 1}], ids=["commits", "versions"]
)


def cleaned(table: LoggedTable, *, days: int = 1, **fields: Any) -> JobResult:
    clock = FixedClock(datetime.now(timezone.utc) + timedelta(days=days), timedelta(milliseconds=1))
    return clean(CleanRequest(base_path="/t", **fields), storage=table.storage, clock=clock)


def files_of(table: LoggedTable, group: FileGroupId) -> set[str]:
    return {p for p in table.data_files() if p.startswith(f"{group.partition_path}/")}


@VERSIONS
@POLICIES
def test_a_slice_is_deleted_as_a_whole(version: TableVersion, policy: dict[str, int]) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A])
    table.delta(logs=[A])
    table.delta(logs=[A])
    first = table.data_files()
    table.compact(A)
    table.delta(logs=[A])
    second = table.data_files() - first
    table.compact(A)
    table.delta(logs=[A])
    before = table.seen()
    latest = table.data_files() - first - second
    result = cleaned(table, **policy)
    assert isinstance(result.report, CleanReport)
    assert table.seen() == before
    assert table.data_files() == latest
    assert result.report.file_count == len(first | second)


@VERSIONS
def test_the_plan_names_base_files_before_their_log_files(version: TableVersion) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A])
    table.delta(logs=[A])
    table.compact(A)
    table.delta(logs=[A])
    cleaned(table, file_versions_retained=1)
    store = table.timeline_store
    (done,) = (i for i in store.load().completed if i.action is Action.CLEAN)
    (planned,) = decode_clean_plan(store.read_requested(done)).files_to_delete.values()
    assert [".log." in each.path for each in planned] == [False, True]
    (partition,) = decode_clean_metadata(store.read(done)).partitions.values()
    assert sorted(partition.deleted_files) == sorted(each.path.rpartition("/")[2] for each in planned)


@VERSIONS
@POLICIES
def test_log_files_of_the_latest_slice_stay(version: TableVersion, policy: dict[str, int]) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A])
    for _ in range(4):
        table.delta(logs=[A])
    files = table.data_files()
    assert cleaned(table, **policy).outcome is not Outcome.FAILED
    assert table.data_files() == files


@VERSIONS
@POLICIES
def test_a_slice_that_a_pending_compaction_needs_stays(version: TableVersion, policy: dict[str, int]) -> None:
    # In version 6, the files have the times of the storage. Writes before the plan must be visible before the plan.
    table = a_logged_table(version, start=datetime.now(timezone.utc))
    table.delta(bases=[A])
    table.delta(logs=[A])
    outdated = table.data_files()
    table.compact(A)
    table.delta(logs=[A])
    planned = table.plan_compaction(A)
    later = table.delta(logs=[A])
    before = table.seen()
    files = table.data_files()
    cleaned(table, **policy)
    assert table.seen() == before
    # The slice of the plan and the log files that were written after the plan count as one version, as in Hudi.
    assert table.data_files() == files - outdated
    table.run_compaction(planned, A)
    assert table.seen()["a/f1"][1] == (later.requested_time,)


@VERSIONS
def test_two_versions_are_kept_besides_log_files_after_a_plan(version: TableVersion) -> None:
    """As in Hudi, the slice of the plan and the log files after the plan count as one version, the newest one."""
    table = a_logged_table(version)
    slices = []
    for _ in range(3):
        known = table.data_files()
        table.delta(bases=[A]) if not known else table.compact(A)
        table.delta(logs=[A])
        slices.append(table.data_files() - known)
    table.plan_compaction(A)
    table.delta(logs=[A])
    files = table.data_files()
    cleaned(table, file_versions_retained=2)
    assert table.data_files() == files - slices[0]


@VERSIONS
@POLICIES
def test_a_savepoint_keeps_log_files(version: TableVersion, policy: dict[str, int]) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A])
    saved = table.delta(logs=[A])
    kept = table.data_files()
    request = CreateSavepointRequest(base_path="/t", instant=saved.requested_time)
    create_savepoint(request, storage=table.storage, clock=table.clock)
    table.compact(A)
    table.delta(logs=[A])
    table.compact(A)
    table.delta(logs=[A])
    table.delta(logs=[A])
    cleaned(table, **policy)
    assert kept <= table.data_files()
    freed = DeleteSavepointRequest(base_path="/t", instants=(saved.requested_time,))
    delete_savepoint(freed, storage=table.storage, clock=table.clock)
    before = table.seen()
    cleaned(table, days=3, **policy)
    assert not kept & table.data_files()
    assert table.seen() == before


@VERSIONS
def test_files_of_pending_delta_commits_and_of_the_next_slice_stay(version: TableVersion) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A])
    table.delta(logs=[A])
    outdated = table.data_files()
    table.compact(A)
    running = table.begin(Action.DELTA_COMMIT)
    table.write(running, logs=[A], bases=[B], marks=True)
    files = table.data_files()
    options = {"hoodie.clean.failed.writes.policy": "NEVER"}
    cleaned(table, file_versions_retained=1, options=options)
    assert table.data_files() == files - outdated
    table.finish(running, {})
    assert len(table.seen()["a/f1"][1]) == 1


@VERSIONS
def test_a_dead_delta_commit_is_rolled_back_before_the_clean(version: TableVersion) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A])
    table.delta(logs=[A])
    outdated = table.data_files()
    table.compact(A)
    before, files = table.seen(), table.data_files()
    dead = table.begin(Action.DELTA_COMMIT)
    table.write(dead, logs=[A], bases=[B], marks=True)
    cleaned(table, file_versions_retained=1)
    assert table.data_files() == files - outdated
    assert table.seen() == before
    assert not table.timeline_store.load().find(dead.requested_time)


@VERSIONS
def test_replaced_file_groups_are_deleted_with_their_log_files(version: TableVersion) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A], logs=[B])
    table.delta(logs=[A, B])
    replaced = table.data_files()
    table.commit(FileGroupId("a", "f9"), replaces={"a": ("f1",), "b": ("f2",)})
    table.delta(logs=[FileGroupId("a", "f9")])
    before = table.seen()
    cleaned(table, commits_retained=1)
    assert not replaced & table.data_files()
    assert table.seen() == before


def test_a_slice_of_overlapping_writes_stays_whole() -> None:
    """From table version 8 on, the completion time decides to which slice a log file belongs."""
    table = a_logged_table(TableVersion.V9)
    table.delta(bases=[A])
    running = table.begin(Action.DELTA_COMMIT)
    stats = table.write(running, logs=[A])
    (early,) = (p for p in table.data_files() if ".log." in p)
    other = table.delta(logs=[A])
    done = table.compact(A)
    table.finish(running, stats)  # requested before the compaction, completed after it
    assert table.seen()["a/f1"][1] == (running.requested_time,)
    before = table.seen()
    cleaned(table, file_versions_retained=1)
    assert table.seen() == before
    assert files_of(table, A) == {early, next(p for p in table.data_files() if done.requested_time in p)}
    assert not any(other.requested_time in p for p in table.data_files())


# Plans of real Hudi


def tables_before_cleans(version: TableVersion) -> list[tuple[LoggedTable, set[str]]]:
    """The golden table as it was before each clean of Hudi, with the paths that Hudi's clean deleted."""
    golden = whole_table(version, "merge_on_read")
    store = TimelineStore(golden.storage, golden.config, FixedClock())
    timeline = golden.timeline
    files = {
        i: {s.path: s.file_size_bytes for s in store.commit_metadata(i).write_stats}
        for i in timeline.completed_writes
    }
    found, gone = [], set[str]()
    for instant in timeline.completed:
        if instant.action is not Action.CLEAN:
            continue
        plan = decode_clean_plan(store.read_requested(instant))
        deleted = {
            f"{path}/{each.path.rpartition('/')[2]}"
            for path, all_ in plan.files_to_delete.items()
            for each in all_
        }
        table = rebuilt(
            version, store, golden.storage, [i for i in timeline if i.requested_time < instant.requested_time]
        )
        for write, sizes in files.items():
            if write.requested_time < instant.requested_time:
                for path, size in sizes.items():
                    if path not in gone:
                        table.add_file(path.rpartition("/")[0], path.rpartition("/")[2], bytes(size))
        found.append((table, deleted))
        gone |= deleted
    return found


def rebuilt(version: TableVersion, store: TimelineStore, source: Any, instants: list[Instant]) -> LoggedTable:
    """A table without a metadata table that has copies of these instants, in all their states."""
    table = a_logged_table(version, storage=MemoryStorage(f"{version.name}-{len(instants)}-{id(source)}"))
    times = {i.requested_time for i in instants}
    for stored in source.list_folder(version.layout.timeline_folder).files:
        if stored.name.partition(".")[0].partition("_")[0] in times:
            table.storage.write(stored.path, source.read(stored.path))
    return table


@pytest.mark.parametrize("version", GOLDEN_VERSIONS, ids=lambda v: v.name)
def test_plans_are_those_of_real_hudi(version: TableVersion) -> None:
    """Two plans of each release: after a compaction with a deleted partition, and after a second compaction."""
    compared = tables_before_cleans(version)
    assert len(compared) == 2
    for table, deleted in compared:
        result = cleaned(
            table, commits_retained=1, preview=True, options={"hoodie.airflow.clean.floor.hours": "0"}
        )
        assert isinstance(result.report, CleanReport)
        ours = {f"{p.partition_path}/{name}" for p in result.report.partitions for name in p.file_names}
        assert ours == deleted
