"""Report the health of a table: live, outdated and leftover files, delays, and pending instants. Write nothing."""

import logging
from dataclasses import replace
from datetime import timedelta

from hudi_table_services.commits.stopwatch import Stopwatch
from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.health import HealthReport, HealthRequest, PendingInstant
from hudi_table_services.contract.result import FileStats, JobResult, Outcome
from hudi_table_services.errors import CorruptTableError, UnhealthyTableError
from hudi_table_services.jobs.archival.checks import archival_facts
from hudi_table_services.jobs.health.health_files import check_files
from hudi_table_services.jobs.health.metadata_table_check import check_metadata_table
from hudi_table_services.model.cleaning import Retention
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.options.archival import DEFAULT_ARCHIVAL
from hudi_table_services.options.cleaning import resolve_clean_options
from hudi_table_services.options.cleaning_job_options import CleanJobOptions
from hudi_table_services.options.keys.compaction import MAX_DELTA_COMMITS
from hudi_table_services.planning.archival import plan_archival
from hudi_table_services.planning.cleaning.retention import retain_from
from hudi_table_services.planning.commit_count import count_commits
from hudi_table_services.planning.compaction.log_measures import log_measures
from hudi_table_services.planning.compaction.unmerged_logs import read_amplification
from hudi_table_services.planning.health import (
    findings,
    partition_health,
    partition_measures,
    relevant_limits,
    small_file_measures,
    status_of,
    worst_partitions,
)
from hudi_table_services.storage.clock import Clock, SystemClock, instant_moment, instant_text
from hudi_table_services.storage.file_versions import visible_times
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.clean_history import last_clean
from hudi_table_services.tables.clustering_history import ClusteringHistory
from hudi_table_services.tables.overview.size_limits import size_limits
from hudi_table_services.tables.pending_instants import load_pending
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from hudi_table_services.tables.table import TableAccess, check_name
from hudi_table_services.tables.written_files import WrittenFiles

_LOG = logging.getLogger(__name__)
_EXAMPLES = 20


def table_health(
    request: HealthRequest, *, storage: Storage | None = None, clock: Clock | None = None
) -> JobResult:
    """Report the health of a table; see `HealthReport`. The job also reads tables that this release cannot write.

    Raises:
        UnhealthyTableError: a measure is above ``fail_above``, files are missing, or the timeline is damaged. The
            error contains the report.
        HudiTableServiceError: the table cannot be read.
    """
    _clean_options(request)  # reports a wrong key before anything is read
    watch = Stopwatch()
    storage = storage or open_storage(request.base_path, request.storage_options)
    table = TableAccess(storage=storage, clock=clock or SystemClock(), config=read_table_config(storage))
    check_name(table.config, request.table_name)
    with watch.phase("read table"):
        inspected = _inspect(table, request)
    measures = inspected.measures
    found = findings(measures, _warning_limits(request, inspected), request.failure_limits)
    report = replace(inspected, findings=found, status=status_of(found))
    _LOG.info("The state of the table is: %s", report.status)
    if report.status == "failing":
        raise _unhealthy(report)
    return replace(
        JobResult.of(request, Outcome.COMPLETED),
        table_name=table.config.table_name,
        files_before=report.live_files,
        files_after=report.live_files,
        report=report,
        timings_s=watch.seconds,
        warnings=tuple(f"{each.statement}. {each.advice}" for each in found),
    )


def _warning_limits(request: HealthRequest, report: HealthReport) -> dict[str, float]:
    """Return the default limits that are relevant for this report, and all limits that the request sets."""
    relevant = relevant_limits(request.warning_limits, report.measures, report.partition_count)
    return {**relevant, **request.own_warning_limits}


def _unhealthy(report: HealthReport) -> UnhealthyTableError:
    failed = [each for each in report.findings if each.level == "fail"]
    causes = "; ".join(each.statement for each in failed)
    message = f"The table is not healthy: {causes}."
    if report.damage:
        message = f"The timeline cannot be trusted: {report.damage}"
    hint = " ".join(dict.fromkeys(each.advice for each in failed))
    return UnhealthyTableError(message, hint=hint, evidence=report)


def _inspect(table: TableAccess, request: HealthRequest) -> HealthReport:
    config = table.config
    report = HealthReport(
        table_version=int(config.table_version),
        table_type=config.table_type.value,
        metadata_table=config.metadata_partitions,
    )
    try:
        snapshot = load_snapshot(table.storage, metadata_enable=_clean_options(request).metadata.enable)
        return _inspect_snapshot(table, request, snapshot, report)
    except CorruptTableError as error:
        return replace(report, damage=str(error), measures={"damaged": 1.0})


