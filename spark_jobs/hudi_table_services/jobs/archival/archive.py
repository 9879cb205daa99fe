"""Archive the timeline: plan, check files, then write the archive and delete the instants under the table lock.

The job reads only file names and metadata. It needs no Spark.
"""

import logging
from dataclasses import replace

from hudi_table_services.commits.archive_writing import ArchiveWriter, archive_writer
from hudi_table_services.commits.instants import remove_archived
from hudi_table_services.commits.measured_lock import measured_lock
from hudi_table_services.commits.stopwatch import Stopwatch
from hudi_table_services.contract.archival import ArchiveReport, ArchiveRequest
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.contract.text import counted
from hudi_table_services.jobs.archival.checks import archival_facts, barriers
from hudi_table_services.model.archival import ArchivalBound, ArchivalPlan
from hudi_table_services.model.instant import Action
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.options.archival import resolve_archive_options
from hudi_table_services.options.archival_job_options import ArchiveJobOptions
from hudi_table_services.planning.archival import ArchivalFacts, plan_archival
from hudi_table_services.storage.clock import Clock, SystemClock
from hudi_table_services.storage.file_slices import first_write_time
from hudi_table_services.storage.locks.lock import TableLock
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.table import TableAccess, check_writable

_LOG = logging.getLogger(__name__)


def archive(
    request: ArchiveRequest, *, storage: Storage | None = None, clock: Clock | None = None
) -> JobResult:
    """Move the oldest completed instants into the archive. A preview only reports these instants.

    If a job dies, the next job finishes the work of the dead job, and deletes archived instants from the active
    timeline.

    Raises:
        HudiTableServiceError: see the module `errors`. The timeline is unchanged until the archive is written.
    """
    options = resolve_archive_options(request)
    storage = storage or open_storage(request.base_path, request.storage_options)
    config = read_table_config(storage)
    # Archival changes no data file, so the job neither updates nor switches off the metadata table.
    check_writable(config, request.table_name, updates_metadata=False, merge_on_read=True)
    table = TableAccess(storage=storage, clock=clock or SystemClock(), config=config)
    return _ArchiveJob(request, options, table).run()


class _ArchiveJob:
    def __init__(self, request: ArchiveRequest, options: ArchiveJobOptions, table: TableAccess) -> None:
        self._request = request
        self._options = options
        self._table = table
        self._watch = Stopwatch()
        self._barriers: tuple[ArchivalBound, ...] = ()
        self._writer: ArchiveWriter = archive_writer(table, options.archival)
        for warning in options.warnings:
            _LOG.warning("%s", warning)

    def run(self) -> JobResult:
        timeline = self._table.load_timeline()
        plan = self._plan(timeline)
        if self._request.preview:
            return self._result(timeline, plan, Outcome.PLANNED, reason="preview: nothing was written")
        if not plan.instants:
            return self._result(timeline, plan, Outcome.NOTHING_TO_DO, reason=plan.reason)
        lock = measured_lock(
            self._table.storage, self._options.lock, self._table.clock, self._watch, self._request.request_id
        )
        with lock:
            return self._archive(lock, _first_remaining(timeline, plan))

    def _plan(self, timeline: Timeline) -> ArchivalPlan:
        """Plan the archival without the lock. A plan that archives writes requires a slow listing of all partitions."""
        with self._watch.phase("plan"):
            facts = self._facts(timeline, self._writer.already_archived(timeline))
            plan = plan_archival(timeline, self._options.archival, facts)
            if plan.writes:
                self._barriers = barriers(self._table, timeline, plan.writes)
                plan = plan_archival(
                    timeline, self._options.archival, replace(facts, barriers=self._barriers)
                )
        if plan.held_back_by is not None:
            _LOG.warning("Archival: %s", plan.reason)
        return plan

    def _facts(self, timeline: Timeline, archived: frozenset[tuple[str, Action]]) -> ArchivalFacts:
        return archival_facts(self._table, timeline, archived, delta_commits=self._options.delta_commits)

    def _archive(self, lock: TableLock, checked_until: str) -> JobResult:
        """Plan again under the lock, and archive the planned instants.

        Args:
            checked_until: requested time up to which files were checked. Instants after this time are not archived.
        """
        timeline = self._table.load_timeline()
        archived = self._writer.already_archived(timeline)
        end = ArchivalBound(
            time=checked_until, reason="they were added during this run, so the next run archives them"
        )
        facts = replace(
            self._facts(timeline, archived),
            barriers=(*self._barriers, end) if checked_until else self._barriers,
        )
        plan = plan_archival(timeline, self._options.archival, facts)
        if not plan.instants:
            return self._result(timeline, plan, Outcome.NOTHING_TO_DO, reason=plan.reason)
        lock.verify()
        with self._watch.phase("archive"):
            missing = [i for i in plan.instants if i.identity not in archived]
            files = self._writer.write(missing) if missing else ()
        with self._watch.phase("delete"):
            remove_archived(self._table, plan.instants, lock=lock)
        with self._watch.phase("merge"):
            files += self._writer.maintain()
        _LOG.info("Archived %s: %s", counted(len(plan.instants), "instant"), plan.reason)
        return self._result(timeline, plan, Outcome.COMPLETED, files=files)

    def _result(
        self,
        timeline: Timeline,
        plan: ArchivalPlan,
        outcome: Outcome,
        *,
        reason: str = "",
        files: tuple[str, ...] = (),
    ) -> JobResult:
        report = ArchiveReport(
            commits_before=plan.commits,
            archived_commits=len(plan.writes),
            archived_services=len(plan.instants) - len(plan.writes),
            oldest_active=_oldest_remaining(timeline, plan),
            retention=plan.reason,
            held_back_by=plan.held_back_by.time if plan.held_back_by is not None else "",
            instants=tuple(f"{i.requested_time}.{i.action.value}" for i in plan.instants),
            files=files,
        )
        return replace(
            JobResult.of(self._request, outcome),
            reason=reason,
            report=report,
            timings_s=self._watch.seconds,
            warnings=self._options.warnings,
        )


def _oldest_remaining(timeline: Timeline, plan: ArchivalPlan) -> str:
    """Return the requested time of the first write that stays on the active timeline.

    The write counts even if it stays only because of a savepoint.
    """
    leaving = set(plan.instants)
    return next((i.requested_time for i in timeline.completed_writes if i not in leaving), "")


def _first_remaining(timeline: Timeline, plan: ArchivalPlan) -> str:
    """Return the `first_write_time` of the active timeline after archival. From that time on, no write is missing."""
    leaving = set(plan.instants)
    return first_write_time(Timeline(tuple(i for i in timeline if i not in leaving))) or ""
