"""The archive job on tables without rows: archived instants, bounds, and recovery from interruption at any point."""

from datetime import datetime, timedelta, timezone

import pytest

from hudi_table_services.contract.archival import ArchiveReport
from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.recovery import CreateSavepointRequest, DeleteSavepointRequest
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.recovery.savepoint import create_savepoint, delete_savepoint
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import REQUEST_ID_KEY
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import update_properties
from hudi_table_services.tables.archived_timeline import ArchivedTimeline
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.archived_tables import SMALL_LIMITS, History
from support.faulty_storage import crashes_everywhere
from support.fixed_clock import FixedClock
from support.small_tables import base_file_name

VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
A, B = FileGroupId("a", "f1"), FileGroupId("b", "f2")


def report(result: JobResult) -> ArchiveReport:
    assert result.report is not None
    return result.report


def times(instants: list[Instant]) -> list[str]:
    return [i.requested_time for i in instants]


@VERSIONS
def test_the_oldest_commits_are_archived_above_the_maximum(version: TableVersion) -> None:
    history = History(version)
    done = history.commits(4, A)
    assert history.archive().outcome is Outcome.NOTHING_TO_DO
    done += history.commits(1, A)
    result = history.archive()
    assert result.outcome is Outcome.COMPLETED
    assert history.active() == times(done[3:])
    assert history.archived() == times(done[:3])
    found = report(result)
    assert (found.commits_before, found.archived_commits, found.oldest_active) == (
        5,
        3,
        done[3].requested_time,
    )
    assert found.instants == tuple(f"{time}.commit" for time in times(done[:3]))
    assert history.archive().outcome is Outcome.NOTHING_TO_DO


@VERSIONS
def test_all_files_of_an_archived_instant_are_removed_from_the_active_timeline(version: TableVersion) -> None:
    history = History(version)
    done = history.commits(5, A)
    history.archive()
    folder = version.layout.timeline_folder
    names = [each.name for each in history.storage.list_folder(folder).files]
    assert not [name for name in names if name.startswith(tuple(times(done[:3])))]
    assert len([name for name in names if name.startswith(tuple(times(done[3:])))]) == 6


@VERSIONS
def test_the_archive_contains_the_metadata_of_each_commit(version: TableVersion) -> None:
    history = History(version)
    done = history.commits(5, A, B, extra={"who": "ünïcode"})
    stored = {i.requested_time: history.table.timeline_store.commit_metadata(i) for i in done}
    history.archive()
    for each in ArchivedTimeline(history.storage, history.table.config).writes():
        assert each.metadata == stored[each.instant.requested_time]
        assert each.instant.is_completed
        if version is TableVersion.V9:
            assert each.instant == next(i for i in done if i.identity == each.identity)


@VERSIONS
def test_readers_see_the_same_files_after_archival(version: TableVersion) -> None:
    history = History(version)
    history.commits(3, A)
    history.commits(4, B)
    before = load_snapshot(history.storage).file_slices
    assert history.archive().outcome is Outcome.COMPLETED
    assert load_snapshot(history.storage).file_slices == before


@VERSIONS
def test_a_preview_reports_the_same_plan_and_writes_nothing(version: TableVersion) -> None:
    history = History(version)
    history.commits(6, A)
    before = history.files()
    previewed = history.archive(preview=True)
    assert previewed.outcome is Outcome.PLANNED
    assert history.files() == before
    assert report(previewed).instants == report(history.archive()).instants


@VERSIONS
def test_after_a_crash_at_any_change_the_next_run_completes_the_archival(version: TableVersion) -> None:
    done: list[Instant] = []

    def start() -> Storage:
        history = History(version)
        done[:] = history.commits(4, A)
        history.archive(2, 3)  # the next run continues this archive
        done.extend(history.commits(2, A))
        histories[history.storage.uri] = history
        return history.storage

    histories: dict[str, History] = {}
    crashes = 0
    for left in crashes_everywhere(lambda faulty: histories[faulty.uri].archive(2, 3, storage=faulty), start):
        crashes += 1
        history = histories[left.uri]
        every = times(done)
        active = history.active()
        assert active == every[-len(active) :], "the active commits are the newest ones"
        assert sorted({*history.archived(), *active}) == every, "no commit is lost"
        left.delete(".hoodie/lock")  # simulates that the lock of the dead process has expired
        assert history.archive(2, 3).outcome in (Outcome.COMPLETED, Outcome.NOTHING_TO_DO)
        assert history.active() == every[-2:]
        assert history.archived() == every[:-2]
    assert crashes > 8


