"""Clean a table: finish pending cleans, plan, check the plan under the lock, delete files, complete the instant.

The job reads only file names and metadata. It needs no Spark.
"""

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from hudi_table_services.commits.commit_point import require_usable_metadata_table
from hudi_table_services.commits.instants import remove_without_plan, request_instant
from hudi_table_services.commits.measured_lock import measured_lock
from hudi_table_services.commits.pending_writes import clear_pending_writes
from hudi_table_services.commits.stopwatch import Stopwatch
from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.contract.text import counted
from hudi_table_services.errors import CommitConflictError
from hudi_table_services.hudi_format.table_service_plans import encode_clean_plan
from hudi_table_services.jobs.cleaning.deletion import CompletedClean, carry_out
from hudi_table_services.jobs.cleaning.reporting import CleanReporter
from hudi_table_services.model.cleaning import (
    CheckedPartitions,
    CleanPolicy,
    FilesToDelete,
    KeptFiles,
    PartitionChoice,
    PartitionFiles,
    PinnedFiles,
    Retention,
)
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_service_plans import CleanMetadata
from hudi_table_services.model.table_version import TableType
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import REQUEST_ID_KEY
from hudi_table_services.options.cleaning import resolve_clean_options
from hudi_table_services.options.cleaning_job_options import CleanJobOptions
from hudi_table_services.planning.cleaning.kept_files import why_nothing_is_deleted
from hudi_table_services.planning.cleaning.partition import plan_partition
from hudi_table_services.planning.cleaning.retention import retain_from
from hudi_table_services.planning.cleaning.stored_plan import (
    notes_for_the_next_clean,
    partitions_to_recheck,
    planned_names,
    stored_clean_plan,
)
from hudi_table_services.storage.clock import Clock, SystemClock, instant_text
from hudi_table_services.storage.file_listing import list_partitions
from hudi_table_services.storage.file_slices import Visibility
from hudi_table_services.storage.file_versions import partition_files, replacements, visible_times
from hudi_table_services.storage.locks.lock import TableLock
from hudi_table_services.storage.pending_plans import planned_file_names
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.clean_history import (
    PendingClean,
    clean_of_request,
    last_clean,
    pending_cleans,
    savepointed_names,
)
from hudi_table_services.tables.snapshots.archived_completions import with_archived_completions
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from hudi_table_services.tables.table import TableAccess, check_writable

_LOG = logging.getLogger(__name__)
_ATTEMPTS = 3


def clean(request: CleanRequest, *, storage: Storage | None = None, clock: Clock | None = None) -> JobResult:
    """Delete the files that no reader needs any more. A preview only reports these files.

    Raises:
        HudiTableServiceError: see the module `errors`. If files were already deleted, the clean stays pending. The next
            clean job completes it, so that the timeline lists these files as deleted.
    """
    options = resolve_clean_options(request)
    storage = storage or open_storage(request.base_path, request.storage_options)
    return _CleanJob(request, options, storage, clock or SystemClock()).run()


@dataclass(frozen=True, slots=True)
class _TimelineView:
    """The timeline of one round of planning, and the retention that follows from the timeline."""

    timeline: Timeline
    before: CleanMetadata | None
    visible_at: Mapping[str, str]
    floor_cutoff: str
    retention: Retention

    @property
    def recheck_from_last_clean(self) -> frozenset[str] | None:
        return partitions_to_recheck(self.before) if self.before is not None else None

    @property
    def moves_watermark(self) -> bool:
        """Whether the next clean can skip partitions that this job listed, even if this clean deletes no files."""
        known = self.before.earliest_commit_to_retain if self.before is not None else ""
        return self.retention.earliest is not None and self.retention.earliest.requested_time > known


@dataclass(frozen=True, slots=True)
class _CleanProposal:
    """The files to delete, and the files that savepoints and pending plans protected when this clean was planned."""

    pinned: PinnedFiles
    savepoints: frozenset[str]
    outdated: tuple[FilesToDelete, ...]
    recheck_by_next_clean: frozenset[str]
    checked: CheckedPartitions

    @property
    def is_empty(self) -> bool:
        return not any(each.sizes for each in self.outdated)

    @property
    def kept(self) -> KeptFiles:
        return sum((each.kept for each in self.outdated), KeptFiles())


