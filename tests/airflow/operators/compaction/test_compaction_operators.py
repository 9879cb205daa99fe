"""The compaction operators on merge-on-read tables; a program without Spark replaces spark-submit."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowSkipException

from airflow_hudi_provider.exceptions import HudiTaskError, HudiTaskRefusedError
from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.operators.compaction import (
    CancelCompactionOperator,
    CompactionOperator,
    ExecuteCompactionOperator,
    ScheduleCompactionOperator,
)
from airflow_hudi_provider.results.failure import FAILURE_KEY
from airflow_hudi_provider.tables.connection import TableLocation
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.local import LocalStorage
from support.airflow.stand_ins import stand_in
from support.airflow.task_context import TaskInstance, context
from support.compaction.written_table import WrittenTable, a_row
from support.jobs_on_tables import later

Run = Callable[..., dict[str, Any]]

GROUP = FileGroupId("city=a", "f1")
NOT_TO_BE_RUN = "raise SystemExit('submitted')"

# Bodies of the program that replaces spark-submit. The jobs run in its process, one slice after another.
EXECUTES = """
from hudi_table_services.storage.stores.local import LocalStorage
from support.compaction import jobs_here
from support.jobs_on_tables import later
def execute():
    return jobs_here.execute(LocalStorage(base_path), later(1), *request.get("instants", ()),
        request_id=request["request_id"])
"""
REPORTS = EXECUTES + "open(result_path, 'w').write(execute().to_json())"
DIES = EXECUTES + "execute(); sys.exit(3)"
PLANS_AND_DIES = """
from hudi_table_services.storage.stores.local import LocalStorage
from support.compaction import jobs_here
from support.jobs_on_tables import later
jobs_here.schedule(LocalStorage(base_path), later(1), request_id=request["request_id"])
sys.exit(3)
"""


@pytest.fixture(autouse=True)
def _spark_connection(connections: Callable[..., None]) -> None:
    connections("spark_default", conn_type="spark", host="local[2]")


@pytest.fixture(params=[TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
def table(tmp_path: Path, request: pytest.FixtureRequest) -> WrittenTable:
    """A table with one file group, whose base file has two rows; a log file changes one of them."""
    made = WrittenTable(LocalStorage(str(tmp_path / "table")), request.param, clock=later(-1))
    made.insert({GROUP: [a_row("k1", 1), a_row("k2", 1)]})
    made.log({GROUP: [a_row("k1", 2)]})
    return made


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Execute an operator on the table; a program with this body replaces spark-submit."""

    def execute(operator: type, body: str = NOT_TO_BE_RUN, **arguments: Any) -> dict[str, Any]:
        ti = arguments.pop("ti", TaskInstance())
        given = {
            "task_id": "compact",
            "base_path": str(tmp_path / "table"),
            "spark_binary": stand_in(tmp_path, body),
            **arguments,
        }
        answer = operator(**given).execute(context(ti=ti))
        assert json.loads(json.dumps(answer)) == answer
        return answer

    return execute


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Callable[[], str]:
    """Return what was logged, with each run of spaces and line breaks as one space."""
    return lambda: " ".join((caplog.text + "".join(capfd.readouterr())).split())


def pending(table: WrittenTable) -> list[str]:
    history = HudiHook(table.storage.base_path).compactions()
    assert history is not None
    return [each.instant.requested_time for each in history.pending]


def stamps(table: WrittenTable) -> list[int]:
    return [row["ts"] for row in table.base_rows()]


