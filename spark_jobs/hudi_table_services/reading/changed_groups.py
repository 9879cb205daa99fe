"""Read the groups of rows in which a window of commits changed a row, so that aggregates can be computed again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hudi_table_services.contract.text import similar_column
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.execution.reading.frame_joins import quoted
from hudi_table_services.options.reading.read_options import change_request
from hudi_table_services.reading.read_changes import frame_of, rows_before
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.tables.reading.change_scan import plan_changes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedGroups:
    """The groups in which a window changed a row.

    Attributes:
        keys: the values of the group columns, each group once. These are the groups in which the window added, changed
            or deleted a row, and the groups into or out of which a row moved. Groups with null or NaN in a group
            column are left out.
        rows: all rows of these groups, as of the end of the window. A group whose rows were all deleted has no rows.
        until: the begin of the next window.
        commit_count: number of commits in the window.
        waits_for: see `ChangeScan.waits_for`.
        plan: what is read, in words.
    """

    keys: "DataFrame"
    rows: "DataFrame"
    until: str
    commit_count: int
    plan: str
    waits_for: str = ""


def read_changed_groups(
    spark: "SparkSession",
    base_path: str,
    begin: str,
    group_by: Sequence[str],
    *,
    options: Mapping[str, str] | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> ChangedGroups:
    """Return the groups that differ between two states of a table of version 6, 8 or 9, with all their rows.

    Args:
        begin: exclusive; see `read_changes`. With ``earliest``, all groups of the table are returned.
        group_by: the columns that identify a group.
        options, storage_options: see `read_changes`.

    Raises:
        InvalidRequestError: the table has no such column; or see `read_changes`.
        HudiTableServiceError: see `read_table`.
    """
    storage = open_storage(base_path, storage_options)
    request = change_request(options or {}, begin, None)
    scan = plan_changes(storage, request, with_replaced=True, with_whole=True)
    if missing := [name for name in group_by if name not in scan.changed.schema.names]:
        raise InvalidRequestError(
            f"The table {base_path} has no column {missing[0]!r}, by which its rows are to be grouped.",
            hint=similar_column(missing[0], scan.changed.schema.names),
        )
    names, columns = list(group_by), [quoted(name) for name in group_by]
    whole = frame_of(spark, storage, scan.whole)
    if scan.has_begin:
        changed = frame_of(spark, storage, scan.changed).select(*columns)
        before = rows_before(spark, storage, scan).select(*columns)
        keys = changed.unionByName(before).dropna().distinct()
        rows = whole.join(keys, names, "left_semi")
    else:
        rows = whole.dropna(subset=names)
        keys = rows.select(*columns).distinct()
    return ChangedGroups(
        keys=keys,
        rows=rows,
        until=scan.until,
        commit_count=scan.commit_count,
        plan=scan.explain(),
        waits_for=scan.waits_for,
    )
