"""Real Spark under the operator, run by Airflow's own ``dag.test``."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow.sdk import DAG

from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator
from judges.hudi_rs import read_snapshot

QUICK = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.ui.enabled": "false",
}


def ids(base_path: Path) -> list[int]:
    return sorted(row["id"] for row in read_snapshot(base_path).to_pylist())


def xcom(run: Any, task_id: str) -> Any:
    from airflow.models.xcom import XComModel
    from airflow.utils.session import create_session

    with create_session() as session:
        query = XComModel.get_many(
            run_id=run.run_id, dag_ids=run.dag_id, task_ids=task_id, key="return_value"
        )
        (row,) = session.scalars(query).all()
        return XComModel.deserialize_value(row)


@pytest.fixture
def spark_connection(connections: Callable[..., None]) -> None:
    connections("spark_default", conn_type="spark", host="local[2]")


@pytest.mark.usefixtures("spark_connection")
def test_of_mapped_tasks_the_good_one_writes_and_the_bad_one_fails(
    run_dag: Callable[..., Any], tmp_path: Path
) -> None:
    landing, base_path = tmp_path / "landing", tmp_path / "lake" / "t"
    landing.mkdir()
    pq.write_table(pa.table({"id": [1, 2, 3], "p": ["a", "b", "a"]}), landing / "good.parquet")
    pq.write_table(pa.table({"id": pa.array([None], pa.int64()), "p": ["a"]}), landing / "bad.parquet")
    with DAG("with_spark", schedule=None, default_args={"retries": 0}) as dag:
        UpsertWithSizingOperator.partial(
            task_id="load",
            base_path=str(base_path),
            table_name="t",
            record_key="id",
            partition_by="p",
            conf=QUICK,
        ).expand(source_path=[f"{landing}/good.parquet", f"{landing}/bad.parquet"])
    run = run_dag(dag)
    assert run.state == "failed"
    states = {ti.map_index: ti.state for ti in run.get_task_instances()}
    assert states == {0: "success", 1: "failed"}
    assert ids(base_path) == [1, 2, 3]
    first = json.loads(next(base_path.glob(".hoodie/*.commit")).read_text())["extraMetadata"][
        "airflow.request_id"
    ]
    assert first == f"with_spark/{run.run_id}/load/0"
