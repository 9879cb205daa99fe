"""The clustering operators that rewrite files on Spark.

The tests check how the operators react to the end of the job and to the state of the timeline.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowSkipException
from airflow.sdk import DAG, task
from operator_runs import COMPLETES, NOT_TO_BE_RUN, PLANS, REPORTS, SCHEMA, SMALL, Run, clusterings, made

from airflow_hudi_provider.exceptions import HudiTaskError, HudiTaskRefusedError
from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.operators.clustering import (
    ClusteringOperator,
    ExecuteClusteringOperator,
    ScheduleClusteringOperator,
)
from airflow_hudi_provider.results.failure import FAILURE_KEY
from airflow_hudi_provider.tasks.memory import TaskMemory
from airflow_hudi_provider.tasks.run import TaskRun
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from support.airflow.clustered_tables import complete, schedule
from support.airflow.stand_ins import stand_in
from support.airflow.task_context import TaskInstance, context
from support.small_tables import SmallTable

# Execution on Spark


def test_an_execution_reports_the_rewritten_files(
    table: SmallTable, run: Run, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    plan = schedule(table)
    answer = run(ExecuteClusteringOperator, COMPLETES + REPORTS)
    figures = ("files_in", "bytes_in", "files_out", "bytes_out", "rows", "rows_checked")
    assert [answer[name] for name in figures] == [2, 8, 1, 6, 5, 5]
    assert answer["instants"] == [plan.requested_time]
    assert answer["plans"][0]["skipping"] == [{"column": "x", "before": 1.0, "after": 0.25}]
    logged = caplog.text + "".join(capfd.readouterr())
    assert "A query for one x reads 25% of the rewritten rows; before the clustering, it read 100%" in logged
    assert "75% of the target of 8 B" in logged


def test_completed_plans_need_no_spark(table: SmallTable, run: Run) -> None:
    first, second = schedule(table), schedule(table)
    complete(table, first, second)
    answer = run(ExecuteClusteringOperator, instant=[first.requested_time, second.requested_time])
    assert (answer["reused"], answer["instants"]) == (True, [first.requested_time, second.requested_time])
    assert answer["groups"] == 2


def test_a_task_succeeds_if_its_failed_job_completed_all_plans(table: SmallTable, run: Run) -> None:
    first, second = schedule(table), schedule(table)
    named = [first.requested_time, second.requested_time]
    only_first = f"complete_pending(base_path, [{first.requested_time!r}]); sys.exit(3)"
    import_it = "from support.airflow.clustered_tables import complete_pending\n"
    with pytest.raises(HudiTaskError, match="Completed clusterings stay.*another try can execute"):
        run(ExecuteClusteringOperator, import_it + only_first, instant=named)
    answer = run(ExecuteClusteringOperator, COMPLETES + "sys.exit(3)", instant=[second.requested_time])
    assert answer["reused"]
    assert run(ExecuteClusteringOperator, instant=named)["reused"]


def test_all_pending_plans_are_completed_once(table: SmallTable, run: Run) -> None:
    """A retry finds no pending plan but must still report the completed plans."""
    first, second = schedule(table), schedule(table)
    answer = run(ExecuteClusteringOperator, COMPLETES + "sys.exit(3)")
    assert (answer["reused"], answer["instants"]) == (True, [first.requested_time, second.requested_time])
    assert run(ExecuteClusteringOperator)["instants"] == answer["instants"]
    with pytest.raises(AirflowSkipException):
        run(ExecuteClusteringOperator, NOT_TO_BE_RUN, ti=TaskInstance(run_id="run 2"))
    third = schedule(table)
    later = run(ExecuteClusteringOperator, COMPLETES + REPORTS)
    assert (later["reused"], later["instants"]) == (False, [third.requested_time])


def test_a_result_that_contradicts_the_timeline_fails(table: SmallTable, run: Run) -> None:
    pending = schedule(table)
    claim = (
        COMPLETES.replace("times = complete_pending", "times = request['instants'] or complete_pending")
        + REPORTS
    )
    with pytest.raises(HudiTaskError, match=f"reported state on the timeline: {pending.requested_time}"):
        run(ExecuteClusteringOperator, claim, instant=pending.requested_time)


@pytest.mark.parametrize(
    ("kind", "retryable", "error"),
    [("InstantHeldError", True, HudiTaskError), ("UnsupportedTableError", False, HudiTaskRefusedError)],
)
@pytest.mark.parametrize("table", [TableVersion.V9], indirect=True)
def test_a_failed_task_is_retried_only_if_the_error_of_the_engine_is_retryable(
    table: SmallTable, run: Run, kind: str, retryable: bool, error: type[Exception]
) -> None:
    schedule(table)
    with pytest.raises(error, match=f"{kind}: It broke"):
        run(ExecuteClusteringOperator, f"failed({kind!r}, {retryable}); sys.exit(75)")


@pytest.mark.parametrize("table", [TableVersion.V9], indirect=True)
def test_the_log_of_a_failure_shows_the_work_done_before_the_failure(
    table: SmallTable, run: Run, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    done = schedule(table).requested_time
    broken = schedule(table, partition="city=b").requested_time
    fails = f"""
