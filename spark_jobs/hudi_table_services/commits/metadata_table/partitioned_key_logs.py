"""Convert the new and deleted keys of one commit to log files of a partitioned record index, by file group."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from hudi_table_services.commits.metadata_table.key_logs import log_of_keys
from hudi_table_services.execution.metadata_table.key_changes import StagedKeysReader
from hudi_table_services.execution.metadata_table.staged_keys import KeyStaging
from hudi_table_services.hudi_format.metadata_table.file_groups import RECORD_INDEX
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.write_stat import CommitMetadata
from hudi_table_services.planning.metadata_table.partitioned_record_index import (
    groups_by_partition,
    new_group_ids,
    usual_count,
)
from hudi_table_services.storage.metadata_table.file_format import FileFormat
from hudi_table_services.storage.metadata_table.group_files import GroupLog


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionedKeyChanges:
    """New and deleted keys of a write, for a partitioned record index.

    If the write moves a key from one partition to another, the key is deleted from the file group of the old partition
    and added to the file group of the new partition.

    Attributes:
        reader: reads the keys that the tasks of the write staged.
        metadata: content of the completed instant of the table.
        new_partition_groups: number of file groups of a partition that is new in the index.
        instant_millis: instant time of the write in milliseconds since 1970.
    """

    reader: StagedKeysReader
    metadata: CommitMetadata
    new_partition_groups: int
    instant_millis: int

    def new_groups(self, slices: Sequence[FileSlice]) -> tuple[FileGroupId, ...]:
        """File groups that the delta commit must create.

        Args:
            slices: newest slices of all file groups that the record index has now.

        Raises:
            CorruptTableError: the record index is not partitioned, or lacks the file groups of a partition.
        """
        ids = new_group_ids(self.metadata, groups_by_partition(_ids(slices)), self.new_partition_groups)
        return tuple(FileGroupId(RECORD_INDEX, file_id) for file_id in ids)

    def logs(self, form: FileFormat, slices: Sequence[FileSlice]) -> list[Callable[[], GroupLog]]:
        """For each file group that may have changes, a function that reads the staged keys and returns the log.

        Args:
            slices: newest slices of all file groups, including the file groups that the delta commit creates.
        """
        groups = groups_by_partition(_ids(slices))
        return [
            partial(self._log, reader, form, file_id, number, len(groups[path]))
            for path, reader in sorted(self.reader.by_partition().items())
            for number, file_id in enumerate(groups.get(path, ()))
        ]

    def _log(
        self, reader: StagedKeysReader, form: FileFormat, file_id: str, number: int, group_count: int
    ) -> GroupLog:
        changes = reader.changes(number, group_count)
        return log_of_keys(FileGroupId(RECORD_INDEX, file_id), changes, form, self.instant_millis)


def partitioned_key_staging(
    folder: str, slices: Sequence[FileSlice], new_partition_groups: int
) -> KeyStaging:
    """The settings with which the tasks of a write stage keys for a partitioned record index.

    Args:
        folder: staging folder of the job.
        slices: newest slices of all file groups of the record index.
        new_partition_groups: number of file groups of a partition that is new in the index.

    Raises:
        CorruptTableError: the record index is not partitioned.
    """
    counts = {path: len(ids) for path, ids in groups_by_partition(_ids(slices)).items()}
    usual = usual_count(counts.values(), new_partition_groups)
    other = {path: count for path, count in counts.items() if count != usual}
    return KeyStaging(folder, usual, other)


def _ids(slices: Sequence[FileSlice]) -> list[str]:
    return [each.file_group_id.file_id for each in slices]
