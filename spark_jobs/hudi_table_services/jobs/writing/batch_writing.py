"""Write the files of a batch on Spark's executors, after each row has been assigned its place."""

from typing import TYPE_CHECKING

from hudi_table_services.execution.arrow_schema import arrow_schema
from hudi_table_services.execution.file_groups import (
    WriteJob,
    WrittenFileGroup,
    new_file_id,
    write_file_group,
)
from hudi_table_services.execution.spark_tasks import run_tasks
from hudi_table_services.execution.task_groups import BYTES_OF_A_FILE
from hudi_table_services.execution.writing.task_assignment import assign_tasks
from hudi_table_services.hudi_format.avro_schema import to_avro_json
from hudi_table_services.jobs.writing.batch_placement import PlacedBatch
from hudi_table_services.jobs.writing.write_settings import WriteSettings
from hudi_table_services.model.file_sizing import FileSizingPlan
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.storage.stores.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def write_job(storage: Storage, instant_time: str, config: TableConfig, settings: WriteSettings) -> WriteJob:
    """Settings that all tasks of the write share.

    Args:
        instant_time: requested time of the write. The names of its files contain this time.
    """
    return WriteJob(
        storage=storage,
        instant_time=instant_time,
        data_schema=arrow_schema(settings.writer_schema, with_meta_fields=False),
        avro_schema_json=to_avro_json(settings.writer_schema, config.table_name, with_meta_fields=True),
        parquet=settings.parquet,
        bloom=settings.bloom,
        ordering_fields=settings.merge_fields,
    )


def write_batch(
    spark: "SparkSession", job: WriteJob, placed: PlacedBatch, plan: FileSizingPlan, table_name: str
) -> list[WrittenFileGroup]:
    """Write every file group of the plan. Readers do not see the files before the commit.

    Raises:
        HudiTableServiceError: see `run_tasks`.
    """
    tasks = assign_tasks(plan, placed.routed.batches, placed.snapshot, new_file_id)
    return run_tasks(
        spark,
        tasks,
        lambda task: write_file_group(job, task),
        description=f"Write {len(tasks)} file groups of {table_name} at {job.instant_time}",
        weights=[task.expected_bytes + BYTES_OF_A_FILE for task in tasks],
        measure=lambda written: (written.stat.num_writes, written.stat.file_size_bytes),
    )