from hudi_table_services.contract.clustering import ExecuteClusteringRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.errors import StorageError
failed = ClusteringPlanReport(instant_time="{broken}", state="failed", error="It broke.")
error = StorageError("It broke.")
error.evidence = ClusteringReport(plans=(*report(times).plans, failed))
requested = ExecuteClusteringRequest.from_json(json.dumps(request))
open(result_path, "w").write(JobResult.failed(requested, error).to_json())
sys.exit(74)
"""
    body = COMPLETES.replace('request.get("instants", ())', f"[{done!r}]") + fails
    with pytest.raises(HudiTaskError, match="StorageError: It broke"):
        run(ExecuteClusteringOperator, body)
    logged = caplog.text + "".join(capfd.readouterr())
    assert "75% of the target of 8 B" in logged
    assert f"Clustering {broken} (failed)" in logged


@pytest.mark.parametrize("table", [TableVersion.V9], indirect=True)
def test_a_task_without_pending_plans_is_skipped_without_spark(table: SmallTable, run: Run) -> None:
    with pytest.raises(AirflowSkipException, match="no clustering is pending"):
        run(ExecuteClusteringOperator, NOT_TO_BE_RUN)


# Planning and execution in one job


def test_a_completed_clustering_is_not_submitted_again(table: SmallTable, run: Run) -> None:
    first = run(ClusteringOperator, PLANS + COMPLETES + REPORTS)
    assert not first["reused"]
    again = run(ClusteringOperator)
    assert (again["reused"], again["instants"]) == (True, first["instants"])


def test_after_a_failed_job_the_state_of_its_plans_determines_the_outcome(
    table: SmallTable, run: Run
) -> None:
    with pytest.raises(HudiTaskError, match="still pending"):
        run(ClusteringOperator, PLANS + "sys.exit(3)")
    answer = run(ClusteringOperator, COMPLETES + "sys.exit(3)")
    assert (answer["reused"], len(answer["instants"])) == (True, 1)


# DAG runs and killed tasks


@pytest.mark.parametrize("table", [TableVersion.V9], indirect=True)
def test_the_schedule_task_passes_its_plan_to_the_execution_in_a_dag(
    table: SmallTable, run_dag: Callable[..., Any], tmp_path: Path
) -> None:
    schedule(table)
    with DAG("cluster_in_two", schedule=None) as dag:
        plan = ScheduleClusteringOperator(
            task_id="plan", base_path=table.storage.base_path, hudi_options=SMALL, partitions="city=b"
        )
        table.commit(FileGroupId("city=b", "b-0"), FileGroupId("city=b", "b-1"), schema=SCHEMA)
        execute = ExecuteClusteringOperator(
            task_id="execute",
            base_path=table.storage.base_path,
            instant=plan.output,
            spark_binary=stand_in(tmp_path, COMPLETES + REPORTS),
        )

        @task
        def check(scheduled: dict[str, Any], done: dict[str, Any]) -> None:
            assert scheduled["instants"] == done["instants"]
            assert len(scheduled["instants"]) == 1

        check(plan.output, execute.output)
    run = run_dag(dag)
    assert {ti.state for ti in run.get_task_instances()} == {"success"}
    assert len(clusterings(table)) == 1, "the earlier plan of another writer stays pending"


def test_a_kill_logs_the_pending_plans(
    table: SmallTable, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    operator = made(ExecuteClusteringOperator, base_path=table.storage.base_path)
    operator.on_kill()
    run = TaskRun(
        context=context(),
        table=HudiHook(table.storage.base_path),
        place=("d", "r", "t"),
        request_id="r",
        memory=TaskMemory(context(), operator),
    )
    operator.log_state_after_kill(run)
    plan = schedule(table)
    operator.log_state_after_kill(run)
    logged = caplog.text + "".join(capfd.readouterr())
    assert "no clustering is pending" in logged
    assert f"pending: {plan.requested_time}" in logged


# State of the table after a failure


def failed(run: Run, operator: type, body: str, **arguments: Any) -> str:
    """Run a task that fails, and return the sentence about the table that the failure contains."""
    ti = TaskInstance()
    with pytest.raises(HudiTaskError):
        run(operator, body, ti=ti, **arguments)
    return str(ti.pushed[FAILURE_KEY]["table_now"])


def test_a_failed_execution_names_its_completed_and_pending_plans(table: SmallTable, run: Run) -> None:
    first, second, other = (schedule(table).requested_time for _ in range(3))
    only_first = f"complete_pending(base_path, [{first!r}]); sys.exit(3)"
    import_it = "from support.airflow.clustered_tables import complete_pending\n"
    now = failed(run, ExecuteClusteringOperator, import_it + only_first, instant=[first, second])
    assert now == (
        f"Clustering {first} is completed: readers see its files. Clustering plan {second} is pending: readers see "
        "the table as it was before; the next try executes it."
    )
    assert f"plan {other} is pending" in failed(run, ExecuteClusteringOperator, "sys.exit(3)")


def test_a_failed_clustering_names_only_the_plan_of_its_request(table: SmallTable, run: Run) -> None:
    schedule(table)
    now = failed(run, ClusteringOperator, "sys.exit(3)")
    assert now == (
        f"Clustering plan {clusterings(table)[-1].requested_time} is pending: readers see the table as it was before; "
        "the next try executes it."
    )


@pytest.mark.usefixtures("table")
def test_with_too_few_commits_nothing_is_submitted(run: Run) -> None:
    with pytest.raises(AirflowSkipException):
        run(ClusteringOperator, NOT_TO_BE_RUN, every_n_commits=100)
