"""The operators run jobs on real Spark, in DAG runs of ``dag.test``."""

import json
import re
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from airflow.sdk import DAG
from demo_support.quick_spark import SETTINGS, jvm_flags

from airflow_hudi_provider.operators.clustering import (
    CancelClusteringOperator,
    ClusteringOperator,
    ExecuteClusteringOperator,
    ScheduleClusteringOperator,
)
from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator
from hudi_table_services.contract.clustering import CancelClusteringRequest, ScheduleClusteringRequest
from hudi_table_services.jobs.clustering.cancel import cancel_clustering
from hudi_table_services.jobs.clustering.schedule import schedule_clustering
from hudi_table_services.model.instant import Action
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from judges.hudi_rs import read_snapshot
from judges.table_files import files_below

QUICK = {**SETTINGS, "spark.driver.extraJavaOptions": jvm_flags()}


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


ROWS = pa.table({"id": list(range(1200)), "p": ["a", "b"] * 600, "city": [(7 * n) % 10 for n in range(1200)]})


@pytest.fixture(scope="module", autouse=True)
def spark_connection() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": "local[2]"}))
        yield


@pytest.fixture(scope="module")
def loaded(
    run_dag: Callable[..., Any], spark_connection: None, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Any, Path]:
    """A DAG run with two mapped loads, one of good rows and one of bad rows, and its table with 200 rows per file.

    The folder ``twin`` contains a copy of the table. Other tests cluster the copy.
    """
    landing, base_path = tmp_path_factory.mktemp("landing"), tmp_path_factory.mktemp("lake") / "t"
    pq.write_table(ROWS, landing / "good.parquet")
    pq.write_table(
        ROWS.slice(0, 1).set_column(0, "id", pa.array([None], pa.int64())), landing / "bad.parquet"
    )
    with DAG("with_spark", schedule=None, default_args={"retries": 0}) as dag:
        UpsertWithSizingOperator.partial(
            task_id="load",
            base_path=str(base_path),
            table_name="t",
            record_key="id",
            partition_by="p",
            hudi_options={
                "hoodie.copyonwrite.insert.auto.split": False,
                "hoodie.copyonwrite.insert.split.size": 200,
            },
            conf=QUICK,
        ).expand(source_path=[f"{landing}/good.parquet", f"{landing}/bad.parquet"])
    run = run_dag(dag)
    shutil.copytree(base_path, base_path.with_name("twin"))
    return run, base_path


@pytest.mark.thorough
def test_a_mapped_load_of_bad_rows_fails_and_the_load_of_good_rows_writes(loaded: tuple[Any, Path]) -> None:
    run, base_path = loaded
    assert run.state == "failed"
    states = {ti.map_index: ti.state for ti in run.get_task_instances()}
    assert states == {0: "success", 1: "failed"}
    assert ids(base_path) == ROWS["id"].to_pylist()
    first = json.loads(next(base_path.glob(".hoodie/*.commit")).read_text())["extraMetadata"][
        "airflow.request_id"
    ]
    assert first == f"with_spark/{run.run_id}/load/0"


@pytest.mark.thorough
def test_small_files_are_planned_in_the_worker_and_rewritten_by_spark(
    loaded: tuple[Any, Path], run_dag: Callable[..., Any]
) -> None:
    _, base_path = loaded
    table = {"base_path": str(base_path), "table_name": "t", "conf": QUICK}
    with DAG("cluster_with_spark", schedule=None) as dag:
        schedule = ScheduleClusteringOperator(
            task_id="schedule", sort_columns="city", every_n_commits=1, **table
        )
        ExecuteClusteringOperator(task_id="execute", instant=schedule.output, **table)
    run = run_dag(dag)
    assert run.state == "success"
    planned, done = xcom(run, "schedule"), xcom(run, "execute")
    assert (planned["files_in"], planned["expected_files"], planned["commit_count"]) == (6, 2, 1)
    assert done["instants"] == planned["instants"]
    assert (done["files_in"], done["files_out"], done["rows_checked"]) == (6, 2, 1200)
    rows = read_snapshot(base_path).to_pylist()
    assert sorted(row["id"] for row in rows) == ROWS["id"].to_pylist()
    for partition in ("a", "b"):
        cities = [row["city"] for row in rows if row["p"] == partition]
        assert cities == sorted(cities)


@pytest.fixture
def planned(loaded: tuple[Any, Path], tmp_path: Path) -> tuple[Path, str]:
    """A copy of the table with a plan for its partition a, and the instant of the plan."""
    base_path = tmp_path / "planned"
    shutil.copytree(loaded[1].with_name("twin"), base_path)
    request = ScheduleClusteringRequest(base_path=str(base_path), request_id="plan", partitions=("a",))
    return base_path, schedule_clustering(request).instant_time


