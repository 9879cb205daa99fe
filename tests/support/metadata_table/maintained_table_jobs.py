"""Jobs that change the small tables of `maintained_tables` without Spark."""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

from hudi_table_services.commits.plan_attempt import ClusteringAttempt
from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.clustering import CancelClusteringRequest
from hudi_table_services.contract.recovery import CreateSavepointRequest, RestoreRequest, RollbackRequest
from hudi_table_services.hudi_format.table_service_plans import encode_requested_replace
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.clustering.cancel import cancel_clustering
from hudi_table_services.jobs.recovery.restore import restore
from hudi_table_services.jobs.recovery.rollback import rollback
from hudi_table_services.jobs.recovery.savepoint import create_savepoint
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_service_plans import ClusteringGroup, ClusteringPlan, ClusteringSlice
from hudi_table_services.model.write_stat import (
    CommitMetadata,
    WriteOperation,
    WriteStat,
)
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.locks.heartbeat import heartbeat_path
from hudi_table_services.storage.locks.lock import FileSystemLock
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.faulty_storage import Crash, FaultyStorage
from support.fixed_clock import FixedClock
from support.metadata_table.maintained_tables import (
    CLUSTERED,
    SCHEMA,
    SECOND,
    A,
    B,
    C,
    Write,
    access,
    compacting,
    copied,
    rows,
    ticking,
    write_file,
)
from support.metadata_table.staged_facts import collected_facts
from support.small_tables import base_file_name

RunJob = Callable[[Storage, Clock], object]


def to_write(storage: Storage, clock: Clock) -> RunJob:
    return Write((A, C), "w3", 3)


def to_write_and_compact(storage: Storage, clock: Clock) -> RunJob:
    return Write((A, C), "w3", 3, metadata=compacting())


def to_replace(storage: Storage, clock: Clock) -> RunJob:
    return Write((A,), "w3", 3, replaces={"b": (B.file_id,)})


def to_clean(storage: Storage, clock: Clock) -> RunJob:
    """A clean that deletes two old versions of a file and empties a partition; a dead write precedes it."""
    Write((A,), "w3", 3, replaces={"b": (B.file_id,)})(storage, clock)
    Write((A,), "w4", 4)(storage, clock)
    add_dead_write(storage, clock)
    request = CleanRequest(base_path="/t", commits_retained=1, request_id="clean")
    return lambda storage, clock: clean(request, storage=storage, clock=clock)


def add_dead_write(storage: Storage, clock: Clock) -> Instant:
    table = access(storage, clock)
    dead = table.timeline_store.start(table.timeline_store.request(Action.COMMIT))
    write_file(
        storage, dead.requested_time, f"a/{base_file_name('dead-0', dead.requested_time)}", rows("a", 9)
    )
    storage.write(heartbeat_path(dead.requested_time), b"")
    return dead


def half_completed(storage: Storage, moment: datetime, run: RunJob) -> Instant:
    """Run a write that dies when it is complete in the metadata table, and not yet complete in the table.

    Returns:
        The pending write.
    """
    trial = FaultyStorage(copied(storage))
    run(trial, FixedClock(moment, SECOND))
    table = access(trial, ticking())
    done = table.load_timeline().completed_writes[-1]
    number = trial.log.index(f"create {table.timeline_store.path_of(done)}") + 1
    with suppress(Crash):
        run(FaultyStorage(storage, number), FixedClock(moment, SECOND))
    storage.delete(".hoodie/lock")
    (pending,) = (i for i in access(storage, ticking()).load_timeline().pending)
    assert pending.requested_time == done.requested_time
    return pending


def to_undo_a_dead_write(storage: Storage, clock: Clock) -> RunJob:
    half_completed(storage, clock.now(), Write((A, C), "dead", 8))
    request = RollbackRequest(base_path="/t", all_failed=True)
    return lambda storage, clock: rollback(request, storage=storage, clock=clock)


