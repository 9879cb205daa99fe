"""Delta commits beside a clustering of a merge-on-read table: no row of a log file is lost."""

from dataclasses import replace
from typing import Any

import pytest

from hudi_table_services.contract.clustering import ClusteringReport, ExecuteClusteringRequest
from hudi_table_services.contract.result import Outcome
from hudi_table_services.errors import FileGroupConflictError, UnsupportedTableError
from hudi_table_services.execution.clustering.rewrite import GroupOutcome, RewriteJob
from hudi_table_services.hudi_format.table_service_plans import (
    decode_requested_replace,
    encode_requested_replace,
)
from hudi_table_services.jobs.clustering.execute import ClusteringExecution
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_version import TableVersion
from support.compaction.written_table import NORTH, SOUTH, WrittenTable, a_row
from support.log_golden import ARCHIVES
from support.with_logs.clusterings_here import (
    ROWS,
    a_table,
    execute,
    keys,
    merged_rows,
    plan_of,
    report_of,
    rewrite_here,
    schedule,
)

VERSIONS = pytest.mark.parametrize("version", list(ARCHIVES), ids=lambda version: f"v{version.value}")


@VERSIONS
def test_a_log_file_after_the_plan_drops_its_group(version: TableVersion) -> None:
    table = a_table(version)
    schedule(table.storage, table.clock)
    table.log({SOUTH: [a_row("c", 7)]})
    result = execute(table.storage, table.clock)
    assert result.outcome is Outcome.COMPLETED
    (plan,) = report_of(result).plans
    assert (len(plan.groups), plan.groups_given_up) == (1, 1)
    (commit,) = (i for i in table.timeline_store.load().completed if i.action is Action.REPLACE_COMMIT)
    metadata = table.timeline_store.commit_metadata(commit)
    assert set(metadata.partition_to_replace_file_ids or {}) == {"north"}
    assert ("c", 7) in keys(merged_rows(table.storage))


class During:
    """Rewrites the groups, and lets another writer act before the commit."""

    def __init__(self, act: Any) -> None:
        self._act = act

    def __call__(self, job: RewriteJob, groups: Any, what: str) -> list[GroupOutcome]:
        found = rewrite_here(job, groups, what)
        self._act()
        return found


def execute_beside(table: WrittenTable, act: Any) -> ClusteringReport:
    request = ExecuteClusteringRequest(base_path="/t", request_id="run")
    result = ClusteringExecution(request, table.storage, table.clock, During(act)).run(())
    return report_of(result)


@VERSIONS
def test_a_delta_commit_during_the_execution_drops_its_group(version: TableVersion) -> None:
    table = a_table(version)
    schedule(table.storage, table.clock)
    report = execute_beside(table, lambda: table.log({SOUTH: [a_row("c", 7)]}))
    assert [plan.groups_given_up for plan in report.plans] == [1]
    assert ("c", 7) in keys(merged_rows(table.storage))
    assert [s.file_group_id.file_id for s in table.snapshot.slices_of("south")] == ["s1", "s2"]
    present = {f.name for f in table.storage.list_files("south") if f.name.endswith(".parquet")}
    assert present == {s.base_file.file_name for s in table.snapshot.slices_of("south") if s.base_file}


@VERSIONS
def test_a_delta_commit_that_is_still_running_drops_its_group(version: TableVersion) -> None:
    table = a_table(version)
    schedule(table.storage, table.clock)
    begun = []
    report = execute_beside(table, lambda: begun.append(table.begin({SOUTH: ()})))
    assert [plan.groups_given_up for plan in report.plans] == [1]
    table.finish(begun[0], {SOUTH: [a_row("c", 7)]})
    assert ("c", 7) in keys(merged_rows(table.storage))


@VERSIONS
def test_a_delta_commit_that_began_before_the_plan_and_ends_after_it_drops_its_group(
    version: TableVersion,
) -> None:
    """The planner cannot see which file groups the write changes, because the write has no profile yet."""
    table = a_table(version)
    requested = table.timeline_store.request(Action.DELTA_COMMIT)
    schedule(table.storage, table.clock)
    assert len(plan_of(table).groups) == 2
    pending = table.timeline_store.start(requested, table.profile_of({SOUTH: ()}))
    table.finish(pending, {SOUTH: [a_row("c", 9)]})
    execute(table.storage, table.clock)
    assert ("c", 9) in keys(merged_rows(table.storage))


