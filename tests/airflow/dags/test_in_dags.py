"""The upsert operator in DAG runs of a real Airflow (``dag.test``); programs replace spark-submit."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG

from airflow_hudi_provider.assets import HudiAsset
from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator
from support.airflow.stand_ins import stand_in

RunDag = Callable[..., Any]


@pytest.fixture(autouse=True)
def spark_connection(connections: Callable[..., None]) -> None:
    connections("spark_default", conn_type="spark", host="local[2]")


def states(run: Any) -> dict[str, str]:
    return {ti.task_id: ti.state for ti in run.get_task_instances()}


def events_of(base_path: Path) -> list[dict[str, Any]]:
    """Return the extra fields of the asset events of a table."""
    from airflow.models.asset import AssetEvent, AssetModel
    from airflow.utils.session import create_session
    from sqlalchemy import select

    asset_uri = HudiAsset(str(base_path)).uri
    with create_session() as session:
        query = select(AssetEvent.extra).join(AssetModel, AssetModel.id == AssetEvent.asset_id)
        return [extra["hudi"] for extra in session.scalars(query.where(AssetModel.uri == asset_uri))]


def load(tmp_path: Path, body: str, **arguments: Any) -> UpsertWithSizingOperator:
    given = {
        "task_id": "load",
        "base_path": str(tmp_path / "table"),
        "source_path": "/landing",
        "check_source": False,
        "record_key": "id",
        "spark_binary": stand_in(tmp_path, body),
        **arguments,
    }
    return UpsertWithSizingOperator(**given)


def test_the_error_names_a_missing_connection(
    run_dag: RunDag, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with DAG("no_connection", schedule=None) as dag:
        for argument in ("spark_conn_id", "hudi_conn_id", "storage_conn_id"):
            load(tmp_path, "commit()", task_id=argument, retries=3, **{argument: f"no_{argument}"})
    run = run_dag(dag)
    assert set(states(run).values()) == {"failed"}
    logged = "".join(capfd.readouterr())
    for argument in states(run):
        assert f"There is no connection 'no_{argument}' ({argument})" in logged
    assert "airflow connections add no_spark_conn_id --conn-type spark --conn-host 'local[2]'" in logged
    assert """AIRFLOW_CONN_NO_SPARK_CONN_ID='{"conn_type": "spark", "host": "local[2]"}'""" in logged
    assert not (tmp_path / "table").exists()


def test_an_asset_event_describes_the_write(run_dag: RunDag, tmp_path: Path) -> None:
    table = tmp_path / "table"
    body = (
        "from hudi_table_services.contract.result import RowCounts\n"
        "i = commit()\n"
        "result(outcome='completed', instant_time=i.requested_time, operation='upsert', rows=RowCounts(inserted=7))"
    )
    with DAG("with_event", schedule=None) as dag:
        load(tmp_path, body, outlets=[HudiAsset(str(table))])
    assert run_dag(dag).state == "success"
    (event,) = events_of(table)
    assert event["instant_time"] == next(table.glob(".hoodie/*.commit")).stem
    assert (event["operation"], event["rows"]["inserted"], event["reused"]) == ("upsert", 7, False)


def test_a_skipped_task_makes_no_asset_event(run_dag: RunDag, tmp_path: Path) -> None:
    table = tmp_path / "table"
    with DAG("skipped", schedule=None) as dag:
        empty = "result(outcome='nothing_to_do', reason='the source has no rows')"
        load(tmp_path, empty, on_empty="skip", outlets=[HudiAsset(str(table))])
    assert states(run_dag(dag)) == {"load": "skipped"}
    assert events_of(table) == []


def test_templates_are_rendered_and_a_run_needs_no_logical_date(run_dag: RunDag, tmp_path: Path) -> None:
    seen = tmp_path / "seen.json"
    body = f"json.dump(request, open({str(seen)!r}, 'w')); commit(); result(outcome='completed')"
    with DAG("by_hand", schedule=None, params={"place": "/landing/a", "size": 4096}) as dag:
        load(
            tmp_path,
            body,
            source_path="{{ params.place }}",
            check_source=False,
            partition_by=["{{ params.place[-1] }}", "b"],
            max_file_size="{{ params.size * 2 }}",
            hudi_options={"hoodie.parquet.small.file.limit": "{{ params.size }}"},
        )
    assert run_dag(dag, logical_date=None).state == "success"
    import json

    request = json.loads(seen.read_text())
    assert request["source"]["path"] == "/landing/a"
    assert request["partition_by"] == ["a", "b"]
    assert request["options"] == {
        "hoodie.parquet.max.file.size": "8192",
        "hoodie.parquet.small.file.limit": "4096",
    }


def test_a_cleared_successful_task_writes_nothing_and_submits_no_job(run_dag: RunDag, tmp_path: Path) -> None:
    """Airflow's own operator would use the stored state of the driver; this operator reads the timeline."""
    with DAG("cleared", schedule=None) as dag:
        load(tmp_path, "commit(); result(outcome='completed')")
    run = run_dag(dag)
    assert run.state == "success"
    stand_in(tmp_path, "raise SystemExit('submitted again')")
    from airflow.models.taskinstance import clear_task_instances
    from airflow.utils.session import create_session

    with create_session() as session:
        clear_task_instances(run.get_task_instances(session=session), session)
    again = run_dag(dag, run_after=run.run_after, logical_date=run.logical_date)
    assert (again.state, again.run_id) == ("success", run.run_id)
    assert len(list((tmp_path / "table").glob(".hoodie/*.commit"))) == 1
