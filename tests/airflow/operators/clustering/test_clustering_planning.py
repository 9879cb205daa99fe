"""The clustering operators that run in the worker: they schedule and cancel plans."""

from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowSkipException
from operator_runs import INSTANT, PLANS, SCHEMA, SMALL, Run, clusterings

from airflow_hudi_provider.exceptions import HudiTaskError, HudiTaskRefusedError
from airflow_hudi_provider.operators.clustering import (
    CancelClusteringOperator,
    ScheduleClusteringOperator,
)
from airflow_hudi_provider.results.failure import FAILURE_KEY
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from support.airflow.clustered_tables import complete, schedule
from support.airflow.task_context import TaskInstance
from support.small_tables import SmallTable

# Scheduling in the worker


def test_retries_of_a_schedule_write_only_one_plan(table: SmallTable, run: Run) -> None:
    answer = run(ScheduleClusteringOperator, hudi_options=SMALL)
    (plan,) = clusterings(table)
    assert (answer["instant"], answer["instants"]) == (plan.requested_time, [plan.requested_time])
    assert (answer["groups"], answer["files_in"], answer["bytes_in"], answer["expected_files"]) == (
        1,
        3,
        12,
        1,
    )
    assert (answer["commit_count"], answer["reused"], answer["partitions"]) == (3, False, ["city=a"])
    again = run(ScheduleClusteringOperator, hudi_options=SMALL)
    assert (again["instants"], again["reused"]) == ([plan.requested_time], True)
    assert clusterings(table) == [plan]


def test_a_cleared_task_with_write_again_schedules_another_plan(table: SmallTable, run: Run) -> None:
    first = run(ScheduleClusteringOperator, on_rerun="write_again")["instant"]
    complete(table, *clusterings(table))
    table.commit(FileGroupId("city=b", "b-0"), FileGroupId("city=b", "b-1"), schema=SCHEMA)
    assert run(ScheduleClusteringOperator, on_rerun="write_again")["instant"] == first, "a retry by Airflow"
    cleared = {"on_rerun": "write_again", "ti": TaskInstance(max_tries=1)}
    assert run(ScheduleClusteringOperator, **cleared)["instant"] > first


