"""Savepoint, rollback, restore, repair and archive operators: arguments, runs in the worker, results, and checks."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowSkipException

from airflow_hudi_provider.exceptions import HudiTaskError, HudiTaskRefusedError
from airflow_hudi_provider.operators.archive import ArchiveOperator
from airflow_hudi_provider.operators.clean import CleanOperator
from airflow_hudi_provider.operators.metadata_table import RebuildMetadataTableOperator
from airflow_hudi_provider.operators.recovery import (
    DeleteSavepointOperator,
    RepairOperator,
    RestoreOperator,
    RollbackOperator,
    SavepointOperator,
)
from airflow_hudi_provider.operators.upkeep import UpkeepOperator
from airflow_hudi_provider.results.failure import FAILURE_KEY
from hudi_table_services.hudi_format.table_service_plans import encode_rollback_plan
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_service_plans import InstantReference, RollbackPlan
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.airflow.stand_ins import stand_in
from support.airflow.task_context import TaskInstance, context
from support.fixed_clock import FixedClock
from support.small_tables import SmallTable, base_file_name

A = FileGroupId("city=a", "a-0")

Run = Callable[..., dict[str, Any]]


@pytest.fixture(params=[TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
def table(tmp_path: Path, request: pytest.FixtureRequest) -> SmallTable:
    clock = FixedClock(datetime.now(timezone.utc) - timedelta(days=2), step=timedelta(minutes=5))
    return SmallTable(LocalStorage(str(tmp_path / "table")), request.param, clock)


@pytest.fixture
def run(tmp_path: Path, connections: Callable[..., None]) -> Run:
    connections("spark_default", conn_type="spark", host="local[2]")

    def execute(
        operator: type[UpkeepOperator],
        body: str = "raise SystemExit('submitted')",
        ti: TaskInstance | None = None,
        **arguments: Any,
    ) -> dict[str, Any]:
        given = {
            "task_id": "t",
            "base_path": str(tmp_path / "table"),
            "spark_binary": stand_in(tmp_path, body),
            **arguments,
        }
        answer = operator(**given).execute(context(ti=ti or TaskInstance()))
        assert json.loads(json.dumps(answer)) == answer
        return answer

    return execute


def live(table: SmallTable) -> set[str]:
    return {s.base_file_path or "" for s in load_snapshot(table.storage).all_slices}


def path_of(instant: Instant) -> str:
    return f"{A.partition_path}/{base_file_name(A.file_id, instant.requested_time)}"


def file_paths(table: SmallTable) -> set[str]:
    return {stored.path for stored in table.storage.list_files()}


def test_savepoints_are_created_and_deleted(table: SmallTable, run: Run) -> None:
    first = table.commit(A)
    table.commit(A)
    before = file_paths(table)
    preview = run(SavepointOperator, preview=True)
    assert (preview["outcome"], file_paths(table)) == ("planned", before)
    saved = run(SavepointOperator, instant=first.requested_time, comments="before")
    assert (saved["instant"], saved["reason"], saved["reused"]) == (
        first.requested_time,
        "keeps 1 file",
        False,
    )
    assert run(SavepointOperator, instant=first.requested_time)["reused"]
    deleted = run(DeleteSavepointOperator, instant=saved["instant"])
    assert deleted["reason"] == f"deleted {first.requested_time}"
    with pytest.raises(AirflowSkipException, match="no savepoint at"):
        run(DeleteSavepointOperator, instant=saved["instant"])


def test_the_newest_commit_is_previewed_and_rolled_back(table: SmallTable, run: Run) -> None:
    first = table.commit(A)
    second = table.commit(A)
    before = file_paths(table)
    preview = run(RollbackOperator, instant=second.requested_time, preview=True)
    assert (preview["outcome"], file_paths(table)) == ("planned", before)
    assert preview["undone"][0]["file_names"] == [path_of(second)]
    assert path_of(second) in preview["picture"]
    done = run(RollbackOperator, instant=second.requested_time)
    assert [each["instant_time"] for each in done["undone"]] == [second.requested_time]
    assert live(table) == {path_of(first)}
    again = run(RollbackOperator, instant=second.requested_time)
    assert (again["outcome"], again["reused"]) == ("completed", True), (
        "a retry must succeed, because the worker of the first try may have died"
    )
    assert f"{second.requested_time} was undone by" in again["reason"]


def test_dead_writes_are_rolled_back_and_older_commits_are_not(table: SmallTable, run: Run) -> None:
    first = table.commit(A)
    second = table.commit(A)
    dead = table.begin()
    with pytest.raises(HudiTaskRefusedError, match=second.requested_time):
        run(RollbackOperator, instant=first.requested_time)
    done = run(RollbackOperator, all_failed=True)
    assert [each["instant_time"] for each in done["undone"]] == [dead.requested_time]
    assert live(table) == {path_of(second)}
    with pytest.raises(AirflowSkipException):
        run(RollbackOperator, all_failed=True)
    assert run(RollbackOperator, all_failed=True, on_nothing="succeed")["outcome"] == "nothing_to_do"


def test_a_table_is_restored_to_its_savepoint(table: SmallTable, run: Run) -> None:
    first = table.commit(A)
    run(SavepointOperator)
    later = [table.commit(A), table.commit(A)]
    preview = run(RestoreOperator, savepoint=first.requested_time, preview=True)
    assert {each["instant_time"] for each in preview["undone"]} == {i.requested_time for i in later}
    assert live(table) == {path_of(later[1])}
    done = run(RestoreOperator, savepoint=first.requested_time)
    assert (done["outcome"], done["undone_count"]) == ("completed", 2)
    assert live(table) == {path_of(first)}


def test_orphans_are_reported_and_deleted_only_on_request(table: SmallTable, run: Run) -> None:
    table.commit(A)
    orphan = table.add_file(
        "city=a", base_file_name("orphan", table.timeline_store.new_instant_time()), b"no instant"
    )
    table.commit(A)
    preview = run(RepairOperator, older_than_hours=0)
    assert (preview["outcome"], [each["path"] for each in preview["files"]]) == ("planned", [orphan])
    assert table.storage.exists(orphan)
    done = run(RepairOperator, older_than_hours=0, preview=False)
    assert (done["deleted_count"], table.storage.exists(orphan)) == (1, False)
    with pytest.raises(AirflowSkipException):
        run(RepairOperator, older_than_hours=0, preview=False)


def test_the_timeline_is_archived(table: SmallTable, run: Run) -> None:
    done = [table.commit(FileGroupId("city=a", f"f{number}")) for number in range(9)]
    bounds = {"min_commits": 4, "max_commits": 6, "hudi_options": {"hoodie.clean.commits.retained": 2}}
    before = file_paths(table)
    preview = run(ArchiveOperator, preview=True, **bounds)
    assert (preview["outcome"], preview["archived_commits"], file_paths(table)) == ("planned", 5, before)
    assert f"{done[0].requested_time}.commit" in preview["picture"]
    moved = run(ArchiveOperator, **bounds)
    assert (moved["outcome"], moved["archived_commits"]) == ("completed", 5)
    assert [i.requested_time for i in table.timeline_store.load().completed_writes] == [
        i.requested_time for i in done[5:]
    ]
    assert len(live(table)) == 9
    with pytest.raises(AirflowSkipException, match="has 4 commits; archival begins when it has more than 6"):
        run(ArchiveOperator, **bounds)


def test_a_metadata_table_is_built_and_dropped(table: SmallTable, run: Run) -> None:
    table.commit(A)
    before = file_paths(table)
    preview = run(RebuildMetadataTableOperator, partitions="files", preview=True)
    assert (preview["outcome"], file_paths(table)) == ("planned", before)
    assert "files: 1 file groups, about 2 records" in preview["picture"]
    done = run(RebuildMetadataTableOperator, partitions=["files"])
    assert (done["outcome"], done["built_count"], done["data_files"]) == ("completed", 1, 1)
    assert [(each["name"], each["records"]) for each in done["built"]] == [("files", 2)]
    assert read_table_config(table.storage).metadata_partitions == ("files",)
    dropped = run(RebuildMetadataTableOperator, drop="all")
    assert (dropped["dropped"], dropped["built"]) == (["files"], [])
    assert file_paths(table) == before
    with pytest.raises(AirflowSkipException, match="the metadata table has no partitions"):
        run(RebuildMetadataTableOperator, drop="all")


@pytest.mark.parametrize(
    ("operator", "arguments", "message"),
    [
        (RebuildMetadataTableOperator, {"drop": "all, files"}, "other names"),
        (
            RebuildMetadataTableOperator,
            {"hudi_options": {"hoodie.metadata.index.column.stats.columns": "a"}},
            "Unknown option",
        ),
        (
            RollbackOperator,
            {},
            "neither instants nor all failed writes.*in Airflow instant or all_failed=True",
        ),
        (RollbackOperator, {"instant": "yesterday"}, "is not an instant time"),
        (
            RollbackOperator,
            {"instant": "20260101000000000", "all_failed": True},
            "instant and all_failed=True are",
        ),
        (RestoreOperator, {"savepoint": "before"}, "is not an instant time"),
        (DeleteSavepointOperator, {"instant": []}, "No savepoint is named"),
        (RepairOperator, {"max_files": 0}, "below 1"),
        (ArchiveOperator, {"min_commits": 5}, "hoodie.keep.min.commits"),
        (ArchiveOperator, {"max_commits": "many"}, "is not a whole number"),
        (SavepointOperator, {"hudi_options": {"hoodie.write.lock.providr": "x"}}, "Did you mean"),
    ],
)
def test_wrong_arguments_fail_when_the_dag_is_parsed(
    operator: type[UpkeepOperator], arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        operator(task_id="t", base_path="/t", **arguments)


def test_a_result_of_spark_that_contradicts_the_timeline_fails(table: SmallTable, run: Run) -> None:
    table.commit(A)
    body = "result(outcome='completed', operation='rollback', action='rollback', instant_time='20990101000000000')"
    with pytest.raises(HudiTaskError, match="no completed rollback 20990101000000000"):
        run(RollbackOperator, body, instant="20990101000000000", run_on="spark")


def test_a_failed_rollback_lists_pending_rollbacks_but_does_not_say_which_task_began_them(
    table: SmallTable, run: Run
) -> None:
    done = table.commit(A)
    undone = InstantReference(requested_time=done.requested_time, action="commit")
    pending = table.timeline_store.request(
        Action.ROLLBACK, encode_rollback_plan(RollbackPlan(instant_to_rollback=undone))
    )
    ti = TaskInstance()
    with pytest.raises(HudiTaskError):
        run(RollbackOperator, "sys.exit(3)", ti=ti, all_failed=True, run_on="spark")
    assert ti.pushed[FAILURE_KEY]["table_now"] == (
        f"Pending on the timeline: rollback {pending.requested_time}. "
        "The next run finishes pending rollbacks first, unless it is a preview."
    )


def table_now(run: Run, operator: type[UpkeepOperator], **arguments: Any) -> str:
    """Run a task that fails, and return what its failure block says about the table."""
    ti = TaskInstance()
    with pytest.raises(HudiTaskError):
        run(operator, "sys.exit(3)", ti=ti, run_on="spark", **arguments)
    return str(ti.pushed[FAILURE_KEY]["table_now"])


def test_the_failure_block_lists_the_savepoints_of_the_table(table: SmallTable, run: Run) -> None:
    commit = table.commit(A).requested_time
    assert table_now(run, SavepointOperator) == "Savepoints on the table: none."
    run(SavepointOperator, instant=commit)
    named = f"Savepoints on the table: {commit}."
    assert table_now(run, SavepointOperator) == named
    assert table_now(run, DeleteSavepointOperator, instant=commit) == named


def test_the_failure_block_describes_the_timeline_or_the_indexes(table: SmallTable, run: Run) -> None:
    done, pending = table.commit(A).requested_time, table.begin().requested_time
    timeline = f"has 1 completed instant, the oldest {done}; pending: commit {pending}."
    assert timeline in table_now(run, ArchiveOperator)
    assert timeline in table_now(run, RepairOperator, preview=False)
    rebuilt = table_now(run, RebuildMetadataTableOperator)
    assert rebuilt == "The table has no metadata table that readers use."


@pytest.mark.parametrize("operator", [SavepointOperator, ArchiveOperator, RepairOperator, CleanOperator])
def test_the_failure_block_of_a_preview_says_that_nothing_was_changed(
    table: SmallTable, run: Run, operator: type[UpkeepOperator]
) -> None:
    table.commit(A)
    assert table_now(run, operator, preview=True) == "Nothing was changed: a preview writes nothing."


def test_the_failure_block_says_that_there_is_no_table(run: Run) -> None:
    assert table_now(run, ArchiveOperator) == "There is no table."
