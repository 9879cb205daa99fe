"""Schedule a compaction: plan without the lock, check the plan under the lock, and request the instant.

The job reads only file names, sizes, plans and commit metadata. It needs neither Spark nor pyarrow.
"""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace

from hudi_table_services.commits.instants import request_instant, withdraw_request
from hudi_table_services.commits.measured_lock import measured_lock
from hudi_table_services.commits.stopwatch import Stopwatch
from hudi_table_services.contract.compaction.compaction import ScheduleCompactionRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.contract.text import counted
from hudi_table_services.errors import CommitConflictError, ObjectNotFoundError
from hudi_table_services.hudi_format.table_service_plans import encode_compaction_plan
from hudi_table_services.jobs.compaction.opening import open_table, rule_of
from hudi_table_services.jobs.compaction.reporting import CompactionReporter
from hudi_table_services.model.compaction.compaction_proposal import (
    CompactionDue,
    CompactionInput,
    CompactionProposal,
)
from hudi_table_services.model.concurrent_change import ChangeKind
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import REQUEST_ID_KEY, CommitMetadata, WriteOperation
from hudi_table_services.options.compaction.compaction_job_options import (
    CompactionJobOptions,
    resolve_compaction_options,
)
from hudi_table_services.options.keys.compaction import MAX_DELTA_COMMITS
from hudi_table_services.planning.compaction.open_writes import open_writes
from hudi_table_services.planning.compaction.planner import plan_compaction
from hudi_table_services.planning.compaction.speed import measured_bytes_per_second
from hudi_table_services.planning.compaction.stored_plan import stored_compaction_plan
from hudi_table_services.planning.compaction.trigger import compaction_due
from hudi_table_services.planning.recovery.undo_rules import refuse_unfinished_restore
from hudi_table_services.storage.clock import Clock, SystemClock, instant_text, zone_at
from hudi_table_services.storage.concurrent_changes import load_commit_changes
from hudi_table_services.storage.cycle_collection import paused_cycle_collection
from hudi_table_services.storage.locks.lock import TableLock
from hudi_table_services.storage.pending_plans import running_writes, workload_profiles
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.archived_timeline import ArchivedTimeline
from hudi_table_services.tables.compaction.compaction_history import CompactionHistory
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot

_LOG = logging.getLogger(__name__)
_ATTEMPTS = 3
_MEASURED_COMPACTIONS = 3


@paused_cycle_collection()  # the snapshot is freed before the collector runs again
def schedule_compaction(
    request: ScheduleCompactionRequest, *, storage: Storage | None = None, clock: Clock | None = None
) -> JobResult:
    """Write a compaction plan to the timeline, or report why there is no plan.

    If an earlier attempt of this request scheduled a plan, the job reports this plan.

    Args:
        storage, clock: for tests. The defaults are the storage of the base path and the clock of the system.

    Raises:
        HudiTableServiceError: see the module `errors`. Nothing was scheduled.
    """
    options = resolve_compaction_options(request)
    storage = storage or open_storage(request.base_path, request.storage_options)
    return _ScheduleJob(request, options, storage, clock or SystemClock()).run()