def _inspect_snapshot(
    table: TableAccess, request: HealthRequest, snapshot: TableSnapshot, report: HealthReport
) -> HealthReport:
    timeline = snapshot.timeline
    written = WrittenFiles(table.timeline_store)
    report = _with_small_file_limit(report, request, written, timeline)
    partitions = partition_health(snapshot, report.small_file_limit_bytes)
    pending = load_pending(table, timeline)
    cleaned = last_clean(table, timeline)
    retained_before = cleaned.earliest_commit_to_retain if cleaned else ""
    retention = _retention(table, request, timeline, retained_before)
    files = check_files(table, snapshot, written, retained_before)
    metadata = check_metadata_table(table, snapshot, files.listed, is_deep=request.deep)
    history = ClusteringHistory.load(table.timeline_store, timeline)
    counted = count_commits(timeline, history.requested_times, written.operations(timeline))
    last = _newest(timeline, Action.CLEAN)
    archival = plan_archival(
        timeline,
        DEFAULT_ARCHIVAL,
        archival_facts(table, timeline, frozenset(), delta_commits=MAX_DELTA_COMMITS.default_value),
    )
    measures = {
        "damaged": 0.0,
        "active_commits": float(len(timeline.completed_writes)),
        "commits_since_clustering": float(counted.count),
        "commits_since_clean": float(_since(timeline, last)),
        "commits_to_archive": float(len(archival.writes)),
        "commits_to_clean": float(_cleanable(timeline, retention, retained_before)),
        **_commit_age(table, timeline),
        "hours_ahead": _hours_ahead(table, timeline),
        **log_measures(read_amplification(snapshot), pending, lambda time: _age_hours(table, time)),
        **_pending_measures(pending),
        **small_file_measures(partitions),
        **partition_measures(partitions),
        **files.measures,
        **metadata.measures,
    }
    writes = timeline.completed_writes
    return replace(
        report,
        live_files=FileStats.of([each.size_bytes for each in snapshot.all_slices]),
        partition_count=len(partitions),
        last_commit=writes[-1].requested_time if writes else "",
        last_clean=last.requested_time if last else "",
        last_clustering=max(
            (each.instant.requested_time for each in history.clusterings if each.instant.is_completed),
            default="",
        ),
        retention=retention.reason,
        archival=archival.reason,
        measures=dict(sorted(measures.items())),
        pending=pending,
        partitions=worst_partitions(partitions),
        savepoints=tuple(i.requested_time for i in timeline.completed if i.action is Action.SAVEPOINT),
        leftover_examples=files.leftovers[:_EXAMPLES],
        missing_examples=files.missing[:_EXAMPLES],
        foreign_examples=files.foreign[:_EXAMPLES],
        metadata_table_state=metadata.state,
    )


def _with_small_file_limit(
    report: HealthReport, request: HealthRequest, written: WrittenFiles, timeline: Timeline
) -> HealthReport:
    if request.small_file_limit_bytes:
        limit, source = request.small_file_limit_bytes, "request"
    else:
        limits = size_limits((i, metadata.extra_metadata) for i, metadata in written.writes(timeline))
        limit, source = limits.small_file_limit_bytes, "writers" if limits.recorded_by else "default"
    return replace(report, small_file_limit_bytes=limit, small_file_limit_source=source)


def _clean_options(request: HealthRequest) -> CleanJobOptions:
    return resolve_clean_options(CleanRequest(base_path=request.base_path, options=request.options))


def _retention(
    table: TableAccess, request: HealthRequest, timeline: Timeline, retained_before: str
) -> Retention:
    """Return the retention that a clean with the options of the request would have.

    The function ignores ``hoodie.airflow.clean.floor.hours``, which protects running queries for this number of hours,
    because the protection then ends by itself.
    """
    options = _clean_options(request).clean
    visible_at = visible_times(table.storage, table.timeline_store, table.config, timeline)
    return retain_from(
        timeline,
        options,
        hours_cutoff=_hours_ago(table, options.hours_retained),
        floor_cutoff=_hours_ago(table, 0),
        visible_at=visible_at,
        retained_before=retained_before or None,
    )


def _hours_ago(table: TableAccess, hours: float) -> str:
    return instant_text(table.clock.now() - timedelta(hours=hours), table.config)


def _cleanable(timeline: Timeline, retention: Retention, retained_before: str) -> int:
    if retention.earliest is None:
        return 0
    return sum(
        1
        for i in timeline.completed_writes
        if retained_before <= i.requested_time < retention.earliest.requested_time
    )


def _newest(timeline: Timeline, action: Action) -> Instant | None:
    return next((i for i in reversed(timeline.completed) if i.action is action), None)


def _since(timeline: Timeline, instant: Instant | None) -> int:
    start = instant.requested_time if instant else ""
    return sum(1 for i in timeline.completed_writes if i.requested_time > start)


def _commit_age(table: TableAccess, timeline: Timeline) -> dict[str, float]:
    writes = timeline.completed_writes
    age = _age_hours(table, writes[-1].requested_time) if writes else None
    return {} if age is None else {"hours_since_commit": age}


def _age_hours(table: TableAccess, requested_time: str) -> float | None:
    """Hours since an instant was requested, at least 0; None if its digits are not a date."""
    moment = instant_moment(requested_time, table.config)
    if moment is None:
        return None
    return round(max(0.0, (table.clock.now() - moment).total_seconds()) / 3600, 3)


def _hours_ahead(table: TableAccess, timeline: Timeline) -> float:
    newest = max((i.completion_time or i.requested_time for i in timeline), default="")
    moment = instant_moment(newest, table.config)
    if moment is None:
        return 0.0
    return round(max(0.0, (moment - table.clock.now()).total_seconds()) / 3600, 3)


def _pending_measures(pending: tuple[PendingInstant, ...]) -> dict[str, float]:
    return {
        "pending_instants": float(len(pending)),
        "dead_instants": float(sum(1 for each in pending if each.is_dead)),
        "oldest_pending_hours": round(max((each.age_s for each in pending), default=0.0) / 3600, 3),
    }