def to_undo_a_commit(storage: Storage, clock: Clock) -> RunJob:
    newest = Write((A, C), "w3", 3)(storage, clock)
    request = RollbackRequest(base_path="/t", instants=(newest.requested_time,))
    return lambda storage, clock: rollback(request, storage=storage, clock=clock)


def to_restore(storage: Storage, clock: Clock) -> RunJob:
    """A restore that undoes an update, a clustering, a replacing write and a dead write."""
    saved = access(storage, clock).load_timeline().completed_writes[-1].requested_time
    save = CreateSavepointRequest(base_path="/t", instant=saved)
    create_savepoint(save, storage=storage, clock=clock)
    Write((A,), "w3", 3)(storage, clock)
    to_cluster(storage, clock)(storage, clock)
    Write((C,), "w4", 4, replaces={"b": (B.file_id,)})(storage, clock)
    add_dead_write(storage, clock)
    request = RestoreRequest(base_path="/t", savepoint=saved, request_id="restore")
    return lambda storage, clock: restore(request, storage=storage, clock=clock)


def planned(storage: Storage, clock: Clock) -> Instant:
    """Request a plan that clusters file group A."""
    table = access(storage, clock)
    (found,) = (s for s in load_snapshot(storage).all_slices if s.file_group_id == A)
    piece = ClusteringSlice(file_id=A.file_id, partition_path="a", data_file_path=found.base_file_path)
    content = encode_requested_replace(ClusteringPlan(groups=(ClusteringGroup(slices=(piece,)),)))
    is_new = table.config.table_version.layout.has_completion_time_in_names
    return table.timeline_store.request(Action.CLUSTERING if is_new else Action.REPLACE_COMMIT, content)


def to_cluster(storage: Storage, clock: Clock) -> RunJob:
    """The execution of a plan that moves the rows of group A to a new file group."""
    plan = planned(storage, clock)

    def run(storage: Storage, clock: Clock) -> object:
        table = access(storage, clock)
        if any(i.is_completed for i in table.load_timeline().find(plan.requested_time)):
            return None
        pending = next(i for i in table.load_timeline().pending if i.requested_time == plan.requested_time)
        lock = FileSystemLock(storage, clock=clock)
        with ClusteringAttempt(table, pending, lock, request_id="cluster") as attempt:
            snapshot = load_snapshot(storage, metadata_enable=False)
            path = f"a/{base_file_name(CLUSTERED, plan.requested_time)}"
            (old,) = (s.base_file_path for s in snapshot.all_slices if s.file_group_id == A)
            data = storage.read(old or "")
            write_file(storage, plan.requested_time, path, data)
            stat = WriteStat(file_id=CLUSTERED, partition_path="a", path=path, file_size_bytes=len(data))
            content = CommitMetadata(
                operation_type=WriteOperation.CLUSTER,
                partition_to_write_stats={"a": (stat,)},
                extra_metadata={"schema": SCHEMA},
                partition_to_replace_file_ids={"a": (A.file_id,)},
            )
            with collected_facts(table, snapshot, content) as facts:
                return attempt.complete(snapshot, lambda _: content, facts)

    return run


def to_cancel(storage: Storage, clock: Clock) -> RunJob:
    """The cancellation of an execution that died after its delta commit was complete in the metadata table."""
    run = to_cluster(storage, clock)
    dead = half_completed(storage, clock.now(), run)
    request = CancelClusteringRequest(
        base_path="/t",
        instants=(dead.requested_time,),
        options={"hoodie.clustering.expiration.threshold.mins": "0"},
    )
    return lambda storage, clock: cancel_clustering(request, storage=storage, clock=clock)


JOBS: dict[str, Callable[[Storage, Clock], RunJob]] = {
    "write": to_write,
    "write that compacts": to_write_and_compact,
    "replacing write": to_replace,
    "clean": to_clean,
    "rollback of a dead write": to_undo_a_dead_write,
    "rollback of a commit": to_undo_a_commit,
    "restore": to_restore,
    "clustering": to_cluster,
    "cancel clustering": to_cancel,
}
