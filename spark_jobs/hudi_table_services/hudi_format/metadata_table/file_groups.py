"""Ids of the file groups of the metadata table (HoodieTableMetadataUtil, MetadataPartitionType; Hudi 1.2)."""

import re
from urllib.parse import unquote

FILES = "files"
COLUMN_STATS = "column_stats"
BLOOM_FILTERS = "bloom_filters"
RECORD_INDEX = "record_index"
PARTITION_STATS = "partition_stats"
SECONDARY_INDEX_PREFIX = "secondary_index_"
EXPRESSION_INDEX_PREFIX = "expr_index_"

_PREFIXES = {
    FILES: "files",
    COLUMN_STATS: "col-stats",
    BLOOM_FILTERS: "bloom-filters",
    RECORD_INDEX: "record-index",
    PARTITION_STATS: "partition-stats",
}
_SUFFIX = re.compile(r"(?P<prefix>.+)-(?P<number>\d{4,})-0", re.ASCII)
# The characters that Hive escapes in paths, and `_` and `-`, which separate the parts of file names.
_ESCAPED = re.compile("[\x01-\x1f\"#%'*/:=?\\\\\x7f{\\[\\]^_-]")


def file_group_id(partition: str, number: int) -> str:
    """Return the id of a file group.

    Args:
        partition: partition of the metadata table, e.g. `column_stats`.
        number: number of the file group in the partition, from 0.
    """
    return f"{_prefix(partition)}-{number:04d}-0"


def partitioned_record_index_id(partition_path: str, number: int) -> str:
    """Return the id of a file group of a partitioned record index.

    In a partitioned record index, each partition of the table has its own file groups.

    Args:
        partition_path: partition of the table.
        number: number of the file group among the file groups for that partition, from 0.
    """
    escaped = _ESCAPED.sub(lambda match: f"%{ord(match[0]):02X}", partition_path)
    return f"{_PREFIXES[RECORD_INDEX]}-{escaped}-{number:04d}-0"


def file_group_number(file_group: str) -> int | None:
    """Return the number of a file group in its partition; None if the text is not the id of such a file group."""
    match = _SUFFIX.fullmatch(file_group)
    return None if match is None else int(match["number"])


def partition_of_record_index_id(file_group: str) -> str | None:
    """Return the table partition whose keys a file group contains; None if the record index is not partitioned."""
    match = _SUFFIX.fullmatch(file_group)
    start = f"{_PREFIXES[RECORD_INDEX]}-"
    if match is None or not match["prefix"].startswith(start):
        return None
    return unquote(match["prefix"].removeprefix(start))


def _prefix(partition: str) -> str:
    return _PREFIXES.get(partition) or partition.replace("_", "-")
