"""The clean job on tables without rows: deleted files, kept files, and reports."""

from datetime import timedelta

import pytest
from cleaned_tables import VERSIONS, A, B, History, paths, report

from hudi_table_services.contract.health import HealthReport, HealthRequest
from hudi_table_services.contract.result import Outcome
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.jobs.health.table_health import table_health
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.table_store import read_table_config, update_properties
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.faulty_storage import FaultyStorage
from support.small_tables import base_file_name


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
    assert again.reason == (
        "0 commits since the last clean, and a clean is due after 1 (cleaning keeps 10 of 15 commits)"
    )


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, "cleaning keeps the last 10 commits, and the table has only 3"),
        (
            {"hours_retained": 1},
            "outdated files, if there are any, stay, because "
            "the table has no commit of the last hour, and retention by hours then keeps all files",
        ),
        (
            {"file_versions_retained": 4},
            "the 4 outdated files stay, because cleaning keeps the last 4 versions of each file group",
        ),
    ],
)
def test_a_clean_that_deletes_nothing_says_why_it_keeps_outdated_files(
    fields: dict[str, int], reason: str
) -> None:
    history = History()
    history.commits(3, A, B)
    preview = history.clean(**fields, preview=True)
    assert preview.summary() == f"Preview, nothing to delete: {reason}"
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
    assert "0 B deleted: the 3 outdated files stay: 1 because in each file group" in result.summary()
    assert "; 2 because savepoints or pending plans need these files. " in result.summary()
    assert result.summary().endswith("to record, for the next clean, the earliest commit to retain")


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


def test_a_clean_by_versions_keeps_the_given_number_of_versions() -> None:
    history = History()
    done = history.commits(6, A)
    history.clean(file_versions_retained=2)
    assert history.data_files() == paths(A, done[4:])


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