def test_a_plan_is_made_in_the_worker_and_executed_on_spark(table: WrittenTable, run: Run) -> None:
    plan = run(ScheduleCompactionOperator, ignore_trigger=True)
    assert pending(table) == plan["instants"] == [plan["instant"]]
    assert (plan["slices"], plan["log_files"], plan["rows"]) == (1, 1, None)
    assert run(ScheduleCompactionOperator, ignore_trigger=True)["instants"] == plan["instants"]
    done = run(ExecuteCompactionOperator, REPORTS, instant=plan)
    assert (done["outcome"], done["reused"], done["instants"]) == ("completed", False, plan["instants"])
    assert (done["rows"], done["updated_rows"], done["deleted_rows"]) == (2, 1, 0)
    assert (done["logs_before"]["log_files"], done["logs_after"]["log_files"]) == (1, 0)
    assert stamps(table) == [2, 1]
    again = run(ExecuteCompactionOperator, instant=plan)
    assert (again["reused"], again["instants"]) == (True, plan["instants"])


def test_no_plan_is_made_before_a_compaction_is_due(table: WrittenTable, run: Run) -> None:
    with pytest.raises(AirflowSkipException, match="Nothing to do"):
        run(ScheduleCompactionOperator)
    with pytest.raises(HudiTaskRefusedError, match="Nothing to do"):
        run(ScheduleCompactionOperator, on_nothing="fail")
    answer = run(ScheduleCompactionOperator, on_nothing="succeed")
    assert (answer["instants"], answer["outcome"]) == ([], "nothing_to_do")
    with pytest.raises(AirflowSkipException, match="returned no plan"):
        run(ExecuteCompactionOperator, instant=answer)
    limit = {"hoodie.compact.inline.max.delta.commits": 1}
    assert run(ScheduleCompactionOperator, hudi_options=limit, preview=True)["picture"]
    assert pending(table) == []
    assert len(run(ScheduleCompactionOperator, hudi_options=limit)["instants"]) == 1


def test_every_n_commits_decides_when_a_compaction_is_due(table: WrittenTable, run: Run) -> None:
    waiting = run(ScheduleCompactionOperator, every_n_commits=3, on_nothing="succeed")
    assert waiting["instants"] == []
    assert waiting["trigger"].endswith("fewer than every_n_commits=3")
    with pytest.raises(AirflowSkipException, match="every_n_commits=3"):
        run(ScheduleCompactionOperator, every_n_commits="3")
    assert pending(table) == []
    assert run(ScheduleCompactionOperator, every_n_commits="1")["instants"] == pending(table)


def test_a_failed_job_that_completed_its_plans_counts_as_completed(table: WrittenTable, run: Run) -> None:
    plan, ti = run(ScheduleCompactionOperator, ignore_trigger=True), TaskInstance()
    with pytest.raises(HudiTaskError, match="Another try can execute plans that are still pending"):
        run(ExecuteCompactionOperator, "sys.exit(3)", ti=ti)
    assert ti.pushed[FAILURE_KEY]["table_now"] == (
        f"Compaction plan {plan['instant']} is pending: readers see the same rows as before; the next try executes it."
    )
    assert run(ExecuteCompactionOperator, DIES)["reused"]
    assert run(ExecuteCompactionOperator)["instants"] == plan["instants"]
    with pytest.raises(AirflowSkipException):
        run(ExecuteCompactionOperator, NOT_TO_BE_RUN.replace("submitted", ""), instant=[])
    assert stamps(table) == [2, 1]


def test_a_retry_executes_the_plan_of_the_earlier_try(table: WrittenTable, run: Run) -> None:
    with pytest.raises(HudiTaskError, match="Completed compactions stay"):
        run(CompactionOperator, PLANS_AND_DIES, ignore_trigger=True)
    (plan,) = pending(table)
    answer = run(CompactionOperator, DIES, ignore_trigger=True)
    assert (answer["reused"], answer["instants"]) == (True, [plan])
    assert run(CompactionOperator, ignore_trigger=True)["instants"] == [plan]


def test_a_result_that_contradicts_the_timeline_fails(table: WrittenTable, run: Run) -> None:
    (plan,) = run(ScheduleCompactionOperator, ignore_trigger=True)["instants"]
    claim = f"""
from hudi_table_services.contract.compaction.compaction import CompactionPlanReport, CompactionReport
plans = (CompactionPlanReport(instant_time={plan!r}, state="completed"),)
result(outcome="completed", operation="execute_compaction", report=CompactionReport(plans=plans))
"""
    with pytest.raises(HudiTaskError, match=f"reported state on the timeline: {plan}"):
        run(ExecuteCompactionOperator, claim, instant=plan)


