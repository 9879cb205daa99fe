"""Return the contents of one table as plain JSON values: totals, partitions, files, schemas and settings."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.pages.instants import moment_ms, task_of, task_of_request
from airflow_hudi_provider.pages.recent_values import Dated, RecentValues
from airflow_hudi_provider.tables.registry import RegisteredTable
from hudi_table_services.contract.text import partitioned_by

if TYPE_CHECKING:
    from hudi_table_services.model.overview.table_overview import FileTotals, LiveFile, PartitionSummary
    from hudi_table_services.tables.overview.partition_summaries import TableContents

PAGE_ROWS = 100
"""Maximum number of partitions or files in one answer."""

_Row = TypeVar("_Row")
_contents: "RecentValues[TableContents]" = RecentValues(16)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The part of a view that a browser requests.

    Attributes:
        partition: partition path of the files to show.
        search: show only partitions or files whose path contains this string, regardless of case.
        sort: name of the column that determines the order. With an unknown name, rows are ordered by path.
        descending: whether the largest value comes first.
        offset: number of rows to skip.
        fresh: whether to read the table again.
    """

    partition: str = ""
    search: str = ""
    sort: str = ""
    descending: bool = False
    offset: int = 0
    fresh: bool = False


def hook_of(table: RegisteredTable) -> HudiHook:
    """Return the hook of a table, with the connections that its asset or its entry in ``[hudi] tables`` names."""
    return HudiHook(
        table.base_path or None, hudi_conn_id=table.hudi_conn_id, storage_conn_id=table.storage_conn_id
    )


def contents_of(table: RegisteredTable, *, fresh: bool = False) -> "Dated[TableContents]":
    """Return the live files of a table. Several views share one read."""
    return _contents.get(table, lambda: _read(table), fresh=fresh)


def _read(table: RegisteredTable) -> "TableContents":
    from hudi_table_services.tables.overview.partition_summaries import read_contents

    return read_contents(hook_of(table).storage)


def overview_view(table: RegisteredTable, wanted: Wanted) -> dict[str, Any]:
    """Return totals, last commit, keys, type and version, limits of file sizes, and the holder of the lock."""
    from hudi_table_services.storage.clock import SystemClock
    from hudi_table_services.tables.overview.lock_holder import lock_holder

    dated = contents_of(table, fresh=wanted.fresh)
    found, config = dated.value, dated.value.snapshot.config
    holder = lock_holder(hook_of(table).storage, SystemClock())
    return {
        "as_of_ms": dated.as_of_ms,
        "table_name": config.table_name,
        "table_type": config.table_type.value,
        "table_version": int(config.table_version),
        "record_key": list(config.record_key_fields),
        "partition_fields": list(config.partition_fields),
        "partitioned_by": partitioned_by(config.partition_fields, config.partition_time_format),
        "ordering_fields": list(config.ordering_fields),
        "metadata_table": list(config.metadata_partitions),
        "partition_count": len(found.partitions),
        **_totals(found.totals, config),
        "limits": asdict(found.limits),
        "last_commit": _last_commit(found),
        "lock": None if holder is None else {**asdict(holder), "by": task_of_request(holder.request_id)},
    }


def _last_commit(found: "TableContents") -> dict[str, Any] | None:
    if found.last_write is None:
        return None
    instant, metadata = found.last_write
    return {
        "instant": instant.requested_time,
        "operation": metadata.operation_type.value.lower(),
        "at_ms": moment_ms(instant.visible_from, found.snapshot.config),
        "by": task_of(metadata.extra_metadata),
    }


def _totals(totals: "FileTotals", config: Any) -> dict[str, Any]:
    return {
        "files": totals.file_count,
        "small_files": totals.small_file_count,
        "size_bytes": totals.size_bytes,
        "rows": totals.row_count,
        "uncounted_files": totals.uncounted_files,
        "log_files": totals.log_files,
        "log_bytes": totals.log_bytes,
        "last_write_ms": moment_ms(totals.last_write, config),
    }


