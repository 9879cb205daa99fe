"""The shape of a generated table: how many partitions, file groups and commits it has, and which commit wrote what.

Commit `k` writes `GROUPS_OF_A_COMMIT` consecutive file groups, and the next commit continues after them. So each file
group is written again after `TableShape.period` commits. Consecutive file groups are in different partitions.
"""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion

MB = 1_000_000
GROUPS_OF_A_PARTITION = 20
GROUPS_OF_A_COMMIT = 200
BYTES_OF_A_ROW = 200
SMALLEST_FILE_BYTES, STEP_BYTES = 105 * MB, 10 * MB
"""The base files of a partition have sizes from 105 MB to 295 MB, in steps of 10 MB. The average is 200 MB."""

LOG_BYTES = MB
ACTIVE_COMMITS = 30
"""Number of completed writes on the active timeline: Hudi's default of ``hoodie.keep.max.commits``."""

ARCHIVAL_BATCH = 10
"""Number of writes that one archival archives: the difference of Hudi's defaults of the two ``hoodie.keep`` options."""


class TableKind(Enum):
    """Type and version of a generated table."""

    COW6 = "cow6"
    COW9 = "cow9"
    MOR9 = "mor9"

    @property
    def version(self) -> TableVersion:
        return TableVersion.V6 if self is TableKind.COW6 else TableVersion.V9

    @property
    def has_logs(self) -> bool:
        return self is TableKind.MOR9


@dataclass(frozen=True, slots=True, kw_only=True)
class TableShape:
    """Size of a generated table.

    Attributes:
        groups: number of file groups, a multiple of `GROUPS_OF_A_COMMIT`.
    """

    kind: TableKind
    groups: int

    def __post_init__(self) -> None:
        if self.groups < GROUPS_OF_A_COMMIT or self.groups % GROUPS_OF_A_COMMIT:
            raise ValueError(f"The number of file groups must be a multiple of {GROUPS_OF_A_COMMIT}.")

    @property
    def partitions(self) -> int:
        return self.groups // GROUPS_OF_A_PARTITION

    @property
    def archived_commits(self) -> int:
        """Number of archived writes: a tenth of the file groups, less one batch.

        With 1,000, 10,000 and 100,000 file groups, the next archival fills all levels of the timeline history (versions
        8 and 9), so that this archival merges the most files.
        """
        return max(self.period, self.groups // 10 - ARCHIVAL_BATCH) // ARCHIVAL_BATCH * ARCHIVAL_BATCH

    @property
    def commits(self) -> int:
        return self.archived_commits + ACTIVE_COMMITS

    @property
    def period(self) -> int:
        """Number of commits after which a file group is written again."""
        return self.groups // GROUPS_OF_A_COMMIT

    @property
    def nominal_bytes(self) -> int:
        """Sum of the sizes of the latest base files."""
        return sum(size_bytes(number) * self.partitions for number in range(GROUPS_OF_A_PARTITION))

    def groups_of(self, commit: int) -> range:
        """Numbers of the file groups that a commit writes."""
        first = commit % self.period * GROUPS_OF_A_COMMIT
        return range(first, first + GROUPS_OF_A_COMMIT)

    def commits_of(self, group: int, until: int) -> Iterator[int]:
        """Yield the commits before `until` that write a file group and whose files exist, oldest first.

        These commits are the last archived commit that writes the file group, and all later commits.
        """
        block = group // GROUPS_OF_A_COMMIT
        last_archived = self.archived_commits - 1
        first = last_archived - (last_archived - block) % self.period
        yield from range(first, until, self.period)

    def group_id(self, group: int) -> FileGroupId:
        return FileGroupId(partition_path(group % self.partitions), file_id(group))

    def size_of(self, group: int) -> int:
        """Length in bytes of the base files of a file group."""
        return size_bytes(group // self.partitions)


def partition_path(number: int) -> str:
    return f"day={number:05d}"


def size_bytes(position: int) -> int:
    """Length in bytes of the base files of the file group at this position of its partition."""
    return SMALLEST_FILE_BYTES + position * STEP_BYTES


@lru_cache(maxsize=200_000)
def file_id(group: int) -> str:
    return f"{uuid.uuid5(uuid.NAMESPACE_OID, str(group))}-0"
