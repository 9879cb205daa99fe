"""The clustering operators: what they ask of the engine, and what they make of its answer and of the timeline."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowSkipException
from airflow.sdk import DAG, task
from clustered_tables import complete, schedule
from stand_ins import stand_in
from task_context import TaskInstance, context

from airflow_hudi_provider.connection import TableLocation
from airflow_hudi_provider.exceptions import HudiTaskError, HudiTaskRefusedError
from airflow_hudi_provider.operators.clustering import (
    CancelClusteringOperator,
    ClusteringOperator,
    ExecuteClusteringOperator,
    ScheduleClusteringOperator,
)
from hudi_table_services.contract.clustering_request import CancelClusteringRequest, ClusteringRequest
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.local import LocalStorage
from small_tables import SmallTable

INSTANT = "20260102030405678"
NOT_TO_BE_RUN = "raise SystemExit('submitted')"

COMPLETES = """
from clustered_tables import complete_pending
from hudi_table_services.contract.clustering_report import (
    ClusteringGroupReport, ClusteringPlanReport, ClusteringReport, ColumnSkipping)
def report(times, state="completed"):
    group = ClusteringGroupReport(partition_path="city=a", input_files=2, input_bytes=8, expected_files=1,
        reason="2 files into 1", output_files=1, output_bytes=6, rows=5)
    skipping = (ColumnSkipping(column="x", before=1.0, after=0.25),)
    return ClusteringReport(plans=tuple(ClusteringPlanReport(instant_time=time, state=state, layout="LINEAR(x)",
        target_file_max_bytes=8, groups=(group,), rows_checked=5, skipping=skipping) for time in times))
times = complete_pending(base_path, request.get("instants", ()), request["request_id"])
"""
PLANS = """
from clustered_tables import open_table, schedule
schedule(open_table(base_path), request_id=request["request_id"])
"""
SAYS_SO = "result(outcome='completed', operation='cluster', instant_time=times[-1], clustering=report(times))"


@pytest.fixture(autouse=True)
def spark_connection(connections: Callable[..., None]) -> None:
    connections("spark_default", conn_type="spark", host="local[2]")


@pytest.fixture(params=[TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
def table(tmp_path: Path, request: pytest.FixtureRequest) -> SmallTable:
    """Three small files in one partition."""
    made = SmallTable(LocalStorage(str(tmp_path / "table")), request.param)
    for number in range(3):
        made.commit(FileGroupId("city=a", f"a-{number}"), schema=SCHEMA)
    return made


SCHEMA = json.dumps({"type": "record", "name": "r", "fields": [{"name": "x", "type": "long"}]})


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Executes an operator on the table; a program with this body stands for spark-submit."""

    def execute(operator: type, body: str = NOT_TO_BE_RUN, **arguments: Any) -> dict[str, Any]:
        ti = arguments.pop("ti", TaskInstance())
        given = {
            "task_id": "cluster",
            "base_path": str(tmp_path / "table"),
            "spark_binary": stand_in(tmp_path, body),
            **arguments,
        }
        answer = operator(**given).execute(context(ti=ti))
        assert json.loads(json.dumps(answer)) == answer
        return answer

    return execute


Run = Callable[..., dict[str, Any]]


def clusterings(table: SmallTable) -> list[Instant]:
    """Pending ones; of completed ones nobody asks here."""
    return list(table.timeline_store.load().pending)


# What the requests say


def made(operator: type, **arguments: Any) -> Any:
    given = {"task_id": "cluster", "base_path": "/t", **arguments}
    return operator(**given)


def request_of(operator: type, **arguments: Any) -> Any:
    return made(operator, **arguments).build_request(TableLocation(base_path="/t"), "r", "/result")


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