def test_a_cancellation_removes_the_plan(table: WrittenTable, run: Run) -> None:
    (plan,) = run(ScheduleCompactionOperator, ignore_trigger=True)["instants"]
    assert run(CancelCompactionOperator, instant=plan, preview=True)["picture"]
    assert pending(table) == [plan]
    answer = run(CancelCompactionOperator, instant=plan)
    assert answer["plans"][0]["state"] == "cancelled"
    assert pending(table) == []
    with pytest.raises(AirflowSkipException, match="was cancelled"):
        run(ExecuteCompactionOperator, instant=plan)
    with pytest.raises(AirflowSkipException):
        run(CancelCompactionOperator, older_than_minutes=0, ti=TaskInstance(run_id="run 2"))


def test_a_kill_logs_the_pending_plans(table: WrittenTable, run: Run, logged: Callable[[], str]) -> None:
    task = ExecuteCompactionOperator(task_id="t", base_path=table.storage.base_path)
    task._begin(context(ti=TaskInstance()))
    task.on_kill()
    assert "no compaction is pending" in logged()
    (plan,) = run(ScheduleCompactionOperator, ignore_trigger=True)["instants"]
    task.on_kill()
    assert f"these compactions are pending: {plan}" in logged()


def test_wrong_arguments_are_errors_when_the_dag_is_parsed() -> None:
    given: dict[str, Any] = {"task_id": "t", "base_path": "/t"}
    for operator in (ScheduleCompactionOperator, CompactionOperator, ExecuteCompactionOperator):
        with pytest.raises(ValueError, match="max.delta.comits"):
            operator(**given, hudi_options={"hoodie.compact.inline.max.delta.comits": 1})
        with pytest.raises(ValueError, match="hoodie.compact.inline.max.delta.commits"):
            operator(**given, hudi_options={"hoodie.compact.inline.max.delta.commits": "many"})
    for arguments in ({}, {"instant": "1", "older_than_minutes": 1}):
        with pytest.raises(ValueError, match="give instant or older_than_minutes"):
            CancelCompactionOperator(**given, **arguments)
    with pytest.raises(ValueError, match="when_held"):
        ExecuteCompactionOperator(**given, when_held="maybe")  # type: ignore[arg-type]
    templated = ScheduleCompactionOperator(**given, partitions="{{ params.p }}")
    templated.partitions = "a,b"
    assert templated.build_request(TableLocation(base_path="/t"), "r", "").partitions == ("a", "b")


@pytest.mark.parametrize("operator", [ScheduleCompactionOperator, CompactionOperator])
def test_every_n_commits_is_checked_and_templated(
    operator: type[ScheduleCompactionOperator | CompactionOperator],
) -> None:
    given: dict[str, Any] = {"task_id": "t", "base_path": "/t"}
    by_time = {"hoodie.compact.inline.trigger.strategy": "TIME_ELAPSED"}
    other = {"hoodie.compact.inline.max.delta.commits": 5}
    for arguments, message in (
        ({"every_n_commits": "many"}, "not a whole number"),
        ({"every_n_commits": -1}, "below 0"),
        ({"every_n_commits": 4, "hudi_options": other}, "is '4', but its option .* is '5'"),
        ({"every_n_commits": 4, "hudi_options": by_time}, "every_n_commits is 4, but .*TIME_ELAPSED"),
    ):
        with pytest.raises(ValueError, match=f"t: .*{message}"):
            operator(**given, **arguments)
    templated = operator(**given, every_n_commits="{{ params.n }}")
    assert {"partitions", "every_n_commits"} <= set(operator.template_fields)
    templated.every_n_commits = "4"
    assert templated.build_request(TableLocation(base_path="/t"), "r", "").every_n_commits == 4
