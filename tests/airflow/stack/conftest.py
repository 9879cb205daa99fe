"""The four processes of Airflow, which all tests of this folder share. The tests use different DAGs and tables."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from airflow_stack.stack import AirflowStack
from demo_support.backfill import EXAMPLES, demo_stack

from support.depth import number_from


def pytest_report_header() -> str:
    programs = os.environ.get("POSTGRES_PROGRAMS")
    return f"database of Airflow: {f'PostgreSQL ({programs})' if programs else 'SQLite'}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run tests with the marker ``at_the_end`` last. The slow events that they need happen during the other tests."""
    items.sort(key=lambda item: item.get_closest_marker("at_the_end") is not None)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the stack, the landing files and the tables."""
    return tmp_path_factory.mktemp("stack")


@pytest.fixture(scope="session")
def canary() -> str:
    """A secret in a connection that all tasks of these tests can read."""
    return "canary-71c2e"


@pytest.fixture(scope="session")
def waiting_tables() -> int:
    """Number of tables for which the sensors of the DAG ``many_tables`` wait: an even number."""
    return int(number_from("WAITING_TABLES", 8, 20))


@pytest.fixture(scope="session")
def stack(folder: Path, canary: str, waiting_tables: int) -> Iterator[AirflowStack]:
    store = json.dumps({"conn_type": "aws", "login": "key", "password": canary})
    dags = shutil.copytree(Path(__file__).parent / "dags", folder / "dags")
    shutil.copy(EXAMPLES / "preview_then_approve.py", dags)
    settings = {
        "AIRFLOW_CONN_STORE": store,
        "WAITING_TABLES": str(waiting_tables),
        "AIRFLOW__HUDI__RUN_FOLDER": str(folder / "runs"),
        "AIRFLOW__TRIGGERER__ON_KILL_TIMEOUT": "300",  # ending processes takes long on a busy machine
    }
    with demo_stack(folder, dags, settings) as running:
        assert (running.postgres is not None) is bool(os.environ.get("POSTGRES_PROGRAMS"))
        yield running
        running.stop(kill=True)  # an orderly shutdown is not necessary
