"""A clustering is scheduled while an overwrite or a delete of partitions is running: neither job fails."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_table_services.contract.result import JobResult
from hudi_table_services.storage.stores.local import LocalStorage
from support.depth import cases
from support.spark.planned_tables import in_small_files
from support.spark.writing import Row, TableUnderTest

DELETES_A = {"hoodie.datasource.write.partitions.to.delete": "a"}
NEW: list[Row] = [("new", 2, "a", 2.0)]
OPERATIONS = [
    ("insert_overwrite", NEW, {}, {"b"}),
    ("insert_overwrite_table", NEW, {}, set()),
    ("delete_partition", [], DELETES_A, {"b"}),
]


@pytest.fixture(scope="module", params=cases(["6", "9"], ["6"]))
def small_files(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> TableUnderTest:
    return in_small_files(spark, tmp_path_factory.mktemp("overwrites") / "t", request.param, batches=2)


@pytest.fixture
def table(small_files: TableUnderTest, tmp_path: Path) -> TableUnderTest:
    return small_files.copied_to(tmp_path / "t")


def interrupted(base_path: Path, act: Callable[[], object], *, after: bool) -> LocalStorage:
    """Storage for an overwrite. It runs another job once, before or after the overwrite's inflight file exists."""
    acts = [act]

    class Interrupted(LocalStorage):
        def create(self, path: str, data: bytes) -> None:
            due = acts.pop() if acts and path.endswith(".replacecommit.inflight") else None
            if due is not None and not after:
                due()
            super().create(path, data)
            if due is not None and after:
                due()

        def __reduce__(self) -> tuple[object, ...]:
            return (LocalStorage, (self.root,))

    return Interrupted(str(base_path))


def expected_rows(table: TableUnderTest, rows: list[Row], left: set[str]) -> list[Row]:
    return sorted([*rows, *(row for row in table.rows() if row[2] in left)])


@pytest.mark.parametrize(("operation", "rows", "options", "left"), OPERATIONS)
def test_a_plan_does_not_contain_file_groups_that_a_running_overwrite_replaces(
    table: TableUnderTest, operation: str, rows: list[Row], options: dict[str, str], left: set[str]
) -> None:
    expected, scheduled = expected_rows(table, rows, left), list[JobResult]()
    storage = interrupted(table.base_path, lambda: scheduled.append(table.schedule()), after=True)
    table.write(rows, operation, options=options, storage=storage)
    (result,) = scheduled
    assert result.report is not None
    assert {g.partition_path for plan in result.report.plans for g in plan.groups} == left
    assert any("of the write" in text for text in result.report.skipped)
    assert table.rows() == expected
    table.execute()
    assert table.rows() == expected
    assert table.leftovers() == set()


@pytest.mark.parametrize(("operation", "rows", "options", "left"), OPERATIONS)
def test_an_overwrite_retries_if_a_plan_was_scheduled_before_the_overwrite_became_inflight(
    table: TableUnderTest,
    caplog: pytest.LogCaptureFixture,
    operation: str,
    rows: list[Row],
    options: dict[str, str],
    left: set[str],
) -> None:
    expected = expected_rows(table, rows, left)
    storage = interrupted(table.base_path, table.schedule, after=False)
    table.write(rows, operation, options=options, storage=storage)
    assert "Trying again" in caplog.text
    assert table.rows() == expected
    table.execute()
    assert table.rows() == expected
    assert table.leftovers() == set()
