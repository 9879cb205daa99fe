"""Explain why groups of a clustering plan cannot be executed: other writers changed their files, or files are lost."""

from collections import defaultdict
from collections.abc import Iterable

from hudi_table_services.errors import FileGroupConflictError
from hudi_table_services.model.table_service_plans import ClusteringGroup
from hudi_table_services.storage.stores.paths import join_path
from hudi_table_services.storage.stores.storage import Storage


def missing_files(storage: Storage, groups: Iterable[ClusteringGroup]) -> tuple[str, ...]:
    """Return the paths of the files that the groups name but that do not exist, in alphabetical order.

    Cleans of this project keep the files of pending plans, so a missing file is lost, unless a clean by Hudi, a
    rollback or a restore deleted it.
    """
    named: dict[str, set[str]] = defaultdict(set)
    for group in groups:
        for planned in group.slices:
            paths = filter(None, (planned.data_file_path, *planned.delta_file_paths))
            named[planned.partition_path].update(path.rpartition("/")[2] for path in paths)
    missing: list[str] = []
    for path, names in named.items():
        existing = {stored.name for stored in storage.list_folder(path).files}
        missing += (join_path(path, name) for name in names - existing)
    return tuple(sorted(missing))


def no_group_left(instant_time: str, missing: tuple[str, ...]) -> FileGroupConflictError:
    """Return the error of an execution that has to drop every group of its plan.

    Args:
        missing: result of `missing_files` for the groups of the plan.
    """
    message = (
        f"Every group of clustering {instant_time} contains a file that another writer changed or is changing, or that "
        f"does not exist, such as {missing[0]}."
        if missing
        else f"Other writers changed or are changing every group of clustering {instant_time}."
    )
    return FileGroupConflictError(
        message, hint="The plan committed nothing; run the job again when the other writers have ended."
    )


def reason_of_cancellation(instant_time: str, missing: tuple[str, ...]) -> str:
    """Return why an execution cancelled its plan.

    Args:
        missing: result of `missing_files` for the groups of the plan.
    """
    cause = (
        f"every group contains a file that another writer changed or that does not exist, such as {missing[0]} "
        "(table_health.py reports lost files)"
        if missing
        else "other writers changed all of its groups since it was scheduled"
    )
    return f"clustering {instant_time} was cancelled: {cause}"
