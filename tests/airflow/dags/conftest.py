"""Examples that tests run on real Spark."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from airflow.sdk import DAG

EXAMPLES = Path(__file__).parents[3] / "dags_examples"


@pytest.fixture
def example(
    airflow_db: None, connections: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> "Callable[[str], DAG]":
    """``example("first_table")`` is the DAG of this example on a local Spark; its tables are in `tmp_path`."""
    from support.airflow.airflow_versions import DagBag

    connections("spark_default", conn_type="spark", host="local[2]")
    monkeypatch.setenv("HUDI_EXAMPLES_FOLDER", str(tmp_path))
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")

    def parsed(name: str) -> "DAG":
        bag = DagBag(str(shutil.copy(EXAMPLES / f"{name}.py", tmp_path)))
        assert bag.import_errors == {}
        return bag.dags[name]

    return parsed
