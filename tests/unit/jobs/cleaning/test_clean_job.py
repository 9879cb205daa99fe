"""The clean job on tables without rows: deleted files, kept files, and recovery from a crash at any change."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any
from uuid import uuid4

import pytest

from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.health import HealthReport, HealthRequest
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.errors import CorruptTableError, InvalidRequestError, StorageError
from hudi_table_services.hudi_format.table_service_plans import (
    decode_clean_metadata,
    encode_clean_plan,
    encode_savepoint_metadata,
)
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.health.table_health import table_health
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.table_service_plans import (
    CleanFile,
    CleanPlan,
    SavepointMetadata,
    SavepointPartition,
)
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import read_table_config, update_properties
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.faulty_storage import FaultyStorage, crashes_everywhere
from support.fixed_clock import FixedClock
from support.small_tables import SmallTable, base_file_name

VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
A, B = FileGroupId("a", "f1"), FileGroupId("b", "f2")


@dataclass
class History:
    """A table whose clock advances by a minute whenever a job reads the time; cleans run a day later."""

    version: TableVersion = TableVersion.V9
    storage: Storage = field(default_factory=lambda: MemoryStorage(uuid4().hex))

    def __post_init__(self) -> None:
        # For layout 1 the job reads the modification times of files; storage in memory sets them from the real clock.
        self.clock = FixedClock(datetime.now(timezone.utc) - timedelta(hours=2), step=timedelta(minutes=1))
        self.table = SmallTable(self.storage, self.version, self.clock)
        self.now = datetime.now(timezone.utc) + timedelta(days=1)

    def commits(self, count: int, *groups: FileGroupId) -> list[Instant]:
        return [self.table.commit(*groups) for _ in range(count)]

    def clean(self, storage: Storage | None = None, **fields: Any) -> JobResult:
        fields = {"base_path": self.storage.uri, **fields}
        result = clean(CleanRequest(**fields), storage=storage or self.storage, clock=FixedClock(self.now))
        # Later writes get times after this clean, and the next clean runs a day later.
        self.clock.moment = max(self.clock.moment, self.now) + timedelta(minutes=1)
        self.now = self.clock.moment + timedelta(days=1)
        return result

    def data_files(self, partition: str = "") -> set[str]:
        found = self.storage.list_files()
        return {f.path for f in found if f.name.endswith(".parquet") and f.path.startswith(partition)}

    def names(self, partition: str) -> list[str]:
        return [path.rpartition("/")[2] for path in self.data_files(partition)]

    def latest(self) -> set[str]:
        return {s.base_file_path or "" for s in load_snapshot(self.storage).all_slices}

    def savepoint(self, instant: Instant, partition: str, *names: str) -> None:
        store = self.table.timeline_store
        pending = Instant(
            requested_time=instant.requested_time, action=Action.SAVEPOINT, state=InstantState.INFLIGHT
        )
        self.storage.create(store.path_of(pending), b"")
        kept = SavepointMetadata(
            saved_by="test",
            saved_at_ms=0,
            comments="",
            partitions={partition: SavepointPartition(partition_path=partition, file_names=names)},
        )
        store.complete(pending, encode_savepoint_metadata(kept))


def paths(group: FileGroupId, instants: list[Instant]) -> set[str]:
    return {f"{group.partition_path}/{base_file_name(group.file_id, i.requested_time)}" for i in instants}


def report(result: JobResult) -> Any:
    assert result.report is not None
    return result.report


@VERSIONS
def test_a_clean_of_fifteen_commits_keeps_the_files_of_ten_by_default(version: TableVersion) -> None:
    history = History(version)
    done = history.commits(15, A)
    result = history.clean()
    assert result.outcome is Outcome.COMPLETED
    assert history.data_files() == paths(A, done[4:])
    assert report(result).earliest_commit_to_retain == done[5].requested_time
    assert (report(result).file_count, report(result).size_bytes) == (4, 16)
    again = history.clean()
    assert again.outcome is Outcome.NOTHING_TO_DO
    assert again.reason == "0 of 1 commit since the last clean (cleaning keeps 10 of 15 commits)"


@pytest.mark.parametrize(
    ("fields", "files", "rule"),
    [
        ({}, "outdated files, if there are any,", "cleaning keeps the last 10 commits and the table has 3"),
        (
            {"hours_retained": 1},
            "outdated files, if there are any,",
            "the table has no commit of the last hour, and retention by hours then keeps all files",
        ),
        (
            {"file_versions_retained": 4},
            "the 4 outdated files",
            "cleaning keeps the last 4 versions of each file group",
        ),
    ],
)
def test_a_clean_that_deletes_nothing_says_why_it_keeps_outdated_files(
    fields: dict[str, int], files: str, rule: str
) -> None:
    history = History()
    history.commits(3, A, B)
    reason = f"{files} are kept, because {rule}"
    preview = history.clean(**fields, preview=True)
    assert preview.summary() == f"Preview: a clean would delete nothing: {reason}"
    result = history.clean(**fields)
    assert result.outcome is Outcome.NOTHING_TO_DO
    assert result.reason == reason
    assert result.summary() == f"Nothing to do: {reason}"
    measures = table_health(HealthRequest(base_path="/t"), storage=history.storage).report_as(HealthReport)
    assert measures is not None
    assert measures.measures["outdated_files"] == 4


def test_a_completed_clean_without_deleted_files_says_why() -> None:
    history = History()
    history.commits(4, A)
    history.savepoint(history.table.timeline_store.load().completed_writes[0], "a", *history.names("a"))
    result = history.clean(commits_retained=1)
    assert result.outcome is Outcome.COMPLETED
    assert "0 B deleted: the 3 outdated files are kept: 1 because of each file group" in result.summary()
    assert result.summary().endswith("; 2 because savepoints or pending plans need these files")


@VERSIONS
def test_a_preview_reports_the_files_and_writes_nothing(version: TableVersion) -> None:
    history = History(version)
    done = history.commits(4, A)
    before = {f.path for f in history.storage.list_files()}
    result = history.clean(commits_retained=1, preview=True)
    assert result.outcome is Outcome.PLANNED
    (partition,) = report(result).partitions
    assert {f"a/{name}" for name in partition.file_names} == paths(A, done[:2])
    assert {f.path for f in history.storage.list_files()} == before


@VERSIONS
def test_later_cleans_list_only_changed_partitions(version: TableVersion) -> None:
    history = History(version)
    done = history.commits(4, A, B)
    assert report(history.clean(commits_retained=2)).partitions_listed == 2
    done += history.commits(2, A)
    assert report(history.clean(commits_retained=2)).partitions_listed == 2, "new commits in both partitions"
    done += history.commits(2, A)
    assert report(history.clean(commits_retained=2)).partitions_listed == 1
    assert history.data_files("a") == paths(A, done[5:])
    assert history.data_files("b") == paths(B, done[3:4])


@VERSIONS
def test_a_clean_without_files_to_delete_is_recorded_if_the_next_clean_can_skip_partitions(
    version: TableVersion,
) -> None:
    history = History(version)
    for number in range(4):
        history.table.commit(FileGroupId("a", f"new{number}"))
    first = history.clean(commits_retained=2)
    assert (first.outcome, report(first).file_count) == (Outcome.COMPLETED, 0)
    assert first.instant_time is not None
    history.table.commit(FileGroupId("b", "other"))
    assert report(history.clean(commits_retained=2)).partitions_listed == 1


@VERSIONS
def test_after_a_crash_at_any_change_the_next_run_completes_the_clean(version: TableVersion) -> None:
    history = History()

    def start() -> Storage:
        nonlocal history
        history = History(version)
        history.commits(5, A, B)
        history.table.commit(replaces={"b": (B.file_id,)})
        return history.storage

    runs = 0
    for left in crashes_everywhere(lambda s: history.clean(s, commits_retained=1), start):
        runs += 1
        assert history.latest() <= history.data_files()
        assert len(load_snapshot(left).all_slices) == 1
        history.table.commit(A)
        history.clean(commits_retained=1)
        assert len(history.data_files("a")) == 2
        assert history.data_files("b") == set()
        assert not load_snapshot(left).timeline.pending
    assert runs >= 11


@pytest.mark.parametrize("retained", [{"commits_retained": 1}, {"file_versions_retained": 1}], ids=str)
def test_replaced_file_groups_are_kept_for_readers_and_deleted_later(retained: dict[str, int]) -> None:
    history = History()
    history.commits(1, B)
    history.table.commit(A, replaces={"b": (B.file_id,)})
    history.commits(2, A)
    history.now = history.clock.moment + timedelta(minutes=5)
    history.clean(**retained)
    assert len(history.data_files("b")) == 1
    assert len(history.data_files("a")) == 3
    history.clean(**retained)
    assert history.data_files("b") == set()
    assert len(history.data_files("a")) < 3


@VERSIONS
def test_an_emptied_partition_is_removed_unless_a_write_is_pending(
    version: TableVersion,
) -> None:
    history = History(version)
    history.commits(1, B)
    history.table.commit(A, replaces={"b": (B.file_id,)})
    history.commits(2, A)
    writing = history.table.begin()  # the write may create files in any partition
    history.clean(commits_retained=1, options={"hoodie.cleaner.policy.failed.writes": "NEVER"})
    assert history.storage.exists("b/.hoodie_partition_metadata")
    history.table.timeline_store.remove(writing)
    other = History(version)
    other.commits(1, B)
    other.table.commit(A, replaces={"b": (B.file_id,)})
    other.commits(2, A)
    (gone,) = (p for p in report(other.clean(commits_retained=1)).partitions if p.is_removed)
    assert gone.partition_path == "b"
    assert not other.storage.exists("b/.hoodie_partition_metadata")


class UndeletableFile(FaultyStorage):
    """A storage that fails to delete one file."""

    refused = ""

    def delete(self, path: str) -> bool:
        if path == self.refused:
            raise StorageError(f"Cannot delete {path!r}: denied.")
        return super().delete(path)


@VERSIONS
def test_files_that_could_not_be_deleted_are_deleted_by_the_next_clean(version: TableVersion) -> None:
    history = History(version)
    done = history.commits(4, A)
    stubborn = UndeletableFile(history.storage)
    stubborn.refused = min(paths(A, done))
    first = history.clean(stubborn, commits_retained=1)
    assert [p.failed_files for p in report(first).partitions] == [(stubborn.refused.rpartition("/")[2],)]
    assert stubborn.refused in history.data_files()
    history.clean(commits_retained=1)
    assert stubborn.refused not in history.data_files()


@VERSIONS
def test_files_of_a_savepoint_are_kept(version: TableVersion) -> None:
    history = History(version)
    done = history.commits(5, A)
    kept = base_file_name(A.file_id, done[1].requested_time)
    history.savepoint(done[1], "a", kept)
    history.clean(commits_retained=1)
    assert history.data_files() == paths(A, [done[1], *done[3:]])


def test_the_report_names_the_instant_that_limits_cleaning() -> None:
    history = History()
    done = history.commits(2, A)
    stuck = history.table.begin()
    history.commits(5, A)
    held = history.clean(commits_retained=1, options={"hoodie.cleaner.policy.failed.writes": "NEVER"})
    assert report(held).blocker == stuck.requested_time
    assert report(held).earliest_commit_to_retain == done[1].requested_time
    assert stuck.requested_time in report(held).retention
    freed = history.clean(commits_retained=1)
    assert report(freed).rolled_back == (stuck.requested_time,)
    assert report(freed).blocker == ""
    assert len(history.data_files()) == 2


def a_pending_clean(history: History, *files: str) -> Instant:
    plan = CleanPlan(
        policy="KEEP_LATEST_COMMITS",
        files_to_delete={"a": tuple(CleanFile(path=f"{history.storage.base_path}/{f}") for f in files)},
    )
    return history.table.timeline_store.request(Action.CLEAN, encode_clean_plan(plan))


@VERSIONS
def test_a_pending_clean_is_completed_first_and_deletes_no_file_that_readers_see(
    version: TableVersion,
) -> None:
    history = History(version)
    done = history.commits(3, A)
    ordered = sorted(paths(A, done))
    pending = a_pending_clean(history, ordered[0], ordered[-1])
    result = history.clean()
    assert report(result).finished == (pending.requested_time,)
    assert history.data_files() == set(ordered[1:])
    (completed,) = (i for i in load_snapshot(history.storage).timeline.completed if i.action is Action.CLEAN)
    metadata = decode_clean_metadata(history.table.timeline_store.read(completed))
    assert metadata.partitions["a"].deleted_files == (ordered[0].removeprefix("a/"),)


@pytest.mark.parametrize("path", ["b/{name}", "a/.hoodie_partition_metadata", "a/../../{name}"])
def test_a_plan_with_a_file_that_is_not_a_data_file_of_its_partition_is_refused(path: str) -> None:
    history = History()
    (done,) = history.commits(1, A)
    before = history.data_files()
    a_pending_clean(history, path.format(name=base_file_name(A.file_id, done.requested_time)))
    with pytest.raises(CorruptTableError, match="not a data file of partition 'a'"):
        history.clean()
    assert history.data_files() == before


def test_a_clean_plans_again_if_commits_were_undone_after_its_first_plan() -> None:
    """Two commits are undone before the clean takes the lock: readers see the previous files again."""
    history = History()
    done = history.commits(4, A)

    class UndoesBeforeLock(FaultyStorage):
        def create(self, path: str, data: bytes) -> None:
            if path.endswith("lock") and (undone := [i for i in done[2:] if self.exists_completed(i)]):
                for instant in undone:
                    history.table.timeline_store.remove_completed(instant)
                    history.table.timeline_store.remove(instant)
                    self.inner.delete(min(paths(A, [instant])))
            super().create(path, data)

        def exists_completed(self, instant: Instant) -> bool:
            return self.inner.exists(history.table.timeline_store.path_of(instant))

    result = history.clean(UndoesBeforeLock(history.storage), commits_retained=1)
    assert history.latest() == paths(A, done[1:2])
    assert history.data_files() == paths(A, done[:2])
    assert result.outcome is not Outcome.FAILED


def test_a_clean_by_versions_keeps_the_given_number_of_versions() -> None:
    history = History()
    done = history.commits(6, A)
    history.clean(file_versions_retained=2)
    assert history.data_files() == paths(A, done[4:])


def test_a_clean_without_a_plan_is_removed_only_if_it_is_old() -> None:
    history = History()
    history.commits(1, A)
    empty = history.table.timeline_store.request(Action.CLEAN)
    clock = FixedClock(datetime.now(timezone.utc) + timedelta(seconds=5))
    clean(CleanRequest(base_path="/t"), storage=history.storage, clock=clock)
    assert empty in load_snapshot(history.storage).timeline.pending
    history.clean()
    assert empty not in load_snapshot(history.storage).timeline.pending


def test_an_invalid_pattern_is_refused_before_dead_writes_are_rolled_back() -> None:
    history = History()
    history.commits(1, A)
    dead = history.table.begin()
    with pytest.raises(InvalidRequestError, match="is not a regular expression"):
        history.clean(options={"hoodie.clean.partition.filter.regex": "("})
    assert dead in load_snapshot(history.storage).timeline.pending


@VERSIONS
def test_the_metadata_table_is_switched_off_before_the_first_file_is_deleted(version: TableVersion) -> None:
    history = History(version)
    history.commits(4, A)
    update_properties(history.storage, {"hoodie.table.metadata.partitions": "files"}, history.clock)
    listed: list[object] = []

    class RecordingStorage(FaultyStorage):
        def delete(self, path: str) -> bool:
            if path.endswith(".parquet"):
                listed.extend(read_table_config(self.inner).metadata_partitions)
            return super().delete(path)

    options = {"hoodie.metadata.enable": "false"}
    result = history.clean(RecordingStorage(history.storage), commits_retained=1, options=options)
    assert report(result).file_count == 2
    assert listed == []


@VERSIONS
def test_a_retry_returns_the_completed_clean_of_its_request(version: TableVersion) -> None:
    history = History(version)
    history.commits(15, A)
    first = history.clean(request_id="task/1")
    assert (first.outcome, first.reused, report(first).file_count) == (Outcome.COMPLETED, False, 4)
    again = history.clean(request_id="task/1")
    assert (again.outcome, again.reused, again.instant_time) == (Outcome.COMPLETED, True, first.instant_time)
    assert report(again).file_count == 4
    assert history.clean(request_id="task/2").outcome is Outcome.NOTHING_TO_DO
    # After new commits, a clean with the id of the first request is not a retry.
    history.commits(2, A)
    more = history.clean(request_id="task/1")
    assert (more.reused, report(more).file_count) == (False, 2)
