"""Find files that belong to no instant. With `execute`, copy them, check them again under the lock, and delete them."""

import logging
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from hudi_table_services.commits.commit_point import prepare_orphan_deletion
from hudi_table_services.contract.recovery import OrphanFile, OrphanReport, RepairOrphansRequest
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.contract.text import counted
from hudi_table_services.errors import InvalidRequestError, ObjectNotFoundError, StorageError
from hudi_table_services.options.timeline_only import ServiceOptions, resolve_service_options
from hudi_table_services.planning.recovery.orphans import (
    DISPLACED,
    KnownInstants,
    is_copy,
    named_elsewhere,
    orphan_reason,
)
from hudi_table_services.storage.clock import Clock, SystemClock
from hudi_table_services.storage.locks.heartbeat import delete_heartbeat
from hudi_table_services.storage.locks.lock import TableLock, table_lock
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.storage import Storage, StoredObject
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.orphan_search import Orphans, OrphanSearch
from hudi_table_services.tables.table import TableAccess, check_writable

_LOG = logging.getLogger(__name__)
_MAX_REPORTED = 1000
_PORTION = 250
"""Number of files that are deleted between two verifications of the lock."""


def repair_orphan_files(
    request: RepairOrphansRequest,
    *,
    storage: Storage | None = None,
    clock: Clock | None = None,
    backup: Storage | None = None,
) -> JobResult:
    """Report the files that belong to no instant, and delete them if the request says so.

    Raises:
        InvalidRequestError: there are more files than the request allows, or the backup folder is inside the table.
        StorageError: a file could not be copied; nothing was deleted.
    """
    options = resolve_service_options(request)
    storage = storage or open_storage(request.base_path, request.storage_options)
    config = read_table_config(storage)
    check_writable(
        config,
        request.table_name,
        updates_metadata=request.execute and options.metadata.enable is not False,
        merge_on_read=True,
    )
    if request.backup_path:
        backup = backup or open_storage(request.backup_path, request.storage_options)
        _require_outside(storage, backup)
    table = TableAccess(
        storage=storage,
        clock=clock or SystemClock(),
        config=config,
        metadata=options.metadata,
    )
    return _RepairJob(request, options, table, backup).run()


def _require_outside(storage: Storage, backup: Storage) -> None:
    inside = f"{backup.uri.rstrip('/')}/".startswith(f"{storage.uri.rstrip('/')}/")
    if inside:
        raise InvalidRequestError(
            "The backup path is inside the table, so the copies would be orphans again.",
            hint="Choose a folder outside the table.",
        )


