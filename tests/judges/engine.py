"""The engine under test, called as a program calls it: with a request, a DataFrame and the shared Spark session."""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from hudi_table_services.contract.clustering import (
    CancelClusteringRequest,
    ExecuteClusteringRequest,
    ScheduleClusteringRequest,
)
from hudi_table_services.contract.result import JobResult
from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.jobs.clustering.cancel import cancel_clustering
from hudi_table_services.jobs.clustering.execute import execute_clustering
from hudi_table_services.jobs.clustering.schedule import schedule_clustering
from hudi_table_services.jobs.writing.upsert import upsert
from hudi_table_services.storage.stores.storage import Storage
from judges.oracle import partition_options
from judges.rows import KEY, ORDERING, PARTITION
from support.metadata_table.without_metadata_table import options_of_new_table

_request_numbers = itertools.count(1)
_file_numbers = itertools.count(1)


COPIES_EVERY_ROW_GROUP = {"hoodie.airflow.parquet.small.row.group.bytes": "1"}
"""With this option, a write copies each row group that it does not change, although the row groups of tests are small.
So judges also read files with copied row groups."""

# Tests interrupt executions of Hudi. With this option the engine treats such an execution as dead immediately.
DEAD_AT_ONCE = {"hoodie.clustering.expiration.threshold.mins": "0"}


class Engine:
    """Runs jobs of the engine on tables with the same columns and keys as the tables of :class:`judges.oracle.Oracle`.

    Args:
        spark: session of the Spark release that the engine runs on.
        folder: scratch folder for the files through which Spark receives the rows.
        storage_options: settings of the storage of all tables.
    """

    def __init__(
        self, spark: SparkSession, folder: Path, storage_options: Mapping[str, str] | None = None
    ) -> None:
        self._spark, self._folder = spark, folder
        self._storage_options = dict(storage_options or {})

    @property
    def spark(self) -> SparkSession:
        """Session of the Spark release that the engine runs on."""
        return self._spark

    def write(
        self,
        base_path: Path | str,
        rows: pa.Table,
        *,
        version: int,
        operation: str = "upsert",
        is_partitioned: bool = True,
        options: Mapping[str, str] | None = None,
        request_id: str | None = None,
        storage: Storage | None = None,
        has_default_metadata_table: bool = False,
    ) -> JobResult:
        """Write ``rows`` with one job.

        Args:
            version: table version of a new table.
            operation: ``upsert``, ``insert``, ``delete``, …
            is_partitioned: whether the table has the partition column.
            options: further ``hoodie.*`` options.
            request_id: request id; None for a new one.
            storage: storage of the table; None for the storage of the base path.
            has_default_metadata_table: whether a new table gets a metadata table by default; otherwise it gets none.
        """
        creation = {} if has_default_metadata_table else options_of_new_table(Path(base_path))
        request = UpsertRequest(
            request_id=request_id or _new_request_id(),
            base_path=str(base_path),
            table_name="t",
            operation=operation,
            record_key=(KEY,),
            partition_by=(PARTITION,) if is_partitioned else (),
            ordering_field=ORDERING,
            storage_options=self._storage_options,
            options={
                "hoodie.write.table.version": str(version),
                **COPIES_EVERY_ROW_GROUP,
                **_layout(is_partitioned),
                **creation,
                **(options or {}),
            },
        )
        return upsert(self._spark, request, source=self._frame(rows), storage=storage)

    def schedule_clustering(
        self,
        base_path: Path | str,
        *,
        sort_columns: Sequence[str] = (),
        layout: str = "",
        options: Mapping[str, str] | None = None,
    ) -> JobResult:
        """Schedule a clustering."""
        return schedule_clustering(
            ScheduleClusteringRequest(
                request_id=_new_request_id(),
                base_path=str(base_path),
                storage_options=self._storage_options,
                sort_columns=tuple(sort_columns),
                layout=layout,
                options=options or {},
            )
        )

    def execute_clustering(
        self,
        base_path: Path | str,
        *,
        options: Mapping[str, str] | None = None,
        storage: Storage | None = None,
    ) -> JobResult:
        """Execute every pending clustering plan, including plans of Hudi."""
        request = ExecuteClusteringRequest(
            request_id=_new_request_id(),
            base_path=str(base_path),
            storage_options=self._storage_options,
            options={**DEAD_AT_ONCE, **(options or {})},
        )
        return execute_clustering(self._spark, request, storage=storage)

    def cancel_clustering(self, base_path: Path) -> JobResult:
        """Cancel every pending clustering plan that no job is executing."""
        return cancel_clustering(
            CancelClusteringRequest(
                request_id=_new_request_id(),
                base_path=str(base_path),
                storage_options=self._storage_options,
                older_than_minutes=0,
                options=DEAD_AT_ONCE,
            )
        )

    def _frame(self, rows: pa.Table) -> DataFrame:
        """Convert the rows to a DataFrame through a Parquet file, which keeps every type in every Spark release."""
        path = self._folder / f"rows-{next(_file_numbers)}.parquet"
        pq.write_table(rows, path, use_compliant_nested_type=True)
        return self._spark.read.parquet(str(path))


def _new_request_id() -> str:
    return f"conformance-{next(_request_numbers)}"


def _layout(is_partitioned: bool) -> dict[str, str]:
    return {} if is_partitioned else partition_options(is_partitioned=False)
