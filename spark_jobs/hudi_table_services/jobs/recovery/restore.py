"""Restore a table to a savepoint: undo all later instants, newest first, under one restore instant, as Hudi does.

The job writes the plan, with the request id, to the timeline before it undoes the first instant. If a restore dies, the
next restore job finishes the plan. Until then, writes, clusterings, cleans, rollbacks, repairs and new savepoints of
the table fail.
"""

import logging
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hudi_table_services.commits.commit_point import (
    build_metadata_table_after_restore,
    complete,
    drop_metadata_table_before_restore,
    is_in_base_files,
    require_undoable,
)
from hudi_table_services.commits.finished_writes import remove_traces_of_finished_writes
from hudi_table_services.commits.instants import begin_restore, remove_without_plan, request_instant
from hudi_table_services.commits.table_change import NoFiles
from hudi_table_services.commits.undo import finish_pending_rollbacks, undo_in_place
from hudi_table_services.commits.undo_checks import require_dead
from hudi_table_services.commits.undo_logs import require_undoable_logs
from hudi_table_services.commits.undo_plan import require_undone_logs
from hudi_table_services.contract.recovery import RestoreRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.contract.text import counted
from hudi_table_services.errors import InvalidRequestError, MalformedMetadataError
from hudi_table_services.hudi_format.avro_container import container_notes
from hudi_table_services.hudi_format.table_service_plans import (
    decode_restore_plan,
    decode_savepoint_metadata,
    encode_restore_metadata,
    encode_restore_plan,
)
from hudi_table_services.jobs.recovery.reporting import RecoveryReporter, describe
from hudi_table_services.jobs.recovery.saved_files import require_inputs, require_whole
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.table_service_plans import (
    InstantReference,
    RestoreMetadata,
    RestorePlan,
    RollbackMetadata,
    SavepointPartition,
)
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import REQUEST_ID_KEY
from hudi_table_services.options.timeline_only import ServiceOptions, resolve_service_options
from hudi_table_services.planning.recovery.undo_rules import restored_instants
from hudi_table_services.storage.clock import Clock, SystemClock
from hudi_table_services.storage.damage import naming
from hudi_table_services.storage.locks.lock import TableLock, table_lock
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.table import TableAccess, check_writable
from hudi_table_services.tables.timeline_edge import require_nothing_hidden, require_nothing_shown

_LOG = logging.getLogger(__name__)
_DROPPED_KEY = "airflow.dropped_metadata_partitions"
"""Note in the plan of a restore: partitions of the metadata table that the restore drops and builds again."""


def restore(
    request: RestoreRequest, *, storage: Storage | None = None, clock: Clock | None = None
) -> JobResult:
    """Undo all instants after the savepoint. A preview only reports these instants.

    A request restores the table only once, even if commits were written after the restore.

    Raises:
        CorruptTableError: the metadata table is damaged, so the undone writes cannot be removed from the metadata
            table.
        InvalidRequestError: the savepoint does not exist, a later savepoint protects a commit that would be undone, or
            files of the savepoint are missing.
        InstantHeldError: a pending write has a fresh heartbeat; nothing was done.
        StorageError: a file could not be deleted; the next run finishes the restore.
    """
    options = resolve_service_options(request)
    storage = storage or open_storage(request.base_path, request.storage_options)
    config = read_table_config(storage)
    check_writable(
        config,
        request.table_name,
        updates_metadata=False,
        merge_on_read=True,
    )
    table = TableAccess(
        storage=storage,
        clock=clock or SystemClock(),
        config=config,
        metadata=options.metadata,
    )
    job = _RestoreJob(request, options, table)
    if request.preview:
        return job.preview()
    result = job.run()
    remove_traces_of_finished_writes(table)
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingRestore:
    """A restore on the timeline that is not completed.

    Attributes:
        request_id: empty if Hudi requested the restore.
        dropped: partitions of the metadata table that the restore drops and builds again.
    """

    instant: Instant
    plan: RestorePlan
    request_id: str = ""
    dropped: tuple[str, ...] = ()


