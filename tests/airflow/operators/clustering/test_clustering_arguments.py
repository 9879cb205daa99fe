"""Arguments of the clustering operators: the requests to the engine, and refused values."""

import json
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowSkipException
from airflow.sdk import DAG, task
from operator_runs import (
    INSTANT,
    Run,
    clusterings,
    made,
    request_of,
)

from airflow_hudi_provider.exceptions import HudiTaskRefusedError
from airflow_hudi_provider.operators.clustering import (
    CancelClusteringOperator,
    ClusteringOperator,
    ExecuteClusteringOperator,
    ScheduleClusteringOperator,
)
from airflow_hudi_provider.tables.connection import TableLocation
from hudi_table_services.contract.clustering import CancelClusteringRequest, ClusteringRequest
from support.airflow.clustered_tables import schedule
from support.airflow.task_context import context
from support.small_tables import SmallTable

# Requests


PLAN = {
    "sort_columns": "a, b",
    "layout": "ZORDER",
    "partitions": ["p=1", "p=2"],
    "every_n_commits": "4",
    "table_name": "t",
    "hudi_options": {"hoodie.clustering.plan.strategy.max.num.groups": 7},
}


@pytest.mark.parametrize("operator", [ScheduleClusteringOperator, ClusteringOperator])
def test_arguments_of_a_plan_become_the_request(operator: type) -> None:
    request = request_of(operator, **PLAN, preview=True)
    assert (request.sort_columns, request.layout, request.partitions) == (
        ("a", "b"),
        "zorder",
        ("p=1", "p=2"),
    )
    assert (request.every_n_commits, request.preview, request.table_name) == (4, True, "t")
    assert request.options == {"hoodie.clustering.plan.strategy.max.num.groups": "7"}
    assert (request.base_path, request.request_id, request.result_path) == ("/t", "r", "/result")
    assert type(request).from_json(request.to_json()) == request


def test_arguments_of_executions_and_cancellations_become_the_request() -> None:
    assert request_of(ExecuteClusteringOperator).instants == ()
    execute = request_of(ExecuteClusteringOperator, instant=INSTANT, when_held="wait")
    assert (execute.instants, execute.when_held) == ((INSTANT,), "wait")
    both = request_of(ClusteringOperator, when_held="wait")
    assert isinstance(both, ClusteringRequest)
    assert both.when_held == "wait"
    cancel = request_of(CancelClusteringOperator, older_than_minutes="90", preview=True)
    assert isinstance(cancel, CancelClusteringRequest)
    assert (cancel.instants, cancel.older_than_minutes, cancel.preview) == ((), 90, True)
    assert request_of(CancelClusteringOperator, instant=[INSTANT]).instants == (INSTANT,)


@pytest.mark.parametrize(
    ("operator", "arguments", "message"),
    [
        (
            ScheduleClusteringOperator,
            {"layout": "snake"},
            "layout='snake' must be 'linear', 'zorder' or 'hilbert'",
        ),
        (ScheduleClusteringOperator, {"every_n_commits": -1}, "below 0"),
        (ScheduleClusteringOperator, {"sort_columns": "a,a"}, "names a column twice"),
        (
            ScheduleClusteringOperator,
            {"hudi_options": {"hoodie.clustering.plan.strategy.max.num.group": 1}},
            "Did you mean hoodie.clustering.plan.strategy.max.num.groups",
        ),
        (
            ScheduleClusteringOperator,
            {"hudi_options": {"hoodie.clustering.plan.strategy.target.file.max.bytes": 1000}},
            "the new files would count as small",
        ),
        (ScheduleClusteringOperator, {"run_on": "driver"}, "run_on='driver'"),
        (ScheduleClusteringOperator, {"on_nothing": "x"}, "on_nothing='x'"),
        (ClusteringOperator, {"when_held": "x"}, "when_held='x' must be 'fail' or 'wait'"),
        (ExecuteClusteringOperator, {"instant": "{{ x }}", "when_held": "wiat"}, "Did you mean wait"),
        (ClusteringOperator, {"application": "mine.py"}, "application cannot be set"),
        (ExecuteClusteringOperator, {"instant": "yesterday"}, "'yesterday' is not an instant time"),
        (ExecuteClusteringOperator, {"instant": None}, "To execute all pending plans, omit instant"),
        (CancelClusteringOperator, {"instant": " "}, "give older_than_minutes=0 instead of instant"),
        (ExecuteClusteringOperator, {"base_path": None}, "base_path or hudi_conn_id"),
        (CancelClusteringOperator, {}, "give instant or older_than_minutes"),
        (
            CancelClusteringOperator,
            {"instant": INSTANT, "older_than_minutes": 5},
            "give instant or older_than_minutes",
        ),
    ],
)
def test_wrong_arguments_fail_when_the_dag_is_parsed(
    operator: type, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"cluster: .*{message}"):
        made(operator, **arguments)