@VERSIONS
def test_an_instant_that_was_archived_twice_is_listed_once(version: TableVersion) -> None:
    history = History(version)
    done = history.commits(5, A)
    folder = version.layout.timeline_folder
    kept = {each.path: history.storage.read(each.path) for each in history.storage.list_folder(folder).files}
    history.archive()
    for path, content in kept.items():
        history.storage.write(path, content)
    again = report(history.archive())
    assert again.archived_commits == 3
    assert not [name for name in again.files if ".archive." in name or name.endswith("_0.parquet")]
    assert history.active() == times(done[3:])
    for path, content in kept.items():
        history.storage.write(path, content)
    done += history.commits(3, A)
    history.archive()
    assert history.archived() == times(done[:-2])


@VERSIONS
def test_a_pending_write_and_the_commit_before_it_are_not_archived(version: TableVersion) -> None:
    history = History(version)
    done = history.commits(3, A)
    pending = history.table.begin()
    done += history.commits(4, B)
    result = history.archive()
    assert history.archived() == times(done[:2])
    assert report(result).held_back_by == done[2].requested_time, (
        "the pending write compares its files with this commit"
    )
    assert f"pending commit {pending.requested_time} blocks archival" in report(result).retention


@VERSIONS
def test_a_savepoint_stops_archival_until_it_is_deleted(version: TableVersion) -> None:
    history = History(version)
    done = history.commits(2, A)
    saved = create_savepoint(
        CreateSavepointRequest(base_path=history.storage.uri, saved_by="test"),
        storage=history.storage,
        clock=history.clock,
    )
    done += history.commits(5, A)
    assert report(history.archive()).held_back_by == saved.instant_time
    assert history.archived() == times(done[:1])
    beyond = {**SMALL_LIMITS, "hoodie.archive.beyond.savepoint": "true"}
    before = load_snapshot(history.storage).file_slices
    assert report(history.archive(options=beyond)).oldest_active == saved.instant_time
    assert history.active() == times([done[1], *done[-2:]])
    assert load_snapshot(history.storage).file_slices == before
    request = DeleteSavepointRequest(base_path=history.storage.uri, instants=(str(saved.instant_time),))
    delete_savepoint(request, storage=history.storage, clock=history.clock)
    history.commits(2, A)
    history.archive()
    assert done[1].requested_time in history.archived()


@VERSIONS
def test_a_replace_commit_stays_active_until_the_replaced_files_are_cleaned(
    version: TableVersion,
) -> None:
    history = History(version)
    done = history.commits(2, A)
    done.append(history.table.commit(FileGroupId("a", "new"), replaces={"a": ("f1",)}))
    done += history.commits(4, B)
    result = history.archive()
    assert history.archived() == times(done[:2])
    assert f"replacecommit {done[2].requested_time} replaced are not cleaned yet" in report(result).retention
    before = load_snapshot(history.storage).file_slices
    history.clean(2)
    done += history.commits(2, B)
    result = history.archive()
    assert report(result).archived_commits == 3, "all commits before the first commit that the clean retained"
    assert load_snapshot(history.storage).file_slices.keys() == before.keys()
    assert not [s for s in load_snapshot(history.storage).all_slices if s.file_group_id.file_id == "f1"]


@VERSIONS
def test_commits_that_the_last_clean_retained_are_not_archived(version: TableVersion) -> None:
    history = History(version)
    done = history.commits(6, A)
    history.clean(4)
    result = history.archive()
    assert history.archived() == times(done[:2])
    assert report(result).held_back_by == done[2].requested_time
    assert "the last clean retains commits from" in report(result).retention


