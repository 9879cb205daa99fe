"""Return views of one table for the pages, as plain JSON values. The views read the storage and write nothing."""

import json
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from airflow_hudi_provider.pages.content_views import contents_of, hook_of
from airflow_hudi_provider.pages.instants import moment_ms, task_of, task_of_request
from airflow_hudi_provider.results.clustering import clustering_answer
from airflow_hudi_provider.tables.registry import RegisteredTable
from hudi_table_services.contract.clustering import ClusteringReport
from hudi_table_services.contract.compaction.compaction import CompactionReport
from hudi_table_services.contract.health import FEW_SMALL_FILES, HealthReport
from hudi_table_services.contract.text import human_bytes
from hudi_table_services.errors import UnhealthyTableError
from hudi_table_services.options.keys.clustering import CLUSTERING_SMALL_FILE_LIMIT, TARGET_FILE_MAX_BYTES
from hudi_table_services.tables.instant_requests import request_ids_of
from hudi_table_services.tables.overview.size_limits import size_limits

if TYPE_CHECKING:
    from hudi_table_services.model.instant import Instant
    from hudi_table_services.model.overview.table_overview import FileSizeLimits
    from hudi_table_services.model.table_config import TableConfig
    from hudi_table_services.model.write_history import FileSizes, WriteSummary

SHOWN_INSTANTS = 1000
SHOWN_WRITES = 100
"""Maximum number of writes whose metadata is read. Each write needs one read from the storage."""

SHOWN_GROUPS = 100
_END = {
    "nothing_older": "No older writes are known: neither the timeline nor its archive contains an older write.",
    "enough": "This page shows the latest {count} writes and does not read older writes.",
    "archive_too_large": "Older writes are archived, in files that are too large to be read for this page.",
    "archive_unreadable": (
        "Older writes may be archived. The archive could not be read: it is damaged, or it needs pyarrow, which is "
        "not installed on the API server. The log of the API server contains the reason."
    ),
}
"""Maps each value of `HistoryEnd` to a sentence that explains why the history ends."""


def health_view(table: RegisteredTable) -> dict[str, Any]:
    """Return the health report, even if the table is damaged or lacks files.

    Times are also in milliseconds since 1970, for the browser.
    """
    hook = hook_of(table)
    config = hook.table_config()
    try:
        report = hook.health()
    except UnhealthyTableError as error:
        if not isinstance(error.evidence, HealthReport):
            raise
        report = error.evidence
    view: dict[str, Any] = json.loads(json.dumps(asdict(report)))
    times = {name: moment_ms(view[name], config) for name in ("last_commit", "last_clean", "last_clustering")}
    findings = [{**asdict(each), "title": each.title} for each in report.findings]
    return {**view, "findings": findings, "table_name": config.table_name, "times_ms": times}


def history_view(table: RegisteredTable) -> dict[str, Any]:
    """Return instants of the timeline, details of the latest writes, and file sizes after each of these writes.

    The view contains an archived instant only if it is one of the latest writes.
    """
    hook = hook_of(table)
    config = hook.table_config()
    store = hook.timeline_store()
    instants = store.load().instants
    history = hook.recent_writes(SHOWN_WRITES)
    limits = size_limits((each.instant, each.extra_metadata) for each in history.writes)
    # A savepoint has the requested time of its commit, so the requested time alone does not identify a write.
    writes = {each.instant.identity: _write(each) for each in history.writes}
    active = {instant.identity for instant in instants}
    archived = [each.instant for each in history.writes if each.instant.identity not in active]
    every = sorted([*archived, *instants], key=lambda instant: instant.requested_time)
    requests = request_ids_of(store, every[-SHOWN_INSTANTS:])
    undos = _undos(table, instants)
    services = {instant: {"by": task_of_request(request)} for instant, request in requests.items()}
    return {
        "instant_count": len(every),
        "archived_count": len(archived),
        "instants": [
            {
                **_instant(instant, config),
                **services.get(instant, {}),
                **undos.get(instant, {}),
                **writes.get(instant.identity, {}),
            }
            for instant in every[-SHOWN_INSTANTS:]
        ],
        "limits": asdict(limits),
        "size_classes": _size_classes(limits),
        "sizes": [_sizes(each, limits, config) for each in history.sizes],
        "end": _END[history.end.value].format(count=len(history.writes)),
    }


