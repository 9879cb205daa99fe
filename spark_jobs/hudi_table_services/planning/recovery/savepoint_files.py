"""Choose the files that a savepoint keeps: the latest versions as of its commit (SavepointActionExecutor, Hudi 1.2)."""

from collections.abc import Iterable

from hudi_table_services.model.cleaning import FileGroupVersions, PartitionFiles
from hudi_table_services.model.table_service_plans import SavepointPartition


def savepoint_partitions(
    partitions: Iterable[PartitionFiles], requested_time: str
) -> dict[str, SavepointPartition]:
    """Map each partition path to the files that it had as of a commit. Leave out partitions that had no files."""
    found = {}
    for partition in partitions:
        names = [name for group in partition.groups for name in _names_as_of(group, requested_time)]
        if names:
            path = partition.partition_path
            found[path] = SavepointPartition(partition_path=path, file_names=tuple(sorted(names)))
    return found


def _names_as_of(group: FileGroupVersions, requested_time: str) -> tuple[str, ...]:
    if group.replaced_by is not None and group.replaced_by <= requested_time:
        return ()
    latest = next((s for s in group.slices if s.base_instant_time <= requested_time), None)
    return tuple(latest.sizes) if latest is not None else ()
