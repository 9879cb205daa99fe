"""Views of one table for the pages, as plain JSON values. They read the storage and write nothing."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.results.clustering import clustering_answer
from airflow_hudi_provider.tables.registry import RegisteredTable
from hudi_table_services.contract.clustering import ClusteringReport
from hudi_table_services.contract.result import FileStats

if TYPE_CHECKING:
    from hudi_table_services.model.instant import Instant
    from hudi_table_services.model.table_config import TableConfig
    from hudi_table_services.model.write_history import FileSizes, WriteSummary

SHOWN_INSTANTS = 1000
SHOWN_WRITES = 100
"""Maximum number of writes whose metadata is read. Each write needs one read from the storage."""

SHOWN_GROUPS = 100
_END = {
    "nothing_older": "No older writes are known: neither the timeline nor its archive has any.",
    "enough": "This page shows the latest {count} writes and does not read older writes.",
    "archive_too_large": "Older writes are archived, in files that are too large to be read for this page.",
    "archive_unreadable": (
        "Older writes may be archived. The archive could not be read: it is damaged, or it needs pyarrow, which is "
        "not installed on the API server. The log of the API server contains the reason."
    ),
}
"""Maps each value of `HistoryEnd` to a text that explains why the history ends."""


def _hook_of(table: RegisteredTable) -> HudiHook:
    return HudiHook(
        table.base_path or None, hudi_conn_id=table.hudi_conn_id, storage_conn_id=table.storage_conn_id
    )


def health_view(table: RegisteredTable) -> dict[str, Any]:
    """Return the health report. Times are also in milliseconds since 1970, for the browser."""
    hook = _hook_of(table)
    config = hook.table_config()
    report = hook.health()
    view: dict[str, Any] = json.loads(json.dumps(asdict(report)))
    times = {
        name: _moment_ms(view[name], config) for name in ("last_commit", "last_clean", "last_clustering")
    }
    return {**view, "table_name": config.table_name, "times_ms": times}


def history_view(table: RegisteredTable) -> dict[str, Any]:
    """Return instants of the timeline, details of the latest writes, and file sizes after each of these writes.

    The view contains an archived instant only if it is one of the latest writes.
    """
    hook = _hook_of(table)
    config = hook.table_config()
    instants = hook.timeline().instants
    history = hook.recent_writes(SHOWN_WRITES)
    writes = {each.instant.requested_time: _write(each) for each in history.writes}
    active = {instant.identity for instant in instants}
    archived = [each.instant for each in history.writes if each.instant.identity not in active]
    every = sorted([*archived, *instants], key=lambda instant: instant.requested_time)
    return {
        "instant_count": len(every),
        "archived_count": len(archived),
        "instants": [
            {**_instant(instant, config), **writes.get(instant.requested_time, {})}
            for instant in every[-SHOWN_INSTANTS:]
        ],
        "sizes": [_sizes(each, config) for each in history.sizes],
        "end": _END[history.end.value].format(count=len(history.writes)),
    }


def plan_view(table: RegisteredTable) -> dict[str, Any]:
    """Return the plan that a clustering with Hudi's defaults would make now, or the reason why there is no plan."""
    hook = _hook_of(table)
    result = hook.preview_clustering()
    answer, report = clustering_answer(result), result.report_as(ClusteringReport) or ClusteringReport()
    groups = [asdict(group) for plan in report.plans for group in plan.groups]
    groups.sort(key=lambda group: (group["expected_files"] - group["input_files"], group["partition_path"]))
    return {
        "outcome": answer["outcome"],
        "reason": result.reason,
        "commits": report.commits,
        "groups": groups[:SHOWN_GROUPS],
        "group_count": len(groups),
        "skipped": list(report.skipped[:SHOWN_GROUPS]),
    }


def _instant(instant: "Instant", config: "TableConfig") -> dict[str, Any]:
    return {
        "instant": instant.requested_time,
        "requested_ms": _moment_ms(instant.requested_time, config),
        "completed_ms": _moment_ms(instant.completion_time or "", config),
        "action": instant.action.value,
        "state": instant.state.value,
    }


def _write(write: "WriteSummary") -> dict[str, Any]:
    return {
        "operation": write.operation.value.lower(),
        "rows": {
            "inserted": write.rows_inserted,
            "updated": write.rows_updated,
            "deleted": write.rows_deleted,
        },
        "files_written": write.files_written,
        "files_replaced": write.files_replaced,
        "bytes_written": write.bytes_written,
        "partition_count": len(write.partitions),
        "by": _task_of(write.extra_metadata),
    }


def _task_of(extra_metadata: Mapping[str, str]) -> dict[str, str] | None:
    """Return the task that requested a write, from the request id ``dag/run/task[/map index][#generation]``."""
    from hudi_table_services.model.write_stat import REQUEST_ID_KEY

    parts = extra_metadata.get(REQUEST_ID_KEY, "").partition("#")[0].split("/")
    if len(parts) < 3:
        return None
    return {"dag_id": parts[0], "run_id": parts[1], "task_id": parts[2], "map_index": "".join(parts[3:4])}


def _sizes(sizes: "FileSizes", config: "TableConfig") -> dict[str, Any]:
    stats = FileStats.of(list(sizes.sizes_bytes))
    return {
        "instant": sizes.instant.requested_time,
        "at_ms": _moment_ms(sizes.instant.visible_from, config),
        "files": stats.file_count,
        "bytes": stats.size_bytes,
        "histogram": dict(stats.histogram),
        "unknown": sizes.unknown_count,
    }


def _moment_ms(text: str, config: "TableConfig") -> int | None:
    """Convert an instant time to milliseconds since 1970, which a browser shows in the user's time zone."""
    from hudi_table_services.storage.clock import instant_moment

    moment: datetime | None = instant_moment(text, config) if text else None
    return None if moment is None else round(moment.timestamp() * 1000)
