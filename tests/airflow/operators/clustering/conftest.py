"""Fixtures: a small table, and a function that executes clustering operators on the table."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from operator_runs import NOT_TO_BE_RUN, SCHEMA, Run

from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.local import LocalStorage
from support.airflow.stand_ins import stand_in
from support.airflow.task_context import TaskInstance, context
from support.small_tables import SmallTable


@pytest.fixture(autouse=True)
def spark_connection(connections: Callable[..., None]) -> None:
    connections("spark_default", conn_type="spark", host="local[2]")


@pytest.fixture(params=[TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
def table(tmp_path: Path, request: pytest.FixtureRequest) -> SmallTable:
    """A table with three small files in one partition."""
    made = SmallTable(LocalStorage(str(tmp_path / "table")), request.param)
    for number in range(3):
        made.commit(FileGroupId("city=a", f"a-{number}"), schema=SCHEMA)
    return made


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Execute an operator on the table; a program with this body replaces spark-submit."""

    def execute(operator: type, body: str = NOT_TO_BE_RUN, **arguments: Any) -> dict[str, Any]:
        ti = arguments.pop("ti", TaskInstance())
        given = {
            "task_id": "cluster",
            "base_path": str(tmp_path / "table"),
            "spark_binary": stand_in(tmp_path, body),
            **arguments,
        }
        answer = operator(**given).execute(context(ti=ti))
        assert json.loads(json.dumps(answer)) == answer
        return answer

    return execute
