"""Build and read clean plans and results of Hudi 0.15 and 1.2 (HoodieCleanerPlan, HoodieCleanMetadata; version 2)."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence

from hudi_table_services.errors import CorruptTableError, MalformedFileNameError
from hudi_table_services.model.cleaning import CleanOptions, FilesToDelete, Retention
from hudi_table_services.model.data_file import BaseFile, LogFile
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.table_path import may_hold_data
from hudi_table_services.model.table_service_plans import (
    CleanFile,
    CleanMetadata,
    CleanPartition,
    CleanPlan,
    RetainedInstant,
)

SAVEPOINTS_KEY = "savepointed_timestamps"
"""Key in the extra metadata, from Hudi 1.x. The value lists the requested times of the savepoints whose files the plan
kept, separated by commas."""

RECHECK_KEY = "airflow.clean.look_again"
"""Key in the extra metadata, from this project. The value is a JSON list of partitions with outdated files that the
clean could not delete yet."""


def stored_clean_plan(
    outdated: Iterable[FilesToDelete],
    options: CleanOptions,
    retention: Retention,
    *,
    base_path: str,
    last_completed_commit_time: str,
    extra_metadata: Mapping[str, str],
) -> CleanPlan:
    """Build the stored plan, with absolute paths, because Hudi's own executor needs absolute paths.

    Args:
        outdated: outdated files of each partition. Partitions without such files are left out of the plan.
        base_path: the base path in the form that Hudi writes into plans.
        last_completed_commit_time: requested time of the newest completed write at the time of planning.
        extra_metadata: see `notes_for_the_next_clean`.
    """
    with_files = [each for each in outdated if each.sizes]
    return CleanPlan(
        policy=options.policy.value,
        earliest_instant_to_retain=_retained(retention.earliest),
        last_completed_commit_time=last_completed_commit_time,
        files_to_delete={
            each.partition_path: tuple(
                CleanFile(path=_absolute(base_path, each.partition_path, name))
                for name in sorted(each.sizes, key=_base_files_first)
            )
            for each in with_files
        },
        partitions_to_delete=tuple(each.partition_path for each in with_files if each.is_emptied),
        extra_metadata=extra_metadata,
    )


def _base_files_first(name: str) -> tuple[bool, str]:
    return name.startswith("."), name


def notes_for_the_next_clean(savepoints: Collection[str], recheck: Collection[str]) -> dict[str, str]:
    """Return the extra metadata of a plan that covers all partitions that may have outdated files.

    Do not store this metadata in a plan for selected partitions only: without it, the next clean checks all partitions.

    Args:
        savepoints: requested times of the savepoints whose files the plan kept.
        recheck: partitions with outdated files that this plan keeps; the next clean checks these partitions again.
    """
    notes = {RECHECK_KEY: json.dumps(sorted(recheck))}
    if savepoints:
        notes[SAVEPOINTS_KEY] = ",".join(sorted(savepoints))
    return notes


def _retained(earliest: Instant | None) -> RetainedInstant | None:
    if earliest is None:
        return None
    return RetainedInstant(
        requested_time=earliest.requested_time, action=earliest.action.value, state="COMPLETED"
    )


def _absolute(base_path: str, partition_path: str, name: str) -> str:
    path = f"{partition_path}/{name}" if partition_path else name
    return f"{base_path.rstrip('/')}/{path}"


def planned_names(plan: CleanPlan) -> dict[str, tuple[str, ...]]:
    """Map each partition path to the names of the data files that a stored plan deletes.

    The result has names instead of absolute paths, because the table may have been moved since the plan was written.

    Raises:
        CorruptTableError: the plan names a file outside its partition, a file that is not a data file, or a partition
            outside the table's data folders.
    """
    found: dict[str, tuple[str, ...]] = dict(plan.file_names_to_delete)
    for partition_path, files in plan.files_to_delete.items():
        found[partition_path] = tuple(_name_in(partition_path, each.path) for each in files)
    for partition_path in (*found, *plan.partitions_to_delete):
        if not may_hold_data(partition_path):
            raise _bad_path(partition_path, partition_path)
    for partition_path, names in found.items():
        for name in names:
            if not _is_data_file(name):
                raise _bad_path(partition_path, name)
    return found


def _name_in(partition_path: str, path: str) -> str:
    name = path.rpartition("/")[2]
    if not f"/{path}".endswith(f"/{partition_path}/{name}" if partition_path else f"/{name}"):
        raise _bad_path(partition_path, path)
    return name


def _is_data_file(name: str) -> bool:
    for parse in (BaseFile.from_file_name, LogFile.from_file_name):
        try:
            parse(name)
        except MalformedFileNameError:
            continue
        return True
    return False


def _bad_path(partition_path: str, path: str) -> CorruptTableError:
    return CorruptTableError(
        f"A clean plan names {path!r}, which is not a data file of partition {partition_path!r}; nothing was deleted.",
        hint="Remove the pending clean with Hudi's command line.",
    )


def clean_metadata(
    plan: CleanPlan,
    *,
    start_time: str,
    time_taken_ms: int,
    deleted: Mapping[str, Sequence[str]],
    failed: Mapping[str, Sequence[str]],
    emptied: Collection[str],
) -> CleanMetadata:
    """Return the content of the completed clean.

    Args:
        start_time: requested time of the clean.
        deleted, failed: map each partition path to the names of files. A file that did not exist counts as deleted, as
            in Hudi.
        emptied: partitions whose folder was removed.
    """
    paths = sorted({*deleted, *failed, *emptied})
    partitions = {
        path: CleanPartition(
            partition_path=path,
            policy=plan.policy,
            delete_path_patterns=(*deleted.get(path, ()), *failed.get(path, ())),
            deleted_files=tuple(deleted.get(path, ())),
            failed_files=tuple(failed.get(path, ())),
            is_partition_deleted=path in emptied,
        )
        for path in paths
    }
    earliest = plan.earliest_instant_to_retain
    return CleanMetadata(
        start_clean_time=start_time,
        time_taken_ms=time_taken_ms,
        total_files_deleted=sum(len(names) for names in deleted.values()),
        partitions=partitions,
        earliest_commit_to_retain=earliest.requested_time if earliest else "",
        last_completed_commit_time=plan.last_completed_commit_time,
        extra_metadata=plan.extra_metadata,
    )


def partitions_to_recheck(metadata: CleanMetadata) -> frozenset[str] | None:
    """Return the partitions whose outdated files a clean kept or failed to delete; None if the clean stored no list."""
    text = metadata.extra_metadata.get(RECHECK_KEY)
    if text is None:
        return None
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(listed, list) or not all(isinstance(path, str) for path in listed):
        return None
    failed = {path for path, each in metadata.partitions.items() if each.failed_files}
    return frozenset(listed) | failed
