"""Execution of plans that are no longer pending: a write released their file groups, or they were cancelled."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowSkipException

from airflow_hudi_provider.exceptions import HudiTaskError, HudiTaskRefusedError
from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.operators.clustering import ClusteringOperator, ExecuteClusteringOperator
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.local import LocalStorage
from support.airflow.clustered_tables import cancel, complete, release, schedule
from support.airflow.stand_ins import stand_in
from support.airflow.task_context import TaskInstance, context
from support.small_tables import SmallTable

Run = Callable[..., dict[str, Any]]
HELPERS = """
from support.airflow.clustered_tables import cancel, complete, complete_pending, open_table, schedule
from hudi_table_services.contract.clustering import ClusteringPlanReport, ClusteringReport
def report(**states):
    plans = [ClusteringPlanReport(instant_time=time[1:], state=state, reason="other writers were first" * (state ==
        "cancelled")) for time, state in states.items()]
    return ClusteringReport(plans=tuple(plans))
"""


@pytest.fixture(autouse=True)
def spark_connection(connections: Callable[..., None]) -> None:
    connections("spark_default", conn_type="spark", host="local[2]")


@pytest.fixture(params=[TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
def table(tmp_path: Path, request: pytest.FixtureRequest) -> SmallTable:
    made = SmallTable(LocalStorage(str(tmp_path / "table")), request.param)
    made.commit(FileGroupId("city=a", "a-0"))
    return made


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Execute an operator on the table; a program with the given body replaces spark-submit."""

    def execute(operator: type, body: str = "raise SystemExit('submitted')", **arguments: Any) -> Any:
        binary = stand_in(tmp_path, HELPERS + body)
        given = {"task_id": "cluster", "base_path": str(tmp_path / "table"), "spark_binary": binary}
        return operator(**given, **arguments).execute(context(ti=TaskInstance()))

    return execute


def test_a_completed_replacement_counts_for_the_released_plan(table: SmallTable, run: Run) -> None:
    plan = schedule(table)
    successor = release(table, plan)
    complete(table, successor)
    named = [plan.requested_time, successor.requested_time]
    answer = run(ExecuteClusteringOperator, instant=named)
    assert (answer["reused"], answer["instants"]) == (True, [successor.requested_time])


def test_a_pending_replacement_is_executed_and_determines_the_outcome_of_a_failed_job(
    table: SmallTable, run: Run
) -> None:
    plan = schedule(table).requested_time
    successor = release(table, *table.timeline_store.load().pending).requested_time
    with pytest.raises(HudiTaskError, match="another try can execute"):
        run(ExecuteClusteringOperator, "sys.exit(3)", instant=plan)
    answer = run(ExecuteClusteringOperator, "complete_pending(base_path); sys.exit(3)", instant=plan)
    assert (answer["reused"], answer["instants"]) == (True, [successor])


@pytest.mark.parametrize("releases_all", [True, False], ids=["released", "cancelled"])
def test_a_plan_that_no_longer_exists_needs_no_spark(table: SmallTable, run: Run, releases_all: bool) -> None:
    plan = schedule(table)
    if releases_all:
        write = release(table, plan, releases_all=True).requested_time
        reason = f"rite {write} released all file groups of clustering {plan.requested_time}"
    else:
        cancel(table, plan)
        reason = f"{plan.requested_time} was cancelled: rollback"
    with pytest.raises(AirflowSkipException, match=reason):
        run(ExecuteClusteringOperator, instant=plan.requested_time)
    with pytest.raises(HudiTaskRefusedError, match=reason):
        run(ExecuteClusteringOperator, instant=plan.requested_time, on_nothing="fail")
    answer = run(ExecuteClusteringOperator, instant=plan.requested_time, on_nothing="succeed")
    assert (answer["outcome"], answer["instants"]) == ("nothing_to_do", [])


def test_a_cancelled_plan_does_not_stop_the_other_named_plans(table: SmallTable, run: Run) -> None:
    cancelled_plan, pending_plan = schedule(table), schedule(table, partition="city=b")
    cancel(table, cancelled_plan)
    named = [cancelled_plan.requested_time, pending_plan.requested_time]
    with pytest.raises(HudiTaskError, match="another try can execute"):
        run(ExecuteClusteringOperator, "sys.exit(3)", instant=named)
    complete(table, pending_plan)
    answer = run(ExecuteClusteringOperator, instant=named)
    assert (answer["outcome"], answer["instants"]) == ("completed", [pending_plan.requested_time])
    assert f"{cancelled_plan.requested_time} was cancelled" in answer["reason"]


def test_an_instant_that_the_timeline_does_not_contain_is_refused_without_spark(
    table: SmallTable, run: Run
) -> None:
    with pytest.raises(
        HudiTaskRefusedError, match="InvalidRequestError: There is no instant 20200101000000000"
    ):
        run(ExecuteClusteringOperator, instant="20200101000000000")


def test_a_job_that_died_after_it_cancelled_its_plan_leaves_nothing_to_do(
    table: SmallTable, run: Run, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    plan = schedule(table)
    drops = "table = open_table(base_path); cancel(table, *table.timeline_store.load().pending); sys.exit(3)"
    with pytest.raises(AirflowSkipException, match=f"{plan.requested_time} was cancelled"):
        run(ExecuteClusteringOperator, drops, instant=plan.requested_time)
    assert "Nothing is left to do" in caplog.text + "".join(capfd.readouterr())


def test_the_answer_names_executed_plans_and_explains_cancelled_ones(
    table: SmallTable, run: Run, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    cancelled_plan, pending_plan = schedule(table), schedule(table, partition="city=b")
    ends = f"""
table = open_table(base_path)
first, second = table.timeline_store.load().pending
cancel(table, first)
complete(table, second)
reported = report(_{cancelled_plan.requested_time}="cancelled", _{pending_plan.requested_time}="completed")
result(outcome="completed", operation="execute_clustering", instant_time=second.requested_time, report=reported)
"""
    answer = run(ExecuteClusteringOperator, ends)
    assert answer["instants"] == [pending_plan.requested_time]
    assert [(p["instant"], p["state"], p["reason"]) for p in answer["plans"]] == [
        (cancelled_plan.requested_time, "cancelled", "other writers were first"),
        (pending_plan.requested_time, "completed", ""),
    ]
    assert "Other writers were first" in caplog.text + "".join(capfd.readouterr())


def test_a_cancellation_that_contradicts_the_timeline_fails(table: SmallTable, run: Run) -> None:
    time = schedule(table).requested_time
    claim = f"result(outcome='completed', instant_time='{time}', report=report(_{time}='cancelled'))"
    with pytest.raises(HudiTaskError, match=rf"reported state on the timeline: {time} \(cancelled\)"):
        run(ExecuteClusteringOperator, claim)


def test_a_clustering_in_one_job_continues_with_the_replacement_of_its_plan(
    table: SmallTable, run: Run
) -> None:
    table.commit(FileGroupId("city=a", "a-1"))
    with pytest.raises(HudiTaskError, match="still pending"):
        run(ClusteringOperator, "sys.exit(3)")
    (plan,) = table.timeline_store.load().pending
    mine = HudiHook(table.storage.base_path).clusterings().pending[0].request_id
    assert mine
    successor = release(table, plan, request_id=mine)
    with pytest.raises(HudiTaskError, match="still pending"):
        run(ClusteringOperator, "sys.exit(3)")
    complete(table, successor)
    answer = run(ClusteringOperator)
    assert (answer["reused"], answer["instants"]) == (True, [successor.requested_time])
