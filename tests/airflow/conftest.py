"""A real Airflow in a temporary home. This module sets Airflow's settings before the first import of Airflow."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from airflow.sdk import DAG

    from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator

HOME = Path(tempfile.mkdtemp(prefix="airflow-home-"))
(HOME / "dags").mkdir()
os.environ.update(
    {
        "AIRFLOW_HOME": str(HOME),
        "AIRFLOW__CORE__UNIT_TEST_MODE": "True",
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_FOLDER": str(HOME / "dags"),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{HOME}/airflow.db",
        "AIRFLOW__WORKERS__MIN_HEARTBEAT_INTERVAL": "1",
    }
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let tests pass despite warnings: Airflow causes many warnings, and its Spark hook does not close its pipes."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.filterwarnings("default"))


@pytest.fixture(scope="session")
def airflow_db() -> None:
    """Create Airflow's database in a new SQLite file."""
    from airflow.utils.db import resetdb

    resetdb()


@pytest.fixture(scope="session")
def run_dag(airflow_db: None) -> Callable[..., Any]:
    """Run a DAG object with ``dag.test``, which runs real operators with real state in one process."""

    def run(dag: "DAG", **arguments: Any) -> Any:
        from airflow.models.dagbundle import DagBundleModel
        from airflow.utils.session import create_session

        from support.airflow.airflow_versions import DagBag, sync_bag_to_db

        with create_session() as session:
            if not session.get(DagBundleModel, "testing"):
                session.add(DagBundleModel(name="testing"))
        bag = DagBag(dag_folder=os.devnull)
        bag.bag_dag(dag)
        sync_bag_to_db(bag, "testing", None)
        return dag.test(**arguments)

    return run


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Define a connection for one test."""
    import json

    def define(conn_id: str, **fields: Any) -> None:
        monkeypatch.setenv(f"AIRFLOW_CONN_{conn_id.upper()}", json.dumps(fields))

    return define


@pytest.fixture
def operator(tmp_path: Path, connections: Callable[..., None]) -> "Callable[..., UpsertWithSizingOperator]":
    """Create an upsert operator that runs a program with this body instead of spark-submit."""
    from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator
    from support.airflow.stand_ins import stand_in

    connections("spark_default", conn_type="spark", host="local[2]")

    def make(
        body: str = "i = commit(); result(outcome='completed', instant_time=i.requested_time)",
        **arguments: Any,
    ) -> "UpsertWithSizingOperator":
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

    return make
