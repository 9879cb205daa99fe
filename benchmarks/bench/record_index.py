"""Create tables with a record index in the metadata table."""

from pyspark.sql import SparkSession

from bench.protocol import Job
from bench.scenarios import LINEITEM, SHIP_YEAR, Operation, System
from bench.writers import Writer


def create_with_record_index(system: System, spark: SparkSession, writer: Writer, job: Job) -> None:
    """Insert all rows of lineitem into a new table. Hudi builds the record index in the same write."""
    writer.write(job.inputs / LINEITEM, job.table, Operation.INSERT, SHIP_YEAR)
    if system is System.OURS:
        _build(spark, job)


def _build(spark: SparkSession, job: Job) -> None:
    from hudi_table_services.contract.metadata_table import RebuildMetadataTableRequest
    from hudi_table_services.jobs.metadata_table.rebuild import rebuild_metadata_table

    request = RebuildMetadataTableRequest(base_path=str(job.table), partitions=("record_index",))
    rebuild_metadata_table(request, spark=spark)