@pytest.mark.thorough
def test_without_known_partitions_the_job_refuses_the_load_or_the_task_waits(
    planned: tuple[Path, str], run_dag: Callable[..., Any], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    base_path, plan = planned
    pq.write_table(ROWS.filter(pc.field("p") == "a").slice(0, 10), tmp_path / "changed.parquet")
    before = files_below(base_path)

    def run(choice: str) -> str:
        with DAG(f"pending_plan_{choice}", schedule=None, default_args={"retries": 0}) as dag:
            UpsertWithSizingOperator(
                task_id="load",
                base_path=str(base_path),
                source_path=f"{tmp_path}/changed.parquet",
                source_sql="SELECT id, p, 99L AS city FROM source",
                on_pending_plan=choice,
                conf=QUICK,
            )
        return str(run_dag(dag).state)

    assert run("refuse") == "failed"
    logged = "".join(capfd.readouterr())
    assert re.search(
        f"This write changes file groups of the pending clustering {plan}, [0-9] min old", logged
    )
    assert files_below(base_path) == before

    cancellation = CancelClusteringRequest(base_path=str(base_path), request_id="away", instants=(plan,))
    timer = threading.Timer(5, cancel_clustering, (cancellation,))
    timer.start()
    assert run("wait") == "success"
    timer.join()
    assert "The task waits in the triggerer for clustering" in "".join(capfd.readouterr())
    timeline = load_snapshot(LocalStorage(str(base_path))).timeline
    assert timeline.pending == ()
    (undone,) = (instant for instant in timeline.completed if instant.action is Action.ROLLBACK)
    assert timeline.completed_writes[-1].requested_time > undone.requested_time, (
        "the load waited for the cancellation"
    )
    assert sum(row["city"] == 99 for row in read_snapshot(base_path).to_pylist()) == 10


def recording_submit(folder: Path) -> str:
    """Write a script that records its arguments and then runs the real spark-submit; return its path."""
    path = folder / "spark-submit"
    real = Path(sys.executable).with_name("spark-submit")
    path.write_text(f'#!/bin/sh\necho "$@" >> {folder}/submitted\nexec {real} "$@"\n')
    path.chmod(0o755)
    return str(path)


@pytest.mark.thorough
def test_all_clustering_operators_can_run_on_spark(
    loaded: tuple[Any, Path], run_dag: Callable[..., Any], tmp_path: Path
) -> None:
    twin = loaded[1].with_name("twin")
    table = {
        "base_path": str(twin),
        "table_name": "t",
        "conf": QUICK,
        "spark_binary": recording_submit(tmp_path),
    }
    with DAG("all_on_spark", schedule=None, default_args={"run_on": "spark"}) as dag:
        first = ScheduleClusteringOperator(task_id="first", partitions="a", **table)
        second = ScheduleClusteringOperator(task_id="second", partitions="b", **table)
        execute = ExecuteClusteringOperator(task_id="execute", instant=first.output, **table)
        cancel = CancelClusteringOperator(task_id="cancel", instant=second.output, **table)
        both = ClusteringOperator(task_id="both", partitions="b", sort_columns="city", **table)
        first >> second >> execute >> cancel >> both
    run = run_dag(dag)
    assert run.state == "success"
    answers = {task_id: xcom(run, task_id) for task_id in dag.task_ids}
    assert [(answers[name]["files_in"], answers[name]["partitions"]) for name in ("first", "second")] == [
        (3, ["a"]),
        (3, ["b"]),
    ]
    assert (answers["execute"]["instants"], answers["execute"]["rows_checked"]) == (
        answers["first"]["instants"],
        600,
    )
    assert (answers["cancel"]["outcome"], answers["cancel"]["instants"]) == (
        "completed",
        answers["second"]["instants"],
    )
    assert (answers["both"]["files_in"], answers["both"]["files_out"], answers["both"]["partitions"]) == (
        3,
        1,
        ["b"],
    )

    submitted = re.findall(r"\w+\.py(?= --request)", (tmp_path / "submitted").read_text())
    assert submitted == [
        "schedule_clustering.py",
        "schedule_clustering.py",
        "execute_clustering.py",
        "cancel_clustering.py",
        "run_clustering.py",
    ]
    timeline = load_snapshot(LocalStorage(str(twin))).timeline
    assert timeline.pending == ()
    (_, *clusterings) = [instant.requested_time for instant in timeline.completed_writes]
    assert clusterings == [answers["first"]["instant"], answers["both"]["instant"]]
    assert ids(twin) == ROWS["id"].to_pylist()


@pytest.mark.thorough
def test_dry_runs_change_nothing_in_the_folder(
    loaded: tuple[Any, Path], run_dag: Callable[..., Any], tmp_path: Path
) -> None:
    base_path, source = loaded[1], str(tmp_path / "rows.parquet")
    pq.write_table(ROWS.slice(0, 4), source)
    before = sorted(map(str, base_path.rglob("*")))
    keys = {"table_name": "t", "record_key": "id", "partition_by": "p", "source_path": source}
    with DAG("dry_runs", schedule=None) as dag:
        UpsertWithSizingOperator(
            task_id="new", base_path=str(tmp_path / "none"), dry_run=True, take_turns=True, conf=QUICK, **keys
        )
        UpsertWithSizingOperator(
            task_id="existing", base_path=str(base_path), dry_run=True, take_turns=True, conf=QUICK, **keys
        )
    run = run_dag(dag)
    assert [xcom(run, task_id)["outcome"] for task_id in ("new", "existing")] == ["planned", "planned"]
    assert not (tmp_path / "none").exists()
    assert sorted(map(str, base_path.rglob("*"))) == before