def test_a_preview_shows_the_plan_and_writes_nothing(
    table: SmallTable, run: Run, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    before = sorted(Path(table.storage.base_path).rglob("*"))
    answer = run(ScheduleClusteringOperator, preview=True, sort_columns="x")
    assert sorted(Path(table.storage.base_path).rglob("*")) == before
    assert (answer["outcome"], answer["instants"], answer["files_in"]) == ("planned", [], 3)
    assert "city=a" in answer["picture"]
    logged = caplog.text + "".join(capfd.readouterr())
    assert "city=a" in logged
    assert "Planned, nothing written" in logged


def test_with_too_few_commits_a_task_is_skipped_or_succeeds_or_fails(table: SmallTable, run: Run) -> None:
    message = "a clustering is due after 4 commits; the table has 3 and no clustering yet"
    with pytest.raises(AirflowSkipException, match=message):
        run(ScheduleClusteringOperator, every_n_commits=4)
    with pytest.raises(HudiTaskRefusedError, match=message):
        run(ScheduleClusteringOperator, every_n_commits=4, on_nothing="fail")
    answer = run(ScheduleClusteringOperator, every_n_commits=4, on_nothing="succeed")
    assert message in answer["reason"]
    assert (answer["outcome"], answer["instants"], answer["commit_count"]) == ("nothing_to_do", [], 3)
    assert run(ScheduleClusteringOperator, every_n_commits=3)["instants"]


@pytest.mark.parametrize("table", [TableVersion.V9], indirect=True)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sort_columns": "y"}, "InvalidRequestError: .*no column 'y'"),
        ({"table_name": "other"}, "other"),
        ({"base_path": "/nowhere/at/all"}, "TableNotFoundError"),
    ],
)
def test_a_request_that_the_engine_refuses_is_not_retried(
    table: SmallTable, run: Run, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(HudiTaskRefusedError, match=message):
        run(ScheduleClusteringOperator, **arguments)


@pytest.mark.parametrize("table", [TableVersion.V9], indirect=True)
def test_the_error_about_a_missing_package_of_the_worker_names_the_package_and_a_remedy(
    table: SmallTable, run: Run
) -> None:
    class OnALightWorker(ScheduleClusteringOperator):
        def run_here(self, request: Any) -> Any:
            raise ModuleNotFoundError("No module named 'pyarrow'", name="pyarrow")

    with pytest.raises(HudiTaskRefusedError, match="lacks the package pyarrow.*run_on='spark'"):
        run(OnALightWorker)


@pytest.mark.parametrize("table", [TableVersion.V9], indirect=True)
def test_after_a_failed_schedule_job_the_timeline_determines_the_outcome(table: SmallTable, run: Run) -> None:
    answer = run(ScheduleClusteringOperator, PLANS + "sys.exit(3)", run_on="spark")
    (plan,) = clusterings(table)
    assert answer["instants"] == [plan.requested_time]
    with pytest.raises(HudiTaskError, match="no result document.*Completed clusterings stay"):
        run(ScheduleClusteringOperator, "sys.exit(3)", run_on="spark", ti=TaskInstance(run_id="run 2"))


@pytest.mark.parametrize(
    "later_end",
    ["", "release(table, plan)", "release(table, plan, releases_all=True)", "cancel(table, plan)"],
)
def test_a_task_succeeds_although_its_plan_was_released_or_cancelled_in_the_meantime(
    table: SmallTable, run: Run, later_end: str
) -> None:
    """A write or a user may release or cancel the plan before the task reads the timeline."""
    body = f"""
from support.airflow.clustered_tables import cancel, release, open_table, schedule
from hudi_table_services.contract.clustering import ClusteringPlanReport, ClusteringReport
table = open_table(base_path)
plan = schedule(table, request_id=request["request_id"])
{later_end}
plans = (ClusteringPlanReport(instant_time=plan.requested_time, state="requested"),)
result(outcome="completed", instant_time=plan.requested_time, report=ClusteringReport(plans=plans))
"""
    answer = run(ScheduleClusteringOperator, body, run_on="spark")
    assert (answer["outcome"], len(answer["instants"])) == ("completed", 1)


@pytest.mark.parametrize("table", [TableVersion.V9], indirect=True)
def test_a_result_with_a_plan_that_is_not_on_the_timeline_fails(table: SmallTable, run: Run) -> None:
    body = f"""
from hudi_table_services.contract.clustering import ClusteringPlanReport, ClusteringReport
plans = (ClusteringPlanReport(instant_time={INSTANT!r}, state="requested"),)
result(outcome="completed", instant_time={INSTANT!r}, report=ClusteringReport(plans=plans))
"""
    with pytest.raises(HudiTaskError, match=rf"reported state on the timeline: {INSTANT} \(requested\)"):
        run(ScheduleClusteringOperator, body, run_on="spark")


# Cancelling in the worker


def test_cancelling_removes_the_named_plan_from_the_timeline(table: SmallTable, run: Run) -> None:
    first = run(ScheduleClusteringOperator, hudi_options=SMALL)
    preview = run(CancelClusteringOperator, instant=first, preview=True)
    assert (preview["outcome"], preview["instants"]) == ("planned", first["instants"])
    assert clusterings(table)
    answer = run(CancelClusteringOperator, instant=first)
    assert (answer["outcome"], answer["instants"]) == ("completed", first["instants"])
    assert clusterings(table) == []


@pytest.mark.parametrize("table", [TableVersion.V9], indirect=True)
def test_cancelling_by_age_keeps_young_plans(table: SmallTable, run: Run) -> None:
    old = schedule(table)
    run(ScheduleClusteringOperator, partitions="city=b", on_nothing="succeed")
    answer = run(CancelClusteringOperator, older_than_minutes=60)
    assert answer["instants"] == [old.requested_time]
    with pytest.raises(AirflowSkipException, match="old enough"):
        run(CancelClusteringOperator, older_than_minutes=60)


@pytest.mark.parametrize("table", [TableVersion.V9], indirect=True)
@pytest.mark.parametrize(
    ("chooses", "next_try"),
    [
        ({"instant": True}, "cancels"),
        ({"instant": True, "preview": True}, "examines"),
        ({"older_than_minutes": 60}, "examines"),
    ],
    ids=["named", "preview", "by age"],
)
def test_a_failed_cancellation_says_that_the_next_try_cancels_the_plan_only_if_the_task_names_the_plan(
    table: SmallTable, run: Run, chooses: dict[str, Any], next_try: str
) -> None:
    plan = schedule(table).requested_time
    named = {"instant": plan} if "instant" in chooses else {}
    ti = TaskInstance()
    with pytest.raises(HudiTaskError):
        run(CancelClusteringOperator, "sys.exit(3)", run_on="spark", ti=ti, **{**chooses, **named})
    assert ti.pushed[FAILURE_KEY]["table_now"] == (
        f"Clustering plan {plan} is pending: readers see the table as it was before; the next try {next_try} it."
    )
