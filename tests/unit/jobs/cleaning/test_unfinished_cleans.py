"""Cleans that crashed, failed in part or ran beside another writer; retries of requests. The tables have no rows."""

from datetime import datetime, timedelta, timezone

import pytest
from cleaned_tables import VERSIONS, A, B, History, paths, report

from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.result import Outcome
from hudi_table_services.errors import CorruptTableError, StorageError
from hudi_table_services.hudi_format.table_service_plans import decode_clean_metadata, encode_clean_plan
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_service_plans import CleanFile, CleanPlan
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.faulty_storage import FaultyStorage, crashes_everywhere
from support.fixed_clock import FixedClock
from support.small_tables import base_file_name


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


def a_pending_clean(history: History, *files: str) -> Instant:
    plan = CleanPlan(
        policy="KEEP_LATEST_COMMITS",
        files_to_delete={"a": tuple(CleanFile(path=f"{history.storage.base_path}/{f}") for f in files)},
    )
    return history.table.timeline_store.request(Action.CLEAN, encode_clean_plan(plan))


@VERSIONS
def test_the_next_clean_completes_a_pending_clean_and_deletes_no_file_that_readers_see(
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


def test_a_clean_without_a_plan_is_removed_only_if_it_is_old() -> None:
    history = History()
    history.commits(1, A)
    empty = history.table.timeline_store.request(Action.CLEAN)
    clock = FixedClock(datetime.now(timezone.utc) + timedelta(seconds=5))
    clean(CleanRequest(base_path="/t"), storage=history.storage, clock=clock)
    assert empty in load_snapshot(history.storage).timeline.pending
    history.clean()
    assert empty not in load_snapshot(history.storage).timeline.pending


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