@VERSIONS
def test_delta_commits_on_every_group_during_the_execution_cancel_the_plan(version: TableVersion) -> None:
    table = a_table(version)
    schedule(table.storage, table.clock)
    report = execute_beside(table, lambda: table.log({SOUTH: [a_row("c", 7)], NORTH: [a_row("a", 7)]}))
    assert [plan.state for plan in report.plans] == ["cancelled"]
    assert not table.timeline_store.load().pending
    assert {("c", 7), ("a", 7)} <= set(keys(merged_rows(table.storage)))


def test_running_delta_commits_on_every_group_keep_the_plan() -> None:
    table = a_table()
    schedule(table.storage, table.clock)
    table.begin({SOUTH: (), NORTH: ()})
    with pytest.raises(FileGroupConflictError):
        execute(table.storage, table.clock)
    assert {i.action for i in table.timeline_store.load().pending} == {Action.CLUSTERING, Action.DELTA_COMMIT}


@VERSIONS
def test_a_plan_whose_log_file_was_undone_is_not_executed(version: TableVersion) -> None:
    table = a_table(version)
    schedule(table.storage, table.clock, partitions=("north",))
    table.undo_newest()
    result = execute(table.storage, table.clock)
    assert result.outcome is Outcome.NOTHING_TO_DO
    assert keys(merged_rows(table.storage)) == [*ROWS[:1], ("b", 1), *ROWS[1:]]


@VERSIONS
@pytest.mark.parametrize("when", ["before", "during"])
def test_an_inflight_delta_commit_that_names_no_file_groups_stops_an_execution(
    version: TableVersion, when: str
) -> None:
    """Flink writes such inflight files. The write may have added log files to any file group."""
    table = a_table(version)
    schedule(table.storage, table.clock)
    store = table.timeline_store

    def begin() -> None:
        store.start(store.request(Action.DELTA_COMMIT), b"")

    if when == "before":
        begin()
    with pytest.raises(FileGroupConflictError, match="names no file groups"):
        execute_beside(table, begin if when == "during" else lambda: None)
    assert len(plan_of(table).groups) == 2
    assert keys(merged_rows(table.storage)) == ROWS


def test_a_delta_commit_that_was_requested_before_the_plan_stops_an_execution() -> None:
    table = a_table()
    table.timeline_store.request(Action.DELTA_COMMIT)
    schedule(table.storage, table.clock)
    with pytest.raises(FileGroupConflictError, match="names no file groups"):
        execute(table.storage, table.clock)


def test_a_delta_commit_that_was_requested_after_the_plan_does_not_stop_an_execution() -> None:
    """Its writer sees the plan, and changes none of the planned file groups."""
    table = a_table()
    schedule(table.storage, table.clock)
    table.timeline_store.request(Action.DELTA_COMMIT)
    assert execute(table.storage, table.clock).outcome is Outcome.COMPLETED


@VERSIONS
@pytest.mark.parametrize("are_named", [True, False], ids=["named plans", "all pending plans"])
def test_a_plan_that_changes_buckets_is_left_to_hudi(version: TableVersion, are_named: bool) -> None:
    table = a_table(version)
    schedule(table.storage, table.clock, partitions=["north"])
    schedule(table.storage, table.clock, partitions=["south"])
    store = table.timeline_store
    good, bucket = store.load().pending
    path = store.requested_path_of(bucket)
    requested = decode_requested_replace(table.storage.read(path))
    assert requested.clustering_plan is not None
    name = "org.apache.hudi.client.clustering.run.strategy.SparkConsistentBucketClusteringExecutionStrategy"
    strategy = replace(requested.clustering_plan.strategy, class_name=name)
    plan = replace(requested.clustering_plan, strategy=strategy)
    table.storage.write(path, encode_requested_replace(plan, dict(requested.extra_metadata)))
    if are_named:
        with pytest.raises(
            UnsupportedTableError, match=f"{bucket.requested_time} has the .* SparkConsistentBu"
        ):
            execute(table.storage, table.clock, good.requested_time, bucket.requested_time)
        assert store.load().pending == (good, bucket)
    else:
        result = execute(table.storage, table.clock)
        assert (result.outcome, result.instant_time) == (Outcome.COMPLETED, good.requested_time)
        assert bucket.requested_time in result.warnings[0]
        again = execute(table.storage, table.clock)
        assert (again.outcome, len(again.warnings)) == (Outcome.NOTHING_TO_DO, 1)
        assert store.load().pending == (bucket,)