class _RepairJob:
    def __init__(
        self,
        request: RepairOrphansRequest,
        options: ServiceOptions,
        table: TableAccess,
        backup: Storage | None,
    ) -> None:
        self._request = request
        self._options = options
        self._table = table
        self._backup = backup
        self._search = OrphanSearch(table, older_than_hours=request.older_than_hours)

    def run(self) -> JobResult:
        found = self._search.find()
        report = _report(found)
        for reason, count in report.by_reason.items():
            _LOG.info("%s: %s", counted(count, "file"), reason)
        if not (found.files or found.folders or found.heartbeats):
            return self._result(
                Outcome.NOTHING_TO_DO, report, _why_nothing(found, self._request.older_than_hours)
            )
        if not self._request.execute:
            return self._result(Outcome.PLANNED, report, "nothing was deleted: --execute was not given")
        if len(found.files) > self._request.max_files:
            raise InvalidRequestError(
                f"The table contains {counted(len(found.files), 'orphan')}, but the request allows the deletion of "
                f"at most {counted(self._request.max_files, 'file')}.",
                hint="Nothing was deleted. Run the job without --execute to list the files; then raise --max-files.",
            )
        self._copy(list(found.files))
        with table_lock(
            self._table.storage, self._options.lock, self._table.clock, self._request.request_id
        ) as lock:
            report = self._delete(found, report, lock)
        return self._result(Outcome.COMPLETED, report, "")

    def _copy(self, files: Sequence[StoredObject]) -> None:
        if self._backup is None:
            return
        for stored in files:
            with (
                self._table.storage.open_reader(stored.path) as source,
                self._backup.open_writer(stored.path) as target,
            ):
                shutil.copyfileobj(source, target, 1 << 20)
            copied = self._backup.size(stored.path)
            if copied != stored.size_bytes:
                raise StorageError(
                    f"The copy of {stored.path} has {copied} bytes instead of {stored.size_bytes}.",
                    path=stored.path,
                    hint="Nothing was deleted; run the request again.",
                )
        _LOG.info("Copied %s to %s", counted(len(files), "file"), self._backup.uri)

    def _delete(self, found: Orphans, report: OrphanReport, lock: TableLock) -> OrphanReport:
        known = self._search.known_instants()
        to_delete = [stored for stored in found.files if self._is_still_orphan(stored, known)]
        failed: list[str] = []
        if to_delete:
            lock.verify()
            prepare_orphan_deletion(self._table, [stored.path for stored in to_delete])
        for first in range(0, len(to_delete), _PORTION):
            lock.verify()
            portion = [stored.path for stored in to_delete[first : first + _PORTION]]
            failures: Mapping[str, StorageError] = self._table.storage.delete_files(portion)
            for path, error in failures.items():
                _LOG.warning("%s was not deleted: %s", path, error)
            failed += failures
        self._remove_traces(found, known)
        orphans = {stored.path for stored in to_delete}
        return replace(
            report,
            spared=tuple(sorted(stored.path for stored in found.files if stored.path not in orphans)),
            failed_files=tuple(sorted(failed)),
            deleted_count=len(to_delete) - len(failed),
            backup_path=self._request.backup_path,
        )

    def _is_still_orphan(self, stored: StoredObject, known: KnownInstants) -> bool:
        reason = orphan_reason(stored.path, known)
        places = named_elsewhere(stored.path, known.named, known.archived_named)
        if not reason or (reason == DISPLACED and not is_copy(stored.size_bytes, places, self._size)):
            return False
        try:
            # Google Cloud Storage returns modification times in milliseconds in a listing, but in whole seconds for a
            # single object.
            return self._table.storage.modified_ms(stored.path) // 1000 == stored.modified_ms // 1000
        except ObjectNotFoundError:
            return False

    def _size(self, path: str) -> int | None:
        try:
            return self._table.storage.size(path)
        except ObjectNotFoundError:
            return None

    def _remove_traces(self, found: Orphans, known: KnownInstants) -> None:
        for folder in found.folders:
            if folder.rpartition("/")[2] not in known.running:
                self._table.storage.delete_folder(folder)
        for time in found.heartbeats:
            if time not in known.running:
                delete_heartbeat(self._table.storage, time)

    def _result(self, outcome: Outcome, report: OrphanReport, reason: str) -> JobResult:
        request = self._request
        return replace(
            JobResult.of(request, outcome),
            reason=reason,
            report=report,
            warnings=self._options.warnings,
        )


def _why_nothing(found: Orphans, older_than_hours: float) -> str:
    reasons = ["every data file belongs to an instant"]
    if found.too_young:
        reasons = [
            f"the table contains {counted(found.too_young, 'orphan')} younger than {older_than_hours:g} h "
            "(--older-than-hours); every other data file belongs to an instant"
        ]
    if found.foreign_files:
        files = counted(found.foreign_files, "foreign file")
        reasons.append(f"the partitions contain {files}; no job touches foreign files")
    return "; ".join(reasons)


def _report(found: Orphans) -> OrphanReport:
    orphans = [
        OrphanFile(path=s.path, size_bytes=s.size_bytes, reason=reason) for s, reason in found.files.items()
    ]
    return OrphanReport(
        file_count=len(orphans),
        size_bytes=sum(each.size_bytes for each in orphans),
        by_reason=dict(sorted(Counter(found.files.values()).items())),
        files=tuple(orphans[:_MAX_REPORTED]),
        folders=found.folders,
        heartbeats=found.heartbeats,
        too_young=found.too_young,
        folders_listed=found.folders_listed,
        foreign_files=found.foreign_files,
    )