class _ScheduleJob:
    def __init__(
        self,
        request: ScheduleCompactionRequest,
        options: CompactionJobOptions,
        storage: Storage,
        clock: Clock,
    ) -> None:
        self._request = request
        self._options = options
        self._storage = storage
        self._clock = clock
        self._watch = Stopwatch()
        self._report = CompactionReporter(request, options.warnings, self._watch)
        self._table = open_table(request, options, storage, clock, updates_metadata=False)
        rule_of(self._table, options)  # do not plan what this project could not execute
        self._store = self._table.timeline_store

    def run(self) -> JobResult:
        for attempt in range(_ATTEMPTS):
            found = self._round(attempt)
            if found is not None:
                return found
            _LOG.info("Other writers changed planned file groups during round %d of planning", attempt + 1)
        raise CommitConflictError(
            f"Other writers changed planned file groups {_ATTEMPTS} times in a row.",
            hint="Nothing was scheduled; run the request again.",
        )

    def _round(self, attempt: int) -> JobResult | None:
        """Plan and request once. The result is None if other writers changed the planned file groups in between."""
        if attempt < _ATTEMPTS - 1 or self._request.preview:
            planned = self._plan()
            if isinstance(planned, JobResult):
                return planned
            with self._watch.phase("request"), self._lock() as lock:
                return self._request_if_unchanged(*planned, lock)
        # The table changes faster than the job can plan. Plan under the lock, so that other writers wait.
        with self._lock() as lock:
            planned = self._plan()
            if isinstance(planned, JobResult):
                return planned
            with self._watch.phase("request"):
                return self._request_if_unchanged(*planned, lock)

    def _plan(self) -> JobResult | tuple[TableSnapshot, CompactionProposal]:
        """Plan a compaction and return the proposal, or return the result of the job if there is nothing to request."""
        with self._watch.phase("load table"):
            # A preview changes nothing and makes only one attempt, so it need not read the properties again.
            config = self._table.config if self._request.preview else None
            snapshot = load_snapshot(
                self._storage, config=config, metadata_enable=self._options.metadata.enable
            )
            refuse_unfinished_restore(snapshot.timeline)
            history = CompactionHistory.load(self._store, snapshot.timeline)
        if not self._request.preview and (mine := history.of_request(self._request.request_id)):
            return self._report.scheduled_before(mine)
        self._report.warn_of(self._missing_partitions(snapshot))
        now = instant_text(self._clock.now(), self._table.config)
        with self._watch.phase("plan"):
            operations = _Operations(self._store, snapshot.timeline)
            due = compaction_due(
                snapshot.timeline,
                self._options.plan,
                operations,
                now,
                zone_at(now, self._table.config),
                # A request with `every_n_commits` does not contain the key, so the reason must not name the key.
                "every_n_commits" if self._request.every_n_commits else MAX_DELTA_COMMITS.key,
            )
            self._report.note_trigger(due, is_ignored=self._request.ignore_trigger)
            if not due.is_due and not self._request.ignore_trigger:
                return self._report.nothing_to_do(snapshot, _with_advice(due))
            proposal = plan_compaction(
                self._reserving(snapshot), self._options.plan, self._input(snapshot.timeline, now)
            )
        if not proposal.operations:
            return self._report.nothing_to_do(snapshot, proposal.reason, proposal)
        if self._request.preview:
            return self._report.previewed(proposal)
        return snapshot, proposal

    def _input(self, timeline: Timeline, now: str) -> CompactionInput:
        groups, unknown = open_writes(timeline, self._profiles(timeline))
        return CompactionInput(
            instant_time=now,
            zone=zone_at(now, self._table.config),
            open_file_groups=groups,
            unknown_delta_commits=unknown,
            bytes_per_second=measured_bytes_per_second(self._recent_compactions(timeline)),
        )

    def _profiles(self, timeline: Timeline) -> dict[str, CommitMetadata]:
        """Workload profiles of inflight delta commits. Only plans for table version 6 need them."""
        if self._table.config.table_version.has_own_log_instants:
            return {}
        return workload_profiles(self._store, timeline)

    def _recent_compactions(self, timeline: Timeline) -> Iterator[CommitMetadata]:
        commits = [i for i in timeline.completed_writes if i.action is Action.COMMIT]
        for instant in commits[-_MEASURED_COMPACTIONS:]:
            try:
                yield self._store.commit_metadata(instant)
            except ObjectNotFoundError:
                continue  # it was just archived

    def _reserving(self, snapshot: TableSnapshot) -> TableSnapshot:
        """Reserve the file groups that a running overwrite replaces: their compaction would be of no use."""
        replaced = {
            group: f"of the overwrite {write.instant.requested_time}"
            for write in running_writes(self._store, snapshot.timeline)
            if write.instant.action.comparable is Action.REPLACE_COMMIT
            for group in write.file_groups
        }
        return replace(snapshot, reserved_file_groups={**replaced, **snapshot.reserved_file_groups})

    def _missing_partitions(self, snapshot: TableSnapshot) -> list[str]:
        existing = set(snapshot.partitions)
        selected = self._options.plan.selected_partitions
        return [f"The table has no partition {path!r}." for path in selected if path not in existing]

    def _request_if_unchanged(
        self, snapshot: TableSnapshot, proposal: CompactionProposal, lock: TableLock
    ) -> JobResult | None:
        """Request the instant, unless the planned slices may have changed since the plan was made.

        The function chooses the requested time of the plan first, and then loads the timeline again. Readers add the
        log file of a delta commit to the planned slice if the delta commit completed before the requested time. So each
        such delta commit must be part of the snapshot.
        """
        requested_time = self._store.new_instant_time()
        now = self._store.load()
        if self._has_changed(snapshot, proposal, now):
            return None
        stored = stored_compaction_plan(proposal, self._options.plan)
        plan = replace(stored, extra_metadata={REQUEST_ID_KEY: self._request.request_id})
        instant = request_instant(
            self._table,
            Action.COMPACTION,
            encode_compaction_plan(plan),
            lock=lock,
            requested_time=requested_time,
        )
        if not self._is_seen_by_all_writers(now, instant):
            if not self._names_logs_by_slice:
                _LOG.warning(
                    "Removing the plan of compaction %s, because another writer began or completed a write at the "
                    "same time.",
                    requested_time,
                )
                withdraw_request(self._table, instant)
                return None
            # Names of the other writer's log files may already contain the time of the plan, so the plan must stay.
            self._report.warn_of((_written_beside(requested_time),))
        _LOG.info(
            "Requested compaction %s of %s", requested_time, counted(len(plan.operations), "file slice")
        )
        return self._report.scheduled(proposal, instant)

    def _has_changed(self, snapshot: TableSnapshot, proposal: CompactionProposal, now: Timeline) -> bool:
        planned = {operation.file_slice.file_group_id for operation in proposal.operations}
        archived = ArchivedTimeline(self._storage, snapshot.config)
        if archived.may_have_newer(snapshot.timeline, now):
            return True
        changes = load_commit_changes(self._store, snapshot.timeline, now)
        fresh = [change for change in changes if change.instant not in snapshot.timeline.instants]
        if any(change.file_groups & planned for change in fresh):
            return True
        if any(change.kind is ChangeKind.UNDONE for change in changes):
            return True  # the plan may name log files that the rollback deleted
        if self._table.config.table_version.has_own_log_instants:
            return False
        groups, unknown = open_writes(now, self._profiles(now))
        return bool(unknown) or not planned.isdisjoint(groups)

    def _is_seen_by_all_writers(self, before: Timeline, plan: Instant) -> bool:
        """Whether no write began or completed between the load of the timeline and the request of the plan.

        Only a writer that does not use the table lock can begin or complete a write in this interval. In table version
        6, it is unknown whether the log file of such a write belongs to the previous slice or to the slice that the
        plan begins. In later versions, the log file may belong to the planned slice although the plan does not name it.
        """
        known = {(instant.identity, instant.is_completed) for instant in before}
        for instant in self._store.load():
            if not instant.action.writes_data or instant.identity == plan.identity:
                continue
            if (instant.identity, instant.is_completed) in known:
                continue
            has_own_time = instant.is_completed and instant.completion_time is not None
            if not (has_own_time and instant.visible_from > plan.requested_time) and (
                instant.is_completed or self._names_logs_by_slice
            ):
                return False
        return True

    @property
    def _names_logs_by_slice(self) -> bool:
        return not self._table.config.table_version.has_own_log_instants

    def _lock(self) -> TableLock:
        return measured_lock(
            self._storage, self._options.lock, self._clock, self._watch, self._request.request_id
        )


