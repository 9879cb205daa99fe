"""The engine under test, driven as programs drive it: a request, a frame and the shared Spark session."""

import itertools
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from hudi_table_services.contract.job_request import UpsertRequest
from hudi_table_services.contract.job_result import JobResult
from hudi_table_services.jobs.upsert import upsert
from judges.oracle import partition_options
from judges.rows import KEY, ORDERING, PARTITION

_TIMESTAMP_TYPE = "spark.sql.timestampType"

_request_numbers = itertools.count(1)


class Engine:
    """Writes tables of the shape that :class:`judges.oracle.Oracle` writes."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def write(
        self,
        base_path: Path,
        rows: pa.Table,
        *,
        version: int,
        operation: str = "upsert",
        is_partitioned: bool = True,
        options: Mapping[str, str] | None = None,
    ) -> JobResult:
        """Write ``rows`` by one job.

        Args:
            version: table version that a new table gets.
            operation: ``upsert``, ``insert``, ``delete``, …
            is_partitioned: whether the table has the partition column.
            options: further ``hoodie.*`` options.
        """
        request = UpsertRequest(
            request_id=f"conformance-{next(_request_numbers)}",
            base_path=str(base_path),
            table_name="t",
            operation=operation,
            record_key=(KEY,),
            partition_by=(PARTITION,) if is_partitioned else (),
            ordering_field=ORDERING,
            options={
                "hoodie.write.table.version": str(version),
                **_layout(is_partitioned),
                **(options or {}),
            },
        )
        return upsert(self._spark, request, source=self._frame(rows))

    def _frame(self, rows: pa.Table) -> DataFrame:
        # Otherwise a zone-less Arrow timestamp becomes a Spark timestamp with zone.
        self._spark.conf.set(_TIMESTAMP_TYPE, "TIMESTAMP_NTZ")
        try:
            return self._spark.createDataFrame(rows)
        finally:
            self._spark.conf.unset(_TIMESTAMP_TYPE)


def _layout(is_partitioned: bool) -> dict[str, str]:
    return {} if is_partitioned else partition_options(is_partitioned=False)