def _undos(table: RegisteredTable, instants: Iterable["Instant"]) -> dict["Instant", dict[str, Any]]:
    """Map the latest rollbacks and restores to the instants that they undo, and to the reason in words.

    The reason is an empty string if the timeline contains no reason.
    """
    from hudi_table_services.storage.clock import SystemClock
    from hudi_table_services.tables.table import TableAccess
    from hudi_table_services.tables.undo_history import undo_of

    hook = hook_of(table)
    access = TableAccess(storage=hook.storage, clock=SystemClock(), config=hook.table_config())
    latest = [each for each in instants if each.action.value in ("rollback", "restore")][-SHOWN_WRITES:]
    found = {instant: undo_of(access, instant) for instant in latest}
    return {
        instant: {"undone": list(undo.undone), "undo_reason": undo.reason}
        for instant, undo in found.items()
        if undo.undone
    }


def plan_view(table: RegisteredTable) -> dict[str, Any]:
    """Return the plan that a clustering would make now, or the reason why there is no plan.

    The clustering merges small files into files of the target size. The writers of the table determine the target size,
    and the size below which a file is small.
    """
    limits = contents_of(table).value.limits
    result = hook_of(table).preview_clustering(
        {
            CLUSTERING_SMALL_FILE_LIMIT.key: str(limits.small_file_limit_bytes),
            TARGET_FILE_MAX_BYTES.key: str(limits.max_file_size_bytes),
        }
    )
    answer, report = clustering_answer(result), result.report_as(ClusteringReport) or ClusteringReport()
    groups = [asdict(group) for plan in report.plans for group in plan.groups]
    groups.sort(key=lambda group: (group["expected_files"] - group["input_files"], group["partition_path"]))
    return {
        "outcome": answer["outcome"],
        "limits": asdict(limits),
        "files_before": sum(group["input_files"] for group in groups),
        "files_after": sum(group["expected_files"] for group in groups),
        "is_worth_it": sum(group["input_files"] for group in groups) > FEW_SMALL_FILES,
        "few_small_files": FEW_SMALL_FILES,
        "reason": result.reason,
        "commits": report.commits,
        "groups": groups[:SHOWN_GROUPS],
        "group_count": len(groups),
        "skipped": list(report.skipped[:SHOWN_GROUPS]),
    }


def compaction_view(table: RegisteredTable) -> dict[str, Any]:
    """Return the log files that a compaction would merge now, and whether Hudi's default trigger requires a compaction.

    A copy-on-write table has no log files, so its view contains only ``"is_merge_on_read": False``.
    """
    from hudi_table_services.model.table_version import TableType

    hook = hook_of(table)
    if hook.table_config().table_type is not TableType.MERGE_ON_READ:
        return {"is_merge_on_read": False}
    result = hook.preview_compaction()
    report = result.report_as(CompactionReport) or CompactionReport()
    parts = [asdict(part) for plan in report.plans for part in plan.partitions]
    parts.sort(key=lambda part: (-part["log_bytes"], part["partition_path"]))
    return {
        "is_merge_on_read": True,
        "slices": sum(part["slices"] for part in parts),
        "log_files": sum(part["log_files"] for part in parts),
        "log_bytes": sum(part["log_bytes"] for part in parts),
        "reason": result.reason,
        "trigger": report.trigger,
        "partitions": parts[:SHOWN_GROUPS],
        "partition_count": len(parts),
        "skipped": list(report.skipped[:SHOWN_GROUPS]),
    }


def _instant(instant: "Instant", config: "TableConfig") -> dict[str, Any]:
    return {
        "instant": instant.requested_time,
        "requested_ms": moment_ms(instant.requested_time, config),
        "completed_ms": moment_ms(instant.completion_time or "", config),
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
        "by": task_of(write.extra_metadata),
    }


def _sizes(sizes: "FileSizes", limits: "FileSizeLimits", config: "TableConfig") -> dict[str, Any]:
    counts = [0] * (len(_edges(limits)) + 1)
    for size in sizes.sizes_bytes:
        counts[bisect_right(_edges(limits), size)] += 1
    return {
        "instant": sizes.instant.requested_time,
        "at_ms": moment_ms(sizes.instant.visible_from, config),
        "files": len(sizes.sizes_bytes),
        "bytes": sum(sizes.sizes_bytes),
        "counts": counts,
        "unknown": sizes.unknown_count,
    }


def _edges(limits: "FileSizeLimits") -> list[int]:
    """Return the bounds of the size classes: files below the second bound are small."""
    small = limits.small_file_limit_bytes
    return [small // 4, small, max(small + 1, limits.max_file_size_bytes)]


def _size_classes(limits: "FileSizeLimits") -> list[dict[str, Any]]:
    low, small, large = _edges(limits)
    return [
        {"name": f"below {human_bytes(low)}", "is_small": True},
        {"name": f"{human_bytes(low)} to {human_bytes(small)}", "is_small": True},
        {"name": f"{human_bytes(small)} to {human_bytes(large)}", "is_small": False},
        {"name": f"{human_bytes(large)} and more", "is_small": False},
    ]
