"""Name the file groups of a partitioned record index.

In a partitioned record index, each partition of the table has its own file groups. Record keys are unique only within
a partition. The hash of a key decides in which file group of its partition the key is. A commit that writes the first
file of a partition also creates the file groups of the partition. The module follows HoodieTableMetadataUtil and
HoodieBackedTableMetadataWriter (Hudi 1.2).
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from hudi_table_services.errors import CorruptTableError
from hudi_table_services.hudi_format.metadata_table.file_groups import (
    RECORD_INDEX,
    file_group_number,
    partition_of_record_index_id,
    partitioned_record_index_id,
)
from hudi_table_services.model.metadata_table import IndexDefinition
from hudi_table_services.model.write_stat import NEW_FILE_GROUP, CommitMetadata

IS_PARTITIONED = "isPartitioned"
"""Option in the definition of a record index: `true` if the record index is partitioned."""

_REBUILD = f"Build the index again with rebuild_metadata_table.py --partitions {RECORD_INDEX}."


def is_partitioned_index(definitions: Mapping[str, IndexDefinition]) -> bool:
    """Whether the definitions of a table define a partitioned record index.

    Args:
        definitions: maps each partition of the metadata table to the definition of its index.
    """
    definition = definitions.get(RECORD_INDEX)
    return definition is not None and definition.options.get(IS_PARTITIONED) == "true"


def require_kind(file_ids: Iterable[str], *, is_partitioned: bool) -> None:
    """Raise CorruptTableError if file groups of the record index are not of the kind that its definition states.

    Args:
        file_ids: ids of all file groups of the record index.
        is_partitioned: result of `is_partitioned_index`.
    """
    for file_id in file_ids:
        if (partition_of_record_index_id(file_id) is not None) != is_partitioned:
            kind = "for each partition of the table" if is_partitioned else "for the whole table"
            raise CorruptTableError(
                f"According to its definition, the index {RECORD_INDEX} has file groups {kind}, but {file_id!r} "
                "is not such a file group.",
                hint=_REBUILD,
            )


def groups_by_partition(file_ids: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Map each partition of the table to the ids of its file groups in the index, in the order of their numbers.

    Args:
        file_ids: ids of all file groups of a partitioned record index.

    Raises:
        CorruptTableError: a file group belongs to no partition.
    """
    ids = tuple(file_ids)
    require_kind(ids, is_partitioned=True)
    found: dict[str, list[str]] = defaultdict(list)
    for file_id in ids:
        found[partition_of_record_index_id(file_id) or ""].append(file_id)
    return {path: tuple(sorted(each, key=_number)) for path, each in found.items()}


def group_ids(partition_path: str, count: int) -> tuple[str, ...]:
    """Return the ids of the `count` file groups of a partition of the table, in order."""
    return tuple(partitioned_record_index_id(partition_path, number) for number in range(count))


def usual_count(counts: Collection[int], default: int) -> int:
    """Return the most frequent number of file groups of a partition; `default` if no partition has file groups."""
    ((count, _),) = Counter(counts).most_common(1) or [(default, 0)]
    return count


def new_group_ids(
    metadata: CommitMetadata, existing: Mapping[str, Sequence[str]], count: int
) -> tuple[str, ...]:
    """Return the ids of the file groups that a commit must create for partitions without file groups in the index.

    Hudi decides differently: it creates file groups for partitions that the metadata table does not list yet.

    Args:
        existing: result of `groups_by_partition`.
        count: number of file groups of a new partition.

    Raises:
        CorruptTableError: the commit changed files of a partition that has no file groups in the index, so the index
            lacks the keys of the partition.
    """
    created: list[str] = []
    for path, stats in sorted(metadata.partition_to_write_stats.items()):
        if path in existing:
            continue
        if any(stat.prev_commit != NEW_FILE_GROUP for stat in stats):
            raise CorruptTableError(
                f"The index {RECORD_INDEX} has no file groups for the partition {path!r}, although the partition has "
                "files.",
                hint=_REBUILD,
            )
        created += group_ids(path, count)
    return tuple(created)


def _number(file_id: str) -> int:
    return file_group_number(file_id) or 0