def partitions_view(table: RegisteredTable, wanted: Wanted) -> dict[str, Any]:
    """Return one page of the partitions."""
    dated = contents_of(table, fresh=wanted.fresh)
    config = dated.value.snapshot.config
    orders: dict[str, Callable[[PartitionSummary], Any]] = {
        "files": lambda each: each.totals.file_count,
        "small_files": lambda each: each.totals.small_file_count,
        "size_bytes": lambda each: each.totals.size_bytes,
        "rows": lambda each: each.totals.row_count,
        "last_write_ms": lambda each: each.totals.last_write,
        "log_files": lambda each: each.totals.log_files,
    }
    rows = [each for each in dated.value.partitions if wanted.search.lower() in each.partition_path.lower()]
    rows.sort(key=lambda each: each.partition_path)
    shown = _page(rows, orders.get(wanted.sort), lambda each: each.partition_path, wanted)
    return {
        "as_of_ms": dated.as_of_ms,
        "count": len(rows),
        "all_count": len(dated.value.partitions),
        "limits": asdict(dated.value.limits),
        "rows": [{"path": each.partition_path, **_totals(each.totals, config)} for each in shown],
    }


def files_view(table: RegisteredTable, wanted: Wanted) -> dict[str, Any]:
    """Return one page of the live files of a partition."""
    dated = contents_of(table, fresh=wanted.fresh)
    config = dated.value.snapshot.config
    orders: dict[str, Callable[[LiveFile], Any]] = {
        "size_bytes": lambda each: each.size_bytes,
        "rows": lambda each: each.row_count or 0,
        "written_ms": lambda each: each.written_by,
    }
    every = dated.value.files.get(wanted.partition, ())
    rows = [each for each in every if wanted.search.lower() in each.path.lower()]
    shown = _page(rows, orders.get(wanted.sort), lambda each: each.path, wanted)
    return {
        "as_of_ms": dated.as_of_ms,
        "partition": wanted.partition,
        "count": len(rows),
        "all_count": len(every),
        "limits": asdict(dated.value.limits),
        "rows": [
            {
                "name": each.path.rpartition("/")[2] or f"(log files of {each.file_id})",
                "file_id": each.file_id,
                "size_bytes": each.size_bytes,
                "rows": each.row_count,
                "log_files": each.log_files,
                "is_small": each.is_small,
                "written_by": each.written_by,
                "written_ms": moment_ms(each.written_by, config),
            }
            for each in shown
        ],
    }


def _page(
    rows: list[_Row], order: Callable[[_Row], Any] | None, path: Callable[[_Row], str], wanted: Wanted
) -> Sequence[_Row]:
    """Sort the rows in place, and return the wanted page. Rows with equal values are ordered by path."""
    rows.sort(key=path)
    rows.sort(key=order or path, reverse=wanted.descending)
    first = max(0, wanted.offset)
    return rows[first : first + PAGE_ROWS]


def schema_view(table: RegisteredTable) -> dict[str, Any]:
    """Return the current columns of the table, and the changes of its schema, newest first."""
    from hudi_table_services.tables.overview.schema_history import schema_history
    from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot

    hook = hook_of(table)
    snapshot = load_snapshot(hook.storage, ())
    history, config = schema_history(hook.storage, hook.timeline_store(), snapshot), snapshot.config
    versions = [
        {**asdict(each), "at_ms": moment_ms(each.instant_time, config)} for each in reversed(history.versions)
    ]
    return {
        "columns": versions[0]["columns"] if versions else [],
        "keys": {
            "record key": list(config.record_key_fields),
            "partition field": list(config.partition_fields),
            "ordering field": list(config.ordering_fields),
        },
        "versions": [{**each, "columns": len(each["columns"])} for each in versions],
        "is_whole": history.is_whole,
        "searched_writes": history.searched_writes,
    }


def settings_view(table: RegisteredTable) -> dict[str, Any]:
    """Return the properties of the table, ordered by key."""
    return {"properties": dict(sorted(hook_of(table).table_config().properties.items()))}
