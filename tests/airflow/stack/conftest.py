"""Airflow's four processes, shared by the tests of this folder; each test has a DAG and a table of its own."""

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
sys.path.insert(0, str(REPOSITORY / "scripts"))

from airflow_stack.stack import AirflowStack  # noqa: E402
from demo_support.backfill import EXAMPLES, demo_stack  # noqa: E402


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run tests with the marker ``at_the_end`` after the others: by then what they wait for has happened."""
    items.sort(key=lambda item: item.get_closest_marker("at_the_end") is not None)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the stack, landing files and tables are."""
    return tmp_path_factory.mktemp("stack")


@pytest.fixture(scope="session")
def canary() -> str:
    """A secret that every task of these tests is given."""
    return "canary-71c2e"


@pytest.fixture(scope="session")
def stack(folder: Path, canary: str) -> Iterator[AirflowStack]:
    store = json.dumps({"conn_type": "aws", "login": "key", "password": canary})
    dags = shutil.copytree(Path(__file__).parent / "dags", folder / "dags")
    shutil.copy(EXAMPLES / "preview_then_approve.py", dags)
    settings = {
        "AIRFLOW_CONN_STORE": store,
        "AIRFLOW__HUDI__RUN_FOLDER": str(folder / "runs"),
        "AIRFLOW__TRIGGERER__ON_KILL_TIMEOUT": "300",  # a busy machine takes its time to end things
    }
    with demo_stack(folder, dags, settings) as running:
        yield running
        running.stop(kill=True)  # nothing is left to be done in order