def pending_restores(table: TableAccess, timeline: Timeline) -> tuple[PendingRestore, ...]:
    """Return pending restores, oldest first. Remove a restore without a plan from the timeline: it has undone nothing.

    Call this function under the table lock.

    Raises:
        MalformedMetadataError: a plan cannot be read, or is empty although its restore is inflight.
    """
    found = []
    for instant in timeline.pending:
        if instant.action is not Action.RESTORE:
            continue
        content = table.timeline_store.read_requested(instant)
        if content:
            with naming(table.timeline_store.requested_path_of(instant)):
                notes = container_notes(content)
                plan = decode_restore_plan(content)
            id_, dropped = notes.get(REQUEST_ID_KEY, ""), _dropped_in(notes)
            found.append(PendingRestore(instant=instant, plan=plan, request_id=id_, dropped=dropped))
        elif instant.state is InstantState.INFLIGHT:
            raise MalformedMetadataError(
                f"{table.timeline_store.requested_path_of(instant)} is empty although the restore has started.",
                path=table.timeline_store.requested_path_of(instant),
                hint="The table may be between two states. Copy the plan back from a backup, then restore to the same "
                "savepoint again; until then, writes, clusterings, cleans and rollbacks of this table fail.",
            )
        else:
            remove_without_plan(table, instant)
    return tuple(found)


def carry_out_restore(table: TableAccess, pending: PendingRestore, lock: TableLock) -> Instant:
    """Undo the remaining instants of the plan, newest first, and complete the restore.

    Call this function under the table lock; calling it twice does no harm. For instants that an earlier attempt undid,
    the metadata of the restore contains only time and action, but no deleted files.

    Raises:
        InstantHeldError: a pending instant has a fresh heartbeat.
    """
    started = table.clock.now()
    plan, instant = pending.plan, pending.instant
    references = plan.instants_to_rollback
    timeline = table.load_timeline()
    present = {r.requested_time: _writes_at(timeline, r.requested_time) for r in references}
    require_dead(table, (i for each in present.values() for i in each))
    require_undone_logs(table, [i for each in present.values() for i in each])
    if is_in_base_files(table, [i for each in present.values() for i in each]):
        drop_metadata_table_before_restore(table, lock)
    if instant.state is InstantState.REQUESTED:
        instant = begin_restore(table, instant)
    rollbacks: dict[str, tuple[RollbackMetadata, ...]] = {}
    for reference in references:
        time = reference.requested_time
        lock.verify()
        undone = tuple(undo_in_place(table, i) for i in present[time])
        rollbacks[time] = undone or (_undone_before(table, reference),)
        _LOG.info("Undid %s %s", reference.action, time)
    metadata = RestoreMetadata(
        start_restore_time=instant.requested_time,
        time_taken_ms=max(0, int((table.clock.now() - started).total_seconds() * 1000)),
        instants_rolled_back=tuple(r.requested_time for r in references),
        rollbacks=rollbacks,
        restored_instants=references,
    )
    completed = complete(table, instant, NoFiles(content=encode_restore_metadata(metadata)), lock=lock)
    _LOG.info("Completed restore %s to savepoint %s", completed.requested_time, plan.savepoint_to_restore)
    return completed