def _written_beside(requested_time: str) -> str:
    return (
        f"Another writer that does not use the table lock began or ended while compaction {requested_time} was "
        "scheduled. Execute the plan with execute_compaction.py, which also merges log files that the plan does not "
        "name. Hudi would lose the rows of such log files."
    )


class _Operations(Mapping[str, WriteOperation]):
    """Maps the requested time of each completed commit and delta commit to its write operation, read when needed."""

    def __init__(self, store: TimelineStore, timeline: Timeline) -> None:
        self._store = store
        self._instants = {
            i.requested_time: i
            for i in timeline.completed
            if i.action in (Action.COMMIT, Action.DELTA_COMMIT)
        }

    def __getitem__(self, requested_time: str) -> WriteOperation:
        try:
            return self._store.commit_metadata(self._instants[requested_time]).operation_type
        except ObjectNotFoundError:
            return WriteOperation.UNKNOWN  # it was just archived

    def __iter__(self) -> Iterator[str]:
        return iter(self._instants)

    def __len__(self) -> int:
        return len(self._instants)


def _with_advice(due: CompactionDue) -> str:
    """Return why no compaction is due and, if there are delta commits to compact, how to compact at once."""
    advice = "; to compact now, set ignore_trigger (--ignore-trigger)" if due.delta_commits else ""
    return f"{due.reason}{advice}"
