"""The jobs that need no Spark on merge-on-read tables, each with a table that gives the job work."""

from collections.abc import Callable
from typing import Any

from hudi_table_services.contract.archival import ArchiveRequest
from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.recovery import (
    CreateSavepointRequest,
    RepairOrphansRequest,
    RestoreRequest,
    RollbackRequest,
)
from hudi_table_services.hudi_format.markers import MarkerKind
from hudi_table_services.jobs.archival.archive import archive
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.recovery.repair_orphans import repair_orphan_files
from hudi_table_services.jobs.recovery.restore import restore
from hudi_table_services.jobs.recovery.rollback import rollback
from hudi_table_services.jobs.recovery.savepoint import create_savepoint
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.markers import MarkerStore
from hudi_table_services.storage.stores.storage import Storage
from support.archived_tables import SMALL_LIMITS
from support.with_logs.logged_tables import A, B, LoggedTable, data_block

RunJob = Callable[[Storage, Clock], Any]


def add_dead_delta(table: LoggedTable) -> Instant:
    """A delta commit whose writer died after it had written a base file and a log file."""
    dead = table.begin(Action.DELTA_COMMIT)
    table.write(dead, bases=[B], logs=[A], marks=True)
    return dead


def to_undo_a_dead_delta(table: LoggedTable) -> RunJob:
    table.delta(bases=[A])
    table.delta(logs=[A])
    add_dead_delta(table)
    request = RollbackRequest(base_path="/t", all_failed=True)
    return lambda storage, clock: rollback(request, storage=storage, clock=clock)


def to_undo_a_delta(table: LoggedTable) -> RunJob:
    table.delta(bases=[A])
    table.delta(logs=[A])
    newest = table.delta(bases=[B], logs=[A])
    request = RollbackRequest(base_path="/t", instants=(newest.requested_time,))
    return lambda storage, clock: rollback(request, storage=storage, clock=clock)


def to_undo_a_shared_log(table: LoggedTable) -> RunJob:
    """In table version 6, a rollback of a delta commit that appended to the log file of another delta commit.

    In other versions, each log file has one writer, so the rollback undoes a delta commit with a log file of its own.
    """
    table.delta(bases=[A])
    first = table.delta(logs=[A])
    dead = table.begin(Action.DELTA_COMMIT)
    if table.version is TableVersion.V6:
        (path,) = (p for p in table.data_files() if ".log." in p)
        table.storage.write(path, data_block(first.requested_time) + data_block(dead.requested_time))
        MarkerStore(table.storage, dead.requested_time).mark(path, MarkerKind.APPEND)
    else:
        table.write(dead, logs=[A], marks=True)
    request = RollbackRequest(base_path="/t", all_failed=True)
    return lambda storage, clock: rollback(request, storage=storage, clock=clock)


def to_undo_a_compaction(table: LoggedTable) -> RunJob:
    table.delta(bases=[A, B])
    table.delta(logs=[A, B])
    done = table.compact(A, B)
    request = RollbackRequest(base_path="/t", instants=(done.requested_time,))
    return lambda storage, clock: rollback(request, storage=storage, clock=clock)


def to_clean(table: LoggedTable) -> RunJob:
    """A clean of outdated slices beside a savepoint, a pending compaction and a dead delta commit."""
    table.delta(bases=[A, B])
    saved = table.delta(logs=[B])
    save = CreateSavepointRequest(base_path="/t", instant=saved.requested_time)
    create_savepoint(save, storage=table.storage, clock=table.clock)
    for _ in range(2):
        table.delta(logs=[A, B])
        table.compact(A, B)
    table.delta(logs=[A, B])
    table.plan_compaction(A)
    table.delta(logs=[A])
    add_dead_delta(table)
    request = CleanRequest(base_path="/t", file_versions_retained=1, request_id="same")
    return lambda storage, clock: clean(request, storage=storage, clock=clock)


def to_archive(table: LoggedTable) -> RunJob:
    table.delta(bases=[A, B])
    table.delta(logs=[A])
    table.compact(A)
    for _ in range(7):
        table.delta(logs=[A, B])
    request = ArchiveRequest(base_path="/t", options=SMALL_LIMITS, min_commits=2, max_commits=3)
    return lambda storage, clock: archive(request, storage=storage, clock=clock)


def to_restore(table: LoggedTable) -> RunJob:
    table.delta(bases=[A, B])
    saved = table.delta(logs=[A])
    save = CreateSavepointRequest(base_path="/t", instant=saved.requested_time)
    create_savepoint(save, storage=table.storage, clock=table.clock)
    table.delta(logs=[A, B])
    table.compact(A)
    table.delta(logs=[A])
    table.plan_compaction(A, B)
    table.delta(logs=[A])
    add_dead_delta(table)
    request = RestoreRequest(base_path="/t", savepoint=saved.requested_time, request_id="same")
    return lambda storage, clock: restore(request, storage=storage, clock=clock)


def to_create_savepoint(table: LoggedTable) -> RunJob:
    table.delta(bases=[A, B])
    saved = table.delta(logs=[A])
    table.delta(logs=[A])
    request = CreateSavepointRequest(base_path="/t", instant=saved.requested_time)
    return lambda storage, clock: create_savepoint(request, storage=storage, clock=clock)


def to_repair(table: LoggedTable) -> RunJob:
    table.delta(bases=[A, B])
    dead = table.begin(Action.DELTA_COMMIT)
    table.write(dead, logs=[A])
    table.timeline_store.remove(dead)
    table.delta(logs=[A, B])
    request = RepairOrphansRequest(base_path="/t", execute=True)
    return lambda storage, clock: repair_orphan_files(request, storage=storage, clock=clock)


JOBS: dict[str, Callable[[LoggedTable], RunJob]] = {
    "rollback of a dead delta commit": to_undo_a_dead_delta,
    "rollback of a delta commit": to_undo_a_delta,
    "rollback in a shared log file": to_undo_a_shared_log,
    "rollback of a compaction": to_undo_a_compaction,
    "clean of log files": to_clean,
    "archive of delta commits": to_archive,
    "restore of log files": to_restore,
    "savepoint of log files": to_create_savepoint,
    "repair of log files": to_repair,
}
