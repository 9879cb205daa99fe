"""Select the version of a base file that belongs to a commit."""

from collections.abc import Callable, Collection

from hudi_table_services.model.data_file import BaseFile
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import CommitMetadata
from hudi_table_services.storage.stores.paths import join_path


class CommittedVersions:
    """Selects the version of a file that belongs to the commit, if retried Spark tasks left several versions.

    Args:
        metadata_of: returns the metadata of a completed write.
    """

    def __init__(self, metadata_of: Callable[[Instant], CommitMetadata], timeline: Timeline) -> None:
        self._metadata_of = metadata_of
        self._writes = {i.requested_time: i for i in timeline.completed_writes}

    def pick(self, partition_path: str, candidates: Collection[BaseFile]) -> BaseFile:
        """Return the candidate that the commit's metadata lists.

        If the commit is archived or lists no candidate, return the candidate whose name sorts last.
        """
        ordered = sorted(candidates, key=lambda base: base.file_name, reverse=True)
        instant = self._writes.get(ordered[0].instant_time)
        if instant is not None:
            paths = {stat.path for stat in self._metadata_of(instant).write_stats}
            for base in ordered:
                if join_path(partition_path, base.file_name) in paths:
                    return base
        return ordered[0]