@VERSIONS
def test_all_cleans_except_the_last_one_are_archived_with_the_commits_around_them(
    version: TableVersion,
) -> None:
    history = History(version)
    history.commits(3, A)
    history.clock.moment = datetime.now(timezone.utc) + timedelta(days=2)
    history.clean(1)
    history.commits(3, A)
    cleans = [i for i in history.table.timeline_store.load().completed if i.action is Action.CLEAN]
    assert report(history.archive(low=2, high=3)).archived_services == 0
    history.clock.moment += timedelta(days=2)
    later = FixedClock(history.clock.moment)
    request = CleanRequest(base_path=history.storage.uri, commits_retained=1)
    clean(request, storage=history.storage, clock=later)
    history.clock.moment += timedelta(days=2)
    history.commits(3, A)
    result = report(history.archive(low=2, high=3))
    assert f"{cleans[0].requested_time}.clean" in result.instants
    left = [i for i in history.table.timeline_store.load().completed if i.action is Action.CLEAN]
    assert len(left) == 1


@VERSIONS
def test_archival_does_not_make_a_file_of_an_uncompleted_write_visible(version: TableVersion) -> None:
    history = History(version)
    done = history.commits(2, A)
    dead = history.table.begin()
    history.table.add_file("a", base_file_name("orphan", dead.requested_time))
    history.table.timeline_store.remove(dead)  # simulates a rollback that missed a file without a marker
    done += history.commits(4, A)
    before = load_snapshot(history.storage).file_slices
    result = history.archive()
    assert history.archived() == times(done[:1])
    assert report(result).held_back_by == done[1].requested_time
    assert "would count as committed" in report(result).retention
    assert load_snapshot(history.storage).file_slices == before


@VERSIONS
def test_commits_after_the_last_compaction_of_the_metadata_table_are_not_archived(
    version: TableVersion,
) -> None:
    history = History(version)
    done = history.commits(6, A)
    listed = {"hoodie.table.metadata.partitions": "files"}
    update_properties(history.storage, listed, history.clock)
    assert "never compacted" in report(history.archive()).retention
    assert history.archived() == []
    compacted = done[1].requested_time
    name = f"{compacted}_{compacted}.commit" if version is TableVersion.V9 else f"{compacted}001.commit"
    folder = version.layout.timeline_folder
    history.storage.create(f".hoodie/metadata/{folder}/{name}", b"x")
    history.archive()
    expected = done[:1] if version is TableVersion.V9 else done[:2]
    assert history.archived() == times(expected)
    assert history.storage.exists(f".hoodie/metadata/{folder}/{name}"), (
        "archival does not make the index stale"
    )


@VERSIONS
def test_a_request_is_found_in_the_archive_by_its_id(version: TableVersion) -> None:
    history = History(version)
    history.commits(2, A)
    (wanted,) = history.commits(1, A, extra={REQUEST_ID_KEY: "nightly-1"})
    history.commits(2, A, extra={"other": "nightly-1"})
    history.commits(5, A)
    history.archive()
    archived = ArchivedTimeline(history.storage, history.table.config)
    found = archived.find_request("nightly-1")
    assert found is not None
    assert found[0].identity == wanted.identity
    assert archived.find_request("nightly-2") is None
    assert archived.find_request("nightly") is None


def test_files_of_the_history_are_merged_and_old_files_are_deleted() -> None:
    history = History(TableVersion.V9)
    for _ in range(8):
        history.commits(3, A)
        history.archive(2, 4)
    folder = ".hoodie/timeline/history"
    names = [each.name for each in history.storage.list_folder(folder).files]
    assert len([name for name in names if name.startswith("manifest_")]) == 3
    levels = {name.rpartition("_")[2] for name in names if name.endswith(".parquet")}
    assert max(levels) >= "2.parquet"
    assert len(history.archived()) + len(history.active()) == 24
    assert len(names) < 24


@pytest.mark.parametrize(
    ("low", "high", "options"),
    [
        (20, 20, {}),
        (10, 30, {}),
        (2, 4, {"hoodie.clean.commits.retained": "2"}),
        (2, 4, {"hoodie.cleaner.commits.retained": "3"}),
    ],
)
def test_limits_that_contradict_each_other_or_cleaning_are_refused(
    low: int, high: int, options: dict[str, str]
) -> None:
    with pytest.raises(InvalidRequestError, match=r"hoodie\.keep\.min\.commits=\d+ is not"):
        History().archive(low, high, options=options)


def test_the_retained_commits_do_not_limit_archival_under_other_cleaning_policies() -> None:
    history = History()
    history.commits(6, A)
    options = {"hoodie.clean.policy": "KEEP_LATEST_BY_HOURS"}
    assert history.archive(options=options).outcome is Outcome.COMPLETED
