"""Run the services of the metadata table after a change of its table: compaction, then cleaning, then archival."""

import logging
from dataclasses import dataclass, replace
from datetime import timedelta

from hudi_table_services.commits.metadata_table_services.archival import archive
from hudi_table_services.commits.metadata_table_services.cleaning import clean, finish_clean
from hudi_table_services.commits.metadata_table_services.compaction import compact, finish_compaction
from hudi_table_services.commits.metadata_table_services.opened_services import OpenedServices
from hudi_table_services.contract.text import counted
from hudi_table_services.model.instant import Action
from hudi_table_services.options.metadata_settings_values import ServiceSettings
from hudi_table_services.planning.metadata_table.compaction import (
    ServiceDecision,
    Timelines,
    decide_compaction,
    delta_commits_since_compaction,
    not_now,
)
from hudi_table_services.planning.metadata_table.upkeep import (
    MetadataArchivalPlan,
    decide_clean,
    plan_metadata_archival,
)
from hudi_table_services.storage.clock import instant_text
from hudi_table_services.storage.locks.lock import TableLock
from hudi_table_services.storage.metadata_table.opened_table import MetadataTable, naming_folder
from hudi_table_services.tables.clean_history import pending_cleans
from hudi_table_services.tables.table import TableAccess

_LOG = logging.getLogger(__name__)
_CLOCK_SKEW = timedelta(milliseconds=200)
"""Largest difference between the clocks of writers, as in Hudi (TimeGenerator). A compaction at a time that is later
than the clock of a writer would hide the next delta commit of that writer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceReport:
    """The results of the services of the metadata table.

    Attributes:
        finished: instants of services that an earlier run left pending and that this run finished.
        compacted_at, cleaned_at: requested time of the service; empty if the service did not run.
        deleted_files: number of files that cleans deleted.
        archived_instants: number of archived instants of the metadata table.
        reasons: for each service, the reason why it ran or did not run.
    """

    finished: tuple[str, ...] = ()
    compacted_at: str = ""
    cleaned_at: str = ""
    deleted_files: int = 0
    archived_instants: int = 0
    reasons: tuple[str, ...] = ()


def run_services(table: TableAccess, lock: TableLock | None, *, settings: ServiceSettings) -> ServiceReport:
    """Run the services that are due. Call this under the table lock, after the table's instant is completed.

    Pending services are finished first. If a service fails, the next call finishes or repeats the service. Readers and
    the next delta commit are not affected, except in the case that `finish_services` describes.

    Args:
        table: its `config` must have been read under the lock, because the `config` lists the partitions of the
            metadata table. If this list is empty, no service runs.

    Raises:
        TableNotFoundError: the folder of the metadata table does not exist.
        LockNotAcquiredError: another writer took the lock over.
        HudiTableServiceError: see the module `errors`. The table's instant stays completed.
    """
    if not table.config.metadata_partitions:
        return ServiceReport(reasons=("the table has no metadata table",))
    services, report = _finish(OpenedServices.open(table, lock))
    services, report = _compact(services, report, settings)
    services, report = _clean(services, report)
    return _archive(services, report, settings)


def is_any_service_due(table: TableAccess, metadata: MetadataTable, settings: ServiceSettings) -> bool:
    """Whether `run_services` has something to do. This function decides by loaded timelines, and sends no request.

    Args:
        metadata: the metadata table with both timelines, read under the table lock.
    """
    if metadata.timeline.pending:
        return True
    timelines = _timelines(table, metadata)
    if decide_compaction(timelines, settings.max_delta_commits).runs or decide_clean(timelines).runs:
        return True
    return bool(_archival_plan(table, metadata, settings).instants)


def finish_services(table: TableAccess, lock: TableLock | None) -> ServiceReport:
    """Finish the pending services of the metadata table. Call this under the table lock.

    In table version 6, call this before each delta commit of the metadata table: a delta commit appends to the slices
    that a pending compaction is going to replace, and an execution by Hudi would leave the new log files out.

    Raises:
        HudiTableServiceError: see `run_services`.
    """
    if not table.config.metadata_partitions:
        return ServiceReport()
    return _finish(OpenedServices.open(table, lock))[1]


def _finish(services: OpenedServices) -> tuple[OpenedServices, ServiceReport]:
    report = ServiceReport()
    timeline = services.metadata.timeline
    if not timeline.pending:
        return services, report
    with naming_folder():
        cleans = pending_cleans(services.own_table, timeline)
    for abandoned in cleans.abandoned:
        services.verify_lock()
        services.metadata.timeline_store.remove(abandoned)
    for pending in cleans.planned:
        _LOG.info("Finishing clean %s of the metadata table", pending.instant.requested_time)
        result = finish_clean(services, pending)
        report = _with_finished(report, result.instant.requested_time, result.files)
    services = services.reloaded()
    for instant in services.metadata.timeline.pending:
        if instant.action is Action.COMPACTION and not _must_wait(services):
            _LOG.info("Finishing compaction %s of the metadata table", instant.requested_time)
            if finish_compaction(services, instant) is not None:
                report = _with_finished(report, instant.requested_time)
            services = services.reloaded()
    return services, report


def _must_wait(services: OpenedServices) -> bool:
    """Whether the execution of a pending compaction could lose the log files of a write.

    In table version 6, a write that is pending in the table may have appended to the slices of the plan. The blocks of
    that write are not valid yet, so the new base files would not contain them.
    """
    metadata = services.metadata
    if metadata.has_own_log_instants:
        return False
    pending = {i.requested_time for i in metadata.data_timeline.pending}
    return any(i.requested_time in pending for i in metadata.timeline.completed_writes)


def _with_finished(report: ServiceReport, instant_time: str, files: int = 0) -> ServiceReport:
    return replace(
        report,
        finished=(*report.finished, instant_time),
        deleted_files=report.deleted_files + files,
    )


def _compact(
    services: OpenedServices, report: ServiceReport, settings: ServiceSettings
) -> tuple[OpenedServices, ServiceReport]:
    timelines = _timelines(services.table, services.metadata)
    decision = _decided(services, timelines, decide_compaction(timelines, settings.max_delta_commits))
    report = _with_reason(report, "compaction", decision.reason)
    if decision.instant_time is None:
        if len(delta_commits_since_compaction(timelines.metadata)) >= settings.max_delta_commits:
            _LOG.info("The compaction of the metadata table is due, but cannot run yet: %s", decision.reason)
        return services, report
    completed = compact(services, decision.instant_time)
    if completed is None:
        return services, report
    return services.reloaded(), replace(report, compacted_at=completed.requested_time)


def _clean(services: OpenedServices, report: ServiceReport) -> tuple[OpenedServices, ServiceReport]:
    timelines = _timelines(services.table, services.metadata)
    decision = _decided(services, timelines, decide_clean(timelines))
    report = _with_reason(report, "clean", decision.reason)
    if decision.instant_time is None:
        return services, report
    result = clean(services, decision.instant_time)
    if result is None:
        return services, report
    cleaned = replace(
        report,
        cleaned_at=result.instant.requested_time,
        deleted_files=report.deleted_files + result.files,
    )
    return services.reloaded(), cleaned


def _archive(services: OpenedServices, report: ServiceReport, settings: ServiceSettings) -> ServiceReport:
    plan = _archival_plan(services.table, services.metadata, settings)
    report = _with_reason(report, "archival", plan.reason)
    if not plan.instants:
        return report
    archive(services, plan, settings.archival)
    return replace(report, archived_instants=len(plan.instants))


def _archival_plan(
    table: TableAccess, metadata: MetadataTable, settings: ServiceSettings
) -> MetadataArchivalPlan:
    writes, most = len(metadata.timeline.completed_writes), settings.archival.max_commits
    if writes <= most:
        reason = f"the timeline has {counted(writes, 'commit')}; archival begins when it has more than {most}"
        return MetadataArchivalPlan(instants=(), reason=reason)
    return plan_metadata_archival(_timelines(table, metadata), settings.archival.min_commits)


def _timelines(table: TableAccess, metadata: MetadataTable) -> Timelines:
    """Both timelines. `fresh_instant` is the latest time that the clock of any writer can show now."""
    return Timelines(
        version=metadata.config.table_version,
        table=metadata.data_timeline,
        metadata=metadata.timeline,
        fresh_instant=instant_text(table.clock.now() + _CLOCK_SKEW, table.config),
    )


def _decided(services: OpenedServices, timelines: Timelines, decision: ServiceDecision) -> ServiceDecision:
    """Return the decision with an unused instant time, or a refusal if the metadata table already has the instant.

    If the decision contains `fresh_instant` of `_timelines`, a new instant time replaces this time, because an instant
    in the future would hide the next delta commit.
    """
    if decision.instant_time is None:
        return decision
    if decision.instant_time == timelines.fresh_instant:
        return replace(decision, instant_time=services.fresh_instant())
    if services.metadata.timeline.find(decision.instant_time):
        return not_now(f"the metadata table already has the instant {decision.instant_time}")
    return decision


def _with_reason(report: ServiceReport, service: str, reason: str) -> ServiceReport:
    _LOG.debug("%s of the metadata table: %s", service, reason)
    return replace(report, reasons=(*report.reasons, f"{service}: {reason}"))
