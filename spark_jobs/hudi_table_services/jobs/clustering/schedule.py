"""Schedule a clustering: plan without the lock, check the plan under the lock, and request the instants.

The job reads no rows: only file names, plans, commit metadata, and the footers of small files whose commits were
archived. It needs no Spark.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace

from hudi_table_services.commits.instants import request_instant
from hudi_table_services.commits.measured_lock import measured_lock
from hudi_table_services.commits.stopwatch import Stopwatch
from hudi_table_services.contract.clustering import ScheduleClusteringRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.contract.text import counted, did_you_mean
from hudi_table_services.errors import CommitConflictError, InvalidRequestError
from hudi_table_services.hudi_format.avro_schema import from_avro_json
from hudi_table_services.hudi_format.table_service_plans import encode_requested_replace
from hudi_table_services.jobs.clustering.clustered_table import open_table, refuse_bucket_index, rule_of
from hudi_table_services.jobs.clustering.reporting import ClusteringReporter
from hudi_table_services.model.clustering import (
    ClusteringInput,
    ClusteringProposal,
    CommitCount,
    Layout,
    PlannedGroup,
    PlanStrategyKind,
    SettledSlice,
)
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.schema import ArrayType, MapType, StructType
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.table_version import TableType, TableVersion
from hudi_table_services.model.write_stat import REQUEST_ID_KEY, CommitMetadata
from hudi_table_services.options.clustering import resolve_clustering_options
from hudi_table_services.options.clustering_job_options import ClusteringJobOptions
from hudi_table_services.options.keys.clustering import ASYNC_MAX_COMMITS, MAX_PENDING_PLANS
from hudi_table_services.planning.clustering.groups import warn_of_lone_files
from hudi_table_services.planning.clustering.option_checks import check_clustering_options
from hudi_table_services.planning.clustering.plan import plan_clustering
from hudi_table_services.planning.clustering.stored_plan import stored_plan
from hudi_table_services.planning.commit_count import gate_reason
from hudi_table_services.planning.recovery.undo_rules import refuse_unfinished_restore
from hudi_table_services.storage.clock import Clock, SystemClock, instant_text
from hudi_table_services.storage.concurrent_changes import load_commit_changes
from hudi_table_services.storage.locks.lock import TableLock
from hudi_table_services.storage.pending_plans import groups_being_written
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.archived_timeline import ArchivedTimeline
from hudi_table_services.tables.clustering_history import PARENT_KEY, ClusteringHistory
from hudi_table_services.tables.commit_counter import CommitCounter
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot

_LOG = logging.getLogger(__name__)
_ATTEMPTS = 3


def schedule_clustering(
    request: ScheduleClusteringRequest, *, storage: Storage | None = None, clock: Clock | None = None
) -> JobResult:
    """Write clustering plans to the timeline, or report why there is no plan.

    If an earlier attempt of this request scheduled plans, the job reports those plans.

    Args:
        storage, clock: for tests. The defaults are the storage of the base path and the clock of the system.

    Raises:
        HudiTableServiceError: see the module `errors`. Either nothing was scheduled, or only the first few of several
            plans were scheduled. The next attempt of this request reports the plans that were scheduled.
    """
    options = resolve_clustering_options(request)
    check_clustering_options(options.plan)
    storage = storage or open_storage(request.base_path, request.storage_options)
    return _ScheduleJob(request, options, storage, clock or SystemClock()).run()


class _ScheduleJob:
    def __init__(
        self,
        request: ScheduleClusteringRequest,
        options: ClusteringJobOptions,
        storage: Storage,
        clock: Clock,
    ) -> None:
        self._request = request
        self._options = options
        self._storage = storage
        self._clock = clock
        self._watch = Stopwatch()
        self._report = ClusteringReporter(request, options.warnings, self._watch)
        self._table = open_table(request, options, storage, clock, executes=False)
        rule_of(self._table, options)  # do not plan what this project could not execute

    def run(self) -> JobResult:
        if self._options.cancels_expired and not self._request.preview:
            from hudi_table_services.jobs.clustering.cancel import cancel_expired  # needs pyarrow

            refuse_unfinished_restore(self._table.load_timeline())
            cancel_expired(self._table, self._options, self._request.request_id)
        for attempt in range(_ATTEMPTS):
            with self._watch.phase("load table"):
                # A preview changes nothing and makes only one attempt, so it need not read the properties again.
                config = self._table.config if self._request.preview else None
                snapshot = load_snapshot(
                    self._storage, config=config, metadata_enable=self._options.metadata.enable
                )
                refuse_unfinished_restore(snapshot.timeline)
                refuse_bucket_index(self._table, snapshot, self._options.metadata.enable)
                history = ClusteringHistory.load(self._table.timeline_store, snapshot.timeline)
            if not self._request.preview and (mine := history.of_request(self._request.request_id)):
                return self._report.scheduled_before(mine)
            _check_sort_columns(snapshot, self._options.plan.layout)
            self._report.warn_of(_missing_partitions(snapshot, self._options.plan.selected_partitions))
            commits = self._count(snapshot, history)
            if (too_early := self._too_early(history, commits)) is not None:
                return self._report.nothing_to_do(snapshot, too_early, commits)
            with self._watch.phase("plan"):
                proposal = plan_clustering(
                    self._reserving(snapshot), self._options.plan, self._plan_input(snapshot, history)
                )
            if not proposal.groups:
                return self._report.nothing_to_do(snapshot, proposal.reason, commits, proposal)
            self._report.warn_of(warn_of_lone_files(proposal.groups, self._options.plan))
            if self._request.preview:
                return self._report.previewed(snapshot, proposal, self._options.plan, commits)
            instants = self._request_if_unchanged(snapshot, proposal)
            if instants:
                return self._report.scheduled(snapshot, proposal, self._options.plan, commits, instants)
            _LOG.info("Other writers changed planned file groups during round %d of planning", attempt + 1)
        raise CommitConflictError(
            f"Other writers changed planned file groups {_ATTEMPTS} times in a row.",
            hint="Nothing was scheduled; run the request again.",
        )

    def _count(self, snapshot: TableSnapshot, history: ClusteringHistory) -> CommitCount:
        timeline = snapshot.timeline
        archive = ArchivedTimeline(self._storage, snapshot.config) if timeline.may_have_archive else None
        counter = CommitCounter(self._table.timeline_store, timeline, archive)
        if self._options.plan.parity:
            return counter.count_all(history)
        return counter.count(
            history=history,
            enough=max((gate.wanted for gate in self._options.gates), default=0),
            row_writes=_commits_with_files(snapshot),
        )

    def _too_early(self, history: ClusteringHistory, commits: CommitCount) -> str | None:
        for gate in self._options.gates:
            # A request with `every_n_commits` does not contain the key, so the reason must not name the key.
            if self._request.every_n_commits and gate.key == ASYNC_MAX_COMMITS.key:
                gate = replace(gate, key="")
            if (reason := gate_reason(commits, gate)) is not None:
                return reason
        cap, waiting = self._options.plan.max_pending_plans, {each.schedule for each in history.pending}
        if cap and len(waiting) >= cap:
            return (
                f"the table has {counted(len(waiting), 'pending plan')}, but {MAX_PENDING_PLANS} allows only {cap}: "
                "execute or cancel plans first"
            )
        return None

    def _plan_input(self, snapshot: TableSnapshot, history: ClusteringHistory) -> ClusteringInput:
        newest = history.newest
        return ClusteringInput(
            settled={**self._settled_by_footer(snapshot), **history.settled(snapshot)},
            overdue_partitions=newest.plan.missing_schedule_partitions if newest is not None else (),
            hour=int(instant_text(self._clock.now(), self._table.config)[8:10]),
            commits=self._commits(snapshot),
        )

    def _commits(self, snapshot: TableSnapshot) -> tuple[tuple[Instant, CommitMetadata], ...]:
        if self._options.plan.plan_strategy is not PlanStrategyKind.COMMIT_BASED:
            return ()
        store, earliest = self._table.timeline_store, self._options.plan.earliest_commit
        later = [i for i in snapshot.timeline.completed_writes if i.requested_time > earliest]
        return tuple((instant, store.commit_metadata(instant)) for instant in later)

    def _settled_by_footer(self, snapshot: TableSnapshot) -> dict[FileGroupId, SettledSlice]:
        """Read the layouts of small files whose commits were archived; empty if the plan does not sort rows.

        Slices with log files are left out: their rows have changed since their base files were written.
        """
        if not self._options.plan.layout.is_sorted:
            return {}
        known = {i.requested_time for i in snapshot.timeline.completed_writes}
        unknown = [s for s in snapshot.all_slices if s.base_instant_time not in known and self._is_small(s)]
        if not unknown:
            return {}
        from hudi_table_services.execution.clustering.file_layouts import read_layouts

        found = read_layouts(self._storage, [s.base_file_path for s in unknown if s.base_file_path])
        return {s.file_group_id: found[s.base_file_path] for s in unknown if s.base_file_path in found}

    def _is_small(self, file_slice: FileSlice) -> bool:
        base = file_slice.base_file
        limit = self._options.plan.small_file_limit_bytes
        return base is not None and base.size_bytes < limit and not file_slice.log_files

    def _reserving(self, snapshot: TableSnapshot) -> TableSnapshot:
        """Reserve the file groups that are being rewritten by a running write.

        If a plan contained one of these file groups, the write or the execution of the plan would fail.
        """
        written = groups_being_written(self._table.timeline_store, snapshot.timeline)
        return replace(snapshot, reserved_file_groups={**written, **snapshot.reserved_file_groups})

    def _request_if_unchanged(
        self, snapshot: TableSnapshot, proposal: ClusteringProposal
    ) -> tuple[Instant, ...]:
        """Request the instants, unless a planned file group has changed since the plan was made."""
        lock = measured_lock(
            self._storage, self._options.lock, self._clock, self._watch, self._request.request_id
        )
        with self._watch.phase("request"), lock:
            store = self._table.timeline_store
            now = store.load()
            planned = {s.file_group_id for group in proposal.groups for s in group.slices}
            if ArchivedTimeline(self._storage, snapshot.config).may_have_newer(snapshot.timeline, now):
                return ()
            changes = load_commit_changes(store, snapshot.timeline, now)
            fresh = [c for c in changes if c.instant not in snapshot.timeline.instants]
            written = groups_being_written(store, now)
            if any(c.file_groups & planned for c in fresh) or not planned.isdisjoint(written):
                return ()
            return self._request_plans(proposal, lock)

    def _request_plans(self, proposal: ClusteringProposal, lock: TableLock) -> tuple[Instant, ...]:
        instants: list[Instant] = []
        store = self._table.timeline_store
        is_v6 = self._table.config.table_version is TableVersion.V6
        action = Action.REPLACE_COMMIT if is_v6 else Action.CLUSTERING
        for groups in _portions(proposal.groups, self._options.plan.groups_per_plan):
            requested_time = store.new_instant_time()
            extra = {
                REQUEST_ID_KEY: self._request.request_id,
                PARENT_KEY: instants[0].requested_time if instants else requested_time,
            }
            plan = stored_plan(groups, proposal, self._options.plan, self._to_uri)
            content = encode_requested_replace(plan, extra)
            instants.append(
                request_instant(self._table, action, content, lock=lock, requested_time=requested_time)
            )
            _LOG.info("Requested clustering %s with %s", requested_time, counted(len(groups), "group"))
        return tuple(instants)

    def _to_uri(self, path: str) -> str:
        """URI of a file. Hudi expects a scheme, and does not decode the rest of the URI."""
        base = self._storage.base_path.rstrip("/")
        return f"file://{base}/{path}" if base.startswith("/") else f"{base}/{path}"


def _commits_with_files(snapshot: TableSnapshot) -> frozenset[str]:
    """Return the requested times of the writes with live files.

    The result is empty for merge-on-read tables, where a commit can be a compaction.
    """
    if snapshot.config.table_type is not TableType.COPY_ON_WRITE:
        return frozenset()
    return frozenset(s.base_instant_time for s in snapshot.all_slices)


def _missing_partitions(snapshot: TableSnapshot, selected: Sequence[str]) -> list[str]:
    existing = set(snapshot.partitions)
    return [f"The table has no partition {path!r}." for path in selected if path not in existing]


def _portions(groups: Sequence[PlannedGroup], size: int) -> list[Sequence[PlannedGroup]]:
    if size <= 0:
        return [groups]
    return [groups[start : start + size] for start in range(0, len(groups), size)]


def _check_sort_columns(snapshot: TableSnapshot, layout: Layout) -> None:
    """Raise InvalidRequestError if the table lacks a sort column, or if the type of a sort column has no order."""
    if not layout.is_sorted or not snapshot.schema_json:
        return
    schema = from_avro_json(snapshot.schema_json)
    for name in layout.columns:
        if name not in schema.names:
            same = [each for each in schema.names if each.lower() == name.lower()]
            raise InvalidRequestError(
                f"The table has no column {name!r}, by which the clustering is to sort.",
                hint=f"The table has {same[0]!r}; only the case differs."
                if same
                else f"{did_you_mean(name, schema.names)} Its columns are: {', '.join(schema.names)}.".strip(),
            )
        if isinstance(schema.field(name).type, ArrayType | MapType | StructType):
            raise InvalidRequestError(
                f"Column {name!r} is of type {schema.field(name).type}, which has no order.",
                hint="Sort by columns that contain numbers, strings, dates or times.",
            )
