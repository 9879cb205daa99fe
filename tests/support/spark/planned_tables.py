"""Tables with small files to cluster, and an execution that waits while another job acts."""

from pathlib import Path

from pyspark.sql import SparkSession

from support.spark.held_up import HeldUpJob
from support.spark.writing import TableUnderTest

BATCHES = 3
STRATEGY = "hoodie.clustering.updates.strategy"


def in_small_files(
    spark: SparkSession, base_path: Path, version: str, batches: int = BATCHES
) -> TableUnderTest:
    """A table whose partitions a and b contain `batches` files of one row each. Keys: a0, a1, b0, b1 and so on."""
    options = {"hoodie__write__table__version": version, "hoodie__parquet__small__file__limit": "0"}
    table = TableUnderTest(spark, base_path, **options)
    for number in range(batches):
        table.write([(f"{p}{number}", 1, p, 1.0) for p in "ab"], "insert")
    return table


class HeldUp(HeldUpJob):
    """An execution of the table's plans that waits before its commit while another job acts."""

    def __init__(self, table: TableUnderTest, **fields: object) -> None:
        super().__init__(table, lambda storage: table.execute(storage=storage, **fields))