def test_arguments_of_the_others_become_the_request() -> None:
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
    ("operator", "arguments", "says"),
    [
        (ScheduleClusteringOperator, {"layout": "snake"}, "layout is 'snake'"),
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
            "new files would be small again",
        ),
        (ScheduleClusteringOperator, {"run_on": "driver"}, "run_on='driver'"),
        (ScheduleClusteringOperator, {"on_nothing": "x"}, "on_nothing='x'"),
        (ClusteringOperator, {"when_held": "x"}, "when_held is 'x'"),
        (ClusteringOperator, {"application": "mine.py"}, "application cannot be given"),
        (ExecuteClusteringOperator, {"instant": "yesterday"}, "'yesterday' is not an instant time"),
        (ExecuteClusteringOperator, {"instant": None}, "does not mean all pending plans"),
        (ExecuteClusteringOperator, {"base_path": None}, "base_path or hudi_conn_id"),
        (CancelClusteringOperator, {}, "say which plans"),
        (CancelClusteringOperator, {"instant": INSTANT, "older_than_minutes": 5}, "say which plans"),
    ],
)
def test_mistakes_that_show_when_the_dag_is_read(
    operator: type, arguments: dict[str, Any], says: str
) -> None:
    with pytest.raises(ValueError, match=f"cluster: .*{says}"):
        made(operator, **arguments)


def test_templates_and_outputs_of_other_tasks_are_left_for_the_run() -> None:
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


def test_they_can_be_mapped_and_take_default_arguments() -> None:
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


# Which plans are meant


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
def test_a_plan_can_be_named_in_many_ways(given: Any) -> None:
    operator = made(ExecuteClusteringOperator, instant="{{ x }}")
    operator.instant = given
    assert operator.build_request(TableLocation(base_path="/t"), "r", "").instants == (INSTANT,)


@pytest.mark.parametrize(
    "given",
    [None, "", " ", "None", {"instant": None}, {"instants": None}, "[1", [None], True],
    ids=repr,
)
@pytest.mark.parametrize("operator", [ExecuteClusteringOperator, CancelClusteringOperator])
def test_an_emptied_template_never_means_all(table: SmallTable, run: Run, operator: type, given: Any) -> None:
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
def test_an_answer_without_plans_means_nothing_to_do(
    table: SmallTable, run: Run, operator: type, given: Any
) -> None:
    plan = schedule(table)
    with pytest.raises(AirflowSkipException, match="named no plan"):
        run(operator, instant=given)
    assert run(operator, instant=given, on_nothing="succeed")["outcome"] == "nothing_to_do"
    with pytest.raises(HudiTaskRefusedError, match="named no plan"):
        run(operator, instant=given, on_nothing="fail")
    assert clusterings(table) == [plan]


# Scheduling, in the worker


def test_a_schedule_puts_one_plan_on_the_timeline_however_often_it_is_tried(
    table: SmallTable, run: Run
) -> None:
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


SMALL = {
    "hoodie.clustering.plan.strategy.small.file.limit": 1000,
    "hoodie.clustering.plan.strategy.target.file.max.bytes": 1000,
}


def test_clearing_plans_again_where_that_is_wanted(table: SmallTable, run: Run) -> None:
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
    said = caplog.text + "".join(capfd.readouterr())
    assert "city=a" in said
    assert "Planned, nothing written" in said


def test_too_few_commits_skip_succeed_or_fail_with_the_reason(table: SmallTable, run: Run) -> None:
    says = "3 of 4 commits on the active timeline"
    with pytest.raises(AirflowSkipException, match=says):
        run(ScheduleClusteringOperator, every_n_commits=4)
    with pytest.raises(HudiTaskRefusedError, match=says):
        run(ScheduleClusteringOperator, every_n_commits=4, on_nothing="fail")
    answer = run(ScheduleClusteringOperator, every_n_commits=4, on_nothing="succeed")
    assert says in answer["reason"]
    assert (answer["outcome"], answer["instants"], answer["commit_count"]) == ("nothing_to_do", [], 3)
    assert run(ScheduleClusteringOperator, every_n_commits=3)["instants"]


@pytest.mark.parametrize("table", [TableVersion.V9], indirect=True)
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"sort_columns": "y"}, "InvalidRequestError: .*no column 'y'"),
        ({"table_name": "other"}, "other"),
        ({"base_path": "/nowhere/at/all"}, "TableNotFoundError"),
    ],
)
def test_what_the_engine_refuses_is_not_tried_again(
    table: SmallTable, run: Run, arguments: dict[str, Any], says: str
) -> None:
    with pytest.raises(HudiTaskRefusedError, match=says):
        run(ScheduleClusteringOperator, **arguments)