def test_templates_and_outputs_of_other_tasks_are_checked_only_in_the_run() -> None:
    with DAG("d", schedule=None):

        @task
        def first() -> Any: ...

        given = first()
        made(
            ScheduleClusteringOperator, task_id="a", layout="{{ params.l }}", every_n_commits="{{ params.n }}"
        )
        made(ExecuteClusteringOperator, task_id="b", instant=given)
        made(CancelClusteringOperator, task_id="c", older_than_minutes="{{ params.age }}")
        made(
            ClusteringOperator,
            task_id="e",
            partitions=[given],
            hudi_options={"hoodie.clustering.plan.strategy.max.num.groups": "{{ params.groups }}"},
        )


def test_the_operators_can_be_mapped_and_accept_default_arguments() -> None:
    defaults = {"sort_columns": "x", "on_nothing": "fail", "run_on": "spark", "instant": INSTANT}
    with DAG("mapped", schedule=None, default_args=defaults):
        plan = ScheduleClusteringOperator(task_id="plan", base_path="/t")
        execute = ExecuteClusteringOperator(task_id="execute", base_path="/t")
        ScheduleClusteringOperator.partial(task_id="plans", layout="zorder").expand(base_path=["/t", "/u"])
        ExecuteClusteringOperator.partial(task_id="executes", base_path="/t").expand(instant=[INSTANT])
        with pytest.raises(TypeError, match="sort_column"):
            ScheduleClusteringOperator.partial(task_id="typo", sort_column="x")
    assert (plan.sort_columns, plan.on_nothing, plan.run_on) == ("x", "fail", "spark")
    assert (execute.instant, execute.on_nothing) == (INSTANT, "fail")


# Selection of plans


@pytest.mark.parametrize(
    "given",
    [
        INSTANT,
        int(INSTANT),
        f" {INSTANT} ",
        [INSTANT],
        {"instants": [INSTANT], "reason": "", "instant": INSTANT},
        str({"instants": [INSTANT], "reason": None}),
        json.dumps({"instants": [INSTANT], "reason": None}),
        str([INSTANT]),
        f"{INSTANT},",
    ],
    ids=repr,
)
def test_the_argument_instant_accepts_many_forms(given: Any) -> None:
    operator = made(ExecuteClusteringOperator, instant="{{ x }}")
    operator.instant = given
    assert operator.build_request(TableLocation(base_path="/t"), "r", "").instants == (INSTANT,)


@pytest.mark.parametrize(
    "given",
    [None, "", " ", "None", {"instant": None}, {"instants": None}, "[1", [None], True],
    ids=repr,
)
@pytest.mark.parametrize("operator", [ExecuteClusteringOperator, CancelClusteringOperator])
def test_an_empty_template_never_selects_all_plans(
    table: SmallTable, run: Run, operator: type, given: Any
) -> None:
    plan = schedule(table)
    emptied = made(
        operator, base_path=table.storage.base_path, instant="{{ params.x }}", on_nothing="succeed"
    )
    emptied.instant = given
    with pytest.raises(HudiTaskRefusedError, match="instant"):
        emptied.execute(context())
    assert clusterings(table) == [plan]


@pytest.mark.parametrize("operator", [ExecuteClusteringOperator, CancelClusteringOperator])
@pytest.mark.parametrize("given", [[], {"instants": [], "reason": "too early"}, "[]"], ids=repr)
def test_a_schedule_result_without_plans_leaves_nothing_to_do(
    table: SmallTable, run: Run, operator: type, given: Any
) -> None:
    plan = schedule(table)
    with pytest.raises(AirflowSkipException, match="returned no plan"):
        run(operator, instant=given)
    assert run(operator, instant=given, on_nothing="succeed")["outcome"] == "nothing_to_do"
    with pytest.raises(HudiTaskRefusedError, match="returned no plan"):
        run(operator, instant=given, on_nothing="fail")
    assert clusterings(table) == [plan]