class _CleanJob:
    def __init__(
        self, request: CleanRequest, options: CleanJobOptions, storage: Storage, clock: Clock
    ) -> None:
        self._request = request
        self._options = options
        self._storage = storage
        self._watch = Stopwatch()
        self._report = CleanReporter(request, options, self._watch)
        config = read_table_config(storage)
        updates = not request.preview and options.metadata.enable is not False
        check_writable(config, request.table_name, updates_metadata=updates, merge_on_read=True)
        self._table = TableAccess(
            storage=storage,
            clock=clock,
            config=config,
            metadata=options.metadata,
        )

    def run(self) -> JobResult:
        if not self._request.preview:
            self._finish_earlier_work()
        for attempt in range(_ATTEMPTS):
            view = self._load_view()
            if (too_early := self._too_early(view)) is not None:
                return self._nothing_to_do(f"{too_early} ({view.retention.reason})", view)
            with self._watch.phase("plan"):
                proposal = self._plan(view)
            why_not = self._why_nothing_is_deleted(view, proposal) if proposal.is_empty else ""
            self._report.planned(view.retention, proposal.outdated, proposal.checked.count)
            if self._request.preview:
                return self._report.previewed(why_not)
            if proposal.is_empty and not view.moves_watermark:
                return self._nothing_to_do(why_not, view)
            pending = self._request_clean(view, proposal)
            if pending is not None:
                return self._report.cleaned(self._carry_out(pending), why_not)
            _LOG.info("Commits, savepoints or plans changed during round %d of planning", attempt + 1)
        raise CommitConflictError(
            f"Commits were undone, or savepoints or plans of services changed, {_ATTEMPTS} times in a row.",
            hint="Nothing was deleted; run the request again.",
        )

    def _nothing_to_do(self, reason: str, view: _TimelineView) -> JobResult:
        """Return the result if nothing is left to clean, e.g. if an earlier attempt of this request did the clean."""
        earlier = None
        if self._request.can_be_repeated and not self._request.preview:
            earlier = clean_of_request(self._table, view.timeline, self._request.request_id)
        if earlier is not None:
            return self._report.done_before(earlier, view.retention)
        return self._report.nothing_to_do(reason, view.retention)

    def _finish_earlier_work(self) -> None:
        """Roll back dead writes, then finish pending cleans, oldest first.

        A dead write that stays pending would make this clean keep more files.
        """
        rolled_back = clear_pending_writes(
            self._table, self._lock(), self._request.request_id, self._options.failed_writes
        )
        self._report.rolled_back(rolled_back)
        cleans = pending_cleans(self._table, self._table.load_timeline())
        for abandoned in cleans.abandoned:
            remove_without_plan(self._table, abandoned)
        for pending in cleans.planned:
            _LOG.info("Finishing clean %s, which was left pending", pending.instant.requested_time)
            self._report.finished(pending.instant, self._carry_out(pending, self._visible_names(pending)))

    def _visible_names(self, pending: PendingClean) -> frozenset[str]:
        """Return the names of the files that readers now see in the partitions of a plan.

        A plan that is old, or that Hudi made, can contain such files. The job lists the folders and does not use the
        metadata table, because an error in the metadata table must not lead to the deletion of a visible file.
        """
        partitions = sorted(planned_names(pending.plan))
        snapshot = load_snapshot(self._storage, partitions, metadata_enable=False)
        bases = (s.base_file.file_name for s in snapshot.all_slices if s.base_file)
        logs = (log.file_name for s in snapshot.all_slices for log in s.log_files)
        return frozenset([*bases, *logs])

    def _load_view(self) -> _TimelineView:
        table, options = self._table, self._options.clean
        timeline = table.load_timeline()
        before = last_clean(table, timeline)
        visible_at = visible_times(table.storage, table.timeline_store, table.config, timeline)
        floor_cutoff = self._cutoff(options.floor_hours)
        retention = retain_from(
            timeline,
            options,
            hours_cutoff=self._cutoff(options.hours_retained),
            floor_cutoff=floor_cutoff,
            visible_at=visible_at,
            retained_before=before.earliest_commit_to_retain or None if before else None,
        )
        return _TimelineView(timeline, before, visible_at, floor_cutoff, retention)

    def _too_early(self, view: _TimelineView) -> str | None:
        """Return why it is too early to clean: too few commits since the last clean. None if it is not too early."""
        wanted = self._options.clean.trigger_commits
        since = view.before.last_completed_commit_time if view.before else ""
        count = sum(1 for i in view.timeline.completed_writes if i.requested_time > since)
        has_work = bool(view.recheck_from_last_clean) or (wanted == 1 and view.moves_watermark)
        if count >= wanted or has_work:
            return None
        where = "since the last clean" if view.before else "on the active timeline, which has no clean"
        return f"{counted(count, 'commit')} {where}, and a clean is due after {wanted}"

    def _plan(self, view: _TimelineView) -> _CleanProposal:
        options, retention = self._options.clean, view.retention
        pinned, savepoints = self._pinned_files(view.timeline)
        if options.policy is CleanPolicy.KEEP_LATEST_FILE_VERSIONS or retention.earliest is not None:
            changed = self._changed_partitions(view)
            found, choice = self._partitions(view, changed), self._choice(changed)
        else:
            # The policy keeps every file, so listing the partitions would only cost time.
            found, choice = {}, PartitionChoice.NONE
        outdated = tuple(
            plan_partition(each, options, retention, floor_cutoff=view.floor_cutoff, pinned=pinned.names)
            for each in found.values()
        )
        return _CleanProposal(
            pinned=pinned,
            savepoints=savepoints,
            outdated=outdated,
            recheck_by_next_clean=frozenset(each.partition_path for each in outdated if each.waits),
            checked=CheckedPartitions(choice=choice, count=len(found)),
        )

    def _choice(self, changed: frozenset[str] | None) -> PartitionChoice:
        options = self._options.clean
        if changed is not None:
            return PartitionChoice.CHANGED
        is_partial = bool(options.partition_regex or options.partitions_selected)
        return PartitionChoice.SELECTED if is_partial else PartitionChoice.ALL

    def _why_nothing_is_deleted(self, view: _TimelineView, proposal: _CleanProposal) -> str:
        return why_nothing_is_deleted(
            proposal.kept,
            self._options.clean,
            view.retention,
            commits=len(view.timeline.completed_writes),
            checked=proposal.checked,
        )

    def _cutoff(self, hours: float) -> str:
        return instant_text(self._table.clock.now() - timedelta(hours=hours), self._table.config)

    def _pinned_files(self, timeline: Timeline) -> tuple[PinnedFiles, frozenset[str]]:
        kept = savepointed_names(self._table, timeline)
        planned = frozenset(
            name
            for instant in timeline.pending
            for name in planned_file_names(self._table.timeline_store, instant)
        )
        savepointed = frozenset(name for names in kept.values() for name in names)
        return PinnedFiles(savepointed=savepointed, planned=planned), frozenset(kept)

    def _changed_partitions(self, view: _TimelineView) -> frozenset[str] | None:
        """Return the partitions in which files may have become outdated since the last clean.

        None means all partitions.
        """
        options, before, earliest = self._options.clean, view.before, view.retention.earliest
        if options.partition_regex or options.partitions_selected or not options.is_incremental:
            return None
        start = before.earliest_commit_to_retain if before is not None else ""
        known = any(i.requested_time == start for i in view.timeline.completed_writes)
        if view.recheck_from_last_clean is None or not known or earliest is None:
            return None
        written: set[str] = set()
        for instant in view.timeline.completed_writes:
            if start <= instant.requested_time < earliest.requested_time:
                metadata = self._table.timeline_store.commit_metadata(instant)
                written.update(
                    metadata.partition_to_write_stats, metadata.partition_to_replace_file_ids or {}
                )
        return view.recheck_from_last_clean | written

    def _partitions(self, view: _TimelineView, changed: frozenset[str] | None) -> dict[str, PartitionFiles]:
        version = self._table.config.table_version
        visibility = Visibility.of(view.timeline, has_own_log_instants=version.has_own_log_instants)
        replaced = replacements(self._table.timeline_store, view.timeline, view.visible_at)
        listed = list_partitions(self._storage, changed)
        visibility = with_archived_completions(self._storage, self._table.config, visibility, listed.values())
        has_logs = self._table.config.table_type is TableType.MERGE_ON_READ
        return {
            path: partition_files(path, files, visibility, replaced, view.visible_at, with_logs=has_logs)
            for path, files in sorted(listed.items())
            if self._is_chosen(path)
        }

    def _is_chosen(self, partition_path: str) -> bool:
        options = self._options.clean
        if options.partitions_selected:
            return partition_path in options.partitions_selected
        pattern = options.partition_regex
        return pattern is None or re.fullmatch(pattern, partition_path) is not None

    def _request_clean(self, view: _TimelineView, proposal: _CleanProposal) -> PendingClean | None:
        """Request the clean. Return None if protected files changed, a commit was undone, or a restore is pending."""
        writes = view.timeline.completed_writes
        options = self._options.clean
        # A clean of selected partitions stores no notes for the next clean, which then checks all partitions.
        is_partial = bool(options.partition_regex or options.partitions_selected)
        notes = notes_for_the_next_clean(proposal.savepoints, proposal.recheck_by_next_clean)
        request = self._request
        identity = {REQUEST_ID_KEY: request.request_id} if request.can_be_repeated else {}
        plan = stored_clean_plan(
            proposal.outdated,
            options,
            view.retention,
            base_path=self._storage.base_path,
            last_completed_commit_time=writes[-1].requested_time if writes else "",
            extra_metadata=({} if is_partial else notes) | identity,
        )
        with self._lock() as lock:
            timeline = self._table.load_timeline()
            pinned, _ = self._pinned_files(timeline)
            present = {i.identity for i in timeline.completed_writes}
            is_undone = any(i.identity not in present for i in view.timeline.completed_writes)
            is_restored = any(i.action is Action.RESTORE for i in timeline.pending)
            if pinned != proposal.pinned or is_undone or is_restored:
                return None
            require_usable_metadata_table(self._table)
            instant = request_instant(self._table, Action.CLEAN, encode_clean_plan(plan), lock=lock)
        _LOG.info("Requested clean %s", instant.requested_time)
        return PendingClean(instant, plan)

    def _carry_out(self, pending: PendingClean, visible: frozenset[str] = frozenset()) -> CompletedClean:
        pinned, _ = self._pinned_files(self._table.load_timeline())
        with self._watch.phase("delete"):
            return carry_out(
                self._table,
                pending,
                self._lock(),
                protected=pinned.names | visible,
                parallelism=self._options.parallelism,
            )

    def _lock(self) -> TableLock:
        return measured_lock(
            self._storage, self._options.lock, self._table.clock, self._watch, self._request.request_id
        )
