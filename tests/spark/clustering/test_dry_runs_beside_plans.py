"""A dry run of a write to file groups of a pending clustering reports how the write would change the plan."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_table_services.contract.result import Outcome
from hudi_table_services.errors import PendingPlanError
from support.spark.planned_tables import STRATEGY, HeldUp, in_small_files
from support.spark.writing import TableUnderTest

HUDIS_ALLOW = {
    STRATEGY: "SparkAllowUpdateStrategy",
    "hoodie.clustering.rollback.pending.replacecommit.on.conflict": "true",
}


@pytest.fixture(scope="module", params=["6", "9"])
def small_files(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> TableUnderTest:
    return in_small_files(spark, tmp_path_factory.mktemp("dry-runs") / "t", request.param)


@pytest.fixture
def table(small_files: TableUnderTest, tmp_path: Path) -> TableUnderTest:
    return small_files.copied_to(tmp_path / "t")


@pytest.mark.parametrize(
    ("operation", "options", "message"),
    [
        ("upsert", {}, "would release 1 of its 2 groups to this write"),
        ("insert_overwrite", {}, "would release 1 of its 2 groups to this write"),
        ("insert_overwrite_table", {}, "would release 2 of its 2 groups to this write"),
        (
            "delete_partition",
            {"hoodie.datasource.write.partitions.to.delete": "a"},
            "would release 1 of its 2 groups to this write",
        ),
        ("upsert", HUDIS_ALLOW, "would be rolled back"),
    ],
)
def test_a_dry_run_reports_which_groups_of_a_plan_the_write_would_release(
    table: TableUnderTest, operation: str, options: dict[str, str], message: str
) -> None:
    plan = table.schedule().instant_time
    files = table.files()
    result = table.write([("a1", 2, "a", 2.0)], operation, options=options, dry_run=True)
    assert result.outcome is Outcome.PLANNED
    assert f"The pending clustering {plan} {message}." in result.warnings
    assert [partition.partition_path for partition in result.partitions] == ["a"]
    assert table.files() == files


def test_a_dry_run_reports_that_the_write_would_be_rejected(table: TableUnderTest) -> None:
    plan = table.schedule().instant_time
    with pytest.raises(PendingPlanError, match=f"pending clustering {plan}.*rejects the write"):
        table.write([("a1", 2, "a", 2.0)], options={STRATEGY: "SparkRejectUpdateStrategy"}, dry_run=True)


def test_a_dry_run_does_not_wait_for_the_execution_of_a_plan(table: TableUnderTest) -> None:
    plan = table.schedule().instant_time
    with HeldUp(table):
        (warning,) = table.write([("a1", 2, "a", 2.0)], dry_run=True).warnings
    assert warning.startswith(
        f"The pending clustering {plan} is being executed: this write would wait up to "
    )