def _dropped_in(notes: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(filter(None, notes.get(_DROPPED_KEY, "").split(",")))


def _writes_at(timeline: Timeline, requested_time: str) -> tuple[Instant, ...]:
    return tuple(i for i in timeline.find(requested_time) if i.action.writes_data)


def _undone_before(table: TableAccess, reference: InstantReference) -> RollbackMetadata:
    return RollbackMetadata(
        start_rollback_time=table.timeline_store.new_instant_time(),
        time_taken_ms=0,
        total_files_deleted=0,
        commits_rolled_back=(reference.requested_time,),
        partitions={},
        instants_rolled_back=(reference,),
    )


class _RestoreJob:
    def __init__(self, request: RestoreRequest, options: ServiceOptions, table: TableAccess) -> None:
        self._request = request
        self._table = table
        self._lock = table_lock(table.storage, options.lock, table.clock, request.request_id)
        self._report = RecoveryReporter(request, options.warnings, savepoint=request.savepoint)

    def preview(self) -> JobResult:
        timeline = self._table.load_timeline()
        pending = [i for i in timeline.pending if i.action is Action.RESTORE]
        chosen = self._chosen(timeline)
        if not chosen and not pending:
            return self._report.nothing_to_do(self._nothing_written())
        self._report.chosen([describe(self._table, i, preview=True) for i in chosen])
        if dropped := self._to_drop(chosen):
            self._report.warn(
                f"Base files of the metadata table contain writes that the restore undoes, so the restore drops "
                f"the partitions {', '.join(dropped)} of the metadata table and builds them again."
            )
        else:
            require_undoable(self._table, chosen)
        self._report.left_alone(
            f"restore {i.requested_time} was not finished; the next restore finishes it first"
            for i in pending
        )
        return self._report.previewed()

    def run(self) -> JobResult:
        with self._lock as lock:
            timeline = self._table.load_timeline()
            if (earlier := self._done_before(timeline)) is not None:
                done, dropped = earlier
                self._build_again(dropped, lock)
                return self._report.done(
                    done, reused=True, reason="an earlier attempt of this request restored the table"
                )
            mine = None
            for pending in pending_restores(self._table, timeline):
                _LOG.info("Finishing restore %s, which was left pending", pending.instant.requested_time)
                completed = carry_out_restore(self._table, pending, lock)
                self._build_again(pending.dropped, lock)
                self._report.finished((completed,))
                if pending.request_id == self._request.request_id:
                    mine = completed
            self._report.finished(finish_pending_rollbacks(self._table, self._table.load_timeline()))
            return self._restore(lock, mine)

    def _restore(self, lock: TableLock, mine: Instant | None) -> JobResult:
        """Undo all instants after the savepoint.

        Args:
            mine: restore of this request that the job has just finished, or None. Commits that other writers made
                before this restore was finished are undone as well, because they may contain rows that were merged with
                rows of undone commits.
        """
        timeline = self._table.load_timeline()
        chosen = self._chosen(timeline)
        if not chosen and mine is not None:
            return self._report.done(mine)
        if not chosen:
            return self._report.nothing_to_do(self._nothing_written())
        require_dead(self._table, (i for i in timeline.pending if i.action.writes_data))
        self._report.chosen([describe(self._table, i, preview=False) for i in chosen])
        plan = RestorePlan(
            instants_to_rollback=tuple(
                InstantReference(requested_time=i.requested_time, action=i.action.value) for i in chosen
            ),
            savepoint_to_restore=self._request.savepoint,
        )
        dropped = self._to_drop(chosen)
        if not dropped:
            require_undoable(self._table, chosen)
            require_undoable_logs(self._table, chosen)
        notes = {REQUEST_ID_KEY: self._request.request_id}
        if dropped:
            notes[_DROPPED_KEY] = ",".join(dropped)
        content = encode_restore_plan(plan, notes=notes)
        instant = request_instant(self._table, Action.RESTORE, content, lock=lock)
        _LOG.info(
            "Requested restore %s, which undoes %s", instant.requested_time, counted(len(chosen), "instant")
        )
        id_ = self._request.request_id
        pending = PendingRestore(instant=instant, plan=plan, request_id=id_, dropped=dropped)
        done = carry_out_restore(self._table, pending, lock)
        self._build_again(dropped, lock)
        return self._report.done(done)

    def _nothing_written(self) -> str:
        return f"nothing has been written since savepoint {self._request.savepoint}"

    def _to_drop(self, chosen: Sequence[Instant]) -> tuple[str, ...]:
        """Return the partitions of the metadata table to drop, because its base files contain writes to be undone."""
        if not is_in_base_files(self._table, chosen):
            return ()
        return read_table_config(self._table.storage).metadata_partitions

    def _build_again(self, dropped: Sequence[str], lock: TableLock) -> None:
        if not dropped:
            return
        warnings = build_metadata_table_after_restore(self._table, dropped, lock)
        for sentence in warnings:
            self._report.warn(sentence)
        if not warnings:
            self._report.warn(
                "Base files of the metadata table contained undone writes, so the restore built the partitions "
                f"{', '.join(dropped)} of the metadata table again."
            )

    def _chosen(self, timeline: Timeline) -> tuple[Instant, ...]:
        """Return the instants to undo, after checking that all files of the savepoint exist."""
        savepoint = self._savepoint(timeline)
        if not any(i.requested_time == savepoint.requested_time for i in timeline.completed_writes):
            raise InvalidRequestError(
                f"The commit of savepoint {savepoint.requested_time} is archived.",
                hint="Restore the table with the release of Hudi that archived the commit.",
            )
        store = self._table.timeline_store
        with naming(store.path_of(savepoint)):
            kept = decode_savepoint_metadata(store.read(savepoint)).partitions
        chosen = restored_instants(timeline, savepoint, self._replacing(timeline, kept))
        times = {i.requested_time for i in chosen}
        later = [
            i.requested_time for i in timeline if i.action is Action.SAVEPOINT and i.requested_time in times
        ]
        if later:
            raise InvalidRequestError(
                f"Savepoint {later[-1]} protects a commit that would be undone.",
                hint="Restore to that savepoint, or delete it first: "
                f"delete_savepoint.py --base-path {shlex.quote(self._table.storage.base_path)} --instant {later[-1]}.",
            )
        require_whole(self._table, timeline, savepoint, kept)
        require_inputs(self._table, timeline, savepoint, chosen)
        require_undone_logs(self._table, chosen)
        after = timeline.without(chosen)
        require_nothing_hidden(self._table, timeline, after)
        require_nothing_shown(self._table, timeline, after)
        return chosen

    def _savepoint(self, timeline: Timeline) -> Instant:
        savepoints = [i for i in timeline.completed if i.action is Action.SAVEPOINT]
        found = next((i for i in savepoints if i.requested_time == self._request.savepoint), None)
        if found is None:
            known = ", ".join(i.requested_time for i in savepoints) or "none"
            raise InvalidRequestError(
                f"There is no savepoint {self._request.savepoint}.", hint=f"Savepoints of the table: {known}."
            )
        return found

    def _replacing(self, timeline: Timeline, kept: Mapping[str, SavepointPartition]) -> frozenset[Instant]:
        """Return the replace commits that replaced file groups of the savepoint.

        Each of these commits completed after the savepointed commit.
        """
        saved = {
            (path, name.removeprefix(".").partition("_")[0])
            for path, partition in kept.items()
            for name in partition.file_names
        }
        return frozenset(
            i
            for i in timeline.completed_writes
            if i.action is Action.REPLACE_COMMIT
            and any((path, file_id) in saved for path, ids in self._replaced_by(i).items() for file_id in ids)
        )

    def _replaced_by(self, instant: Instant) -> Mapping[str, tuple[str, ...]]:
        return self._table.timeline_store.commit_metadata(instant).partition_to_replace_file_ids or {}

    def _done_before(self, timeline: Timeline) -> tuple[Instant, tuple[str, ...]] | None:
        """Return the completed restore of this request, and the partitions of the metadata table that it dropped.

        The result is None if no restore of this request is completed.
        """
        for instant in timeline.completed:
            if instant.action is Action.RESTORE:
                content = self._table.timeline_store.read_requested(instant)
                with naming(self._table.timeline_store.requested_path_of(instant)):
                    notes = container_notes(content) if content else {}
                if notes.get(REQUEST_ID_KEY) == self._request.request_id:
                    return instant, _dropped_in(notes)
        return None