@pytest.mark.parametrize("table", [TableVersion.V9], indirect=True)
def test_a_package_that_the_worker_lacks_is_named_with_the_way_out(table: SmallTable, run: Run) -> None:
    class OnALightWorker(ScheduleClusteringOperator):
        def run_here(self, request: Any) -> Any:
            raise ModuleNotFoundError("No module named 'pyarrow'", name="pyarrow")

    with pytest.raises(HudiTaskRefusedError, match="lacks the package pyarrow.*run_on='spark'"):
        run(OnALightWorker)


@pytest.mark.parametrize("table", [TableVersion.V9], indirect=True)
def test_a_schedule_on_spark_is_judged_by_the_timeline(table: SmallTable, run: Run) -> None:
    answer = run(ScheduleClusteringOperator, PLANS + "sys.exit(3)", run_on="spark")
    (plan,) = clusterings(table)
    assert answer["instants"] == [plan.requested_time]
    with pytest.raises(HudiTaskError, match="no result document.*What was completed stays"):
        run(ScheduleClusteringOperator, "sys.exit(3)", run_on="spark", ti=TaskInstance(run_id="run 2"))


# Executing, on Spark


def test_an_execution_tells_what_became_of_the_files(
    table: SmallTable, run: Run, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    plan = schedule(table)
    answer = run(ExecuteClusteringOperator, COMPLETES + SAYS_SO)
    figures = ("files_in", "bytes_in", "files_out", "bytes_out", "rows", "rows_checked")
    assert [answer[name] for name in figures] == [2, 8, 1, 6, 5, 5]
    assert answer["instants"] == [plan.requested_time]
    assert answer["plans"][0]["skipping"] == [{"column": "x", "before": 1.0, "after": 0.25}]
    said = caplog.text + "".join(capfd.readouterr())
    assert "Looking for one x reads 25% of these rows, before 100%" in said
    assert "75% of the 8 B asked for" in said


def test_plans_that_are_completed_need_no_spark(table: SmallTable, run: Run) -> None:
    first, second = schedule(table), schedule(table)
    complete(table, first, second)
    answer = run(ExecuteClusteringOperator, instant=[first.requested_time, second.requested_time])
    assert (answer["reused"], answer["instants"]) == (True, [first.requested_time, second.requested_time])
    assert answer["groups"] == 2


def test_plans_that_were_completed_win_over_a_bad_end(table: SmallTable, run: Run) -> None:
    first, second = schedule(table), schedule(table)
    named = [first.requested_time, second.requested_time]
    only_first = f"complete_pending(base_path, [{first.requested_time!r}]); sys.exit(3)"
    import_it = "from clustered_tables import complete_pending\n"
    with pytest.raises(HudiTaskError, match="What was completed stays.*executed by another try"):
        run(ExecuteClusteringOperator, import_it + only_first, instant=named)
    answer = run(ExecuteClusteringOperator, COMPLETES + "sys.exit(3)", instant=[second.requested_time])
    assert answer["reused"]
    assert run(ExecuteClusteringOperator, instant=named)["reused"]


def test_all_that_were_pending_are_completed_once(table: SmallTable, run: Run) -> None:
    """A retry finds none pending, which is not the same as nothing to do."""
    first, second = schedule(table), schedule(table)
    answer = run(ExecuteClusteringOperator, COMPLETES + "sys.exit(3)")
    assert (answer["reused"], answer["instants"]) == (True, [first.requested_time, second.requested_time])
    assert run(ExecuteClusteringOperator)["instants"] == answer["instants"]
    nothing = "result(outcome='nothing_to_do', reason='no clustering is pending')"
    with pytest.raises(AirflowSkipException):
        run(ExecuteClusteringOperator, nothing, ti=TaskInstance(run_id="run 2"))
    third = schedule(table)
    later = run(ExecuteClusteringOperator, COMPLETES + SAYS_SO)
    assert (later["reused"], later["instants"]) == (False, [third.requested_time])


def test_a_claim_that_the_timeline_does_not_bear_out_fails(table: SmallTable, run: Run) -> None:
    pending = schedule(table)
    claim = (
        COMPLETES.replace("times = complete_pending", "times = request['instants'] or complete_pending")
        + SAYS_SO
    )
    with pytest.raises(HudiTaskError, match=f"timeline does not have {pending.requested_time}"):
        run(ExecuteClusteringOperator, claim, instant=pending.requested_time)


@pytest.mark.parametrize(
    ("kind", "retryable", "error"),
    [("InstantHeldError", True, HudiTaskError), ("UnsupportedTableError", False, HudiTaskRefusedError)],
)
@pytest.mark.parametrize("table", [TableVersion.V9], indirect=True)
def test_a_plan_held_by_another_is_retried_and_what_cannot_work_is_not(
    table: SmallTable, run: Run, kind: str, retryable: bool, error: type[Exception]
) -> None:
    with pytest.raises(error, match=f"{kind}: It broke"):
        run(ExecuteClusteringOperator, f"failed({kind!r}, {retryable}); sys.exit(75)")


@pytest.mark.parametrize("table", [TableVersion.V9], indirect=True)
def test_no_pending_plan_skips(table: SmallTable, run: Run) -> None:
    nothing = "result(outcome='nothing_to_do', reason='no clustering is pending on the table')"
    with pytest.raises(AirflowSkipException, match="no clustering is pending"):
        run(ExecuteClusteringOperator, nothing)


# Both in one job


def test_what_was_clustered_in_full_is_not_submitted_again(table: SmallTable, run: Run) -> None:
    first = run(ClusteringOperator, PLANS + COMPLETES + SAYS_SO)
    assert not first["reused"]
    again = run(ClusteringOperator)
    assert (again["reused"], again["instants"]) == (True, first["instants"])


def test_a_bad_end_of_both_is_judged_by_the_plans_of_the_request(table: SmallTable, run: Run) -> None:
    with pytest.raises(HudiTaskError, match="still pending"):
        run(ClusteringOperator, PLANS + "sys.exit(3)")
    answer = run(ClusteringOperator, COMPLETES + "sys.exit(3)")
    assert (answer["reused"], len(answer["instants"])) == (True, 1)


# Cancelling, in the worker


def test_cancelling_takes_the_named_plan_off_the_timeline(table: SmallTable, run: Run) -> None:
    first = run(ScheduleClusteringOperator, hudi_options=SMALL)
    looked = run(CancelClusteringOperator, instant=first, preview=True)
    assert (looked["outcome"], looked["instants"]) == ("planned", first["instants"])
    assert clusterings(table)
    answer = run(CancelClusteringOperator, instant=first)
    assert (answer["outcome"], answer["instants"]) == ("completed", first["instants"])
    assert clusterings(table) == []


@pytest.mark.parametrize("table", [TableVersion.V9], indirect=True)
def test_cancelling_by_age_leaves_the_young_ones(table: SmallTable, run: Run) -> None:
    old = schedule(table)
    run(ScheduleClusteringOperator, partitions="city=b", on_nothing="succeed")
    answer = run(CancelClusteringOperator, older_than_minutes=60)
    assert answer["instants"] == [old.requested_time]
    with pytest.raises(AirflowSkipException, match="old enough"):
        run(CancelClusteringOperator, older_than_minutes=60)


# In DAG runs, and when somebody ends the task


@pytest.mark.parametrize("table", [TableVersion.V9], indirect=True)
def test_in_a_dag_the_schedule_hands_its_plan_to_the_execution(
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
            spark_binary=stand_in(tmp_path, COMPLETES + SAYS_SO),
        )

        @task
        def check(told: dict[str, Any], done: dict[str, Any]) -> None:
            assert told["instants"] == done["instants"]
            assert len(told["instants"]) == 1

        check(plan.output, execute.output)
    run = run_dag(dag)
    assert {ti.state for ti in run.get_task_instances()} == {"success"}
    assert len(clusterings(table)) == 1, "the plan that somebody else made before is left alone"


def test_a_kill_tells_which_plans_are_pending(
    table: SmallTable, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    from airflow_hudi_provider.hooks.hudi import HudiHook

    operator = made(ExecuteClusteringOperator, base_path=table.storage.base_path)
    operator.on_kill()
    hook = HudiHook(table.storage.base_path)
    operator.tell_what_is_left(hook, "r")
    plan = schedule(table)
    operator.tell_what_is_left(hook, "r")
    said = caplog.text + "".join(capfd.readouterr())
    assert "no clustering is pending" in said
    assert f"pending: {plan.requested_time}" in said
