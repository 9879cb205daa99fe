"""The clean operator: arguments, runs in the worker without Spark, results, and the check against the timeline."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowSkipException

from airflow_hudi_provider.exceptions import HudiTaskError
from airflow_hudi_provider.operators.clean import CleanOperator
from airflow_hudi_provider.pages.table_views import history_view
from airflow_hudi_provider.results.failure import FAILURE_KEY
from airflow_hudi_provider.results.task_outcome import SKIPPED_KEY
from airflow_hudi_provider.tables.connection import TableLocation
from airflow_hudi_provider.tables.registry import RegisteredTable
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.local import LocalStorage
from support.airflow.stand_ins import stand_in
from support.airflow.task_context import TaskInstance, context
from support.fixed_clock import FixedClock
from support.small_tables import SmallTable

NO_FLOOR = {"hoodie.airflow.clean.floor.hours": 0}
CONTRADICTS_THE_TIMELINE = "result(outcome='completed', operation='clean', instant_time='20990101000000000')"

STARTS_A_CLEAN = """
from hudi_table_services.hudi_format.table_service_plans import encode_clean_plan
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_service_plans import CleanPlan
from support.airflow.clustered_tables import open_table
plan = CleanPlan(policy="KEEP_LATEST_COMMITS")
open_table(base_path).timeline_store.request(Action.CLEAN, encode_clean_plan(plan))
sys.exit(3)
"""

Run = Callable[..., dict[str, Any]]


@pytest.fixture
def table(tmp_path: Path) -> SmallTable:
    """Five versions of one file, written within an hour."""
    clock = FixedClock(datetime.now(timezone.utc) - timedelta(hours=2), step=timedelta(minutes=5))
    made = SmallTable(LocalStorage(str(tmp_path / "table")), TableVersion.V9, clock)
    for _ in range(5):
        made.commit(FileGroupId("city=a", "a-0"))
    return made


@pytest.fixture
def run(tmp_path: Path, connections: Callable[..., None]) -> Run:
    connections("spark_default", conn_type="spark", host="local[2]")

    def execute(
        body: str = "raise SystemExit('submitted')", run_id: str = "run 1", ti: Any = None, **arguments: Any
    ) -> dict[str, Any]:
        given = {
            "task_id": "clean",
            "base_path": str(tmp_path / "table"),
            "spark_binary": stand_in(tmp_path, body),
            **arguments,
        }
        answer = CleanOperator(**given).execute(context(ti=ti or TaskInstance(run_id=run_id)))
        assert json.loads(json.dumps(answer)) == answer
        return answer

    return execute


def data_files(table: SmallTable) -> int:
    return sum(1 for stored in table.storage.list_files() if stored.path.endswith(".parquet"))


def test_the_operator_cleans_in_the_worker_and_reports_the_deleted_files(table: SmallTable, run: Run) -> None:
    answer = run(commits_retained=1, hudi_options=NO_FLOOR)
    assert (answer["outcome"], answer["files"], answer["bytes"]) == ("completed", 3, 12)
    assert answer["retention"] == "cleaning keeps 1 of 5 commits"
    assert answer["partitions"][0]["partition_path"] == "city=a"
    assert data_files(table) == 2
    again = run(commits_retained=1, hudi_options=NO_FLOOR)
    assert (again["reused"], again["instant"], again["files"]) == (True, answer["instant"], 3)
    with pytest.raises(
        AirflowSkipException, match="0 commits since the last clean, and a clean is due after 1"
    ):
        run(commits_retained=1, hudi_options=NO_FLOOR, run_id="run 2")


def test_a_preview_lists_the_files_and_deletes_none(table: SmallTable, run: Run) -> None:
    answer = run(commits_retained=1, hudi_options=NO_FLOOR, preview=True)
    assert (answer["outcome"], answer["instant"]) == ("planned", None)
    assert len(answer["file_names"]) == answer["files"] == 3
    assert data_files(table) == 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"commits_retained": -1}, "commits_retained"),
        ({"policy": "KEEP_LATEST_COMMIT"}, "Did you mean KEEP_LATEST_COMMITS"),
        ({"policy": "KEEP_ALL", "commits_retained": "{{ params.n }}"}, "policy='KEEP_ALL' must be"),
        ({"hudi_options": {"hoodie.clean.commit.retained": 3}}, "Did you mean hoodie.clean.commits.retained"),
        (
            {"commits_retained": 3, "hudi_options": {"hoodie.cleaner.commits.retained": 4}},
            "says otherwise|contradict",
        ),
        ({"commits_retained": 3, "hours_retained": 2}, "are both given"),
        ({"run_on": "moon"}, "run_on='moon'"),
        ({"on_nothing": "cry"}, "on_nothing='cry'"),
    ],
)
def test_wrong_arguments_fail_when_the_dag_is_parsed(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CleanOperator(task_id="clean", base_path="/t", **arguments)


def test_arguments_become_the_request() -> None:
    task = CleanOperator(
        task_id="clean",
        base_path="/t",
        policy="keep_latest_by_hours",
        hours_retained="48",
        max_commits_per_run=7,
    )
    request = task.build_request(TableLocation(base_path="/t"), "r", "")
    assert (request.policy, request.hours_retained) == ("KEEP_LATEST_BY_HOURS", 48)
    assert (request.commits_retained, request.max_commits_per_run) == (None, 7)


def test_a_result_of_spark_that_contradicts_the_timeline_fails(table: SmallTable, run: Run) -> None:
    with pytest.raises(HudiTaskError, match="no completed clean 20990101000000000"):
        run(CONTRADICTS_THE_TIMELINE, run_on="spark")


def failed(run: Run, body: str, run_id: str = "run 1") -> str:
    """Run a clean that fails on Spark, and return the sentence about the table that the failure contains."""
    ti = TaskInstance(run_id=run_id)
    with pytest.raises(HudiTaskError):
        run(body, ti=ti, run_on="spark")
    return str(ti.pushed[FAILURE_KEY]["table_now"])


def test_a_failed_clean_names_its_pending_instant(table: SmallTable, run: Run) -> None:
    assert failed(run, "sys.exit(3)") == "No clean is pending."
    now = failed(run, STARTS_A_CLEAN)
    (pending,) = table.timeline_store.load().pending
    assert now.startswith(
        f"Pending on the timeline: clean {pending.requested_time}. Files that the clean has"
    )


def test_a_failed_clean_names_its_completed_instant(table: SmallTable, run: Run) -> None:
    done = run(commits_retained=1, hudi_options=NO_FLOOR)["instant"]
    assert failed(run, CONTRADICTS_THE_TIMELINE) == f"Failed after clean {done} was completed."
    assert failed(run, CONTRADICTS_THE_TIMELINE, run_id="run 2") == "No clean is pending."


def test_the_page_of_the_table_names_the_task_that_cleaned(table: SmallTable, run: Run) -> None:
    done = run(commits_retained=1, hudi_options=NO_FLOOR)["instant"]
    view = history_view(RegisteredTable.of("", table.storage.base_path, None, None))
    (clean,) = [each for each in view["instants"] if each["action"] == "clean"]
    assert clean["instant"] == done
    assert clean["by"] == {"dag_id": "d", "run_id": "run 1", "task_id": "load", "map_index": ""}


def test_a_skipped_task_stores_the_reason_for_the_hudi_tab(table: SmallTable) -> None:
    ti = TaskInstance()
    operator = CleanOperator(task_id="clean", base_path=table.storage.base_path, commits_retained=9)
    with pytest.raises(AirflowSkipException):
        operator.execute(context(ti=ti, run_id="skipped"))
    stored = ti.pushed[SKIPPED_KEY]
    assert stored["outcome"] == "nothing_to_do"
    assert "cleaning keeps the last 9 commits" in stored["reason"]
