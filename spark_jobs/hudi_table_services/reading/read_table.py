"""Read copy-on-write and merge-on-read tables on Spark, without Hudi's JAR."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.execution.reading.scan_frame import scan_frame
from hudi_table_services.execution.sessions import connect
from hudi_table_services.reading.scan_columns import spark_columns
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.tables.reading.planned_reads import plan_read, slice_reader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRead:
    """A planned read.

    Attributes:
        frame: the rows; see `read_table`.
        until: for an incremental read, the begin of the next window: the time at which the last commit of this window
            became visible, or the begin of this window if it has no commit. For other reads, the requested time of the
            newest commit that is read; empty for a table without commits.
        plan: what is read, what is skipped, and why.
    """

    frame: "DataFrame"
    until: str
    plan: str


def read_table(
    spark: "SparkSession",
    base_path: str,
    options: Mapping[str, str] | None = None,
    *,
    columns: Sequence[str] | None = None,
    filters: Sequence[object] = (),
    storage_options: Mapping[str, str] | None = None,
) -> "DataFrame":
    """Return a DataFrame of a table of version 6, 8 or 9.

    This function reads the timeline and chooses the files; the DataFrame then always returns the rows of this state,
    whatever is written later. Spark's tasks read the files with Arrow; this function itself reads the rows of a few
    record keys if they are in one base file. The session may be a classic session of Spark
    3.5 or 4, or a session of Spark Connect. The plan is logged at the level INFO (`explain_read` returns it).

    Args:
        base_path: path or URI of the table. The driver and the executors must be able to read it.
        options: Hudi's read options, by their names: the query type, the instant of a time-travel read, the window of
            an incremental read (docs/reading.md).
        columns: names of the columns to read; None for all columns, after Hudi's five meta columns. Spark's tasks read
            only these columns and those of `filters` from the files. A later `select` does not change that.
        filters: conditions that are joined by AND, as triples such as ``("price", ">", 10)``,
            ``("id", "in", ["a", "b"])`` or ``("name", "is null")``. ``==`` means ``=``. The DataFrame contains exactly
            the rows that fulfil them, and files without such rows are not read.
        storage_options: settings of an object store or of HDFS, as in the jobs of this project.

    Raises:
        InvalidRequestError: an argument is wrong; or the state or window is not complete any more. The message names
            the setting that keeps files longer.
        TableNotFoundError: there is no table.
        UnsupportedTableError: this release cannot read the table as Hudi does; the message names the feature.
        CorruptTableError: metadata of the table is damaged.
        StorageError: the storage cannot be read.
    """
    read = open_read(
        spark, base_path, options, columns=columns, filters=filters, storage_options=storage_options
    )
    return read.frame


def open_read(
    spark: "SparkSession",
    base_path: str,
    options: Mapping[str, str] | None = None,
    *,
    columns: Sequence[str] | None = None,
    filters: Sequence[object] = (),
    storage_options: Mapping[str, str] | None = None,
) -> TableRead:
    """Return the DataFrame of `read_table`, the position that the read has reached, and its plan in words."""
    storage = open_storage(base_path, storage_options)
    scan = plan_read(storage, options or {}, columns=columns, filters=filters)
    reader = slice_reader(storage, scan)
    schema = spark_columns(scan.schema, reader.columns.names)
    frame = scan_frame(spark, reader, scan.plan.slices, schema)
    return TableRead(frame=frame, until=scan.until, plan=scan.explain())


def register_data_source(spark: "SparkSession") -> None:
    """Register the format ``hudi_native`` in a session of Spark 4.

    Raises:
        InvalidRequestError: the session is of Spark 3.5, which has no Python data sources.
    """
    try:
        from hudi_table_services.reading.data_source import HudiNativeDataSource
    except ModuleNotFoundError as error:
        if error.name != "pyspark.sql.datasource":
            raise
        raise InvalidRequestError(
            "Python data sources need Spark 4.0 or newer.", hint="On Spark 3.5, call read_table."
        ) from error
    if connect.is_connect(spark):
        connect.upload_engine(spark)
    spark.dataSource.register(HudiNativeDataSource)


def explain_read(
    base_path: str,
    options: Mapping[str, str] | None = None,
    *,
    columns: Sequence[str] | None = None,
    filters: Sequence[object] = (),
    storage_options: Mapping[str, str] | None = None,
) -> str:
    """Return what `read_table` would read with the same arguments, what it would skip, and why. Reads no rows.

    Raises:
        HudiTableServiceError: see `read_table`.
    """
    storage = open_storage(base_path, storage_options)
    return plan_read(storage, options or {}, columns=columns, filters=filters).explain()
