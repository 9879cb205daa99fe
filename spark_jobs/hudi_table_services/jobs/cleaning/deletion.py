"""Carry out a clean plan: delete its files, remove emptied partitions, and complete the instant."""

import logging
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from hudi_table_services.commits.commit_point import complete, prepare_deletion
from hudi_table_services.commits.instants import begin_clean
from hudi_table_services.commits.table_change import cleaned_files
from hudi_table_services.contract.text import counted
from hudi_table_services.errors import InstantExistsError, InstantVanishedError
from hudi_table_services.hudi_format.partition_metadata import PARTITION_METAFILE
from hudi_table_services.model.instant import Instant, InstantState
from hudi_table_services.planning.cleaning.stored_plan import clean_metadata, planned_names
from hudi_table_services.storage.locks.lock import TableLock
from hudi_table_services.storage.stores.paths import join_path
from hudi_table_services.tables.clean_history import PendingClean
from hudi_table_services.tables.table import TableAccess

_LOG = logging.getLogger(__name__)
_MOST_THREADS = 32
_SECONDS_BETWEEN_LINES = 5.0
_PORTION = 250
"""Number of files that a thread deletes with one call. Object stores accept up to a thousand files in a request."""

_File = tuple[str, str]
"""Partition path and file name."""


@dataclass(frozen=True, slots=True)
class Deletions:
    """Result of deleting the files of a plan, as maps from partition path to file names.

    Attributes:
        kept: files that a savepoint, a plan or readers now need. The clean does not list these files as deleted.
        emptied: partitions whose folder was removed.
    """

    deleted: Mapping[str, tuple[str, ...]]
    failed: Mapping[str, tuple[str, ...]]
    kept: Mapping[str, tuple[str, ...]]
    emptied: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CompletedClean:
    """A completed clean. `instant` is None if another job completed the clean first."""

    instant: Instant | None
    deletions: Deletions


def carry_out(
    table: TableAccess, clean: PendingClean, lock: TableLock, *, protected: Collection[str], parallelism: int
) -> CompletedClean:
    """Delete the files of the plan and complete the clean.

    Repeated calls do no harm, even if two jobs make them at the same time.

    Args:
        protected: names of files that must stay even if the plan contains them.
        parallelism: number of threads that delete files. More than 32 threads are never used.

    Raises:
        CorruptTableError: the plan names a path that is not a data file; nothing was deleted.
    """
    started = time.monotonic()
    planned = planned_names(clean.plan)
    with lock:
        prepare_deletion(table)
    instant = clean.instant
    if instant.state is InstantState.REQUESTED:
        instant = begin_clean(table, instant)
    deletions = _delete(table, planned, frozenset(protected), min(parallelism, _MOST_THREADS))
    with lock:
        emptied = _remove_partitions(table, clean.plan.partitions_to_delete)
        deletions = replace(deletions, emptied=emptied)
        metadata = clean_metadata(
            clean.plan,
            start_time=clean.instant.requested_time,
            time_taken_ms=int((time.monotonic() - started) * 1000),
            deleted=deletions.deleted,
            failed=deletions.failed,
            emptied=emptied,
        )
        try:
            completed = complete(table, instant, cleaned_files(metadata), lock=lock)
        except (InstantExistsError, InstantVanishedError):
            _LOG.info("Another job completed clean %s.", instant.requested_time)
            return CompletedClean(None, deletions)
    _LOG.info(
        "Completed clean %s: %s", completed.requested_time, counted(metadata.total_files_deleted, "file")
    )
    return CompletedClean(completed, deletions)


def _delete(
    table: TableAccess, planned: Mapping[str, tuple[str, ...]], protected: frozenset[str], threads: int
) -> Deletions:
    deleted: dict[str, list[str]] = defaultdict(list)
    failed: dict[str, list[str]] = defaultdict(list)
    kept: dict[str, list[str]] = defaultdict(list)
    files = [(path, name) for path in sorted(planned) for name in planned[path]]
    to_delete = []
    for path, name in files:
        if name in protected:
            _LOG.warning(
                "%s is kept, because a savepoint, a plan or a reader now needs it.", join_path(path, name)
            )
            kept[path].append(name)
        else:
            to_delete.append((path, name))
    portions = [to_delete[first : first + _PORTION] for first in range(0, len(to_delete), _PORTION)]
    with ThreadPoolExecutor(threads) as pool:
        outcomes = pool.map(lambda portion: _delete_portion(table, portion), portions)
        for portion, refused in zip(portions, _with_progress(outcomes, len(to_delete)), strict=True):
            for file in portion:
                (failed if file in refused else deleted)[file[0]].append(file[1])
    return Deletions(_frozen(deleted), _frozen(failed), _frozen(kept), ())


def _delete_portion(table: TableAccess, files: Sequence[_File]) -> frozenset[_File]:
    """Delete some files. Returns the files that could not be deleted."""
    by_path = {join_path(*file): file for file in files}
    failures = table.storage.delete_files(list(by_path))
    for path, error in failures.items():
        _LOG.warning("%s was not deleted: %s", path, error)
    return frozenset(by_path[path] for path in failures)


def _with_progress(outcomes: Iterator[frozenset[_File]], total: int) -> Iterator[frozenset[_File]]:
    """Yield the outcomes unchanged, and log the progress every few seconds."""
    next_line = time.monotonic() + _SECONDS_BETWEEN_LINES
    for number, outcome in enumerate(outcomes, start=1):
        if time.monotonic() >= next_line:
            _LOG.info("Deleted %d of %s", min(number * _PORTION, total), counted(total, "file"))
            next_line = time.monotonic() + _SECONDS_BETWEEN_LINES
        yield outcome


def _frozen(names: Mapping[str, list[str]]) -> dict[str, tuple[str, ...]]:
    return {path: tuple(each) for path, each in names.items()}


def _remove_partitions(table: TableAccess, partitions: Collection[str]) -> tuple[str, ...]:
    """Remove folders that contain only their own metadata file. Returns the removed folders.

    Call this function under the table lock. While writes are pending, no folder is removed: a pending write may create
    a file in the folder, and without the metadata file Hudi would not find that file.
    """
    if not partitions or any(i.action.writes_data for i in table.load_timeline().pending):
        return ()
    removed = []
    for path in sorted(partitions):
        listing = table.storage.list_folder(path)
        names = {stored.name for stored in listing.files}
        if not path or listing.folders or not all(name.startswith(PARTITION_METAFILE) for name in names):
            continue
        for name in sorted(names):
            table.storage.delete(join_path(path, name))
        table.storage.delete_empty_folders(path)
        removed.append(path)
    return tuple(removed)
