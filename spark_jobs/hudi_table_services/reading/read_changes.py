"""Read what a window of commits changed: the changed rows and the deleted rows, on Spark and without Hudi's JAR."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hudi_table_services.execution.reading.frame_joins import quoted
from hudi_table_services.execution.reading.scan_frame import scan_frame
from hudi_table_services.options.reading.read_options import ReadRequest, change_request
from hudi_table_services.reading.scan_columns import spark_columns
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.reading.change_scan import KEY_COLUMNS, ChangeScan, plan_changes
from hudi_table_services.tables.reading.planned_reads import slice_reader
from hudi_table_services.tables.reading.table_scan import TableScan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True, kw_only=True)
class TableChanges:
    """The changes of a window.

    Attributes:
        changed: the rows that the window added or changed, as of its end. A row that changed several times occurs once.
        deleted: the rows that existed before the window and do not exist at its end, with their last values before the
            window. A row that moved to another partition is deleted in the old partition and changed in the new one.
        replaced: the deleted rows, and the changed rows that existed before the window, with their last values before
            the window. Empty unless `changes_of` was called with `with_replaced`.
        until: the begin of the next window.
        plan: what is read, in words.
        commit_count: number of commits in the window.
        waits_for: see `ChangeScan.waits_for`.
    """

    changed: "DataFrame"
    deleted: "DataFrame"
    replaced: "DataFrame"
    until: str
    plan: str
    commit_count: int
    waits_for: str = ""


def read_changes(
    spark: "SparkSession",
    base_path: str,
    begin: str,
    *,
    columns: Sequence[str] | None = None,
    options: Mapping[str, str] | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> TableChanges:
    """Return the changes between two states of a table of version 6, 8 or 9.

    This function chooses the files, so the DataFrames return the same rows even after later writes. Unlike the result
    of an incremental read of Hudi, the changes contain deletes. They do not contain a late row, i.e. a row whose
    ordering value is smaller than that of the stored row.

    Args:
        begin: begin of the window, exclusive: `TableChanges.until` of the previous window, a point in time, or
            ``earliest`` for all rows.
        columns: names of the columns to read; None for all columns, after Hudi's five meta columns.
        options: Hudi's read options, except the query type and the begin; the end of the window, inclusive, is by
            default the latest commit.
        storage_options: settings of an object store or of HDFS.

    Raises:
        InvalidRequestError: an argument is wrong; a write that belongs to the window is pending; or files of one of the
            two states were deleted. The message names the setting that keeps files longer.
        HudiTableServiceError: see `read_table`.
    """
    request = change_request(options or {}, begin, columns)
    return changes_of(spark, open_storage(base_path, storage_options), request)


def changes_of(
    spark: "SparkSession", storage: Storage, request: ReadRequest, *, with_replaced: bool = False
) -> TableChanges:
    """Return the same as `read_changes`, for the storage of the table and a request that `change_request` returned.

    Args:
        with_replaced: also return `TableChanges.replaced`. The state before the window is then read even if the window
            only updates rows.
    """
    scan = plan_changes(storage, request, with_replaced=with_replaced)
    changed = frame_of(spark, storage, scan.changed)
    names = [quoted(name) for name in changed.columns]
    before = rows_before(spark, storage, scan)
    return TableChanges(
        changed=changed,
        deleted=_deleted(spark, storage, scan).select(*names),
        replaced=(before if with_replaced else before.limit(0)).select(*names),
        until=scan.until,
        plan=scan.explain(),
        commit_count=scan.commit_count,
        waits_for=scan.waits_for,
    )


def rows_before(spark: "SparkSession", storage: Storage, scan: ChangeScan) -> "DataFrame":
    """Return the rows that the window changed or deleted, as they were before the window, with `KEY_COLUMNS`."""
    before = frame_of(spark, storage, scan.before)
    if not scan.before.plan.slices:
        return before
    keys = list(KEY_COLUMNS)
    changed = frame_of(spark, storage, replace(scan.changed, columns=KEY_COLUMNS))
    unchanged = frame_of(spark, storage, scan.remaining).join(changed, keys, "left_anti")
    return before.join(unchanged, keys, "left_anti")


def _deleted(spark: "SparkSession", storage: Storage, scan: ChangeScan) -> "DataFrame":
    before = frame_of(spark, storage, scan.before)
    if not scan.before.plan.slices:
        return before
    return before.join(frame_of(spark, storage, scan.remaining), list(KEY_COLUMNS), "left_anti")


def frame_of(spark: "SparkSession", storage: Storage, scan: TableScan) -> "DataFrame":
    """Return the rows of a scan as a DataFrame."""
    reader = slice_reader(storage, scan)
    return scan_frame(spark, reader, scan.plan.slices, spark_columns(scan.schema, reader.columns.names))
