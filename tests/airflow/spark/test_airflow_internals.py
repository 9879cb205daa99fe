"""Airflow's Spark provider has all private names that this package uses, and a missing name causes a clear error."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

from airflow_hudi_provider.exceptions import HudiTaskRefusedError
from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator
from airflow_hudi_provider.spark import airflow_internals
from airflow_hudi_provider.spark.airflow_internals import HOOK_NAMES, OPERATOR_NAMES, require_names
from support.airflow.task_context import context

REPOSITORY = Path(__file__).parents[3]
LOCKS = ("airflow31.txt", "spark.txt")
PRIVATE_NAME = re.compile(r"(\b(task|hook|operator|self\._task|self\._hook|master)|\bsuper\(\))\._(?!_)\w+")
OVERRIDE = "operators/job.py: super()._get_hook"


def test_the_installed_release_has_all_private_names(connections: Callable[..., None]) -> None:
    connections("spark_default", conn_type="spark", host="local[2]")
    operator = SparkSubmitOperator(task_id="t", application="a.py", conn_id="spark_default")
    require_names(operator, OPERATOR_NAMES)
    require_names(operator._get_hook(), HOOK_NAMES)


def test_a_missing_name_is_reported_before_anything_is_submitted(
    operator: Callable[..., UpsertWithSizingOperator], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(airflow_internals, "OPERATOR_NAMES", (*OPERATOR_NAMES, "_renamed"))
    task = operator("raise SystemExit('submitted')")
    with pytest.raises(HudiTaskRefusedError, match=r"apache-spark .* has no _renamed.* 6\.0\.0 to 6\.3\.4"):
        task.execute(context())


def test_a_name_that_the_hook_lacks_is_reported() -> None:
    with pytest.raises(HudiTaskRefusedError, match="object has no .*_log"):
        airflow_internals.log_through(object(), None)  # type: ignore[arg-type]


def test_the_checked_releases_match_the_locks() -> None:
    locked = [
        re.search(
            r"^apache-airflow-providers-apache-spark==(\S+)", (REPOSITORY / "locks" / name).read_text(), re.M
        )
        for name in LOCKS
    ]
    assert tuple(found[1] for found in locked if found) == airflow_internals.CHECKED_RELEASES


def test_no_other_module_uses_a_private_name_of_airflow_except_in_one_override() -> None:
    package = REPOSITORY / "airflow_hudi_provider"
    found = [
        f"{path.relative_to(package)}: {match[0]}"
        for path in package.rglob("*.py")
        if path.name != "airflow_internals.py"
        for match in PRIVATE_NAME.finditer(path.read_text())
    ]
    assert found == [OVERRIDE]
