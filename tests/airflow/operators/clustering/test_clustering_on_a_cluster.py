"""Clusterings with a driver on a cluster exchange request and result through a shared folder.

The program that replaces spark-submit runs the real script if the job needs no Spark.
"""

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from operator_runs import COMPLETES, NOT_TO_BE_RUN, PLANS, REPORTS, SMALL, Run, clusterings, made

from airflow_hudi_provider.exceptions import HudiTaskError, HudiTaskRefusedError
from airflow_hudi_provider.operators.clustering import (
    CancelClusteringOperator,
    ClusteringOperator,
    ExecuteClusteringOperator,
    ScheduleClusteringOperator,
)
from hudi_table_services.model.table_version import TableVersion
from support.airflow.clustered_tables import schedule
from support.airflow.stand_ins import stand_in
from support.airflow.task_context import TaskInstance, context
from support.small_tables import SmallTable

pytestmark = pytest.mark.parametrize("table", [TableVersion.V9], indirect=True)

THE_SCRIPT = """
import runpy
open(base_path + ".given", "w").write(json.dumps(arguments))
(script,) = (a for a in arguments if a.endswith("_clustering.py"))
sys.argv = [script, "--request", uri]
runpy.run_path(script, run_name="__main__")
"""
ON_SPARK = {"run_on": "spark"}
ALL_OPERATORS = [
    pytest.param(ScheduleClusteringOperator, {**ON_SPARK, "hudi_options": SMALL}, id="schedule"),
    pytest.param(ExecuteClusteringOperator, {}, id="execute"),
    pytest.param(ClusteringOperator, {}, id="both"),
    pytest.param(CancelClusteringOperator, {**ON_SPARK, "older_than_minutes": 0}, id="cancel"),
]


@pytest.fixture
def on_cluster(connections: Callable[..., None], tmp_path: Path) -> dict[str, Any]:
    """Return operator arguments; the connection selects cluster mode."""
    connections("yarn", conn_type="spark", host="yarn", extra={"deploy-mode": "cluster"})
    return {"spark_conn_id": "yarn", "result_base_path": str(tmp_path / "results")}


def documents(tmp_path: Path) -> list[Path]:
    return sorted(path for path in (tmp_path / "results").rglob("*") if path.is_file())


def test_the_driver_schedules_and_cancels_plans(
    table: SmallTable, run: Run, on_cluster: dict[str, Any], tmp_path: Path
) -> None:
    planned = run(ScheduleClusteringOperator, THE_SCRIPT, hudi_options=SMALL, **ON_SPARK, **on_cluster)
    given = json.loads((tmp_path / "table.given").read_text())
    assert given[given.index("--deploy-mode") + 1] == "cluster"
    folder = tmp_path / "results" / "d" / "run%201" / "load"
    assert given[given.index("--request") + 1] == f"{folder}/request.json"
    assert documents(tmp_path) == [folder / "result.json"], "the request may contain credentials"
    assert [instant.requested_time for instant in clusterings(table)] == planned["instants"]
    assert (planned["files_in"], planned["reused"]) == (3, False)

    cancelled = run(
        CancelClusteringOperator,
        THE_SCRIPT,
        instant=planned,
        ti=TaskInstance(run_id="run 2"),
        **ON_SPARK,
        **on_cluster,
    )
    assert (cancelled["outcome"], cancelled["instants"]) == ("completed", planned["instants"])
    assert clusterings(table) == []


@pytest.mark.parametrize(
    ("operator", "body"),
    [(ExecuteClusteringOperator, COMPLETES + REPORTS), (ClusteringOperator, PLANS + COMPLETES + REPORTS)],
    ids=["execute", "both"],
)
def test_the_figures_of_an_execution_are_read_from_the_shared_folder(
    table: SmallTable, run: Run, on_cluster: dict[str, Any], tmp_path: Path, operator: type, body: str
) -> None:
    if operator is ExecuteClusteringOperator:
        schedule(table)
    answer = run(operator, body, **on_cluster)
    assert (answer["files_in"], answer["files_out"], answer["reused"]) == (2, 1, False)
    assert [path.name for path in documents(tmp_path)] == ["result.json"]


@pytest.mark.parametrize(("operator", "arguments"), ALL_OPERATORS)
def test_the_result_of_an_earlier_try_is_not_used(
    table: SmallTable, run: Run, on_cluster: dict[str, Any], operator: type, arguments: dict[str, Any]
) -> None:
    schedule(table)
    with pytest.raises(HudiTaskRefusedError, match="UnsupportedTableError"):
        run(operator, "failed('UnsupportedTableError', False); sys.exit(69)", **arguments, **on_cluster)
    with pytest.raises(HudiTaskError, match="wrote no result document"):
        run(operator, "sys.exit(1)", **arguments, **on_cluster)


@pytest.mark.parametrize(("operator", "arguments"), ALL_OPERATORS)
def test_without_a_shared_folder_nothing_is_submitted(
    table: SmallTable, run: Run, on_cluster: dict[str, Any], operator: type, arguments: dict[str, Any]
) -> None:
    schedule(table)
    del on_cluster["result_base_path"]
    with pytest.raises(HudiTaskRefusedError, match="needs result_base_path"):
        run(operator, NOT_TO_BE_RUN, **arguments, **on_cluster)


def test_a_shared_folder_in_the_table_is_refused(
    table: SmallTable, run: Run, on_cluster: dict[str, Any]
) -> None:
    schedule(table)
    before = [each.path for each in table.storage.list_files()]
    on_cluster["result_base_path"] = f"{table.storage.base_path}/results"
    with pytest.raises(HudiTaskRefusedError, match="outside of all tables"):
        run(ExecuteClusteringOperator, NOT_TO_BE_RUN, **on_cluster)
    assert [each.path for each in table.storage.list_files()] == before


def test_jobs_in_the_worker_need_no_shared_folder(
    table: SmallTable, run: Run, on_cluster: dict[str, Any]
) -> None:
    del on_cluster["result_base_path"]
    planned = run(ScheduleClusteringOperator, hudi_options=SMALL, **on_cluster)
    assert run(CancelClusteringOperator, instant=planned, **on_cluster)["instants"] == planned["instants"]


def test_a_kill_logs_that_the_driver_may_continue(
    table: SmallTable,
    on_cluster: dict[str, Any],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    plan = schedule(table)
    began = tmp_path / "began"
    body = f"import time; open({str(began)!r}, 'w').close(); time.sleep(60)"
    operator = made(
        ExecuteClusteringOperator,
        base_path=table.storage.base_path,
        spark_binary=stand_in(tmp_path, body),
        **on_cluster,
    )
    with ThreadPoolExecutor(1) as pool:
        ending = pool.submit(operator.execute, context())
        while not began.exists():
            assert not ending.done(), ending.exception()
            time.sleep(0.05)
        operator.on_kill()
        assert isinstance(ending.exception(10), HudiTaskError)
    logged = caplog.text + "".join(capfd.readouterr())
    assert "may still run" in logged
    assert f"pending: {plan.requested_time}" in logged
